//! The running server's own description of itself against the contract of the operations.

use std::collections::{BTreeMap, BTreeSet};

use loom::ops;
use serde_json::Value;

use crate::harness::Folder;
use crate::server::Server;

/// Filled from the caller's identity, so never required.
const IDENTITY: [&str; 5] = ["org", "namespace", "agent", "session_id", "user_id"];

/// Follows references inside the document.
fn resolve<'a>(document: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..20 {
        let Some(pointer) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) else { break };
        schema = document.pointer(pointer).unwrap_or(&Value::Null);
    }
    schema
}

/// The JSON types that a schema allows, besides null.
fn types(document: &Value, schema: &Value) -> BTreeSet<String> {
    let schema = resolve(document, schema);
    let mut found = BTreeSet::new();
    let named = &schema["type"];
    found.extend(named.as_str().map(Into::into));
    found.extend(named.as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into));
    for key in ["oneOf", "anyOf"] {
        for part in schema[key].as_array().into_iter().flatten() {
            found.extend(types(document, part));
        }
    }
    if schema.get("enum").is_some() || schema.get("const").is_some() {
        found.insert("string".into());
    }
    found.remove("null");
    found
}

fn wanted_type(text: &str) -> &'static str {
    let kinds = [
        ("list", "array"),
        ("dict", "object"),
        ("Literal", "string"),
        ("datetime", "string"),
        ("str", "string"),
        ("int", "integer"),
        ("float", "number"),
        ("bool", "boolean"),
    ];
    kinds.iter().find(|(start, _)| text.starts_with(start)).map_or("object", |(_, kind)| kind)
}

fn default_of(text: &str) -> Option<Value> {
    match text {
        "required" | "(computed)" | "None" | "''" => None,
        "True" => Some(true.into()),
        "False" => Some(false.into()),
        text if text.starts_with('\'') => Some(text.trim_matches('\'').into()),
        number => Some(serde_json::from_str(number).unwrap()),
    }
}

fn faults(document: &Value, registry: &BTreeMap<String, Value>, wanted: &Value) -> Vec<String> {
    let op = wanted["op"].as_str().unwrap();
    let mut faults = Vec::new();
    let post = &document["paths"][format!("/v1/{op}")]["post"];
    let body = resolve(document, &post["requestBody"]["content"]["application/json"]["schema"]);
    let required: Vec<&str> = body["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for field in wanted["input"].as_array().unwrap() {
        let [name, kind, default] = [0, 1, 2].map(|at| field[at].as_str().unwrap());
        let Some(schema) = body["properties"].get(name) else {
            faults.push(format!("{op}: input {name} is missing"));
            continue;
        };
        let allowed = types(document, schema);
        if !allowed.contains(wanted_type(kind)) {
            faults.push(format!("{op}: input {name} is {allowed:?}, not {kind}"));
        }
        if required.contains(&name) != (default == "required" && !IDENTITY.contains(&name)) {
            faults
                .push(format!("{op}: input {name} has the default {default}, required: {}", required.contains(&name)));
        }
        let given = schema.get("default").or_else(|| resolve(document, schema).get("default"));
        if let Some(default) = default_of(default)
            && given != Some(&default)
        {
            faults.push(format!("{op}: input {name} has the default {given:?}, not {default}"));
        }
    }
    let output = resolve(document, &post["responses"]["200"]["content"]["application/json"]["schema"]);
    for name in wanted["output"].as_array().unwrap() {
        if output["properties"].get(name.as_str().unwrap()).is_none() {
            faults.push(format!("{op}: output {name} is missing"));
        }
    }
    for fact in ["role", "kind", "audited", "mcp_all_listed"] {
        let given = registry.get(op).map_or(&Value::Null, |entry| &entry[fact]);
        if *given != wanted[fact] {
            faults.push(format!("{op}: {fact} is {given}, not {}", wanted[fact]));
        }
    }
    faults
}

#[test]
fn the_server_describes_every_operation_as_the_contract_does() {
    let folder = Folder::new();
    let server = Server::start(folder.open());
    let document: Value = serde_json::from_str(&server.get("/openapi.json").1).unwrap();
    let registry: Value = serde_json::from_str(&server.get("/v1/ops").1).unwrap();
    let registry = registry["ops"].as_array().or(registry.as_array()).unwrap();
    let registry: BTreeMap<String, Value> =
        registry.iter().map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry.clone())).collect();
    let contract: Vec<Value> = serde_json::from_str(include_str!("../data/contract.json")).unwrap();
    let faults: Vec<String> = contract.iter().flat_map(|wanted| faults(&document, &registry, wanted)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let contracted: BTreeSet<&str> = contract.iter().map(|wanted| wanted["op"].as_str().unwrap()).collect();
    // Beside the contract.
    let additive = ["knowledge.history"];
    let own: BTreeSet<&str> = ops::ALL
        .iter()
        .map(|spec| spec.facts.name)
        .filter(|name| name.starts_with("knowledge.") && !additive.contains(name))
        .collect();
    assert_eq!(own, contracted, "every knowledge operation stands in the contract");
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
}
