//! Whether a section records a decision or states a plan.
//!
//! A sentence does by one of a few phrases, unless it asks, denies or puts off what it says.

use super::blocks::{Block, blocks, unmarked};
use super::questions::is_unanswered;
use super::words::{sentences, tokens};

/// How many words before a phrase may deny it.
const REACH_WORDS: usize = 5;
/// The most bytes of a label, `Final decision:`.
const LABEL_BYTES_MAX: usize = 48;

/// What a label in front of a decision ends with.
const LABELS: [&str; 14] = [
    "decision",
    "decisions",
    "decided",
    "agreed",
    "agreement",
    "agreements",
    "resolution",
    "resolutions",
    "resolved",
    "conclusion",
    "outcome",
    "consensus",
    "approved",
    "rejected",
];
/// What such a label has in it when the decision is still to be made.
const LABEL_DENIALS: [&str; 14] = [
    "be", "no", "not", "open", "pending", "needed", "required", "awaiting", "next", "future", "upcoming", "missing",
    "for", "before",
];
/// They tell of a decision.
const DECIDED: [&[&str]; 46] = [
    &["agreed"],
    &["decided"],
    &["concluded"],
    &["approved"],
    &["rejected"],
    &["vetoed"],
    &["chose"],
    &["chosen"],
    &["opted"],
    &["settled", "on"],
    &["signed", "off"],
    &["ruled", "out"],
    &["resolved", "to"],
    &["resolved", "that"],
    &["went", "with"],
    &["going", "with"],
    &["go", "with"],
    &["sticking", "with"],
    &["stick", "with"],
    &["voted", "for"],
    &["voted", "to"],
    &["voted", "against"],
    &["we", "agree"],
    &["all", "agree"],
    &["everyone", "agrees"],
    &["we", "decide", "to"],
    &["we", "choose"],
    &["we", "picked"],
    &["we", "selected"],
    &["we", "accepted"],
    &["decision", "is"],
    &["decision", "was"],
    &["decision", "to"],
    &["decision", "that"],
    &["decision", "made"],
    &["decisions", "made"],
    &["made", "a", "decision"],
    &["conclusion", "is"],
    &["conclusion", "was"],
    &["consensus", "is"],
    &["consensus", "was"],
    &["consensus", "to"],
    &["consensus", "on"],
    &["consensus", "that"],
    &["verdict", "is"],
    &["from", "now", "on"],
];
/// They state a plan when a verb follows.
const PLANNED: [&[&str]; 22] = [
    &["we'll"],
    &["we", "will"],
    &["we", "shall"],
    &["we", "won't"],
    &["team", "will"],
    &["team", "won't"],
    &["we're", "going", "to"],
    &["we", "are", "going", "to"],
    &["is", "going", "to"],
    &["we", "plan", "to"],
    &["we", "plan", "on"],
    &["we're", "planning", "to"],
    &["we", "are", "planning", "to"],
    &["we", "intend", "to"],
    &["plan", "is", "to"],
    &["plan", "is", "for"],
    &["plan", "is", "that"],
    &["plan", "is", ","],
    &["plan", "to"],
    &["planned", "for"],
    &["planned", "to"],
    &["let's"],
];
/// They state a plan behind "we are".
const COURSES: [&str; 16] = [
    "keeping",
    "dropping",
    "switching",
    "adopting",
    "moving",
    "migrating",
    "replacing",
    "removing",
    "deprecating",
    "standardizing",
    "standardising",
    "postponing",
    "delaying",
    "cancelling",
    "canceling",
    "rolling",
];
/// Words that deny a decision or plan behind them, or put it in doubt.
const DENIALS: [&str; 17] = [
    "not", "no", "never", "nobody", "none", "nothing", "neither", "nor", "cannot", "if", "whether", "unless", "until",
    "should", "could", "might", "be",
];
/// What also puts off "the decision to ..".
const WAITING: [&str; 8] = ["need", "needs", "needed", "await", "awaiting", "waiting", "pending", "without"];
/// Words that make a plan behind them the object of something else: how we will ..
const EMBEDDING: [&str; 7] = ["how", "what", "which", "where", "why", "who", "when"];
/// Words between a plan and its verb.
const ADVERBS: [&str; 14] = [
    "also",
    "then",
    "now",
    "still",
    "first",
    "just",
    "probably",
    "only",
    "soon",
    "all",
    "therefore",
    "not",
    "have",
    "to",
];
/// Stems of what is planned when nothing is decided.
const TALK: [&str; 22] = [
    "discuss",
    "talk",
    "meet",
    "met",
    "see",
    "revisit",
    "review",
    "decid",
    "check",
    "look",
    "ask",
    "find",
    "know",
    "think",
    "consider",
    "investigat",
    "explor",
    "hear",
    "held",
    "reconven",
    "chat",
    "need",
];
/// The same in two words.
const TALK_PAIRS: [[&str; 2]; 5] =
    [["follow", "up"], ["get", "back"], ["come", "back"], ["circle", "back"], ["let", "you"]];
