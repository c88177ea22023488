//! `knowledge.dataset_get`, `knowledge.dataset_approve`, `knowledge.query`: tables of files as datasets.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use loom::{Code, Engine};
use serde_json::{Value, json};

use super::ingesting::{ended, ingest, opened_with};
use crate::extractor::artifact;
use crate::harness::{Folder, add, call, hits, ok, refused};

const SALES: &str = "\
region,day,amount,units,paid,note
North,2025-01-03,10.01,1,true,first
North,2025-01-09,20,2,false,
South,2025-02-01,30.5,3,true,\"a \"\"quoted\"\"\r\none\"
,2025-02-11,9007199254740993,4,true,x
";

/// An engine whose extractor is the program's own.
fn extracting(folder: &Folder) -> Engine {
    folder.open_with(|config| config.extraction.program = Some(env!("CARGO_BIN_EXE_loom").into()))
}

fn ingested(engine: &Engine, filename: &str, text: &str) -> Value {
    let job = ingest(engine, filename, text.as_bytes(), &json!({ "allow_partial": true }));
    let status = ended(engine, &job);
    assert!(matches!(status["state"].as_str(), Some("ready" | "partial")), "{status}");
    status
}

fn datasets(engine: &Engine, source_uri: &str) -> Vec<Value> {
    let got = ok(engine, "knowledge.dataset_get", json!({ "source_uri": source_uri, "sample_rows": 3 }));
    assert_eq!(got["found"], true, "{got}");
    got["datasets"].as_array().expect("a list").clone()
}

fn only(engine: &Engine, source_uri: &str) -> Value {
    let datasets = datasets(engine, source_uri);
    assert_eq!(datasets.len(), 1, "{datasets:?}");
    datasets[0].clone()
}

fn asking(source_uri: &str, more: &Value) -> Value {
    let mut input = json!({ "datasets": [{ "source_uri": source_uri }] });
    input.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
    input
}

fn sum_by_region(source_uri: &str) -> Value {
    let amount = json!({ "fn": "sum", "column": "amount", "as": "total" });
    asking(source_uri, &json!({ "aggregates": [amount], "group_by": [{ "column": "region" }] }))
}

