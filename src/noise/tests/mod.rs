//! Examples of each rule, for it and against it.

mod decisions;
mod documents;
mod hostile;
mod questions;
mod recordings;
mod titles;

use super::labels;
use crate::chunk::{ChunkSettings, cut};

/// The last headings of the noise sections in order; "" before the first heading.
fn noise(title: &str, text: &str) -> Vec<String> {
    let cut = cut(text, ChunkSettings::default());
    let labels = labels(title, text, &cut);
    assert_eq!(labels.len(), cut.pieces.len());
    let heading = |path: &[String]| path.last().cloned().unwrap_or_default();
    let mut headings: Vec<String> = cut
        .pieces
        .iter()
        .zip(labels)
        .filter(|(_, noise)| *noise)
        .map(|(piece, _)| heading(&piece.section_path))
        .collect();
    headings.dedup();
    headings
}

/// Checks documents of one section each, `(title, text)`: those of `noisy` are noise, those of `kept` are not.
#[track_caller]
fn check(noisy: &[(&str, &str)], kept: &[(&str, &str)]) {
    for (title, text) in noisy {
        assert!(!noise(title, text).is_empty(), "content: {title:?} {text:?}");
    }
    for (title, text) in kept {
        assert_eq!(noise(title, text), [""; 0], "noise: {title:?} {text:?}");
    }
}
