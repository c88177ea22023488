//! throwaway
use loom::{Caller, Config, Engine};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
fn call(e: &Engine, op: &str, i: Value) -> Value {
    let Value::Object(i) = i else { panic!() };
    e.call(&Caller::local(), op, i).map_err(|e| e.message).unwrap().output
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (coll, data, out, model, mode) = (&a[1], &a[2], &a[3], &a[4], &a[5]);
    let mut c = Config::default();
    c.search.noise_filter = false;
    c.embedding.model = model.clone();
    if mode == "keep" {}
    let e = Engine::open(std::path::Path::new(data), c).unwrap();
    let docs: Vec<Value> = fs::read_to_string(format!("{coll}/docs.jsonl"))
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    if !fs::exists(format!("{data}/filled")).unwrap() {
        let t = std::time::Instant::now();
        for part in docs.chunks(25) {
            let entries: Vec<Value> =
                part.iter().map(|d| json!({"source_uri":d["id"],"title":d["title"],"content":d["text"]})).collect();
            call(&e, "knowledge.bulk_add", json!({"entries":entries}));
        }
        fs::write(format!("{data}/filled"), "").unwrap();
        eprintln!("{coll} filled in {:?}", t.elapsed());
    }
    let queries: Vec<Value> = fs::read_to_string(format!("{coll}/queries.jsonl"))
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let lines: Vec<String> = queries
        .par_iter()
        .map(|q| {
            let r = call(
                &e,
                "knowledge.search",
                json!({"query":q["text"],"search_mode":"hybrid","top_k":1000,"namespace_scope":"this","explain":true}),
            );
            let hits: Vec<Value> = r["results"]
                .as_array()
                .unwrap()
                .iter()
                .map(|h| {
                    let x = &h["explanation"];
                    json!([
                        h["source_uri"],
                        x["lexical"]["rank"],
                        x["lexical"]["score"],
                        x["vector"]["rank"],
                        x["vector"]["score"],
                        x["keys"]["part"]
                    ])
                })
                .collect();
            json!({"id":q["id"],"hits":hits}).to_string()
        })
        .collect();
    let mut f = fs::File::create(out).unwrap();
    for l in lines {
        writeln!(f, "{l}").unwrap();
    }
    e.close().unwrap();
}
