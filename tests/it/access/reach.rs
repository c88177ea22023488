//! Every operation of the registry, called by identities of every reach: what is out of reach shows in no answer, changes
//! by no call, and is not even there as far as the caller can tell.

use std::collections::BTreeMap;

use loom::{Caller, Engine, Identity, Role, Roles, ops};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::harness::{Folder, ok};

const ORGS: [&str; 2] = ["dev", "acme"];
const NAMESPACES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// A word that stands in the documents of one namespace alone.
fn marker(org: &str, namespace: &str) -> String {
    format!("marker{org}{namespace}")
}

/// Writes each namespace that `keep` names: two documents, one of them deleted, and what is known of it.
fn fill(engine: &Engine, keep: impl Fn(&str, &str) -> bool) {
    for org in ORGS {
        for namespace in NAMESPACES.into_iter().filter(|namespace| keep(org, namespace)) {
            let place = json!({ "org": org, "namespace": namespace });
            let call = |op: &str, more: Value| {
                let mut input = place.as_object().unwrap().clone();
                input.extend(more.as_object().unwrap().clone());
                ok(engine, op, Value::Object(input))
            };
            let word = marker(org, namespace);
            let title = format!("Title {word}");
            call("namespace.create", json!({ "title": title, "owner": format!("user:{word}") }));
            let text = format!("# Harbour {word}\n\nThe harbour master of {word} keeps `key_{word}`.");
            call("knowledge.add", json!({ "source_uri": format!("doc/{word}"), "content": text, "title": title }));
            call("knowledge.add", json!({ "source_uri": "shared", "content": format!("shared harbour {word}") }));
            call("knowledge.add", json!({ "source_uri": "gone", "content": format!("gone {word}") }));
            call("knowledge.delete", json!({ "source_uri": "gone" }));
        }
    }
}

/// The inputs that an operation is called with, beside whose it is.
fn inputs(op: &str, word: &str, addressed: &str) -> Vec<Value> {
    let uri = format!("doc/{word}");
    match op {
        "knowledge.add" | "knowledge.upsert" => vec![json!({ "source_uri": "shared", "content": "new text" })],
        "knowledge.bulk_add" => vec![json!({ "entries": [{ "source_uri": "new", "content": "new text" }] })],
        "knowledge.bulk_delete" => vec![json!({ "source_uris": [uri, "shared"] })],
        "knowledge.delete" | "knowledge.restore" => {
            vec![json!({ "source_uri": "shared" }), json!({ "source_uri": "gone" })]
        }
        "knowledge.get" => {
            vec![json!({ "source_uri": uri }), json!({ "source_uri": "gone", "include_superseded": true })]
        }
        "knowledge.outline" | "knowledge.dataset_get" => vec![json!({ "source_uri": uri })],
        "knowledge.dataset_approve" => vec![json!({ "source_uri": uri, "dataset_id": "table-1", "snapshot_id": "x" })],
        "knowledge.query" => vec![json!({ "datasets": [{ "source_uri": uri }] })],
        "knowledge.update_metadata" => vec![json!({ "source_uri": "shared", "title": "Changed", "reindex": true })],
        "knowledge.ingest" => vec![json!({ "upload_id": "00000000-0000-0000-0000-000000000001", "source_uri": uri })],
        "knowledge.ingest_cancel" | "knowledge.ingest_status" => {
            vec![json!({ "ingestion_id": "00000000-0000-0000-0000-000000000001" })]
        }
        "knowledge.list" => vec![json!({ "include_superseded": true }), json!({ "namespaces": NAMESPACES })],
        "knowledge.search" => vec![
            json!({ "query": "harbour", "explain": true }),
            json!({ "query": word, "namespace_scope": "this", "why_not": uri }),
            json!({ "query": format!("key_{word}"), "search_mode": "lexical", "top_k": 50 }),
            json!({ "query": "harbour", "namespaces": NAMESPACES }),
        ],
        "knowledge.formats" | "namespace.get" | "namespace.restore" | "knowledge.inspect" | "knowledge.reads" => {
            vec![json!({})]
        }
        "knowledge.history" => vec![json!({ "source_uri": "shared" })],
        "knowledge.dedup_list" => vec![json!({ "include_chunk_clusters": true })],
        "knowledge.dedup_resolve" => vec![json!({
            "canonical_uri": "shared", "duplicate_uri": uri, "decision": "swap", "confirm_duplicate_uri": uri,
        })],
        "namespace.list" => vec![json!({ "include_deleted": true })],
        "namespace.create" => vec![json!({}), json!({ "namespace": "epsilon" })],
        "namespace.update" => vec![json!({ "title": "Changed" })],
        "namespace.delete" => vec![json!({ "confirm": addressed })],
        "collection.create" => vec![json!({ "title": "Made", "derive_name": true })],
        "collection.list" => vec![json!({}), json!({ "parent": addressed })],
        "collection.move" => vec![json!({ "parent": "beta" })],
        "collection.delete" => vec![json!({ "confirm": addressed, "recursive": true })],
        // Nothing that runs in the background, where the two stores could differ.
        "erasure.request" => vec![
            json!({ "scope": "namespace", "confirm": "another" }),
            json!({ "scope": "user", "user": "x", "confirm": "y" }),
        ],
        "erasure.status" => vec![json!({}), json!({ "erasure_id": "00000000-0000-0000-0000-000000000001" })],
        "audit.list" => vec![json!({}), json!({ "namespace": "*" })],
        "token.create" => vec![json!({ "subject": "x", "roles": { "alpha": "viewer", "beta": "admin" } })],
        "token.list" => vec![json!({ "include_ended": true })],
        "token.revoke" => vec![json!({ "token_id": "00000000-0000-0000-0000-000000000001" })],
        other => panic!("{other} is not tried: say here what it is called with"),
    }
}

