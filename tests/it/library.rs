use std::error::Error;
use std::path::Path;

use loom::{Caller, Config, Engine};
use serde_json::{Value, json};

/// Stores a document in `folder` and returns the best passage for `question`.
pub fn remember_and_ask(folder: &Path, question: &str) -> Result<String, Box<dyn Error>> {
    let engine = Engine::open(folder, Config::default())?;
    let call = |op: &str, input: Value| -> Result<Value, Box<dyn Error>> {
        Ok(engine.call(&Caller::local(), op, serde_json::from_value(input)?)?.output)
    };
    call(
        "knowledge.upsert",
        json!({ "source_uri": "note://deploy", "title": "Deploying", "content": "# Rollback\n\nRun `make undo`." }),
    )?;
    let found = call("knowledge.search", json!({ "query": question, "top_k": 1 }))?;
    Ok(found["results"][0]["content"].as_str().unwrap_or_default().to_owned())
}
