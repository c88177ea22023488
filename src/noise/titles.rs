//! What a document's title says that it is.

use super::dates::{clock_at, date_at, is_weekday, month_day_at, week_at};
use super::words::{Kind, Token, tokens};

/// Names of meetings. A dash may stand between the words of one.
const MEETINGS: [&[&str]; 31] = [
    &["meeting"],
    &["meetings"],
    &["sync"],
    &["syncs"],
    &["syncup"],
    &["sync", "up"],
    &["standup"],
    &["standups"],
    &["stand", "up"],
    &["scrum"],
    &["huddle"],
    &["retro"],
    &["retrospective"],
    &["checkin"],
    &["check", "in"],
    &["catchup"],
    &["catch", "up"],
    &["all", "hands"],
    &["town", "hall"],
    &["townhall"],
    &["office", "hours"],
    &["kickoff"],
    &["kick", "off"],
    &["sprint", "review"],
    &["sprint", "planning"],
    &["call"],
    &["minutes"],
    &["1", "on", "1"],
    &["one", "on", "one"],
    &["one", "to", "one"],
    ONE_TO_ONE,
];
/// Who meets may follow it.
const ONE_TO_ONE: &[&str] = &["1", ":", "1"];
const PROGRESS: [&[&str]; 7] =
    [&["status"], &["progress"], &["weekly"], &["biweekly"], &["bi", "weekly"], &["fortnightly"], &["monthly"]];
/// What may follow the name of a meeting and is still its record.
const RECORDS: [&str; 6] = ["notes", "minutes", "update", "updates", "report", "reports"];
/// What a title may call the records of many meetings.
const COLLECTIONS: [&str; 9] =
    ["log", "logs", "agenda", "agendas", "journal", "archive", "recaps", "summaries", "series"];
/// Documents that stay content, whatever else their title says.
const LASTING: [&str; 25] = [
    "design",
    "designs",
    "rfc",
    "adr",
    "prd",
    "proposal",
    "spec",
    "specification",
    "plan",
    "plans",
    "roadmap",
    "release",
    "releases",
    "changelog",
    "migration",
    "migrations",
    "incident",
    "incidents",
    "outage",
    "outages",
    "postmortem",
    "postmortems",
    "mortem",
    "mortems",
    "rca",
];
/// Words that may stand between a meeting and its date.
const LINKS: [&str; 6] = ["of", "for", "on", "the", "from", "at"];
/// Words that may stand behind a meeting that a title is about.
const ABOUT: [&str; 3] = ["of", "with", "between"];
/// What joins those who meet.
const JOINS: [&str; 6] = ["with", "between", "and", "/", "&", "<"];
/// The most tokens between a meeting and its date.
const GAP_TOKENS_MAX: usize = 16;

/// What a title says of its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Genre {
    /// Nothing that makes its sections noise.
    Other,
    /// One meeting's notes, or a status report.
    Notes,
    /// A meeting; what stands under a date in it is notes.
    Meetings,
    /// What a meeting tool wrote from a recording.
    Recording {
        /// Whether the title calls it a transcript.
        is_transcript: bool,
    },
}

pub(super) fn genre(title: &str) -> Genre {
    let tokens: Vec<Token<'_>> = tokens(title).collect();
    let is_lasting = tokens.iter().any(|token| token.is_any(&LASTING));
    let signed = (0..tokens.len()).find(|at| phrase_at(&tokens, *at, &["notes", "by"]).is_some());
    if has_date_and_clock(&tokens) {
        if tokens.iter().any(|token| token.is_any(&["transcript", "transcripts", "transcription"])) {
            return Genre::Recording { is_transcript: true };
        }
        let names_meeting = (0..tokens.len()).any(|at| meeting_at(&tokens, at).is_some());
        if signed.is_some() && names_meeting && !is_lasting {
            return Genre::Recording { is_transcript: false };
        }
    }
    if is_lasting {
        return Genre::Other;
    }
    let unsigned = &tokens[..signed.unwrap_or(tokens.len())];
    if is_meeting_then_date(&tokens) || is_date_then_meeting(unsigned) {
        Genre::Notes
    } else if names_meetings(unsigned) {
        Genre::Meetings
    } else {
        Genre::Other
    }
}

/// Whether a heading is a date, with or without its year, or a meeting and its date.
pub(super) fn dates_a_meeting(heading: &str) -> bool {
    let tokens: Vec<Token<'_>> = tokens(heading).collect();
    let start = past(&tokens, 0, |token| token.kind == Kind::Mark || is_weekday(token));
    let Some(mut at) = date_at(&tokens, start).or_else(|| month_day_at(&tokens, start)) else {
        return is_meeting_then_date(&tokens);
    };
    while at < tokens.len() {
        at = match clock_at(&tokens, at) {
            Some(end) => end,
            None if tokens[at].kind == Kind::Mark || is_weekday(&tokens[at]) || tokens[at].is("at") => at + 1,
            None => break,
        };
    }
    at == tokens.len() || (at..tokens.len()).any(|at| meeting_at(&tokens, at).is_some())
}

