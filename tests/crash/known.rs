//! What a writer knows of its documents: the state after every answered write, and the one write that may be open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// A document as its last write left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    pub revision: u64,
    /// The number that its text is made from.
    pub body: u64,
    /// The number in its title.
    pub title: u64,
    pub live: bool,
}

/// Documents by source address; one that was never written is not in it.
pub type Docs = BTreeMap<String, Doc>;

/// Counts what writers and backups do, so that "before" and "after" can be told across threads.
#[derive(Default)]
pub struct Ticks(AtomicU64);

impl Ticks {
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// A write: the documents that it changes, as they are after it.
#[derive(Clone, Debug)]
pub struct Step {
    pub issued: u64,
    pub answered: Option<u64>,
    pub changes: Docs,
}

/// One writer's documents, which nobody else writes, and what it did to them since its server started.
#[derive(Clone, Default)]
pub struct Journal {
    start: Docs,
    steps: Vec<Step>,
}

impl Journal {
    /// The documents after every write that was answered.
    pub fn answered(&self) -> Docs {
        self.after(self.steps.iter().filter(|step| step.answered.is_some()).count())
    }

    fn after(&self, steps: usize) -> Docs {
        let mut docs = self.start.clone();
        for step in &self.steps[..steps] {
            docs.extend(step.changes.clone());
        }
        docs
    }

    pub fn issue(&mut self, issued: u64, changes: Docs) {
        self.steps.push(Step { issued, answered: None, changes });
    }

    pub fn answer(&mut self, answered: u64) {
        self.steps.last_mut().expect("a write was issued").answered = Some(answered);
    }

    /// Forgets the last write: the server refused it.
    pub fn take_back(&mut self) {
        self.steps.pop();
    }

    /// The write whose answer never came.
    pub fn open_step(&self) -> Option<&Step> {
        self.steps.last().filter(|step| step.answered.is_none())
    }

    /// Every address that it ever wrote to or tried to.
    pub fn addresses(&self) -> impl Iterator<Item = &String> {
        self.start.keys().chain(self.steps.iter().flat_map(|step| step.changes.keys()))
    }

    /// Whether `docs` are this writer's at some moment that may lie between two ticks: after everything that was
    /// answered before `from`, before everything that was issued after `to`, and never with a write half done.
    pub fn explains(&self, docs: &Docs, from: u64, to: u64) -> bool {
        let least = self.steps.iter().filter(|step| step.answered.is_some_and(|answered| answered < from)).count();
        let most = self.steps.iter().filter(|step| step.issued < to).count();
        (least..=most).any(|steps| self.after(steps) == *docs)
    }

    /// Starts anew from what was found after the server's end, which must be all that was answered, with the open
    /// write whole or absent.
    pub fn settle(&mut self, found: Docs) {
        assert!(
            self.explains(&found, u64::MAX, u64::MAX),
            "found {found:#?}\nanswered {:#?}\nopen {:#?}",
            self.answered(),
            self.open_step()
        );
        *self = Self { start: found, steps: Vec::new() };
    }
}

/// A word that stands in the text of this body alone.
pub fn marker(body: u64) -> String {
    format!("marker{body}z")
}

pub fn title(title: u64) -> String {
    format!("Title {title}")
}

pub fn text(body: u64) -> String {
    let filler = "Words of filler that stand in every text. ".repeat(usize::try_from(body % 4).expect("below 4") * 30);
    format!("# One\n\n{filler}\n\n# Two\n\nThe section two body says {}.\n", marker(body))
}

/// The document that an answer of `knowledge.get` shows; `None` when it shows none. Panics when its text is not, to
/// the letter, one that was written.
pub fn shown(answer: &Value) -> Option<Doc> {
    if answer["found"] == false {
        return None;
    }
    let content = answer["content"].as_str().expect("a text");
    let number = |text: &str, before: &str, after: &str| -> u64 {
        let (_, rest) = text.rsplit_once(before).unwrap_or_else(|| panic!("{before:?} is not in {text:?}"));
        let (number, _) = rest.split_once(after).unwrap_or((rest, ""));
        number.parse().unwrap_or_else(|_| panic!("{number:?} in {text:?}"))
    };
    let body = number(content, "marker", "z");
    assert_eq!(content, text(body));
    Some(Doc {
        revision: answer["revision"].as_u64().expect("a number"),
        body,
        title: number(answer["title"].as_str().expect("a title"), "Title ", " "),
        live: answer["superseded"] == false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(revision: u64) -> Doc {
        Doc { revision, body: revision, title: 0, live: true }
    }

    fn docs(pairs: &[(&str, u64)]) -> Docs {
        pairs.iter().map(|(uri, revision)| ((*uri).to_owned(), doc(*revision))).collect()
    }

    /// Written at 0..1 and 2..3, and one at 4 that was never answered and changes two documents.
    fn journal() -> Journal {
        let mut journal = Journal::default();
        journal.issue(0, docs(&[("a", 1)]));
        journal.answer(1);
        journal.issue(2, docs(&[("a", 2)]));
        journal.answer(3);
        journal.issue(4, docs(&[("a", 3), ("b", 1)]));
        journal
    }

    #[test]
    fn what_was_answered_is_there_and_an_open_write_is_whole_or_absent() {
        let journal = journal();
        let explained = |found: &[(&str, u64)]| journal.explains(&docs(found), u64::MAX, u64::MAX);
        assert!(explained(&[("a", 2)]));
        assert!(explained(&[("a", 3), ("b", 1)]));
        for wrong in [&[][..], &[("a", 1)], &[("a", 3)], &[("a", 2), ("b", 1)], &[("a", 4), ("b", 1)]] {
            assert!(!explained(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn a_backup_shows_a_moment_between_its_start_and_its_end() {
        let journal = journal();
        assert!(journal.explains(&docs(&[]), 0, 0));
        assert!(journal.explains(&docs(&[("a", 1)]), 1, 2) && journal.explains(&docs(&[("a", 1)]), 2, 9));
        assert!(!journal.explains(&docs(&[]), 2, 9), "it lacks what was answered before");
        assert!(!journal.explains(&docs(&[("a", 2)]), 1, 2), "it has what was issued after");
        assert!(!journal.explains(&docs(&[("a", 3)]), 1, 9), "it has half of a write");
    }
}