const ENDINGS: [&str; 7] = ["", "e", "es", "s", "ed", "ing", "ting"];

/// Whether the section with this heading and text records a decision.
pub(super) fn records_decision(heading: Option<&str>, body: &str) -> bool {
    let is_headed = heading.is_some_and(is_label);
    let mut announced = false;
    for block in blocks(body) {
        if (is_headed || announced) && states(block) {
            return true;
        }
        // A label on a line of its own is about all that follows it, up to the next label.
        if let Some(label) = label(block.text) {
            announced = label.is_decision && label.rest.is_empty();
        }
        if block.text.lines().any(decides_by_label) || decides_in_words(block.text) {
            return true;
        }
    }
    false
}

/// Whether what a label or heading announces is there.
fn states(block: Block<'_>) -> bool {
    if label(block.text).is_some_and(|label| label.rest.is_empty()) {
        return false;
    }
    sentences(block.text).any(|sentence| !sentence.asks && !is_unanswered(&sentence.words()))
}

struct Label<'a> {
    is_decision: bool,
    /// What follows it on its line.
    rest: &'a str,
}

/// The label that a line starts with: `Decision: ..`, `**Agreed** ..`, `[Decision] ..`, `Outcome - ..`.
fn label(line: &str) -> Option<Label<'_>> {
    let line = unmarked(line);
    let head = &line[..line.floor_char_boundary(LABEL_BYTES_MAX)];
    let strong = head.strip_prefix("**").and_then(|inner| inner.find("**")).map(|at| (at + 2, 2));
    let bracket = head.starts_with('[').then(|| head.find(']')).flatten().map(|at| (at, 1));
    let dash = [" - ", " \u{2013} ", " \u{2014} "].iter().filter_map(|dash| head.find(dash).map(|at| (at, dash.len())));
    let colon = head.find(':').map(|at| (at, 1));
    let (end, length) = strong.or(bracket).or_else(|| dash.chain(colon).min())?;
    let rest = line[end + length..].trim_start_matches([':', '*', '_', '-', '\u{2013}', '\u{2014}', ' ']).trim_end();
    Some(Label { is_decision: is_label(&head[..end]), rest })
}