#[test]
fn a_table_becomes_a_dataset_that_is_calculated_over_exactly() {
    let folder = Folder::new();
    let engine = extracting(&folder);
    ingested(&engine, "sales.csv", SALES);
    let dataset = only(&engine, "sales.csv");
    assert_eq!(
        (&dataset["dataset_id"], &dataset["schema_state"], &dataset["row_count"], &dataset["complete"]),
        (&json!("table-1"), &json!("inferred"), &json!(4), &json!(true)),
    );
    let types: Vec<&str> =
        dataset["columns"].as_array().unwrap().iter().map(|column| column["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["string", "date", "number", "number", "bool", "string"]);
    assert_eq!(dataset["sample"][1], json!(["North", "2025-01-09", 20, 2, false, null]));
    assert_eq!(dataset["sample"][2], json!(["South", "2025-02-01", "30.5", 3, true, "a \"quoted\"\r\none"]));

    let answer = ok(&engine, "knowledge.query", sum_by_region("sales.csv"));
    assert_eq!(answer["rows"], json!([["North", "30.01"], ["South", "30.5"], [null, "9007199254740993"]]));
    assert_eq!((&answer["complete"], &answer["truncated"]), (&json!(true), &json!(false)));
    let receipt = &answer["receipt"];
    assert_eq!(receipt["snapshots"][0]["snapshot_id"], dataset["snapshot_id"]);
    assert_eq!((&receipt["snapshots"][0]["revision"], &receipt["rows_read"]), (&json!(1), &json!(4)));
    assert_eq!(
        receipt["statement"],
        "SELECT \"region\", sum(\"amount\") AS \"total\" FROM \"table-1\" GROUP BY \"region\" LIMIT 100"
    );
    assert!(receipt["engine"].as_str().unwrap().starts_with("datafusion "));

    let by_month = json!({ "group_by": [{ "column": "day", "by": "month" }], "aggregates": [{ "fn": "count" }],
        "where": [{ "column": "paid", "op": "eq", "value": true }] });
    let answer = ok(&engine, "knowledge.query", asking("sales.csv", &by_month));
    assert_eq!(answer["rows"], json!([["2025-01", 1], ["2025-02", 2]]));

    let rows = json!({ "select": [{ "column": "amount" }], "order_by": [{ "column": "amount", "descending": true }], "limit": 2 });
    let answer = ok(&engine, "knowledge.query", asking("sales.csv", &rows));
    assert_eq!((&answer["rows"], &answer["row_ids"]), (&json!([["9007199254740993"], ["30.5"]]), &json!([[5], [4]])));
    assert_eq!(answer["truncated"], true);
}

#[test]
fn a_hit_in_a_table_and_an_outline_name_its_dataset() {
    let folder = Folder::new();
    let engine = extracting(&folder);
    ingested(&engine, "sales.csv", SALES);
    add(&engine, "notes.md", "# Regions\n\nNorth and South are regions.");
    let found = ok(&engine, "knowledge.search", json!({ "query": "North region amount" }));
    for hit in hits(&found) {
        let wanted = if hit["source_uri"] == "sales.csv" { json!("table-1") } else { Value::Null };
        assert_eq!(hit["dataset_id"], wanted, "{hit}");
    }
    assert_eq!(hits(&found).len(), 2, "{found}");
    let outline = ok(&engine, "knowledge.outline", json!({ "source_uri": "sales.csv" }));
    assert_eq!(
        (&outline["datasets"][0]["dataset_id"], &outline["datasets"][0]["row_count"]),
        (&json!("table-1"), &json!(4))
    );
    assert!(ok(&engine, "knowledge.outline", json!({ "source_uri": "notes.md" })).get("datasets").is_none());
}

#[test]
fn a_schema_in_doubt_is_asked_about_and_an_approval_lasts_while_the_columns_do() {
    let folder = Folder::new();
    let engine = extracting(&folder);
    let mixed = "region,amount\nNorth,10\nSouth,n/a\nWest,5.5\n";
    ingested(&engine, "mixed.csv", mixed);
    let dataset = only(&engine, "mixed.csv");
    assert_eq!(
        (&dataset["schema_state"], &dataset["clarifications"][0]["code"]),
        (&json!("needs_clarification"), &json!("mixed_types"))
    );
    let refusal = refused(&engine, "knowledge.query", sum_by_region("mixed.csv"));
    assert_eq!(refusal.code, Code::NeedsClarification, "{refusal}");

    let approval = |snapshot: &Value, columns: Value| json!({ "source_uri": "mixed.csv", "dataset_id": "table-1", "snapshot_id": snapshot, "columns": columns });
    let wrong = refused(&engine, "knowledge.dataset_approve", approval(&json!("another"), json!({})));
    assert_eq!(wrong.code, Code::PreconditionFailed);
    let unknown =
        refused(&engine, "knowledge.dataset_approve", approval(&dataset["snapshot_id"], json!({ "amont": "number" })));
    assert!(unknown.message.contains("amont") && unknown.message.contains("amount"), "{unknown}");
    let approved =
        ok(&engine, "knowledge.dataset_approve", approval(&dataset["snapshot_id"], json!({ "amount": "number" })));
    assert_eq!((&approved["found"], &approved["retyped"]), (&json!(true), &json!(true)));
    let retyped = &approved["dataset"];
    assert_eq!((&retyped["schema_state"], &retyped["row_count"]), (&json!("approved"), &json!(2)));
    assert_eq!(retyped["rejected_rows"]["first"][0]["value"], "n/a");
    assert_ne!(retyped["snapshot_id"], dataset["snapshot_id"]);
    let answer = ok(&engine, "knowledge.query", sum_by_region("mixed.csv"));
    assert_eq!((&answer["rows"], &answer["complete"]), (&json!([["North", 10], ["West", "5.5"]]), &json!(false)));
    assert!(answer["incomplete"][0].as_str().unwrap().contains("1 row"), "{answer}");
    let again =
        ok(&engine, "knowledge.dataset_approve", approval(&retyped["snapshot_id"], json!({ "amount": "number" })));
    assert_eq!((&again["retyped"], &again["dataset"]["snapshot_id"]), (&json!(false), &retyped["snapshot_id"]));

    // The same columns: approved and typed as before. Others: asked about again.
    ingested(&engine, "mixed.csv", &format!("{mixed}East,late\nFar,2\n"));
    let next = only(&engine, "mixed.csv");
    assert_eq!((&next["revision"], &next["schema_state"]), (&json!(2), &json!("approved")));
    assert_eq!((&next["row_count"], &next["rejected_rows"]["count"]), (&json!(3), &json!(2)));
    ingested(&engine, "mixed.csv", "area,amount\nNorth,10\nSouth,n/a\n");
    assert_eq!(only(&engine, "mixed.csv")["schema_state"], "needs_clarification");
    let missing = json!({ "source_uri": "mixed.csv", "dataset_id": "table-9", "snapshot_id": "x" });
    assert_eq!(ok(&engine, "knowledge.dataset_approve", missing)["found"], false);
}

#[test]
fn datasets_live_as_long_as_the_revision_that_holds_them() {
    let folder = Folder::new();
    let engine = extracting(&folder);
    ingested(&engine, "sales.csv", SALES);
    let before = only(&engine, "sales.csv")["snapshot_id"].clone();
    ok(&engine, "knowledge.update_metadata", json!({ "source_uri": "sales.csv", "title": "Sales" }));
    assert_eq!(only(&engine, "sales.csv")["snapshot_id"], before);
    ok(&engine, "knowledge.delete", json!({ "source_uri": "sales.csv" }));
    let got = ok(&engine, "knowledge.dataset_get", json!({ "source_uri": "sales.csv" }));
    assert_eq!((&got["found"], &got["datasets"]), (&json!(false), &json!([])));
    assert_eq!(refused(&engine, "knowledge.query", sum_by_region("sales.csv")).code, Code::NotFound);
    ok(&engine, "knowledge.restore", json!({ "source_uri": "sales.csv" }));
    assert_eq!(only(&engine, "sales.csv")["snapshot_id"], before);
    ok(&engine, "knowledge.query", sum_by_region("sales.csv"));
    add(&engine, "sales.csv", "No table any more.");
    assert_eq!(datasets(&engine, "sales.csv"), Vec::<Value>::new());
    assert_eq!(refused(&engine, "knowledge.query", sum_by_region("sales.csv")).code, Code::NotFound);
}

#[test]
fn what_a_sweep_or_an_erasure_removes_is_said_and_gone() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| {
        config.extraction.program = Some(env!("CARGO_BIN_EXE_loom").into());
        config.sweep.blob_age_s = 0;
    });
    ingested(&engine, "sales.csv", SALES);
    let all = engine.blobs(false).unwrap();
    assert_eq!((all.blobs, all.unneeded), (3, 0), "the original, the artifact and the rows");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "sales.csv" }));
    engine.blobs(true).unwrap();
    assert_eq!(engine.blobs(false).unwrap().blobs, 1, "the upload can be ingested again for a while");
    ok(&engine, "knowledge.restore", json!({ "source_uri": "sales.csv" }));
    let dataset = only(&engine, "sales.csv");
    assert_eq!((&dataset["complete"], &dataset["sample"]), (&json!(false), &json!([])));
    assert_eq!(refused(&engine, "knowledge.query", sum_by_region("sales.csv")).code, Code::BlobGone);
    ingested(&engine, "sales.csv", SALES);
    ok(&engine, "knowledge.query", sum_by_region("sales.csv"));
    ok(&engine, "erasure.request", json!({ "scope": "namespace", "namespace": "local", "confirm": "local" }));
    engine.run_erasures().unwrap();
    assert_eq!(engine.blobs(false).unwrap().blobs, 0);
    let got = ok(&engine, "knowledge.dataset_get", json!({ "source_uri": "sales.csv" }));
    assert_eq!(got["found"], false);
}

