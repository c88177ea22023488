//! A writer: random writes of every kind to its own documents, noted in its journal.

use std::sync::mpsc::Sender;

use serde_json::{Value, json};

use crate::known::{Doc, Docs, Journal, Ticks, text, title};
use crate::random::Random;
use crate::server::Client;

pub const DOCS_PER_WRITER: u64 = 5;

/// The address of a writer's document.
fn uri(writer: u32, doc: u64) -> String {
    format!("w{writer}/{doc}")
}

pub struct Writer<'a> {
    pub number: u32,
    pub client: Client,
    pub random: Random,
    pub journal: Journal,
    /// Makes its bodies different from those of every other round.
    pub round: u64,
    pub ticks: &'a Ticks,
    /// Hears of every answer.
    pub answers: Sender<()>,
}

impl Writer<'_> {
    /// Writes until the server is gone or says that it ends; what it then knows.
    pub fn run(mut self) -> Journal {
        for step in 0.. {
            let body = (self.round << 32) | (u64::from(self.number) << 24) | step;
            let (op, input, changes) = self.choose(body);
            self.journal.issue(self.ticks.next(), changes);
            let Some(answer) = self.client.post(op, &input) else { break };
            if answer["error"]["code"] == "OVERLOADED" {
                // It ends, or a move to another model came between: nothing was written.
                self.journal.take_back();
                continue;
            }
            assert!(answer.get("error").is_none(), "{op} {input}: {answer}");
            self.journal.answer(self.ticks.next());
            if self.answers.send(()).is_err() {
                break;
            }
        }
        self.journal
    }

    /// A write that changes something, and the documents after it.
    fn choose(&mut self, body: u64) -> (&'static str, Value, Docs) {
        let docs = self.journal.answered();
        let uri = uri(self.number, self.random.below(DOCS_PER_WRITER));
        let named = self.random.below(3);
        let of = |uri: &String, doc: Doc| Docs::from([(uri.clone(), doc)]);
        match (docs.get(&uri).filter(|doc| doc.live), docs.get(&uri), self.random.below(10)) {
            (Some(live), _, 0 | 1) => {
                ("knowledge.delete", json!({ "source_uri": uri }), of(&uri, Doc { live: false, ..live.clone() }))
            }
            (Some(live), _, 2) => (
                "knowledge.update_metadata",
                json!({ "source_uri": uri, "title": title(named) }),
                of(&uri, Doc { title: named, ..live.clone() }),
            ),
            (Some(live), _, 3) => (
                "knowledge.update_metadata",
                json!({ "source_uri": uri, "title": title(named), "reindex": true }),
                of(&uri, Doc { title: named, revision: live.revision + 1, ..live.clone() }),
            ),
            (None, Some(deleted), 0..=4) => {
                ("knowledge.restore", json!({ "source_uri": uri }), of(&uri, Doc { live: true, ..deleted.clone() }))
            }
            (_, _, 4) => self.bulk_add(&docs, body),
            (_, _, 5) => self.bulk_delete(&docs),
            (_, before, choice) => {
                let after = written(before, body, named);
                let input = json!({ "source_uri": uri, "content": text(body), "title": title(named) });
                (["knowledge.add", "knowledge.upsert"][usize::from(choice > 7)], input, of(&uri, after))
            }
        }
    }

    /// Several of its documents at once.
    fn some(&mut self) -> impl Iterator<Item = String> + use<> {
        let (number, picked) = (self.number, 1 + self.random.below((1 << DOCS_PER_WRITER) - 1));
        (0..DOCS_PER_WRITER).filter(move |doc| picked >> doc & 1 == 1).map(move |doc| uri(number, doc))
    }

    fn bulk_add(&mut self, docs: &Docs, body: u64) -> (&'static str, Value, Docs) {
        let (mut entries, mut changes) = (Vec::new(), Docs::new());
        for (at, uri) in (0..).zip(self.some()) {
            let body = body | at << 20;
            entries.push(json!({ "source_uri": uri, "content": text(body), "title": title(0) }));
            changes.insert(uri.clone(), written(docs.get(&uri), body, 0));
        }
        ("knowledge.bulk_add", json!({ "entries": entries }), changes)
    }

    fn bulk_delete(&mut self, docs: &Docs) -> (&'static str, Value, Docs) {
        let uris: Vec<String> = self.some().collect();
        let deleted = uris.iter().filter_map(|uri| Some((uri.clone(), Doc { live: false, ..docs.get(uri)?.clone() })));
        let changes = deleted.collect();
        ("knowledge.bulk_delete", json!({ "source_uris": uris }), changes)
    }
}

fn written(before: Option<&Doc>, body: u64, title: u64) -> Doc {
    Doc { revision: before.map_or(0, |doc| doc.revision) + 1, body, title, live: true }
}
