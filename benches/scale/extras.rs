//! What searches cost that ask for more: many namespaces, and more about each hit.

use std::path::Path;
use std::thread;
use std::time::Duration;

use loom::{Config, Engine};
use serde_json::{Value, json};

use super::Outcome;
use super::corpus::Corpus;
use super::engine::{batches, call, search_input};
use super::measure;
use super::report::{Report, float};

/// How many namespaces the texts are dealt out to.
const NAMESPACES: usize = 20;
/// Each search is measured so often, in turns with the others.
const ROUNDS: usize = 3;

/// What hits with more to them add to the CPU of a hybrid search.
pub fn extras(engine: &Engine, corpus: &Corpus, report: &mut Report) -> Outcome<()> {
    Report::heading("hybrid search, what is added by");
    let asked = [
        ("nothing: CPU per query", json!({})),
        ("narrow_spans", json!({ "narrow_spans": true })),
        ("explain", json!({ "explain": true })),
        ("expand by a chunk before and after", json!({ "expand": { "before": 1, "after": 1 } })),
        ("expand to the section", json!({ "expand": "section" })),
    ];
    let mut cpu_s = [0.0; 5];
    for _ in 0..ROUNDS {
        for ((_, more), cpu_s) in asked.iter().zip(&mut cpu_s) {
            *cpu_s += measure::thread(|| search_all(engine, corpus, more))?.1.cpu_s;
        }
    }
    let each = cpu_s.map(|cpu_s| cpu_s * 1e3 / float(ROUNDS * corpus.queries.len()));
    for ((name, _), cpu) in asked.into_iter().zip(each) {
        report.figure(name, if name.starts_with("nothing") { cpu } else { cpu - each[0] }, "ms");
    }
    Ok(())
}

/// The same texts in one namespace and dealt out to many, which are searched together.
pub fn fan_out(engine: &Engine, corpus: &Corpus, folder: &Path, report: &mut Report) -> Outcome<()> {
    Report::heading("hybrid search of the same texts in 20 namespaces");
    let data = folder.join("dealt");
    let many = Engine::open(&data, Config::default())?;
    let batches = batches(corpus);
    let size = batches.len().div_ceil(NAMESPACES);
    let mut names = Vec::new();
    for (number, batches) in batches.chunks(size).enumerate() {
        names.push(format!("part-{number}"));
        for batch in batches {
            let mut batch = batch.clone();
            batch["namespace"] = json!(names[number]);
            call(&many, "knowledge.bulk_add", batch)?;
        }
    }
    many.close()?;
    drop(many);
    let many = Engine::open(&data, Config::default())?;
    let among = json!({ "namespace": names[0], "namespaces": names[1..] });
    let (mut cpu_s, mut wall_s) = ([0.0; 2], [0.0; 2]);
    for round in 0..=ROUNDS {
        for (at, (engine, more)) in [(engine, &json!({})), (&many, &among)].into_iter().enumerate() {
            let ((), spent) = measure::process(|| search_all(engine, corpus, more))?;
            // The first round opens what is searched.
            if round > 0 {
                cpu_s[at] += spent.cpu_s;
                wall_s[at] += spent.wall_s;
            }
        }
        // Whatever opening leaves to do behind ends before it is measured.
        thread::sleep(Duration::from_secs(u64::from(round == 0)));
    }
    many.close()?;
    let each = |of_all: [f64; 2]| of_all.map(|seconds| seconds * 1e3 / float(ROUNDS * corpus.queries.len()));
    let ([one, many], [one_ms, many_ms]) = (each(cpu_s), each(wall_s));
    report.figure("one namespace: CPU per query, all threads", one, "ms");
    report.figure("20 namespaces: CPU per query, all threads", many, "ms");
    Report::ratio("20 namespaces to one", many, one, "at most 1.5");
    report.figure("one namespace: by the clock", one_ms, "ms");
    report.figure("20 namespaces: by the clock", many_ms, "ms");
    Report::ratio("20 namespaces to one, by the clock", many_ms, one_ms, "at most 1.5");
    Ok(())
}

fn search_all(engine: &Engine, corpus: &Corpus, more: &Value) -> Outcome<()> {
    for (query, _) in &corpus.queries {
        let mut input = search_input(query, "hybrid");
        for (name, value) in more.as_object().into_iter().flatten() {
            input[name] = value.clone();
        }
        call(engine, "knowledge.search", input)?;
    }
    Ok(())
}