/// Every revision has one number in all its rows, so that a sum tells of which revision each of its rows was.
#[test]
fn an_answer_is_of_one_state_of_its_datasets_while_they_are_replaced_retyped_and_deleted() {
    let folder = Folder::new();
    let (rows, columns) = (40, json!([{ "name": "n", "type": "number" }]));
    let engine = opened_with(
        &folder,
        move |_, bytes| {
            let value = String::from_utf8(bytes.to_vec()).unwrap();
            let rows: Vec<Value> = (0..rows).map(|row| json!([row + 2, [{ "number": value }]])).collect();
            let table = json!({ "columns": columns, "header_rows": 1, "total_rows": rows.len(), "rows": rows });
            let blocks = json!([{ "kind": "table", "table": 0 }]);
            let coverage = json!({ "unit": "rows", "total": rows.len(), "extracted": rows.len(), "failed": 0 });
            (200, artifact("csv", &json!({ "blocks": blocks, "tables": [table], "coverage": coverage })))
        },
        |_| {},
    );
    for name in ["a.csv", "b.csv"] {
        assert_eq!(ended(&engine, &ingest(&engine, name, b"1", &json!({})))["state"], "ready");
    }
    let plan = json!({
        "datasets": [{ "source_uri": "a.csv", "alias": "a" }, { "source_uri": "b.csv", "alias": "b" }],
        "joins": [{ "dataset": "b", "on": [{ "column": "n", "with_column": "n" }] }],
        "aggregates": [{ "fn": "count" }, { "fn": "min", "dataset": "a", "column": "n" }, { "fn": "max", "dataset": "a", "column": "n" }],
    });
    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    match call(&engine, "knowledge.query", plan.clone()) {
                        Ok(answer) => {
                            let row = &answer["rows"][0];
                            let (count, least, most) = (row[0].as_u64().unwrap(), &row[1], &row[2]);
                            assert!(least == most && (count == 0 || count == rows * rows), "{row}");
                            let revisions: Vec<&Value> = answer["receipt"]["snapshots"]
                                .as_array()
                                .unwrap()
                                .iter()
                                .map(|one| &one["revision"])
                                .collect();
                            assert!(count > 0 || revisions[0] != revisions[1], "{answer}");
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            // While one of them holds text, they cannot be joined.
                            let expected = [Code::PreconditionFailed, Code::NotFound, Code::ValidationFailed];
                            assert!(expected.contains(&error.code), "{error}");
                        }
                    }
                }
            });
        }
        for turn in 0..12 {
            let value = (turn % 3 + 1).to_string();
            for name in ["a.csv", "b.csv"] {
                assert_eq!(ended(&engine, &ingest(&engine, name, value.as_bytes(), &json!({})))["state"], "ready");
                let snapshot = only(&engine, name)["snapshot_id"].clone();
                for to in ["string", "number"] {
                    let current =
                        if to == "string" { snapshot.clone() } else { only(&engine, name)["snapshot_id"].clone() };
                    let approval = json!({ "source_uri": name, "dataset_id": "table-1", "snapshot_id": current, "columns": { "n": to } });
                    assert_eq!(ok(&engine, "knowledge.dataset_approve", approval)["retyped"], true);
                }
            }
            ok(&engine, "knowledge.delete", json!({ "source_uri": "a.csv" }));
            ok(&engine, "knowledge.restore", json!({ "source_uri": "a.csv" }));
        }
        done.store(true, Ordering::Release);
    });
    assert!(answered.load(Ordering::Relaxed) > 0, "some query met no change");
}

