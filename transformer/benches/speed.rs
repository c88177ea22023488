//! How fast and in how much memory a model of a folder works, and how it agrees with vectors of another implementation.
//!
//!     cargo bench -p loom-transformer -- FOLDER [VECTORS.json]
//!
//! `VECTORS.json`: `{"texts": [..], "vectors": [[..], ..]}`.

#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::time::{Duration, Instant};
use std::{env, fs};

use loom_transformer::{Limits, SentenceEncoder, Side};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    texts: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

const WORDS: [&str; 12] =
    ["river", "bank", "of", "the", "engine", "stores", "documents", "in", "a", "folder", "and", "finds"];
/// Texts of more tokens than a chunk's 256, so that each is cut to that.
const CHUNK_WORDS: usize = 400;
const BATCH: usize = 64;
const CHUNK_TOKENS: usize = 256;

fn main() {
    let given: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let Some(folder) = given.first() else {
        println!("name a model folder");
        return;
    };
    let until = Instant::now() + Duration::from_hours(1);
    for threads in [1, 0] {
        let limits = Limits { tokens_max: CHUNK_TOKENS, threads, ..Limits::default() };
        let started = Instant::now();
        let encoder = SentenceEncoder::open(folder.as_ref(), &limits).expect("a model");
        println!("{} read in {:?}, {} dimensions", encoder.name(), started.elapsed(), encoder.dim());
        println!("memory when read: {}", memory());
        let text = |at: usize| {
            (0..CHUNK_WORDS).map(|n| WORDS[(at + n * (n + at)) % WORDS.len()]).collect::<Vec<_>>().join(" ")
        };
        let texts: Vec<String> = (0..BATCH).map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (cpu, started) = (cpu_seconds(), Instant::now());
        let vectors = encoder.encode(&texts, Side::Passage, until).expect("vectors");
        let cpu = cpu_seconds() - cpu;
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let chunks = vectors.len() as f64;
        println!(
            "threads {threads}: {:.1} chunks of {CHUNK_TOKENS} tokens a CPU second, {:.1} a second; memory: {}",
            chunks / cpu,
            chunks / started.elapsed().as_secs_f64(),
            memory()
        );
        let started = Instant::now();
        for _ in 0..20 {
            encoder.encode(&["how do I renew a passport"], Side::Query, until).expect("a vector");
        }
        println!("a query: {:?}; noise floor {:?}", started.elapsed() / 20, encoder.noise_floor(until));
    }
    if let Some(reference) = given.get(1) {
        compare(folder, reference, until);
    }
}

fn compare(folder: &str, reference: &str, until: Instant) {
    let reference: Reference =
        serde_json::from_str(&fs::read_to_string(reference).expect("a file")).expect("texts and vectors");
    let encoder = SentenceEncoder::open(folder.as_ref(), &Limits::default()).expect("a model");
    let texts: Vec<&str> = reference.texts.iter().map(String::as_str).collect();
    let vectors = encoder.encode(&texts, Side::Passage, until).expect("vectors");
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let cosines = vectors.iter().zip(&reference.vectors).map(|(a, b)| cosine(a, b));
    let off = |(a, b): (&Vec<f32>, &Vec<f32>)| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let largest = vectors.iter().zip(&reference.vectors).map(off).fold(0.0, f32::max);
    println!("{} texts: least cosine {}, largest difference {largest}", texts.len(), cosines.fold(1.0, f32::min));
}

/// Seconds that the threads of this process computed, where the system tells.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (ticks(11) + ticks(12)) / 100.0
}

/// The memory of this process now and at its most, where the system tells.
fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim().to_owned();
    format!("{}, at most {}", of("VmRSS:"), of("VmHWM:"))
}
