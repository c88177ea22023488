//! What the small models give, against what the reference implementation made of the same files
//! (`reference/golden.py`).

use std::fs;
use std::time::{Duration, Instant};

use loom_transformer::testing::{Head, Pieces, write};
use loom_transformer::{CrossEncoder, Limits, SentenceEncoder, Side};
use serde_json::Value;
use tempfile::TempDir;

fn golden() -> Value {
    serde_json::from_str(include_str!("../reference/golden.json")).expect("the golden file is JSON")
}

fn numbers(value: &Value) -> Vec<f32> {
    serde_json::from_value(value.clone()).expect("numbers")
}

fn later() -> Instant {
    Instant::now() + Duration::from_mins(5)
}

fn model(pieces: Pieces, head: Head, seed: u64) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), pieces, head, seed).expect("a model");
    folder
}

fn texts(golden: &Value) -> Vec<&str> {
    golden["texts"].as_array().expect("texts").iter().map(|text| text.as_str().expect("a text")).collect()
}

/// All texts together and each alone.
fn check_vectors(folder: &TempDir, golden: &Value, of: &str) {
    let encoder = SentenceEncoder::open(folder.path(), &Limits::default()).expect("a sound folder");
    let texts = texts(golden);
    let together = encoder.encode(&texts, Side::Passage, later()).expect("vectors");
    for (at, text) in texts.iter().enumerate() {
        let alone = encoder.encode(&[text], Side::Passage, later()).expect("a vector");
        assert_eq!(together[at], alone[0], "{of}: {text}");
        for (found, wanted) in alone[0].iter().zip(numbers(&golden[of]["vectors"][at])) {
            assert!((found - wanted).abs() < 1e-5, "{of}: {text}: {found} for {wanted}");
        }
    }
}

#[test]
fn means_are_those_of_the_reference() {
    check_vectors(&model(Pieces::Word, Head::Sentence, 1), &golden(), "mean");
}

#[test]
fn first_tokens_are_those_of_the_reference() {
    let folder = model(Pieces::Word, Head::Sentence, 1);
    fs::create_dir(folder.path().join("1_Pooling")).expect("a folder");
    let pooling = r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#;
    fs::write(folder.path().join("1_Pooling/config.json"), pooling).expect("a file");
    check_vectors(&folder, &golden(), "first");
}

#[test]
fn a_unigram_tokenizer_gives_what_the_reference_gives() {
    check_vectors(&model(Pieces::Unigram, Head::Sentence, 2), &golden(), "unigram");
}

#[test]
fn scores_are_those_of_the_reference() {
    let (folder, golden) = (model(Pieces::Word, Head::Cross, 3), golden());
    let encoder = CrossEncoder::open(folder.path(), &Limits::default()).expect("a sound folder");
    let (texts, query) = (texts(&golden), golden["query"].as_str().expect("a query"));
    let together = encoder.score(query, &texts, later()).expect("scores");
    for ((text, together), wanted) in texts.iter().zip(together).zip(numbers(&golden["cross"])) {
        let alone = encoder.score(query, &[text], later()).expect("a score");
        assert_eq!(alone, [together], "{text}");
        assert!((together - wanted).abs() < 1e-5, "{text}: {together} for {wanted}");
    }
}