#[test]
fn plans_that_cannot_be_run_say_where_and_why() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| {
        config.extraction.program = Some(env!("CARGO_BIN_EXE_loom").into());
        config.datasets.result_rows_max = 100;
        config.datasets.rows_max = 5;
    });
    ingested(&engine, "sales.csv", SALES);
    let refusal = |more: Value| refused(&engine, "knowledge.query", asking("sales.csv", &more));
    for (more, field, says) in [
        (json!({ "select": [{ "column": "amout" }] }), "select[0].column", "\"amount\""),
        (json!({ "where": [{ "column": "day", "op": "gt", "value": "yesterday" }] }), "where[0].value", "2026-01-31"),
        (json!({ "where": [{ "column": "day", "op": "gt" }] }), "where[0].value", "needs a value"),
        (json!({ "aggregates": [{ "fn": "sum", "column": "region" }] }), "aggregates[0].column", "dataset_approve"),
        (json!({ "limit": 101 }), "limit", "1 to 100"),
        (json!({ "order_by": [{ "column": "sum" }] }), "order_by[0].column", "the result has no column"),
    ] {
        let error = refusal(more);
        assert_eq!((error.code, error.field.as_deref()), (Code::ValidationFailed, Some(field)), "{error}");
        assert!(error.message.contains(says), "{error}");
    }
    let join = json!({ "dataset": "b", "on": [{ "column": "region", "with_column": "region" }] });
    let both = json!([{ "source_uri": "sales.csv", "alias": "a" }, { "source_uri": "sales.csv", "alias": "b" }]);
    let error = refused(&engine, "knowledge.query", json!({ "datasets": both, "joins": [join] }));
    assert_eq!(error.code, Code::QueryLimit, "{error}");
}
