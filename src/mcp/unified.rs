//! `loom_search`: passages and whole documents in one answer, within a number of tokens.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::Calls;
use super::advice::invalid;
use super::calls::object;
use super::settings::McpSettings;
use crate::namespaces::folded_title;

/// Passages that are asked for when the call does not say.
const TOP_K: u64 = 8;
/// Passages that are looked at for the documents that they are from.
const DOCUMENT_POOL: u64 = 50;
/// The most documents of an answer.
const DOCUMENTS_MAX: usize = 5;
/// A passage is cut to no fewer tokens than this; with fewer left it is left out.
const CUT_TOKENS_MIN: usize = 40;
/// The most unknown arguments, and namespaces that were not searched, that an answer names.
const IGNORED_MAX: usize = 20;
const SKIPPED_SHOWN_MAX: usize = 5;
/// The fewest and the most tokens that a call may ask for.
const TOKENS_MIN: u64 = 100;
const TOKENS_MAX: u64 = 100_000;

/// The arguments that are passed on to `knowledge.search`.
const PASSED_ON: [&str; 11] = [
    "query",
    "org",
    "namespace",
    "namespaces",
    "namespace_scope",
    "tags",
    "uri_prefix",
    "since_seconds",
    "formats",
    "source_classes",
    "metadata",
];
/// The arguments that are not.
const OWN: [&str; 2] = ["top_k", "max_tokens"];
/// A passage that is far by meaning is kept for its words when they count for at least this share of those of the passage whose
/// words count most: a word that stands everywhere makes nothing relevant.
const WORDS_SHARE_MIN: f64 = 0.5;

pub(super) fn tool() -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "A question, words, or an exact name such as orders_daily." },
            "top_k": { "type": "integer", "description": "Passages at most (1-100).", "default": TOP_K },
            "max_tokens": { "type": "integer", "description": "About how long the answer may be." },
            "namespace": { "type": "string", "description": "Where to look first." },
            "namespaces": { "type": "array", "items": { "type": "string" }, "description": "Look there and in these only." },
            "namespace_scope": { "enum": ["all_mine", "this"], "description": "`this`: in `namespace` only." },
            "tags": { "type": "array", "items": { "type": "string" }, "description": "Only documents with any of these." },
            "uri_prefix": { "type": "array", "items": { "type": "string" }, "description": "Only below these addresses." },
        },
        "required": ["query"],
    });
    let hit = json!({
        "type": "object",
        "properties": {
            "namespace": { "type": "string" }, "source_uri": { "type": "string" }, "title": { "type": "string" },
            "section": { "type": "string" }, "revision": { "type": "integer" }, "chunk_idx": { "type": "integer" },
            "similarity": { "type": ["number", "null"] }, "score": { "type": "number" },
            "dataset_id": { "type": "string", "description": "The table's dataset, for knowledge.query." },
            "content": { "type": "string" }, "locator": {}, "truncated": { "type": "boolean" },
        },
        "required": ["namespace", "source_uri", "revision", "chunk_idx", "content"],
    });
    let document = json!({
        "type": "object",
        "properties": {
            "namespace": { "type": "string" }, "source_uri": { "type": "string" }, "title": { "type": "string" },
            "revision": { "type": "integer" },
        },
        "required": ["namespace", "source_uri", "title"],
    });
    let output = json!({
        "type": "object",
        "properties": {
            "knowledge": { "type": "array", "items": hit, "description": "Passages, best first." },
            "documents": { "type": "array", "items": document, "description": "Documents whose title the query names." },
            "omitted": { "type": "integer", "description": "Passages and documents left out for want of tokens." },
            "note": { "type": "string", "description": "What was cut or left out, and why." },
            "ignored_args": { "type": "array", "items": { "type": "string" }, "description": "Unknown input fields." },
        },
        "required": ["knowledge", "documents", "omitted"],
    });
    let description = "Search the documents kept in Loom: by meaning, by words and by exact names. Answers passages to cite \
                       by source_uri, section and revision, and the documents that the query names by title. Read further \
                       with loom_knowledge_outline or loom_knowledge_get.";
    Tool::new("loom_search", description, object(input))
        .with_raw_output_schema(Arc::new(object(output)))
        .with_annotations(ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false))
}

