//! Whether a recorded history of one document could have come from one copy of it, used by one caller at a time.
//!
//! A history is linearisable when each call can be given a moment between its start and its answer so that the calls,
//! in the order of these moments, do what a plain register does. The search for such an order is Wing and Gong's, with
//! Lowe's memory of the configurations that were tried: from a configuration (which calls have had their moment, and
//! the state after them) it goes on with any call that started before every other remaining call was answered.
//!
//! Two facts keep it short. A write makes a revision of its own, each one more than the last, so that at most one
//! write can be next. And a read that fits the state can always be next: it changes nothing, so whatever order there
//! is from here, there is one that has this read first. Only deletes and restores of one revision are left to be tried
//! in turn, and of those there are no more at a time than writers.

use std::collections::{BTreeSet, HashSet};

/// What an address holds, by revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Absent,
    Live(u64),
    Deleted(u64),
}

/// What a call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It wrote this revision.
    Wrote(u64),
    /// It deleted the live revision.
    Deleted,
    /// It made this revision live again.
    Restored(u64),
    /// It changed nothing and saw the state.
    Saw(State),
    /// It saw what is live: this revision, or nothing.
    SawLive(Option<u64>),
    /// Another write came first: it changed nothing.
    Lost,
}

/// One call of a history. Starts and answers are numbered by one clock: what is answered before another call starts
/// has the smaller number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub started: u64,
    pub answered: u64,
    pub outcome: Outcome,
}

/// Why there is no such order.
#[derive(Debug, PartialEq, Eq)]
pub enum Violation {
    /// The revisions written are not 1, 2, 3 and so on, each once.
    Revisions(Vec<u64>),
    /// A call lost against nobody: no write that succeeded ran at the same time.
    LostToNobody(Call),
    /// The longest order ends in this state, and none of these calls, one of which must be next, fits it.
    Stuck { state: State, next: Vec<Call> },
}

/// Finds what is wrong with the history of one document, which starts absent.
pub fn check(history: &[Call]) -> Result<(), Violation> {
    let mut calls = history.to_vec();
    calls.sort_by_key(|call| call.started);
    revisions(&calls)?;
    for lost in calls.iter().filter(|call| call.outcome == Outcome::Lost) {
        let changes = |call: &&Call| {
            matches!(call.outcome, Outcome::Wrote(_) | Outcome::Deleted | Outcome::Restored(_))
                && call.started < lost.answered
                && lost.started < call.answered
        };
        if calls.iter().find(changes).is_none() {
            return Err(Violation::LostToNobody(*lost));
        }
    }
    linearise(&calls)
}

fn revisions(calls: &[Call]) -> Result<(), Violation> {
    let written = calls.iter().filter_map(|call| match call.outcome {
        Outcome::Wrote(revision) => Some(revision),
        Outcome::Deleted | Outcome::Restored(_) | Outcome::Saw(_) | Outcome::SawLive(_) | Outcome::Lost => None,
    });
    let mut written: Vec<u64> = written.collect();
    written.sort_unstable();
    if written.iter().copied().eq(1..=written.len() as u64) { Ok(()) } else { Err(Violation::Revisions(written)) }
}

/// A part of an order, and the state after it.
#[derive(Clone)]
struct Configuration {
    /// The calls that remain, as a list: at `0` the first of them, at `call + 1` the one after `call`.
    remaining: Vec<usize>,
    /// All calls before `from` and those in `ahead` have had their moment.
    from: usize,
    ahead: BTreeSet<usize>,
    state: State,
}

impl Configuration {
    fn new(calls: usize) -> Self {
        Self { remaining: (0..=calls).collect(), from: 0, ahead: BTreeSet::new(), state: State::Absent }
    }

    /// The calls that may be next, each behind its place in the list: they started before any call that remains was
    /// answered.
    fn candidates(&self, calls: &[Call]) -> Vec<(usize, usize)> {
        let mut horizon = u64::MAX;
        let mut found = Vec::new();
        let mut place = 0;
        while let Some(call) = calls.get(self.remaining[place]).filter(|call| call.started <= horizon) {
            horizon = horizon.min(call.answered);
            found.push((place, self.remaining[place]));
            place = self.remaining[place] + 1;
        }
        found
    }

    fn take(&mut self, (place, at): (usize, usize), state: State) {
        self.state = state;
        self.remaining[place] = self.remaining[at + 1];
        self.ahead.insert(at);
        while self.ahead.remove(&self.from) {
            self.from += 1;
        }
    }

