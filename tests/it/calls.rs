//! Calling operations of an engine in this process.

use loom::{Caller, Engine, Error};
use serde_json::Value;

/// Calls an operation with a JSON object.
pub fn call(engine: &Engine, op: &str, input: Value) -> Result<Value, Error> {
    let Value::Object(input) = input else { panic!("the input of {op} is not an object") };
    engine.call(&Caller::local(), op, input).map(|answer| answer.output)
}

/// Calls an operation that must succeed.
pub fn ok(engine: &Engine, op: &str, input: Value) -> Value {
    call(engine, op, input).unwrap_or_else(|error| panic!("{op}: {} {}", error.code, error.message))
}

/// Stores a text under an address and nothing else.
pub fn add(engine: &Engine, source_uri: &str, content: &str) -> Value {
    ok(engine, "knowledge.add", serde_json::json!({ "source_uri": source_uri, "content": content }))
}

/// The error of a call that must be refused.
pub fn refused(engine: &Engine, op: &str, input: Value) -> Error {
    match call(engine, op, input) {
        Ok(answer) => panic!("{op} was not refused: {answer}"),
        Err(error) => error,
    }
}

/// The hits of a search in the default namespace alone.
pub fn search(engine: &Engine, mode: &str, query: &str, top_k: u32) -> Vec<Value> {
    let input = serde_json::json!({
        "query": query, "search_mode": mode, "top_k": top_k, "namespace_scope": "this", "collapse_sections": false,
    });
    hits(&ok(engine, "knowledge.search", input))
}

/// The results of a search's answer.
pub fn hits(answer: &Value) -> Vec<Value> {
    answer["results"].as_array().expect("results").clone()
}

/// The source addresses of hits, in order.
pub fn uris(hits: &[Value]) -> Vec<&str> {
    hits.iter().map(|hit| hit["source_uri"].as_str().expect("an address")).collect()
}