/// Runs a search; an error is the API's error object.
pub(super) fn search(calls: &dyn Calls, settings: &McpSettings, args: &Map<String, Value>) -> Result<Value, Value> {
    let top_k = whole(args, "top_k", TOP_K, 1, 100)?;
    let tokens = whole(args, "max_tokens", u64::from(settings.search_tokens), TOKENS_MIN, TOKENS_MAX)?;
    let passed = args.iter().filter(|(name, _)| PASSED_ON.contains(&name.as_str()));
    let mut input: Map<String, Value> = passed.map(|(name, value)| (name.clone(), value.clone())).collect();
    input.insert("top_k".into(), top_k.into());
    let answer = calls.call("knowledge.search", input.clone())?;
    // Words alone find what has the query's words in its title: it is indexed with each passage.
    input.insert("top_k".into(), DOCUMENT_POOL.into());
    input.insert("search_mode".into(), "lexical".into());
    input.insert("rerank".into(), "none".into());
    let pool = calls.call("knowledge.search", input)?;
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let documents = named_documents(query, list(&pool, "results"));
    let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
    let mut answer = within(list(&answer, "results"), documents, settings.similarity_min, tokens, notes_of(&answer));
    let is_unknown = |name: &&String| !PASSED_ON.contains(&name.as_str()) && !OWN.contains(&name.as_str());
    let unknown: Vec<&String> = args.keys().filter(is_unknown).take(IGNORED_MAX).collect();
    if !unknown.is_empty() {
        answer["ignored_args"] = json!(unknown);
    }
    Ok(answer)
}

/// A list of an answer; none where there is none.
fn list<'answer>(answer: &'answer Value, name: &str) -> &'answer [Value] {
    answer[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What a search says of itself that changes what its hits are worth.
fn notes_of(answer: &Value) -> Vec<String> {
    let skipped: Vec<&str> = list(answer, "namespaces_skipped").iter().filter_map(Value::as_str).collect();
    if skipped.is_empty() {
        return Vec::new();
    }
    let named = skipped.iter().take(SKIPPED_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = if skipped.len() > SKIPPED_SHOWN_MAX { " and more" } else { "" };
    vec![format!("{} namespaces were not searched ({named}{more}): name one in `namespace`", skipped.len())]
}

fn whole(args: &Map<String, Value>, name: &str, default: u64, least: u64, most: u64) -> Result<u64, Value> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(given) => given
            .as_u64()
            .filter(|given| (least..=most).contains(given))
            .ok_or_else(|| invalid(name, &format!("{name} must be a whole number from {least} to {most}"))),
    }
}

