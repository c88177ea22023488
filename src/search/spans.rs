//! Narrowing: the two sentences of a hit that are nearest to the query.

use std::collections::HashMap;

use loom_index::Model;
use loom_storage::Scope;
use unicode_segmentation::UnicodeSegmentation;

use super::hit::{Hit, Span};
use crate::context::Reading;
use crate::error::Error;

/// How many sentences a window holds.
const SENTENCES: usize = 2;

/// Gives each hit its span. The windows of all hits under one model are embedded in one call.
pub fn narrow(
    reading: &Reading<'_>,
    scopes: &[Scope],
    query: &str,
    vectors: &HashMap<String, Vec<f32>>,
    hits: &mut [Hit],
) -> Result<(), Error> {
    let mut by_model: HashMap<String, (Model, Vec<usize>)> = HashMap::new();
    for (at, hit) in hits.iter().enumerate() {
        if let Some(scope) = scopes.iter().find(|scope| scope.namespace == hit.namespace) {
            let model = reading.models(scope)?.serving;
            by_model.entry(model.name.clone()).or_insert_with(|| (model, Vec::new())).1.push(at);
        }
    }
    for (model, members) in by_model.into_values() {
        let query_vector = match vectors.get(&model.name) {
            Some(vector) => vector.clone(),
            None => reading.embed_query(&model, query)?,
        };
        let windows: Vec<(usize, (usize, usize))> =
            members.iter().flat_map(|at| windows(&hits[*at].content).into_iter().map(|window| (*at, window))).collect();
        let texts: Vec<&str> = windows.iter().map(|(at, (start, end))| &hits[*at].content[*start..*end]).collect();
        let embedded = reading.embed_passages(&model, &texts)?;
        let mut best: HashMap<usize, ((usize, usize), f32)> = HashMap::new();
        for ((at, window), vector) in windows.into_iter().zip(embedded) {
            let similarity = dot(&query_vector, &vector);
            if best.get(&at).is_none_or(|(_, known)| similarity > *known) {
                best.insert(at, (window, similarity));
            }
        }
        for (at, ((start, end), similarity)) in best {
            let hit = &mut hits[at];
            let chars = |text: &str| text.chars().count();
            let (from, text) = (chars(&hit.content[..start]), hit.content[start..end].to_owned());
            hit.span = Some(Span { start: from, end: from + chars(&text), text, similarity: f64::from(similarity) });
        }
    }
    Ok(())
}

/// The windows of consecutive sentences, as trimmed byte ranges of the text.
fn windows(text: &str) -> Vec<(usize, usize)> {
    let sentences: Vec<(usize, usize)> = text
        .split_sentence_bound_indices()
        .filter(|(_, sentence)| !sentence.trim().is_empty())
        .map(|(at, sentence)| {
            let start = at + sentence.len() - sentence.trim_start().len();
            (start, at + sentence.trim_end().len())
        })
        .collect();
    if sentences.len() <= SENTENCES {
        return sentences.first().zip(sentences.last()).map(|(first, last)| (first.0, last.1)).into_iter().collect();
    }
    sentences.windows(SENTENCES).map(|window| (window[0].0, window[SENTENCES - 1].1)).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::windows;

    #[test]
    fn windows_are_pairs_of_sentences_without_the_blanks_around_them() {
        let text = "  One is here. Two is é. Three!  ";
        let found: Vec<&str> = windows(text).into_iter().map(|(start, end)| &text[start..end]).collect();
        assert_eq!(found, ["One is here. Two is é.", "Two is é. Three!"]);
        assert_eq!(windows("alone"), [(0, 5)]);
        assert!(windows(" \n ").is_empty());
    }
}
