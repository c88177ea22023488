//! The API as data: `GET /openapi.json` and `GET /v1/ops`, both made from the registry of operations.

mod components;
mod routes;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::reply::{self, labelled};
use super::shared::Door;
use crate::op::{Kind, Spec};
use crate::ops;
use components::Components;

/// The fields that say who calls; the server knows them when the caller leaves them out.
const IDENTITY: [&str; 5] = ["org", "namespace", "agent", "session_id", "user_id"];

/// `GET /openapi.json`.
pub async fn serve(State(door): State<Door>) -> Response {
    labelled(reply::document(StatusCode::OK, door.openapi()), "openapi")
}

/// `GET /v1/ops`.
pub async fn registry() -> Response {
    let entries: Vec<Value> = ops::ALL
        .iter()
        .map(|spec| {
            let mut entry = json!({ "op": spec.facts.name });
            entry["name"] = spec.facts.name.into();
            entry["role"] = json!(spec.facts.role);
            entry["kind"] = json!(spec.facts.kind);
            entry["audited"] = spec.facts.audited.into();
            entry["mcp_all_listed"] = spec.facts.mcp_all_listed.into();
            entry["summary"] = spec.facts.summary.into();
            entry
        })
        .collect();
    labelled(reply::value(&json!({ "ops": entries })), "ops")
}

/// The document, in version 3.1 of its format, of every operation and route.
pub fn document() -> Value {
    document_of(ops::ALL)
}

fn document_of(specs: &[Spec]) -> Value {
    let mut components = Components::default();
    let mut paths = Map::new();
    for spec in specs {
        paths.insert(format!("/v1/{}", spec.facts.name), json!({ "post": operation(spec, &mut components) }));
    }
    paths.extend(routes::paths());
    let mut schemas = components.into_schemas();
    schemas.insert("Error".into(), routes::error_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Loom",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Stores an agent's documents and finds passages in them. Operations take and answer JSON objects.",
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": routes::error_responses(),
            "headers": routes::headers(),
        },
    })
}

fn operation(spec: &Spec, components: &mut Components) -> Value {
    let name = spec.facts.name;
    let mut input = Value::from(spec.input_schema());
    if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|field| !IDENTITY.iter().any(|identity| field == identity));
    }
    let mut output = Value::from(spec.output_schema());
    if output.get("properties").is_none() {
        output["properties"] = json!({});
    }
    output["properties"]["ignored_args"] = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "The fields of the call that the operation does not know; absent when there are none.",
    });
    let type_name = type_name(name);
    let input = components.add(&format!("{type_name}Input"), input);
    let output = components.add(&format!("{type_name}Output"), output);
    let mut responses = Map::new();
    responses.insert(
        "200".into(),
        json!({
            "description": "The operation's answer.",
            "headers": routes::header_refs(),
            "content": { "application/json": { "schema": output } },
        }),
    );
    responses.extend(routes::error_refs(spec.facts.kind != Kind::Read));
    json!({
        "operationId": name,
        "summary": spec.facts.summary,
        "tags": [name.split('.').next().unwrap_or(name)],
        "x-loom-role": spec.facts.role,
        "x-loom-kind": spec.facts.kind,
        "x-loom-audited": spec.facts.audited,
        "requestBody": { "required": true, "content": { "application/json": { "schema": input } } },
        "responses": responses,
    })
}

/// `knowledge.source.sync_now` as `KnowledgeSourceSyncNow`.
fn type_name(op: &str) -> String {
    let mut name = String::new();
    for part in op.split(['.', '_']) {
        let mut letters = part.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.extend(letters);
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn references<'doc>(node: &'doc Value, found: &mut Vec<&'doc str>) {
        match node {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if let Value::String(target) = value
                        && name == "$ref"
                    {
                        found.push(target);
                    } else {
                        references(value, found);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_reference_resolves_and_every_schema_is_used() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for target in &found {
            let pointer = target.strip_prefix('#').expect("references stay inside the document");
            assert!(document.pointer(pointer).is_some(), "{target} leads nowhere");
        }
        let used: HashSet<&str> = found.into_iter().collect();
        for name in document["components"]["schemas"].as_object().expect("there are schemas").keys() {
            assert!(used.contains(format!("#/components/schemas/{name}").as_str()), "{name} is not used");
        }
    }

    #[test]
    fn every_operation_has_its_route_with_described_bodies() {
        let document = document();
        for spec in ops::ALL {
            let post = &document["paths"][format!("/v1/{}", spec.facts.name)]["post"];
            assert_eq!(post["operationId"], spec.facts.name);
            for schema in [
                &post["requestBody"]["content"]["application/json"]["schema"],
                &post["responses"]["200"]["content"]["application/json"]["schema"],
            ] {
                let pointer = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
                let body = document.pointer(pointer.expect("bodies are components")).expect("it resolves");
                assert_eq!(body["type"], "object", "{}", spec.facts.name);
                let required = body["required"].as_array().map(Vec::as_slice).unwrap_or_default();
                let is_input = body["properties"].get("ignored_args").is_none();
                assert!(!is_input || IDENTITY.iter().all(|field| !required.contains(&json!(field))));
            }
        }
    }

    #[test]
    fn operation_names_become_type_names() {
        assert_eq!(type_name("knowledge.source.sync_now"), "KnowledgeSourceSyncNow");
        assert_eq!(type_name("namespace.list"), "NamespaceList");
    }
}
