//! What a heading says of the section under it.

use super::dates::{clock_at, has_seconds};
use super::words::{Kind, Token, tokens};

/// Those whom questions are for who have not answered them.
const ASKED: [&str; 12] = [
    "reviewer",
    "reviewers",
    "review",
    "approver",
    "approvers",
    "maintainers",
    "stakeholders",
    "team",
    "readers",
    "discussion",
    "feedback",
    "everyone",
];
const OPEN: [&str; 6] = ["open", "unanswered", "unresolved", "outstanding", "remaining", "pending"];
const CLOSED: [&str; 9] =
    ["answer", "answers", "answered", "resolved", "closed", "settled", "solved", "addressed", "faq"];
/// What a meeting tool puts around its summary.
const TEMPLATE: [&str; 19] = [
    "next step",
    "next steps",
    "action item",
    "action items",
    "actions",
    "todo",
    "todos",
    "to do",
    "to dos",
    "follow up",
    "follow ups",
    "followups",
    "attendees",
    "attendance",
    "participants",
    "invitees",
    "invited",
    "attachments",
    "meeting records",
];

/// Whether a heading announces questions that nobody has answered.
pub(super) fn opens_questions(heading: &str) -> bool {
    if !mentions_question(heading) {
        return false;
    }
    let words = words(heading);
    if words.iter().any(|word| CLOSED.contains(&word.as_str())) {
        return false;
    }
    let is_question = |word: &str| matches!(word, "question" | "questions");
    words.iter().enumerate().any(|(at, word)| {
        let next = |steps: usize| words.get(at + steps).map_or("", String::as_str);
        if OPEN.contains(&word.as_str()) {
            return is_question(next(1));
        }
        let asked_of = || if next(2) == "the" { next(3) } else { next(2) };
        let is_addressed = || matches!(next(1), "for" | "to") && ASKED.contains(&asked_of());
        let is_left = || matches!(next(1), "still" | "left" | "remaining") || next(1) == "open" && next(2).is_empty();
        is_question(word) && (is_addressed() || is_left())
    })
}

/// Whether a heading under open questions says that it has their answers.
pub(super) fn answers_questions(heading: &str) -> bool {
    words(heading).iter().any(|word| CLOSED.contains(&word.as_str()))
}

/// Whether a heading of a recording's notes stands over its transcript, a stretch of it, or the tool's template.
pub(super) fn frames_recording(heading: &str) -> bool {
    let tokens: Vec<Token<'_>> = tokens(heading).collect();
    is_transcript(&tokens) || is_stretch(&tokens) || is_template(heading)
}

/// Whether a heading of a recording's notes has none of their topics for its name.
pub(super) fn is_bare(heading: &str) -> bool {
    matches!(words(heading).join(" ").as_str(), "notes" | "meeting notes" | "details of meeting" | "meeting details")
}

/// The title of the slide that a heading is of, when it is of one: what follows `Slide 7:`.
pub(super) fn slide(heading: &str) -> Option<&str> {
    let rest = heading.strip_prefix("Slide ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = rest[digits..].trim_start();
    let is_slide = digits > 0 && (after.is_empty() || after.starts_with(':'));
    is_slide.then(|| after.trim_start_matches(':').trim())
}

/// Whether a slide's title invites questions at the end of a talk.
pub(super) fn invites_questions(title: &str) -> bool {
    const THANKS: [&str; 4] = ["thank", "thanks", "you", "and"];
    const ASKS: [&str; 4] = ["questions", "any questions", "q a", "questions answers"];
    let words = words(title);
    let rest: Vec<&str> = words.iter().map(String::as_str).filter(|word| !THANKS.contains(word)).collect();
    ASKS.contains(&rest.join(" ").as_str())
}

/// `Transcript`, `Full transcript`, `Storage sync - Transcript`, `Transcript of ..`, `Transcription ended ..`.
fn is_transcript(tokens: &[Token<'_>]) -> bool {
    const QUALIFIERS: [&str; 6] = ["full", "raw", "meeting", "complete", "verbatim", "call"];
    let names = |token: &Token<'_>| token.is_any(&["transcript", "transcription"]);
    let inner = inner(tokens);
    let (Some(first), Some(last)) = (inner.first(), inner.last()) else { return false };
    let second = inner.get(1);
    let starts = names(first)
        && second.is_none_or(|token| token.kind == Kind::Mark || token.is_any(&["of", "for", "ended", "started"]));
    let before = inner.len().checked_sub(2).map(|at| &inner[at]);
    let ends = names(last) && before.is_some_and(|token| token.kind == Kind::Mark || token.is_any(&QUALIFIERS));
    starts || ends
}

/// A clock time and nothing else, two of them, or one with seconds and what follows it.
fn is_stretch(tokens: &[Token<'_>]) -> bool {
    let inner = inner(tokens);
    let Some(end) = clock_at(inner, 0) else { return false };
    let rest = self::inner(&inner[end..]);
    has_seconds(inner, 0)
        || rest.is_empty()
        || clock_at(rest, 0).is_some_and(|end| self::inner(&rest[end..]).is_empty())
}

fn is_template(heading: &str) -> bool {
    let words = words(heading);
    let suggested = usize::from(matches!(words.first().map(String::as_str), Some("suggested" | "recommended")));
    TEMPLATE.contains(&words[suggested..].join(" ").as_str())
}

/// `tokens` without the marks at their ends.
fn inner<'a, 'b>(tokens: &'a [Token<'b>]) -> &'a [Token<'b>] {
    let is_not_mark = |token: &Token<'_>| token.kind != Kind::Mark;
    let Some(start) = tokens.iter().position(is_not_mark) else { return &[] };
    let end = tokens.iter().rposition(is_not_mark).map_or(start, |last| last + 1);
    &tokens[start..end]
}

fn words(heading: &str) -> Vec<String> {
    tokens(heading).filter(|token| token.kind != Kind::Mark).map(|token| token.text.into_owned()).collect()
}

/// Cheaper than reading the words of every heading of every document.
fn mentions_question(heading: &str) -> bool {
    heading.as_bytes().windows(8).any(|window| window.eq_ignore_ascii_case(b"question"))
}
