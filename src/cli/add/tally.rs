//! Counts what became of the files, and says it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::screen::{Screen, counted, grouped, harmless};

/// How many files a reason names.
const EXAMPLES: usize = 3;
/// How many reasons are told apart.
const REASONS: usize = 40;

/// What became of the files.
#[derive(Default)]
pub struct Tally {
    /// Documents that were not there.
    pub added: u64,
    /// Documents that have a new version.
    pub replaced: u64,
    /// Files that are stored already.
    pub unchanged: u64,
    /// Chunks made.
    pub chunks: u64,
    skipped: BTreeMap<String, Group>,
    failed: BTreeMap<String, Group>,
    /// Files that the command line names itself, or that should have been stored, and are not.
    lost: u64,
    /// The first of them by name, and why.
    first_lost: Option<(String, String)>,
}

/// The files of one reason.
#[derive(Default)]
struct Group {
    count: u64,
    examples: BTreeSet<String>,
}

impl Tally {
    /// Counts a file that is not for storing.
    pub fn skipped(&mut self, reason: String, shown: String, named: bool) {
        if named {
            self.lose(&reason, &shown);
        }
        note(&mut self.skipped, reason, shown);
    }

    /// Counts a file that should have been stored.
    pub fn failed(&mut self, reason: String, shown: String) {
        self.lose(&reason, &shown);
        note(&mut self.failed, reason, shown);
    }

    fn lose(&mut self, reason: &str, shown: &str) {
        self.lost += 1;
        if self.first_lost.as_ref().is_none_or(|(first, _)| shown < first.as_str()) {
            self.first_lost = Some((shown.to_owned(), reason.to_owned()));
        }
    }

    /// The counts in a few words, for the progress line.
    pub fn brief(&self) -> String {
        format!("{} stored, {} unchanged", grouped(self.added + self.replaced), grouped(self.unchanged))
    }

    /// Prints the counts and the reasons.
    pub fn print(&self, elapsed: Duration, screen: &mut Screen) -> Result<(), Failure> {
        if screen.is_json() {
            return screen.json(&json!({
                "added": self.added, "replaced": self.replaced, "unchanged": self.unchanged, "chunks": self.chunks,
                "skipped": groups_json(&self.skipped), "failed": groups_json(&self.failed),
                "seconds": (elapsed.as_secs_f64() * 1e3).round() / 1e3,
            }));
        }
        let mut counts = vec![format!("added {}", grouped(self.added))];
        for (what, count) in [
            ("replaced", self.replaced),
            ("unchanged", self.unchanged),
            ("skipped", total(&self.skipped)),
            ("failed", total(&self.failed)),
        ] {
            if count > 0 {
                counts.push(format!("{what} {}", grouped(count)));
            }
        }
        let effort = format!("({} in {:.1} s)", counted(self.chunks, "chunk"), elapsed.as_secs_f64());
        screen.line(format!("{}  {}", counts.join(", "), screen.faint(&effort)))?;
        for (what, groups) in [("skipped", &self.skipped), ("failed", &self.failed)] {
            for (reason, group) in groups {
                let examples: Vec<&str> = group.examples.iter().map(String::as_str).collect();
                let more = group.count - examples.len() as u64;
                let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
                screen.line(format!("  {what}: {}{more}: {}", harmless(&examples.join(", ")), harmless(reason)))?;
            }
        }
        Ok(())
    }

    /// A failure when a file that the command line names, or one that should have been stored, is not stored.
    pub fn verdict(&self) -> Result<(), Failure> {
        let Some((shown, reason)) = &self.first_lost else { return Ok(()) };
        let first = format!("{}: {}", harmless(shown), harmless(reason));
        Err(Failure::Unmet(match self.lost {
            1 => first,
            lost => format!("{} are not stored; {first}", counted(lost, "file")),
        }))
    }
}

fn note(groups: &mut BTreeMap<String, Group>, reason: String, shown: String) {
    let full = groups.len() >= REASONS && !groups.contains_key(&reason);
    let group = groups.entry(if full { "other reasons".to_owned() } else { reason }).or_default();
    group.count += 1;
    group.examples.insert(shown);
    if group.examples.len() > EXAMPLES {
        group.examples.pop_last();
    }
}

fn total(groups: &BTreeMap<String, Group>) -> u64 {
    groups.values().map(|group| group.count).sum()
}

fn groups_json(groups: &BTreeMap<String, Group>) -> Vec<Value> {
    let group = |(reason, group): (&String, &Group)| json!({ "reason": reason, "count": group.count, "examples": group.examples });
    groups.iter().map(group).collect()
}
