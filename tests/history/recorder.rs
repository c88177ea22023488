//! Calls of the engine with their start, their answer, and what the answer says of each document.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::{Code, Engine, Error};
use serde_json::{Value, json};

use crate::calls::{call, ok, search};
use crate::random::Random;

/// How many documents there are: few, so that every call races.
pub const DOCS: usize = 8;
const SECTIONS: usize = 3;
const MODES: [&str; 3] = ["lexical", "semantic", "hybrid"];

pub fn uri(doc: usize) -> String {
    format!("doc/{doc}")
}

/// One call.
pub struct Entry {
    pub started: u64,
    pub answered: u64,
    pub answer: Answer,
}

/// What a call was answered: documents by their number, versions by their id.
pub enum Answer {
    Wrote(usize, String),
    Deleted(usize),
    Restored(usize, String),
    /// Another write came first.
    Lost(usize),
    /// The latest version and whether it is live.
    Saw(usize, Option<(String, bool)>),
    /// The live version.
    SawLive(usize, Option<String>),
    /// The live version of every document.
    SawAll(Vec<Option<String>>),
}

/// The clock of the calls.
#[derive(Default)]
pub struct Recorder(AtomicU64);

impl Recorder {
    fn record(&self, run: impl FnOnce() -> Answer) -> Entry {
        let started = self.0.fetch_add(1, Ordering::SeqCst);
        let answer = run();
        Entry { started, answered: self.0.fetch_add(1, Ordering::SeqCst), answer }
    }

    /// A write of a random kind to a random document; `writer` and `nth` make its text unlike any other.
    pub fn write(&self, engine: &Engine, random: &mut Random, writer: u64, nth: u64) -> Entry {
        let doc = usize::try_from(random.below(DOCS as u64)).unwrap();
        let mark = format!("mark{writer}x{nth}");
        match random.below(10) {
            0..=3 => self.record(|| wrote(engine, "knowledge.upsert", doc, &mark)),
            4 => self.record(|| wrote(engine, "knowledge.add", doc, &mark)),
            5 | 6 => self.record(|| {
                answered(call(engine, "knowledge.delete", json!({ "source_uri": uri(doc) })), doc, |answer| {
                    if answer["deleted"] == true { Answer::Deleted(doc) } else { Answer::SawLive(doc, None) }
                })
            }),
            choice => {
                // A third of them names a revision, which may be another one by then.
                let latest = json!({ "source_uri": uri(doc), "include_superseded": true });
                let if_revision =
                    if choice == 9 { ok(engine, "knowledge.get", latest)["revision"].clone() } else { Value::Null };
                let input = json!({ "source_uri": uri(doc), "if_revision": if_revision });
                self.record(|| answered(call(engine, "knowledge.restore", input), doc, |answer| restored(doc, answer)))
            }
        }
    }

    /// A read of a random kind.
    pub fn read(&self, engine: &Engine, random: &mut Random) -> Entry {
        let doc = usize::try_from(random.below(DOCS as u64)).unwrap();
        match random.below(7) {
            0 => self.record(|| saw(engine, doc)),
            1 | 2 => self.record(|| saw_live(engine, doc)),
            3 => self.record(|| listed(engine)),
            choice => self.record(|| found(engine, MODES[usize::try_from(choice - 4).unwrap()])),
        }
    }

    /// A read of every kind, of every document.
    pub fn read_all(&self, engine: &Engine) -> Vec<Entry> {
        let mut entries = vec![self.record(|| listed(engine))];
        entries.extend(MODES.map(|mode| self.record(|| found(engine, mode))));
        entries.extend((0..DOCS).map(|doc| self.record(|| saw(engine, doc))));
        entries
    }
}

/// What a write was answered; one that lost the race was told 409 and nothing else.
fn answered(outcome: Result<Value, Error>, doc: usize, read: impl FnOnce(&Value) -> Answer) -> Answer {
    match outcome {
        Ok(answer) => read(&answer),
        Err(error) => {
            assert_eq!((error.code, error.code.status()), (Code::PreconditionFailed, 409), "{error}");
            Answer::Lost(doc)
        }
    }
}

fn wrote(engine: &Engine, op: &str, doc: usize, mark: &str) -> Answer {
    let section = |name| format!("# {name}\n\nThe shared lighthouse {mark} of {}.", uri(doc));
    let content = ["One", "Two", "Three"].map(section).join("\n\n");
    // The mark is the title too: what reads it can tell whether text and version belong together.
    let input = json!({ "source_uri": uri(doc), "content": content, "title": mark });
    answered(call(engine, op, input), doc, |answer| Answer::Wrote(doc, id(answer)))
}

fn restored(doc: usize, answer: &Value) -> Answer {
    match answer["reason"].as_str().unwrap() {
        "" => Answer::Restored(doc, id(answer)),
        "not_found" => Answer::Saw(doc, None),
        "live" => Answer::Saw(doc, Some((id(answer), true))),
        "revision_mismatch" => Answer::Saw(doc, Some((id(answer), false))),
        other => panic!("{other}: {answer}"),
    }
}

fn id(answer: &Value) -> String {
    answer["doc_id"].as_str().unwrap().to_owned()
}

fn saw(engine: &Engine, doc: usize) -> Answer {
    let got = ok(engine, "knowledge.get", json!({ "source_uri": uri(doc), "include_superseded": true }));
    Answer::Saw(doc, whole(&got).then(|| (id(&got), got["superseded"] == false)))
}

fn saw_live(engine: &Engine, doc: usize) -> Answer {
    let got = ok(engine, "knowledge.get", json!({ "source_uri": uri(doc) }));
    Answer::SawLive(doc, whole(&got).then(|| id(&got)))
}

/// Whether there is a document; its title and its text are then of one write.
fn whole(got: &Value) -> bool {
    if got["found"] == false {
        return false;
    }
    let (title, content) = (got["title"].as_str().unwrap(), got["content"].as_str().unwrap());
    assert_eq!(content.matches(&format!("lighthouse {title} of")).count(), SECTIONS, "{got}");
    true
}

fn listed(engine: &Engine) -> Answer {
    let page = ok(engine, "knowledge.list", json!({ "limit": 500 }));
    let mut live = vec![None; DOCS];
    for row in page["rows"].as_array().unwrap() {
        assert_eq!(row["superseded"], false);
        let place = &mut live[number(row)];
        assert_eq!(*place, None, "two versions of a document in one list: {page}");
        *place = Some(id(row));
    }
    Answer::SawAll(live)
}

/// A search that every section of every document matches: what it lacks is not live.
fn found(engine: &Engine, mode: &str) -> Answer {
    let mut sections: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for hit in search(engine, mode, "shared lighthouse", 100) {
        sections.entry(number(&hit)).or_default().push(hit);
    }
    let mut live = vec![None; DOCS];
    for (doc, hits) in sections {
        let version = id(&hits[0]);
        assert_eq!(hits.len(), SECTIONS, "{mode}: a version whole: {hits:#?}");
        assert!(hits.iter().all(|hit| id(hit) == version), "{mode}: two versions in one answer: {hits:#?}");
        let title = hits[0]["title"].as_str().unwrap();
        let of_title = |hit: &Value| hit["content"].as_str().unwrap().contains(&format!("lighthouse {title} of"));
        assert!(hits.iter().all(of_title), "{mode}: passages of another write: {hits:#?}");
        live[doc] = Some(version);
    }
    Answer::SawAll(live)
}

fn number(row: &Value) -> usize {
    row["source_uri"].as_str().unwrap().strip_prefix("doc/").unwrap().parse().unwrap()
}