/// Everything that is stored of a namespace, as an admin sees it.
fn state(engine: &Engine, org: &str, namespace: &str) -> Value {
    let place = json!({ "org": org, "namespace": namespace });
    let mut list = place.as_object().unwrap().clone();
    list.insert("include_superseded".into(), true.into());
    let rows = match crate::calls::call(engine, "knowledge.list", Value::Object(list)) {
        Ok(answer) => answer,
        Err(error) => error.to_json(),
    };
    json!([rows, ok(engine, "namespace.get", place)])
}

/// An answer without what differs between two stores of the same content: ids, times taken.
fn normal(answer: &Result<Value, Value>) -> String {
    fn strip(value: &Value) -> Value {
        const VARYING: [&str; 9] = [
            "doc_id",
            "timings",
            "token",
            "token_id",
            "timings_ms",
            "elapsed_ms",
            "duplicate_of_uri",
            "ingestion_id",
            "expires_at",
        ];
        match value {
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .filter(|(name, _)| !VARYING.contains(&name.as_str()))
                    .map(|(n, v)| (n.clone(), strip(v)))
                    .collect(),
            ),
            Value::Array(items) => Value::Array(items.iter().map(strip).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    match answer {
        Ok(output) => strip(output).to_string(),
        Err(error) => strip(error).to_string(),
    }
}

fn run(engine: &Engine, caller: &Caller, op: &str, input: &Map<String, Value>) -> Result<Value, Value> {
    engine.call(caller, op, input.clone()).map(|answer| answer.output).map_err(|error| error.to_json())
}

fn try_everything(roles: &BTreeMap<String, Role>, addressed: &str, org: &str) {
    let identity = Identity {
        subject: "tester".into(),
        org: "dev".into(),
        roles: Roles::new(roles.iter().map(|(namespace, role)| (namespace.clone(), *role))),
        agent: None,
        user_id: None,
        session_id: None,
    };
    let reached = |of: &str, namespace: &str| of == "dev" && identity.roles.in_namespace(namespace).is_some();
    let caller = Caller::of(identity.clone());
    let (whole, part) = (Folder::new(), Folder::new());
    let (whole, part) = (whole.open(), part.open());
    fill(&whole, |_, _| true);
    fill(&part, reached);
    let hidden: Vec<(&str, &str)> = ORGS
        .into_iter()
        .flat_map(|of| NAMESPACES.into_iter().map(move |namespace| (of, namespace)))
        .filter(|(of, namespace)| !reached(of, namespace))
        .collect();
    let states = |engine: &Engine| hidden.iter().map(|(of, name)| state(engine, of, name)).collect::<Vec<_>>();
    let before = states(&whole);
    let word = marker(org, addressed);
    for spec in ops::ALL {
        for input in inputs(spec.facts.name, "WORD", addressed) {
            // The call knows where something is, not what.
            let text = input.to_string().replace("WORD", &word);
            let mut input: Map<String, Value> = serde_json::from_str(&text).unwrap();
            input.insert("org".into(), org.into());
            input.entry("namespace").or_insert(addressed.into());
            let op = spec.facts.name;
            let [one, other] = [&whole, &part].map(|engine| normal(&run(engine, &caller, op, &input)));
            assert_eq!(one, other, "{op} {input:?} tells {roles:?} of what it does not reach");
            for (of, namespace) in &hidden {
                let said = text.contains(&marker(of, namespace)) && (*of, *namespace) == (org, addressed);
                assert!(
                    said || !one.contains(&marker(of, namespace)),
                    "{op} shows {of}/{namespace} to {roles:?}: {one}"
                );
            }
        }
    }
    assert_eq!(states(&whole), before, "{roles:?} changed what it does not reach");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn nothing_out_of_reach_is_read_written_counted_or_named(
        roles in prop::collection::btree_map(
            prop::sample::select(vec!["alpha", "beta", "gamma", "*"]).prop_map(str::to_owned),
            prop::sample::select(vec![Role::Viewer, Role::Writer, Role::Admin]),
            0..3,
        ),
        addressed in prop::sample::select(NAMESPACES.to_vec()),
        is_own_org in prop::bool::weighted(0.8),
    ) {
        try_everything(&roles, addressed, if is_own_org { "dev" } else { "acme" });
    }
}