    /// Takes every read that fits until none is left among those that may be next, which are returned.
    fn read_on(&mut self, calls: &[Call]) -> Vec<(usize, usize)> {
        loop {
            let candidates = self.candidates(calls);
            let fits = |(_, at): &&(usize, usize)| {
                reads(calls[*at].outcome) && after(self.state, calls[*at].outcome).is_some()
            };
            match candidates.iter().find(fits) {
                Some(candidate) => self.take(*candidate, self.state),
                None => return candidates,
            }
        }
    }
}

fn linearise(calls: &[Call]) -> Result<(), Violation> {
    let mut open = vec![Configuration::new(calls.len())];
    let mut tried = HashSet::new();
    let mut longest = (0, Violation::Stuck { state: State::Absent, next: Vec::new() });
    while let Some(mut configuration) = open.pop() {
        let mut candidates = configuration.read_on(calls);
        if candidates.is_empty() {
            return Ok(());
        }
        if !tried.insert((configuration.from, configuration.ahead.clone(), configuration.state)) {
            continue;
        }
        let length = configuration.from + configuration.ahead.len();
        if length >= longest.0 {
            let next = candidates.iter().map(|(_, at)| calls[*at]).collect();
            longest = (length, Violation::Stuck { state: configuration.state, next });
        }
        // What was answered first is most likely to have come first: it is pushed last and tried first.
        candidates.sort_by_key(|(_, at)| std::cmp::Reverse(calls[*at].answered));
        for candidate in candidates.into_iter().filter(|(_, at)| !reads(calls[*at].outcome)) {
            if let Some(state) = after(configuration.state, calls[candidate.1].outcome) {
                let mut next = configuration.clone();
                next.take(candidate, state);
                open.push(next);
            }
        }
    }
    Err(longest.1)
}

fn reads(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Saw(_) | Outcome::SawLive(_) | Outcome::Lost => true,
        Outcome::Wrote(_) | Outcome::Deleted | Outcome::Restored(_) => false,
    }
}

