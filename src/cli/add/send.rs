//! Stores documents in batches.

use std::fs::File;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Label;
use super::read::{Document, FILE_HASH, Left, Outcome, Ready, ToExtract};
use super::stored::Stored;
use super::tally::Tally;
use crate::cli::client::Client;
use crate::cli::failure::{Failure, Refusal};
use crate::cli::ingest::follow::{self, Asked, Fate};
use crate::cli::ingest::request::{self, Request};
use crate::limits::BULK_MAX;

/// The bytes of text at which a batch is sent. One document alone may be larger. While a batch enters the indexes,
/// searches of its namespace wait, so it is kept well below what one commit could take.
const BATCH_BYTES: usize = 1 << 20;
/// How often a batch is sent again that the engine was too busy for, or that raced another writer.
const RETRIES: u32 = 5;
const RETRY_WAIT: Duration = Duration::from_millis(200);
/// The longest wait that a server may ask for.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long the extraction of all files may take.
const EXTRACTION_WAIT: Duration = Duration::from_hours(24);

/// Collects documents and stores them, and has files extracted.
pub struct Sender<'a> {
    client: &'a Client,
    known: &'a Stored,
    label: &'a Label,
    asked: Vec<Asked>,
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
    pub fn new(client: &'a Client, known: &'a Stored, label: &'a Label) -> Self {
        Self { client, known, label, asked: Vec::new(), batch: Vec::new(), bytes: 0, tally: Tally::default() }
    }

    /// Takes what became of a file, and sends a batch when it is full.
    pub fn take(&mut self, outcome: Outcome) -> Result<(), Failure> {
        let Outcome { shown, named, result } = outcome;
        match result {
            Ok(Ready::File(file)) => return self.extract(shown, &file),
            Ok(Ready::Document(document)) => {
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

    /// Sends the rest, and waits until what is extracted is stored.
    pub fn finish(mut self) -> Result<Tally, Failure> {
        self.send()?;
        let asked = std::mem::take(&mut self.asked);
        if !asked.is_empty() {
            for asked in follow::to_the_end(self.client, asked, EXTRACTION_WAIT)? {
                self.count_extracted(asked);
            }
        }
        Ok(self.tally)
    }

    /// Asks for a file to be extracted and stored, which happens behind what comes next.
    fn extract(&mut self, shown: String, file: &ToExtract) -> Result<(), Failure> {
        let filename = file.path.file_name().unwrap_or_default().to_string_lossy();
        let mut body = match File::open(&file.path) {
            Ok(body) => body,
            Err(error) => {
                self.tally.failed(Left::Unreadable(error.to_string()).to_string(), shown);
                return Ok(());
            }
        };
        let mut input = request::labelled(&file.source_uri, &filename, self.label);
        input["metadata"] = json!({ FILE_HASH: file.hash });
        let request = Request { filename: &filename, content_type: "", input };
        match request.send(self.client, &mut body)? {
            Ok(id) => self.asked.push(Asked { shown, source_uri: file.source_uri.clone(), fate: Fate::Open(id) }),
            Err(refusal) => self.tally.failed(refusal.message().to_owned(), shown),
        }
        Ok(())
    }

    fn count_extracted(&mut self, asked: Asked) {
        match asked.fate {
            Fate::Over(status) if matches!(status["state"].as_str(), Some("ready" | "partial")) => {
                self.count_one(&asked.source_uri);
                self.tally.chunks += status["chunks"].as_u64().unwrap_or(0);
            }
            Fate::Over(status) => {
                let of = |field: &str| status[field].as_str().unwrap_or_default();
                self.tally.failed(format!("{}: {}", of("error_code"), of("error_message")), asked.shown);
            }
            Fate::Refused(reason) => self.tally.failed(reason, asked.shown),
            Fate::Open(_) | Fate::Late(_) => self.tally.failed("its extraction takes too long".into(), asked.shown),
        }
    }

    fn count_one(&mut self, source_uri: &str) {
        if self.known.has(source_uri) {
            self.tally.replaced += 1;
        } else {
            self.tally.added += 1;
        }
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
            self.count_one(&pending.document.source_uri);
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
