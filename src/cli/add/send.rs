//! Stores documents in batches.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::read::{Document, Left, Outcome};
use super::stored::Stored;
use super::tally::Tally;
use crate::cli::client::Client;
use crate::cli::failure::{Failure, Refusal};
use crate::limits::BULK_MAX;

/// The bytes of text at which a batch is sent. One document alone may be larger. While a batch enters the indexes,
/// searches of its namespace wait, so it is kept well below what one commit could take.
const BATCH_BYTES: usize = 1 << 20;
/// How often a batch is sent again that the engine was too busy for, or that raced another writer.
const RETRIES: u32 = 5;
const RETRY_WAIT: Duration = Duration::from_millis(200);
/// The longest wait that a server may ask for.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(10);

/// Collects documents and stores them.
pub struct Sender<'a> {
    client: &'a Client,
    known: &'a Stored,
    batch: Vec<Pending>,
    bytes: usize,
    tally: Tally,
}

struct Pending {
    shown: String,
    document: Document,
}

impl<'a> Sender<'a> {
    /// A sender that has seen nothing.
    pub fn new(client: &'a Client, known: &'a Stored) -> Self {
        Self { client, known, batch: Vec::new(), bytes: 0, tally: Tally::default() }
    }

    /// Takes what became of a file, and sends a batch when it is full.
    pub fn take(&mut self, outcome: Outcome) -> Result<(), Failure> {
        let Outcome { shown, named, result } = outcome;
        match result {
            Ok(document) => {
                self.bytes += document.bytes;
                self.batch.push(Pending { shown, document });
                if self.batch.len() == BULK_MAX || self.bytes >= BATCH_BYTES {
                    self.send()?;
                }
            }
            Err(Left::Unchanged) => self.tally.unchanged += 1,
            Err(left @ Left::Unreadable(_)) => self.tally.failed(left.to_string(), shown),
            Err(left) => self.tally.skipped(left.to_string(), shown, named),
        }
        Ok(())
    }

    /// What became of the files so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Sends the rest.
    pub fn finish(mut self) -> Result<Tally, Failure> {
        self.send()?;
        Ok(self.tally)
    }

    /// Sends the batch. A document that is refused by name is left out of it; what is refused otherwise fails whole.
    fn send(&mut self) -> Result<(), Failure> {
        self.bytes = 0;
        let mut batch = std::mem::take(&mut self.batch);
        let mut retries = 0;
        while !batch.is_empty() {
            let entries: Vec<&Value> = batch.iter().map(|pending| &pending.document.entry).collect();
            let refusal = match self.client.call("knowledge.bulk_add", json!({ "entries": entries })) {
                Ok(answer) => {
                    self.count(batch, &answer);
                    return Ok(());
                }
                Err(Failure::Refused(refusal)) => refusal,
                Err(other) => return Err(other),
            };
            if let Some(index) = entry_at_fault(&refusal).filter(|index| *index < batch.len()) {
                let pending = batch.remove(index);
                self.tally.failed(refusal.message().to_owned(), pending.shown);
            } else if (refusal.is_retryable() || refusal.code() == "PRECONDITION_FAILED") && retries < RETRIES {
                retries += 1;
                let asked = refusal.retry_after_s().map(Duration::from_secs);
                thread::sleep(asked.unwrap_or(RETRY_WAIT * retries).min(RETRY_WAIT_MAX));
            } else {
                for pending in batch {
                    self.tally.failed(refusal.message().to_owned(), pending.shown);
                }
                return Ok(());
            }
        }
        Ok(())
    }

    fn count(&mut self, batch: Vec<Pending>, answer: &Value) {
        for pending in batch {
            if self.known.has(&pending.document.source_uri) {
                self.tally.replaced += 1;
            } else {
                self.tally.added += 1;
            }
        }
        let written = answer["written"].as_array().into_iter().flatten();
        self.tally.chunks += written.filter_map(|entry| entry["chunks_created"].as_u64()).sum::<u64>();
    }
}

/// The position of the entry that a refusal names: 3 of `entries[3].content`.
fn entry_at_fault(refusal: &Refusal) -> Option<usize> {
    let rest = refusal.field()?.strip_prefix("entries[")?;
    rest.split(']').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_entry() {
        let refusal = |field: &str| {
            let body = json!({"error": {"code": "VALIDATION_FAILED", "message": "no", "field": field}});
            Refusal::of_answer(body).expect("an error of the API")
        };
        assert_eq!(entry_at_fault(&refusal("entries[3].source_uri")), Some(3));
        assert_eq!(entry_at_fault(&refusal("entries")), None);
        assert_eq!(entry_at_fault(&refusal("entries[x]")), None);
    }
}