/// The documents of hits whose title shares words with the query, those that it names most fully first.
fn named_documents(query: &str, hits: &[Value]) -> Vec<Value> {
    let words = |text: &str| -> Vec<String> {
        let folded = folded_title(text);
        folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let asked = words(query);
    let mut found: Vec<(usize, usize, Value)> = Vec::new();
    for (rank, hit) in hits.iter().enumerate() {
        let title = hit["title"].as_str().unwrap_or_default();
        let in_title = words(title);
        let shared = in_title.iter().filter(|word| asked.contains(word)).count();
        let is_known = found
            .iter()
            .any(|(_, _, known)| known["source_uri"] == hit["source_uri"] && known["namespace"] == hit["namespace"]);
        // Half of the title's words, or all of the query's.
        let is_named = shared > 0 && (shared * 2 >= in_title.len() || shared >= asked.len());
        if is_named && !is_known {
            let missing = in_title.len() - shared;
            let document = json!({
                "namespace": hit["namespace"], "source_uri": hit["source_uri"], "title": title, "revision": hit["revision"],
            });
            found.push((missing, rank, document));
        }
    }
    found.sort_by_key(|(missing, rank, _)| (*missing, *rank));
    found.into_iter().take(DOCUMENTS_MAX).map(|(_, _, document)| document).collect()
}

/// The answer, cut to about so many tokens: documents in at most a quarter of them, then whole passages as long as they fit, and
/// of the first that does not its start.
fn within(hits: &[Value], documents: Vec<Value>, similarity_min: f64, tokens: usize, mut notes: Vec<String>) -> Value {
    let (near, far) = parted(hits, similarity_min);
    let mut left = tokens;
    let mut omitted = 0;
    let mut listed = Vec::new();
    for document in documents {
        let takes = estimate(&document.to_string());
        if takes <= left.saturating_sub(tokens - tokens / 4) {
            left -= takes;
            listed.push(document);
        } else {
            omitted += 1;
        }
    }
    let (mut shown, mut is_full) = (Vec::new(), false);
    for hit in near {
        let (passage, takes) = if is_full { (None, 0) } else { fitted(hit, left) };
        left = left.saturating_sub(takes);
        is_full |= passage.as_ref().is_none_or(|passage| passage["truncated"] == true);
        omitted += usize::from(passage.is_none());
        shown.extend(passage);
    }
    if is_full && omitted == 0 {
        notes.push("the last passage is cut: raise max_tokens, or read on with loom_knowledge_outline".to_owned());
    }
    if omitted > 0 {
        notes.push(format!("{omitted} more did not fit: raise max_tokens or ask more narrowly"));
    }
    if far > 0 {
        let found = if shown.is_empty() && omitted == 0 { "nothing close to the query was found: " } else { "" };
        notes.push(format!("{found}{far} passages below similarity {similarity_min} were left out"));
    }
    let mut answer = json!({ "knowledge": shown, "documents": listed, "omitted": omitted });
    if !notes.is_empty() {
        answer["note"] = notes.join("; ").into();
    }
    answer
}

/// The hits that are close to the query by meaning, by its names or by its words, and how many are not. One without a similarity
/// was found by words alone.
fn parted(hits: &[Value], similarity_min: f64) -> (Vec<&Value>, usize) {
    let words = |hit: &Value| hit["lexical_score"].as_f64().unwrap_or_default();
    let most = hits.iter().map(words).fold(0.0, f64::max);
    let is_near = |hit: &&Value| {
        hit["similarity"].as_f64().is_none_or(|similarity| similarity >= similarity_min)
            || !list(hit, "keys_matched").is_empty()
            || (words(hit) > 0.0 && words(hit) >= most * WORDS_SHARE_MIN)
    };
    let near: Vec<&Value> = hits.iter().filter(is_near).collect();
    let far = hits.len() - near.len();
    (near, far)
}

/// A hit as it is shown within so many tokens, whole or shortened, and how many it takes; none when too few are left.
fn fitted(hit: &Value, left: usize) -> (Option<Value>, usize) {
    let mut passage = json!({});
    for name in ["namespace", "source_uri", "title", "section", "revision", "chunk_idx", "similarity", "score"] {
        passage[name] = hit[name].clone();
    }
    if !hit["dataset_id"].is_null() {
        passage["dataset_id"] = hit["dataset_id"].clone();
    }
    if !hit["locator"].is_null() {
        passage["locator"] = hit["locator"].clone();
    }
    let content = hit["content"].as_str().unwrap_or_default();
    let frame = estimate(&passage.to_string());
    let whole = frame + estimate(content);
    if whole <= left {
        passage["content"] = content.into();
        return (Some(passage), whole);
    }
    if left < frame + CUT_TOKENS_MIN {
        return (None, 0);
    }
    passage["content"] = shortened(content, left - frame).into();
    passage["truncated"] = true.into();
    (Some(passage), left)
}

/// About how many tokens a text takes: a quarter of its ASCII characters, and each other one.
fn estimate(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + others
}

/// The start of a text that takes about so many tokens, cut between words where it has any.
fn shortened(text: &str, tokens: usize) -> String {
    let (mut quarters, mut end) = (0usize, 0);
    for (at, c) in text.char_indices() {
        quarters += if c.is_ascii() { 1 } else { 4 };
        if quarters > tokens.saturating_mul(4) {
            break;
        }
        end = at + c.len_utf8();
    }
    let cut = &text[..end];
    let at_word = cut.rfind(char::is_whitespace).filter(|at| *at > end / 2).unwrap_or(end);
    format!("{} …", cut[..at_word].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(uri: &str, title: &str, similarity: f64, lexical: f64, content: &str) -> Value {
        json!({
            "namespace": "local", "source_uri": uri, "title": title, "section": "S", "revision": 1, "chunk_idx": 0,
            "similarity": similarity, "lexical_score": lexical, "score": 0.5, "keys_matched": [], "locator": null,
            "content": content,
        })
    }

    fn shown(answer: &Value) -> Vec<&str> {
        list(answer, "knowledge").iter().filter_map(|hit| hit["source_uri"].as_str()).collect()
    }

    #[test]
    fn far_passages_are_left_out_unless_their_words_or_names_count() {
        let mut named = hit("e", "", 0.1, 0.0, "names");
        named["keys_matched"] = json!(["server.port"]);
        let mut by_words_alone = hit("f", "", 0.0, 0.1, "words alone");
        by_words_alone["similarity"] = Value::Null;
        let hits = [
            hit("a", "", 0.5, 0.0, "close"),
            hit("b", "", 0.1, 2.0, "its words"),
            hit("c", "", 0.1, 0.3, "a word that stands everywhere"),
            hit("d", "", 0.1, 0.0, "far"),
            named,
            by_words_alone,
        ];
        let answer = within(&hits, Vec::new(), 0.3, 1_000, Vec::new());
        assert_eq!((shown(&answer), &answer["omitted"]), (vec!["a", "b", "e", "f"], &json!(0)));
        assert_eq!(answer["note"], "2 passages below similarity 0.3 were left out");
        let none = within(&[hit("d", "", 0.1, 0.0, "far")], Vec::new(), 0.3, 1_000, Vec::new());
        assert!(none["note"].as_str().is_some_and(|note| note.starts_with("nothing close to the query")), "{none}");
    }

    #[test]
    fn what_does_not_fit_is_cut_and_counted() {
        let long = "word ".repeat(400);
        let hits: Vec<Value> = (0..3).map(|at| hit(&at.to_string(), "", 0.9, 1.0, &long)).collect();
        let answer = within(&hits, Vec::new(), 0.3, 800, Vec::new());
        let passages = list(&answer, "knowledge");
        assert_eq!((passages.len(), &answer["omitted"]), (2, &json!(1)));
        assert_eq!((&passages[0]["truncated"], &passages[1]["truncated"]), (&Value::Null, &json!(true)));
        assert!(estimate(&answer.to_string()) <= 900, "{}", estimate(&answer.to_string()));
        assert!(answer["note"].as_str().is_some_and(|note| note.contains("1 more did not fit")), "{answer}");
        let cut = within(&hits[..1], Vec::new(), 0.3, 200, Vec::new());
        assert!(cut["note"].as_str().is_some_and(|note| note.starts_with("the last passage is cut")), "{cut}");
        let document = json!({ "namespace": "local", "source_uri": "s".repeat(2_000), "title": "t" });
        let answer = within(&hits, vec![document], 0.3, 800, Vec::new());
        assert_eq!((list(&answer, "documents").len(), &answer["omitted"]), (0, &json!(2)));
        assert!(shortened("日本語のテキスト", 3).chars().count() <= 5);
    }

    #[test]
    fn namespaces_that_were_not_searched_are_named() {
        let notes = notes_of(&json!({ "namespaces_skipped": ["a", "b", "c", "d", "e", "f"] }));
        assert_eq!(notes, ["6 namespaces were not searched (a, b, c, d, e and more): name one in `namespace`"]);
        assert!(notes_of(&json!({ "namespaces_skipped": [] })).is_empty());
    }

    #[test]
    fn documents_are_those_that_the_query_names() {
        let hits = [
            hit("1", "Release notes 2026", 0.1, 1.0, ""),
            hit("2", "Harbour handbook", 0.1, 1.0, ""),
            hit("2", "Harbour handbook", 0.1, 1.0, ""),
            hit("3", "Handbook of the harbour master and of everything else there is", 0.1, 1.0, ""),
        ];
        let found = named_documents("what does the HARBOUR handbook say", &hits);
        let uris: Vec<&str> = found.iter().map(|document| document["source_uri"].as_str().expect("text")).collect();
        assert_eq!(uris, ["2"]);
    }
}
