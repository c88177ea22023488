//! What a meeting tool writes around the notes of a recording.

use super::blocks::{Block, blocks};
use super::dates::{clock_at, date_at, is_weekday};
use super::headings::is_bare;
use super::titles::has_date_and_clock;
use super::words::{Kind, Token, sentences, tokens};

/// The most words of a name, of one who was invited.
const NAME_WORDS_MAX: usize = 4;

/// How much of a line is looked at.
const LINE_TOKENS_MAX: usize = 64;

/// What lines of an invitation start with, a colon behind it.
const FIELDS: [&str; 22] = [
    "invited",
    "invitees",
    "attendees",
    "participants",
    "attachments",
    "attachment",
    "organizer",
    "organiser",
    "host",
    "when",
    "where",
    "date",
    "time",
    "location",
    "recording",
    "recorded",
    "transcript",
    "duration",
    "calendar",
    "link",
    "joined",
    "title",
];
/// What lines of an invitation start with, colon or not.
const OPENINGS: [&[&str]; 7] = [
    &["invited"],
    &["attachments"],
    &["meeting", "records"],
    &["meeting", "id"],
    &["meeting", "link"],
    &["join", "the", "meeting"],
    &["meeting", "started"],
];
/// What a sentence of the tool about itself says.
const FOOTERS: [&[&str]; 8] = [
    &["computer", "generated"],
    &["automatically", "generated"],
    &["auto", "generated"],
    &["generated", "by"],
    &["make", "sure", "they're", "accurate"],
    &["provide", "feedback"],
    &["learn", "how"],
    &["change", "the", "text", "after"],
];

/// Whether a section without a topic is an invitation's header, the tool's footer, or the transcript of a recording
/// that is one: `heading` is its own, if any.
pub(super) fn is_template(heading: Option<&str>, title: &str, body: &str, is_transcript: bool) -> bool {
    let has_topic = heading.is_some_and(|heading| !is_bare(heading) && !names_recording(heading, title));
    let is_blank = blocks(body).next().is_none();
    if has_topic || is_blank {
        return !is_blank && is_footer(body);
    }
    is_transcript && !heading.is_some_and(is_bare) || is_header(body) || is_footer(body)
}

/// Whether a heading repeats what the document is called.
pub(super) fn names_recording(heading: &str, title: &str) -> bool {
    let tokens: Vec<Token<'_>> = tokens(heading).collect();
    let name = heading.trim();
    has_date_and_clock(&tokens)
        || tokens.iter().all(|token| token.kind == Kind::Mark)
        || is_date(&tokens)
        || title.trim().strip_prefix(name).is_some_and(is_dated_rest)
}

/// Whether a title ends, or goes on with its date, where a heading of the same words ends.
fn is_dated_rest(rest: &str) -> bool {
    let tokens: Vec<Token<'_>> = tokens(rest).collect();
    let start = tokens.iter().position(|token| token.kind != Kind::Mark);
    start.is_none_or(|at| date_at(&tokens, at).is_some())
}

fn is_header(body: &str) -> bool {
    let mut names = false;
    blocks(body).flat_map(|block| block.text.lines()).all(|line| {
        let tokens: Vec<Token<'_>> = tokens(line).take(LINE_TOKENS_MAX).collect();
        let field = field(&tokens);
        let is_name = names && words(&tokens).len() <= NAME_WORDS_MAX;
        names = field.unwrap_or(names && is_name);
        field.is_some() || is_name || is_date(&tokens) || words(&tokens).is_empty()
    })
}

/// Whether a line is a field of an invitation, and then whether its value is on the lines below.
fn field(tokens: &[Token<'_>]) -> Option<bool> {
    let words = words(tokens);
    let first = words.first()?;
    let is_opening = OPENINGS.iter().any(|opening| {
        words.len() >= opening.len() && words.iter().zip(*opening).all(|(word, expected)| word.is(expected))
    });
    let at = tokens.iter().position(|token| token.kind != Kind::Mark).unwrap_or(0);
    let colon = tokens[at + 1..].iter().find(|token| !token.is_any(&["*", "_"])).is_some_and(|token| token.is(":"));
    let is_field = is_opening || colon && first.is_any(&FIELDS);
    is_field.then_some(words.len() == 1)
}

/// Whether tokens are a date, with a clock time or not, and nothing else.
fn is_date(tokens: &[Token<'_>]) -> bool {
    let mut at = 0;
    let mut has_date = false;
    while at < tokens.len() {
        let date = date_at(tokens, at);
        has_date |= date.is_some();
        let is_between = tokens[at].kind == Kind::Mark || is_weekday(&tokens[at]) || tokens[at].is("at");
        match date.or_else(|| clock_at(tokens, at)) {
            Some(end) => at = end,
            None if is_between => at += 1,
            None => return false,
        }
    }
    has_date
}

fn is_footer(body: &str) -> bool {
    let says = |words: &[&str], phrase: &[&str]| words.windows(phrase.len()).any(|window| window == phrase);
    let is_about_itself = |block: Block<'_>| {
        sentences(block.text).all(|sentence| {
            let words = sentence.words();
            words.is_empty() || FOOTERS.iter().any(|phrase| says(&words, phrase))
        })
    };
    blocks(body).all(is_about_itself)
}

fn words<'a, 'b>(tokens: &'a [Token<'b>]) -> Vec<&'a Token<'b>> {
    tokens.iter().filter(|token| token.kind != Kind::Mark).collect()
}