/// The state after a call that was answered so; `None` when a register in this state would have answered otherwise.
fn after(state: State, outcome: Outcome) -> Option<State> {
    match (outcome, state) {
        (Outcome::Wrote(revision), State::Absent) => (revision == 1).then_some(State::Live(1)),
        (Outcome::Wrote(revision), State::Live(earlier) | State::Deleted(earlier)) => {
            (revision == earlier + 1).then_some(State::Live(revision))
        }
        (Outcome::Deleted, State::Live(revision)) => Some(State::Deleted(revision)),
        (Outcome::Restored(revision), State::Deleted(deleted)) => {
            (revision == deleted).then_some(State::Live(revision))
        }
        (Outcome::Saw(seen), state) => (seen == state).then_some(state),
        (Outcome::SawLive(Some(seen)), State::Live(revision)) => (seen == revision).then_some(state),
        (Outcome::SawLive(None), State::Absent | State::Deleted(_)) | (Outcome::Lost, _) => Some(state),
        (Outcome::Deleted | Outcome::SawLive(Some(_)), State::Absent | State::Deleted(_))
        | (Outcome::Restored(_), State::Absent | State::Live(_))
        | (Outcome::SawLive(None), State::Live(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome::{Deleted, Lost, Restored, Saw, SawLive, Wrote};
    use super::*;

    fn history(calls: &[(u64, u64, Outcome)]) -> Vec<Call> {
        calls.iter().map(|&(started, answered, outcome)| Call { started, answered, outcome }).collect()
    }

    fn holds(calls: &[(u64, u64, Outcome)]) {
        assert_eq!(check(&history(calls)), Ok(()), "{calls:?}");
    }

    fn stuck(calls: &[(u64, u64, Outcome)]) {
        assert!(matches!(check(&history(calls)), Err(Violation::Stuck { .. })), "{calls:?}");
    }

    #[test]
    fn one_call_after_the_other_is_read_as_it_was_written() {
        holds(&[]);
        holds(&[(0, 1, SawLive(None)), (2, 3, Wrote(1)), (4, 5, SawLive(Some(1))), (6, 7, Wrote(2))]);
        holds(&[(0, 1, Wrote(1)), (2, 3, Deleted), (4, 5, SawLive(None)), (6, 7, Saw(State::Deleted(1)))]);
        holds(&[(0, 1, Wrote(1)), (2, 3, Deleted), (4, 5, Restored(1)), (6, 7, Deleted), (8, 9, Wrote(2))]);
    }

    #[test]
    fn a_read_during_a_write_sees_either_side_of_it() {
        for seen in [SawLive(None), SawLive(Some(1))] {
            holds(&[(0, 5, Wrote(1)), (1, 2, seen), (6, 7, SawLive(Some(1)))]);
        }
        // Two reads of one write may differ, in the order of its taking effect alone.
        holds(&[(0, 9, Wrote(1)), (1, 2, SawLive(None)), (3, 4, SawLive(Some(1)))]);
        stuck(&[(0, 9, Wrote(1)), (1, 2, SawLive(Some(1))), (3, 4, SawLive(None))]);
        // A write that was answered later may have come first.
        holds(&[(0, 9, Wrote(1)), (1, 2, Wrote(2)), (3, 4, SawLive(Some(2)))]);
    }

    #[test]
    fn a_stale_read_is_found() {
        stuck(&[(0, 1, Wrote(1)), (2, 3, Wrote(2)), (4, 5, SawLive(Some(1)))]);
        stuck(&[(0, 1, Wrote(1)), (2, 3, SawLive(None))]);
        stuck(&[(0, 1, Wrote(1)), (2, 3, Deleted), (4, 9, SawLive(Some(1))), (5, 6, Saw(State::Deleted(1)))]);
    }

    #[test]
    fn a_read_of_what_is_not_yet_written_is_found() {
        stuck(&[(0, 1, SawLive(Some(1))), (2, 3, Wrote(1))]);
        stuck(&[(0, 1, Wrote(1)), (2, 3, SawLive(Some(2)))]);
    }

    #[test]
    fn a_lost_update_is_found() {
        // Both were told that they wrote, and one of them left no revision of its own.
        let twice = history(&[(0, 1, Wrote(1)), (2, 5, Wrote(2)), (3, 4, Wrote(2))]);
        assert_eq!(check(&twice), Err(Violation::Revisions(vec![1, 2, 2])));
        let gap = history(&[(0, 1, Wrote(1)), (2, 3, Wrote(3))]);
        assert_eq!(check(&gap), Err(Violation::Revisions(vec![1, 3])));
        // A write that is undone by nothing.
        stuck(&[(0, 1, Wrote(1)), (2, 3, Wrote(2)), (4, 5, Deleted), (6, 7, Restored(1))]);
        // Revisions against the order of the answers.
        stuck(&[(0, 1, Wrote(2)), (2, 3, Wrote(1))]);
    }

    #[test]
    fn a_resurrection_is_found() {
        stuck(&[(0, 1, Wrote(1)), (2, 3, Deleted), (4, 5, SawLive(Some(1)))]);
        stuck(&[(0, 1, Wrote(1)), (2, 3, Deleted), (4, 5, Deleted)]);
        stuck(&[(0, 1, Wrote(1)), (2, 3, Restored(1))]);
        // One restore does not undo two deletes.
        stuck(&[(0, 1, Wrote(1)), (2, 9, Deleted), (3, 8, Deleted), (4, 7, Restored(1)), (10, 11, SawLive(Some(1)))]);
        holds(&[(0, 1, Wrote(1)), (2, 9, Deleted), (3, 8, Deleted), (4, 7, Restored(1)), (10, 11, SawLive(None))]);
    }

    #[test]
    fn who_loses_must_have_lost_to_somebody() {
        holds(&[(0, 1, Wrote(1)), (2, 5, Wrote(2)), (3, 4, Lost)]);
        let alone = history(&[(0, 1, Wrote(1)), (2, 3, Lost), (4, 5, Wrote(2)), (2, 3, SawLive(Some(1)))]);
        assert!(matches!(check(&alone), Err(Violation::LostToNobody(_))));
    }

    #[test]
    fn the_search_goes_back_on_a_wrong_guess() {
        // The delete was answered first and is tried first: the reads say whether that was right.
        let racing = [(0, 1, Wrote(1)), (2, 6, Deleted), (3, 9, Wrote(2))];
        holds(&[&racing[..], &[(10, 11, SawLive(Some(2)))]].concat());
        holds(&[&racing[..], &[(10, 11, Saw(State::Deleted(2)))]].concat());
        stuck(&[&racing[..], &[(10, 11, Saw(State::Deleted(1)))]].concat());
    }
}
