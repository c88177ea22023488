//! How well searches find what was judged relevant, on collections of documents, queries and judgements; and names, on a
//! folder of documents.
//!
//! ```sh
//! cargo bench --bench retrieval -- path/to/collections [NAME ...] [--share 0.2,0.4] [--odd | --all] [--words] [--queries N]
//!     [--model local:FOLDER] [--rerank FOLDER]
//! cargo bench --bench retrieval -- names path/to/folder [--most N] [--show]
//! ```
//!
//! Each collection is a folder with `docs.jsonl` (`id`, `title`, `text`), `queries.jsonl` (`id`, `text`) and `qrels.tsv`.
//! Queries with an even id are measured; `--odd` measures the others, on which settings are chosen, and `--all` both. With
//! `--share` the hybrid mode is measured with each of these shares of the vector leg, with `--rerank` also reranked by the
//! cross-encoder in that folder; `--words` measures words alone.
//!
//! Names are those of the SQL, TOML and Markdown in the folder's `files/` and `md/`; `--show` prints the queries whose first
//! hit is not right.

mod collections;
mod lookup;
mod names;

use std::error::Error;

use loom::{Caller, Engine};
use serde_json::Value;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench").peekable();
    if arguments.next_if_eq("names").is_some() {
        return lookup::run(arguments);
    }
    collections::run(arguments)
}

fn call(engine: &Engine, op: &str, input: Value) -> Outcome<Value> {
    let Value::Object(input) = input else { return Err("an input is an object".into()) };
    engine.call(&Caller::local(), op, input).map(|answer| answer.output).map_err(|error| error.message.into())
}
