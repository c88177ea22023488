//! `loom_search`: passages and whole documents in one answer, within a number of tokens.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::Calls;
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
/// The fewest and the most tokens that a call may ask for.
const TOKENS_MIN: u64 = 100;
const TOKENS_MAX: u64 = 100_000;

/// The fields that are passed on to `knowledge.search`.
const PASSED_ON: [&str; 7] =
    ["namespace", "namespaces", "namespace_scope", "tags", "uri_prefix", "since_seconds", "formats"];

pub(super) fn tool() -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "A question, words, or an exact name such as orders_daily." },
            "top_k": { "type": "integer", "description": "Passages at most (1-100).", "default": TOP_K },
            "max_tokens": { "type": "integer", "description": "About how long the answer may be." },
            "namespace": { "type": "string", "description": "Where to look first." },
            "namespace_scope": { "enum": ["all_mine", "this"], "description": "Only there, or in all." },
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
            "omitted": { "type": "integer", "description": "Passages left out for want of tokens." },
            "note": { "type": "string" },
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
    let mut input = Map::new();
    input.insert("query".into(), args.get("query").cloned().unwrap_or(Value::Null));
    for name in PASSED_ON {
        if let Some(value) = args.get(name) {
            input.insert(name.into(), value.clone());
        }
    }
    input.insert("top_k".into(), top_k.into());
    let answer = calls.call("knowledge.search", input.clone())?;
    let hits = answer["results"].as_array().cloned().unwrap_or_default();
    input.insert("top_k".into(), DOCUMENT_POOL.into());
    input.insert("search_mode".into(), "lexical".into());
    let pool = calls.call("knowledge.search", input)?;
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let documents = named_documents(query, pool["results"].as_array().map(Vec::as_slice).unwrap_or_default());
    Ok(within(&hits, &documents, settings.similarity_min, usize::try_from(tokens).unwrap_or(usize::MAX)))
}

fn whole(args: &Map<String, Value>, name: &str, default: u64, least: u64, most: u64) -> Result<u64, Value> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(given) => given.as_u64().filter(|given| (least..=most).contains(given)).ok_or_else(|| {
            json!({
                "code": "VALIDATION_FAILED", "message": format!("{name} must be a whole number from {least} to {most}"),
                "retryable": false, "field": name,
            })
        }),
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

/// The answer, cut to about so many tokens: whole passages as long as they fit, the last of them shortened.
fn within(hits: &[Value], documents: &[Value], similarity_min: f64, tokens: usize) -> Value {
    let mut left = tokens.saturating_sub(documents.iter().map(|document| estimate(&document.to_string())).sum());
    let (mut shown, mut omitted, mut far) = (Vec::new(), 0, 0);
    for hit in hits {
        let is_close = hit["similarity"].as_f64().is_none_or(|similarity| similarity >= similarity_min);
        let has_words = hit["lexical_score"].as_f64().is_some_and(|score| score > 0.0);
        let has_names = hit["keys_matched"].as_array().is_some_and(|keys| !keys.is_empty());
        if !is_close && !has_words && !has_names {
            far += 1;
            continue;
        }
        let mut passage = json!({});
        for name in ["namespace", "source_uri", "title", "section", "revision", "chunk_idx", "similarity", "score"] {
            passage[name] = hit[name].clone();
        }
        if !hit["locator"].is_null() {
            passage["locator"] = hit["locator"].clone();
        }
        let content = hit["content"].as_str().unwrap_or_default();
        let frame = estimate(&passage.to_string());
        let whole = frame + estimate(content);
        if omitted == 0 && whole <= left {
            passage["content"] = content.into();
            left -= whole;
        } else if omitted == 0 && left >= frame + CUT_TOKENS_MIN {
            passage["content"] = shortened(content, left - frame).into();
            passage["truncated"] = true.into();
            left = 0;
        } else {
            omitted += 1;
            continue;
        }
        shown.push(passage);
    }
    let mut answer = json!({ "knowledge": shown, "documents": documents, "omitted": omitted });
    let mut notes = Vec::new();
    if omitted > 0 {
        notes.push(format!("{omitted} more passages did not fit: raise max_tokens or ask more narrowly"));
    }
    if far > 0 && answer["knowledge"].as_array().is_some_and(Vec::is_empty) {
        notes.push("nothing close to the query was found".to_owned());
    }
    if !notes.is_empty() {
        answer["note"] = notes.join("; ").into();
    }
    answer
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

    #[test]
    fn far_passages_without_a_word_of_the_query_are_left_out() {
        let hits =
            vec![hit("a", "", 0.5, 0.0, "close"), hit("b", "", 0.1, 2.0, "words"), hit("c", "", 0.1, 0.0, "far")];
        let answer = within(&hits, &[], 0.3, 1_000);
        let shown: Vec<&str> = answer["knowledge"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|hit| hit["source_uri"].as_str().expect("text"))
            .collect();
        assert_eq!((shown, &answer["omitted"]), (vec!["a", "b"], &json!(0)));
        let none = within(&[hit("c", "", 0.1, 0.0, "far")], &[], 0.3, 1_000);
        assert_eq!(none["note"], "nothing close to the query was found");
    }

    #[test]
    fn what_does_not_fit_is_cut_and_counted() {
        let long = "word ".repeat(400);
        let hits: Vec<Value> = (0..3).map(|at| hit(&at.to_string(), "", 0.9, 1.0, &long)).collect();
        let answer = within(&hits, &[], 0.3, 800);
        let shown = answer["knowledge"].as_array().expect("a list");
        assert_eq!((shown.len(), &answer["omitted"]), (2, &json!(1)));
        assert_eq!((&shown[0]["truncated"], &shown[1]["truncated"]), (&Value::Null, &json!(true)));
        assert!(estimate(&answer.to_string()) <= 900, "{}", estimate(&answer.to_string()));
        assert!(answer["note"].as_str().expect("text").contains("max_tokens"));
        assert!(shortened("日本語のテキスト", 3).chars().count() <= 5);
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