/// Whether the meeting at token `at`, which ends before `after`, is followed by the names of who meets.
fn names_people(tokens: &[Token<'_>], at: usize, after: usize) -> bool {
    phrase_at(tokens, at, ONE_TO_ONE).is_some()
        && tokens[after..].iter().take(GAP_TOKENS_MAX).any(|token| token.is_any(&JOINS))
}

/// Whether a date and, right behind it, a clock time are among the tokens.
pub(super) fn has_date_and_clock(tokens: &[Token<'_>]) -> bool {
    let clock_after = |at: usize| {
        let start = past(tokens, at, |token| token.kind == Kind::Mark || token.is_any(&["at", "t"]));
        clock_at(tokens, start).is_some()
    };
    (0..tokens.len()).any(|at| date_at(tokens, at).is_some_and(clock_after))
}

/// Where the meeting that is named at token `at` ends.
pub(super) fn meeting_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    MEETINGS.iter().filter_map(|meeting| phrase_at(tokens, at, meeting)).max()
}

fn meeting_or_progress_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    meeting_at(tokens, at).or_else(|| PROGRESS.iter().filter_map(|phrase| phrase_at(tokens, at, phrase)).max())
}

/// A meeting or progress, then a date or a week: `Storage sync notes - March 4`, `Parser status, week 31`.
fn is_meeting_then_date(tokens: &[Token<'_>]) -> bool {
    let is_dated = |at: usize| {
        let Some(end) = meeting_or_progress_at(tokens, at) else { return false };
        let start = past_record(tokens, end);
        is_dated_from(tokens, start, names_people(tokens, at, start))
    };
    (0..tokens.len()).any(is_dated)
}

/// Whether a date or a week is the next that counts. `names_people`: words of any kind may come before it.
fn is_dated_from(tokens: &[Token<'_>], start: usize, mut names_people: bool) -> bool {
    let end = tokens.len().min(start + GAP_TOKENS_MAX);
    let mut at = start;
    while at < end {
        if date_at(tokens, at).is_some() || week_at(tokens, at).is_some() {
            return true;
        }
        let token = &tokens[at];
        names_people |= token.is_any(&["with", "between"]);
        let is_link = token.kind == Kind::Mark || token.is_any(&LINKS) || is_weekday(token);
        at = match clock_at(tokens, at) {
            Some(end) => end,
            None if is_link || names_people => at + 1,
            None => return false,
        };
    }
    false
}

/// A date, and a meeting or progress as the last words: `2026-03-04 Meeting notes`.
fn is_date_then_meeting(tokens: &[Token<'_>]) -> bool {
    let start = past(tokens, 0, |token| token.kind == Kind::Mark || is_weekday(token));
    let Some(after) = date_at(tokens, start) else { return false };
    let is_last = |at: usize| {
        let end = meeting_or_progress_at(tokens, at).map(|end| past_record(tokens, end));
        end.is_some_and(|end| past(tokens, end, |token| token.kind == Kind::Mark) == tokens.len())
    };
    (after..tokens.len()).any(is_last)
}

/// A meeting that is not the first half of another name, as it is in "call center".
fn names_meetings(tokens: &[Token<'_>]) -> bool {
    let is_whole = |at: usize| {
        let Some(end) = meeting_at(tokens, at) else { return false };
        let after = past_record(tokens, end);
        let after = after + usize::from(tokens.get(after).is_some_and(|token| token.is_any(&COLLECTIONS)));
        let is_end = |token: &Token<'_>| token.is_any(&ABOUT) || token.kind == Kind::Mark && !token.is("/");
        tokens.get(after).is_none_or(is_end) || names_people(tokens, at, after)
    };
    (0..tokens.len()).any(is_whole)
}

fn past_record(tokens: &[Token<'_>], at: usize) -> usize {
    at + usize::from(tokens.get(at).is_some_and(|token| token.is_any(&RECORDS)))
}

/// Past the tokens from `at` on that satisfy `is_skipped`.
fn past(tokens: &[Token<'_>], at: usize, is_skipped: impl Fn(&Token<'_>) -> bool) -> usize {
    tokens[at..].iter().position(|token| !is_skipped(token)).map_or(tokens.len(), |length| at + length)
}

/// Where the words that start at token `at` end, when they are `phrase`.
fn phrase_at(tokens: &[Token<'_>], at: usize, phrase: &[&str]) -> Option<usize> {
    let mut at = at;
    for (nth, word) in phrase.iter().enumerate() {
        at += usize::from(nth > 0 && tokens.get(at).is_some_and(|token| token.is("-")));
        tokens.get(at).filter(|token| token.is(word))?;
        at += 1;
    }
    Some(at)
}