/// Whether words stand in front of a decision: they end with what names one, and do not put it off.
fn is_label(text: &str) -> bool {
    let words: Vec<String> =
        tokens(text).filter(|token| token.text.starts_with(char::is_alphabetic)).map(|t| t.text.into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ends = match words[..] {
        ["plan" | "plans"] | ["the" | "our", "plan"] | ["what", "we", "decided" | "agreed"] => true,
        [.., last] if LABELS.contains(&last) => true,
        [.., last, "made" | "taken" | "log" | "reached"] => LABELS.contains(&last),
        _ => false,
    };
    ends && !words.iter().any(|word| LABEL_DENIALS.contains(word))
}

fn decides_by_label(line: &str) -> bool {
    let Some(Label { is_decision: true, rest }) = label(line) else { return false };
    !rest.is_empty() && sentences(rest).any(|sentence| !sentence.asks && !is_unanswered(&sentence.words()))
}

fn decides_in_words(text: &str) -> bool {
    sentences(text).filter(|sentence| !sentence.asks).any(|sentence| {
        let words = sentence.words();
        (0..words.len()).any(|at| decides_at(&words, at) || plans_at(&words, at))
    })
}

fn decides_at(words: &[&str], at: usize) -> bool {
    let Some(end) = phrase_at(words, at, &DECIDED) else { return false };
    let rest = &words[end..];
    let is_blank = matches!(words[at], "approved" | "decided" | "agreed") && matches!(rest, ["by"] | ["by", ",", ..]);
    let puts_off = || rest.first() == Some(&"to") && is_talk(&rest[1..]);
    let also: &[&str] = if matches!(words[at], "decision" | "decisions" | "consensus") { &WAITING } else { &[] };
    !is_blank && !is_denied(words, at, also) && !is_unanswered_after(rest) && !puts_off()
}

fn plans_at(words: &[&str], at: usize) -> bool {
    let course = || course_at(words, at).or_else(|| will_at(words, at));
    let Some(end) = phrase_at(words, at, &PLANNED).or_else(course) else { return false };
    let rest = &words[end..];
    !is_denied(words, at, &EMBEDDING) && !rest.is_empty() && !is_unanswered_after(rest) && !is_talk(rest)
}

/// Where `we are dropping ..` begins to say what.
fn course_at(words: &[&str], at: usize) -> Option<usize> {
    let verb = match words[at..] {
        ["we're", ..] => at + 1,
        ["we", "are", ..] => at + 2,
        _ => return None,
    };
    words.get(verb).is_some_and(|word| COURSES.contains(word)).then_some(verb + 1)
}

/// Where a plan without "we" ends: `The flag will ..` at the start of a clause, `.. will be removed`.
fn will_at(words: &[&str], at: usize) -> Option<usize> {
    let starts_clause = at == 0 || words[at - 1] == ",";
    if starts_clause && words[at] == "the" {
        let will = words.iter().skip(at + 2).take(3).position(|word| matches!(*word, "will" | "won't"))? + at + 2;
        return is_subject(&words[at..will]).then_some(will + 1);
    }
    let be = at + 1 + usize::from(words.get(at + 1) == Some(&"not"));
    let is_passive = matches!(words[at], "will" | "won't")
        && words.get(be) == Some(&"be")
        && words.get(be + 1).is_some_and(|word| word.len() > 3 && ["ed", "en"].iter().any(|end| word.ends_with(end)));
    is_passive.then_some(be + 1)
}

/// Whether words before "will" are one thing, and not the next meeting.
fn is_subject(words: &[&str]) -> bool {
    !words.iter().any(|word| matches!(*word, "," | "meeting" | "sync" | "call" | "who" | "that"))
}

fn phrase_at(words: &[&str], at: usize, phrases: &[&[&str]]) -> Option<usize> {
    let is_here = |phrase: &&&[&str]| words[at..].starts_with(phrase);
    phrases.iter().filter(is_here).map(|phrase| at + phrase.len()).max()
}

/// Whether a word of the same clause before `at` denies what follows, or makes it a condition.
fn is_denied(words: &[&str], at: usize, also: &[&str]) -> bool {
    let clause = words[..at].iter().rposition(|word| *word == ",").map_or(0, |comma| comma + 1);
    let start = clause.max(at.saturating_sub(REACH_WORDS));
    (start..at).any(|at| {
        let word = words[at];
        let is_waived = word == "no" && at > 0 && words[at - 1] == "with";
        !is_waived && (DENIALS.contains(&word) || also.contains(&word) || word.ends_with("n't"))
    })
}

fn is_unanswered_after(rest: &[&str]) -> bool {
    !rest.is_empty() && is_unanswered(rest)
}

/// Whether the verb that words start with is about talking, not doing.
fn is_talk(words: &[&str]) -> bool {
    let skipped = |word: &&str| ADVERBS.contains(word) || *word == "be";
    let Some(at) = words.iter().position(|word| !skipped(word)) else { return true };
    let verb = words[at];
    TALK_PAIRS.iter().any(|pair| words[at..].starts_with(pair))
        || TALK.iter().any(|stem| verb.strip_prefix(stem).is_some_and(|ending| ENDINGS.contains(&ending)))
}
