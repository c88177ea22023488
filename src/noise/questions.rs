//! Whether a section lists questions and none of their answers.

use super::blocks::{self, Block};
use super::words::{Sentence, sentences};

/// The most words of a question without its mark, of a remark that is no answer, and of a name in brackets.
const UNMARKED_WORDS_MAX: usize = 25;
const REMARK_WORDS_MAX: usize = 12;
const NAME_WORDS_MAX: usize = 3;

const OPENERS: [&str; 19] = [
    "who", "what", "when", "where", "why", "how", "which", "whose", "whether", "should", "shall", "can", "could",
    "would", "does", "do", "is", "are", "will",
];
/// What stands where an answer or a decision would, when there is none. Each is the start of a remark.
const UNANSWERED: [&[&str]; 27] = [
    &["tbd"],
    &["tbc"],
    &["tba"],
    &["todo"],
    &["n", "a"],
    &["none", "yet"],
    &["still", "open"],
    &["pending"],
    &["unknown"],
    &["unclear"],
    &["undecided"],
    &["unanswered"],
    &["unresolved"],
    &["to", "be", "decided"],
    &["to", "be", "determined"],
    &["to", "be", "discussed"],
    &["to", "be", "confirmed"],
    &["to", "be", "clarified"],
    &["not", "decided"],
    &["not", "yet"],
    &["not", "sure"],
    &["not", "clear"],
    &["no", "answer"],
    &["no", "decision"],
    &["no", "consensus"],
    &["no", "agreement"],
    &["nobody", "knows"],
];

/// What is said of a question that stays open. Each is the start of a remark.
const REMARKS: [&[&str]; 9] = [
    &["open"],
    &["needs"],
    &["waiting"],
    &["awaiting"],
    &["deferred"],
    &["owner"],
    &["owners"],
    &["asked"],
    &["assigned", "to"],
];

/// What a block adds to a list of questions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Question,
    /// It announces questions or says that they are open.
    Frame,
    /// An answer, or what may be one.
    Other,
}

/// Whether a text is a list of questions: at least one, and nothing that might be an answer to one.
///
/// `heading` is that of a section inside the list, a question like the items.
pub(super) fn lists_unanswered(heading: Option<&str>, body: &str) -> bool {
    let heading = heading.map(|text| Block { text, is_ticked: false });
    let mut asked = false;
    for block in heading.into_iter().chain(blocks::blocks(body)) {
        match part(block) {
            Part::Question => asked = true,
            Part::Frame => {}
            Part::Other => return false,
        }
    }
    asked
}

/// Whether the words say that something is not known or not decided yet, or are none.
pub(super) fn is_unanswered(words: &[&str]) -> bool {
    let mut words = words.iter().copied().filter(|word| *word != ",").peekable();
    while words.next_if(|word| matches!(*word, "a" | "answer" | "decision" | "decisions" | "status")).is_some() {}
    let words: Vec<&str> = words.collect();
    let is_remark = || UNANSWERED.iter().any(|start| words.starts_with(start));
    words.is_empty() || matches!(words[..], ["none" | "open"]) || words.len() <= REMARK_WORDS_MAX && is_remark()
}

fn is_remark(words: &[&str]) -> bool {
    words.len() <= REMARK_WORDS_MAX && REMARKS.iter().any(|start| words.starts_with(start))
}

fn part(block: Block<'_>) -> Part {
    let text = block.text;
    if block.is_ticked || text.contains("~~") || text.starts_with('|') || text.starts_with("```") {
        return Part::Other;
    }
    let mut asked = false;
    let mut told = None;
    let mut count = 0;
    for sentence in sentences(text) {
        let words = sentence.words();
        if words.iter().all(|word| *word == ",") {
            continue;
        }
        count += 1;
        if sentence.asks {
            asked = true;
        } else if !is_unanswered(&words) && !is_remark(&words) {
            if asked && !is_name(&sentence) && !is_errand(&words) {
                return Part::Other;
            }
            told = Some(sentence);
        }
    }
    match told {
        _ if asked => Part::Question,
        None => Part::Frame,
        Some(only) if count == 1 && is_unmarked_question(&only, text) => Part::Question,
        Some(last) if blocks::announces(text) || is_about_questions(&last) => Part::Frame,
        Some(_) => Part::Other,
    }
}

/// A name after a question: `(Ana)`, `@ana`.
fn is_name(sentence: &Sentence<'_>) -> bool {
    const ANSWERS: [&str; 8] = ["yes", "no", "answer", "answered", "resolved", "done", "see", "decided"];
    let words = sentence.words();
    let starts = sentence.tokens.first().is_some_and(|token| token.is_any(&["(", "[", "@"]));
    let named: Vec<&&str> = words.iter().filter(|word| **word != ",").collect();
    starts && named.len() <= NAME_WORDS_MAX && !named.iter().any(|word| ANSWERS.contains(word))
}

/// Who finds out: `Ana to check.`
fn is_errand(words: &[&str]) -> bool {
    const ERRANDS: [&str; 6] = ["check", "ask", "investigate", "confirm", "clarify", "find"];
    let is_errand = |pair: &[&str]| matches!(pair[0], "to" | "will") && ERRANDS.contains(&pair[1]);
    words.len() <= REMARK_WORDS_MAX && words.windows(2).any(is_errand)
}

/// `How the cache is sized`, an item without a point: not `When it is full, old entries go.`
fn is_unmarked_question(sentence: &Sentence<'_>, text: &str) -> bool {
    let words = sentence.words();
    let opens = words.first().is_some_and(|word| OPENERS.contains(word));
    let negated = words.get(1).is_some_and(|word| matches!(*word, "not" | "be" | "so"));
    let is_short = words.len() <= UNMARKED_WORDS_MAX && !words.contains(&",") && !text.ends_with('.');
    opens && !negated && is_short
}

/// `We have not settled these questions yet.`
fn is_about_questions(sentence: &Sentence<'_>) -> bool {
    const UNSETTLED: [&str; 8] =
        ["open", "unresolved", "unanswered", "remaining", "outstanding", "not", "following", "still"];
    let words = sentence.words();
    let says = |texts: &[&str]| words.iter().any(|word| texts.contains(word));
    says(&["question", "questions"]) && says(&UNSETTLED)
}
