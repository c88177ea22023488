//! `knowledge.bulk_delete`: stop serving many documents in one commit.

use std::collections::HashMap;

use loom_storage::{Batch, Cause, Committed, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Planning;
use crate::error::Error;
use crate::ingest;
use crate::limits::{self, BULK_MAX};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct BulkDelete;

/// The input of `knowledge.bulk_delete`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The documents to delete, 1 to 500.
    source_uris: Vec<String>,
}

/// The output of `knowledge.bulk_delete`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// What became of each address, in the order given.
    deleted: Vec<Outcome>,
    /// How many live chunks were retired; an address named twice counts once.
    total_chunks_tombstoned: u64,
}

/// What became of one address.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "_KnowledgeBulkDeleteResult")]
struct Outcome {
    /// The document's identifier.
    source_uri: String,
    /// Whether a live document was deleted.
    deleted: bool,
    /// How many live chunks it had.
    chunks_tombstoned: u32,
}

impl Command for BulkDelete {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.bulk_delete",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Delete up to 500 documents in one commit.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        limits::list_len("source_uris", input.source_uris.len(), 1, BULK_MAX)?;
        let mut batch = Batch::default();
        let mut results: HashMap<&str, Outcome> = HashMap::new();
        for (at, source_uri) in input.source_uris.iter().enumerate() {
            limits::source_uri(&format!("source_uris[{at}]"), source_uri)?;
            if results.contains_key(source_uri.as_str()) {
                continue;
            }
            let (head, live) = ingest::current(planning, &scope, source_uri)?;
            if live.is_some() {
                batch.preconditions.push(ingest::head_unchanged(&scope, source_uri, head.as_ref()));
                batch.writes.push(Write::Retire {
                    scope: scope.clone(),
                    source_uri: source_uri.clone(),
                    cause: Cause::Delete,
                    at: planning.now(),
                });
            }
            let result = Outcome {
                source_uri: source_uri.clone(),
                deleted: live.is_some(),
                chunks_tombstoned: live.map_or(0, |live| live.chunk_count),
            };
            results.insert(source_uri, result);
        }
        let total_chunks_tombstoned = results.values().map(|result| u64::from(result.chunks_tombstoned)).sum();
        let deleted = input.source_uris.iter().map(|source_uri| results[source_uri.as_str()].clone()).collect();
        let output = Output { deleted, total_chunks_tombstoned };
        let audit = json!({ "scope": scope.to_string(), "source_uris": input.source_uris });
        Ok(Plan { batch, answer: Box::new(move |_: &Committed| output), audit })
    }
}
