//! The engine's own figures, through the calls that users make.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use loom::{Caller, Config, Engine};
use serde_json::{Value, json};

use super::Outcome;
use super::baseline::{self, TIE, Tantivy, Usearch};
use super::corpus::Corpus;
use super::measure::{self, Latencies};
use super::report::{Report, float};

/// A call takes so many documents, or so much text, whichever is reached first.
const BATCH_DOCUMENTS: usize = 500;
const BATCH_BYTES: usize = 1 << 20;
const UPSERTS: usize = 300;
const WRITERS: usize = 16;
const SEARCHERS: usize = 8;
const GRAPH_THREAD: &str = "loom-graph";

pub fn call(engine: &Engine, op: &str, input: Value) -> Outcome<Value> {
    let Value::Object(input) = input else { return Err("an input is an object".into()) };
    match engine.call(&Caller::local(), op, input) {
        Ok(answer) => Ok(answer.output),
        Err(error) => Err(format!("{op}: {}", error.message).into()),
    }
}

/// The input of a search for `query`.
pub fn search_input(query: &str, mode: &str) -> Value {
    json!({ "query": query, "search_mode": mode, "namespace_scope": "this", "top_k": 10, "collapse_sections": false })
}

/// Stores all documents, and waits until the graph stands.
pub fn ingest(corpus: &Corpus, data: &Path, report: &mut Report) -> Outcome<Engine> {
    let batches = batches(corpus);
    let engine = Engine::open(data, Config::default())?;
    let (chunks, ingest) = measure::process(|| {
        let mut chunks = 0;
        for batch in batches {
            let answer = call(&engine, "knowledge.bulk_add", batch)?;
            let written = answer["written"].as_array().ok_or("an answer lists what was written")?;
            chunks += written.iter().filter_map(|entry| entry["chunks_created"].as_u64()).sum::<u64>();
        }
        Ok(chunks)
    })?;
    let mut graph_s = measure::threads_cpu_s(GRAPH_THREAD)?;
    let ((), closing) = measure::process(|| Ok(engine.close()?))?;
    drop(engine);
    if chunks != corpus.texts.len() as u64 {
        return Err(format!("the engine cut {chunks} chunks, this benchmark {}", corpus.texts.len()).into());
    }
    Report::heading("bulk ingest: cut, embedded, committed, searchable, and its projections written");
    let count = float(corpus.texts.len());
    let cpu = (ingest.cpu_s + closing.cpu_s - graph_s) * 1e3 / count;
    report.figure("CPU per chunk", cpu, "ms");
    report.figure("chunks a second", count / ingest.wall_s, "");
    report.figure("closing, which writes what is in memory", closing.wall_s * 1e3, "ms");
    Report::ratio("CPU to raw tantivy's", cpu, report.value("tantivy: CPU per chunk indexed"), "at most 2");
    let stemmed = report.value("tantivy with its stemmer: CPU per chunk indexed");
    Report::ratio("CPU to raw tantivy's with its stemmer", cpu, stemmed, "at most 2");
    Report::ratio("CPU to the bare embedding's", cpu, report.value("embedding: CPU per text"), "-");

    let engine = Engine::open(data, Config::default())?;
    call(&engine, "knowledge.search", search_input("the first of all", "hybrid"))?;
    graph_s += wait_for_graph()?;
    report.figure("graph, built behind: CPU per chunk", graph_s * 1e3 / count, "ms");
    Ok(engine)
}

/// Waits until the graph thread has done nothing for some time; returns its CPU seconds.
pub fn wait_for_graph() -> Outcome<f64> {
    const QUIET: u32 = 14;
    let mut before = measure::threads_cpu_s(GRAPH_THREAD)?;
    let mut quiet = 0;
    while quiet < QUIET {
        thread::sleep(Duration::from_millis(500));
        let now = measure::threads_cpu_s(GRAPH_THREAD)?;
        quiet = if now - before < 0.02 { quiet + 1 } else { 0 };
        before = now;
    }
    Ok(before)
}

/// All documents, as calls take them.
pub fn batches(corpus: &Corpus) -> Vec<Value> {
    let mut batches = Vec::new();
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for (at, (path, text)) in corpus.documents.iter().enumerate() {
        entries.push(json!({ "source_uri": path, "content": text, "tags": tags(at) }));
        bytes += text.len();
        if entries.len() == BATCH_DOCUMENTS || bytes >= BATCH_BYTES || at + 1 == corpus.documents.len() {
            batches.push(json!({ "entries": std::mem::take(&mut entries) }));
            bytes = 0;
        }
    }
    batches
}

/// Tags that a hundredth and a thousandth of the documents carry.
const SHARES: [(&str, usize); 2] = [("one in 100", 100), ("one in 1000", 1000)];

fn tags(document: usize) -> Vec<&'static str> {
    let carries = |(_, share): &&(&str, usize)| document.is_multiple_of(*share);
    SHARES.iter().filter(carries).map(|(tag, _)| *tag).chain(["every"]).collect()
}

/// One search at a time, against the libraries bare.
pub fn searches(
    engine: &Engine,
    corpus: &Corpus,
    lexical: &Tantivy,
    vectors: &Usearch,
    report: &mut Report,
) -> Outcome<()> {
    Report::heading("search, one at a time");
    let count = float(corpus.queries.len());
    for (query, vector) in &corpus.queries {
        lexical.search(query)?;
        vectors.search(vector)?;
        call(engine, "knowledge.search", search_input(query, "hybrid"))?;
    }
    let (_, bare_lexical) =
        measure::thread(|| corpus.queries.iter().map(|(query, _)| lexical.search(query)).sum::<Outcome<usize>>())?;
    report.figure("tantivy: CPU per query, top 50", bare_lexical.cpu_s * 1e3 / count, "ms");
    let (_, bare_vector) =
        measure::thread(|| corpus.queries.iter().map(|(_, vector)| vectors.search(vector)).sum::<Outcome<usize>>())?;
    report.figure("usearch: CPU per query, top 50", bare_vector.cpu_s * 1e3 / count, "ms");
    for mode in ["lexical", "semantic", "hybrid"] {
        let mut latencies = Latencies::default();
        let ((), spent) = measure::thread(|| {
            for (query, _) in &corpus.queries {
                let (_, spent) = measure::thread(|| call(engine, "knowledge.search", search_input(query, mode)))?;
                latencies.push(spent);
            }
            Ok(())
        })?;
        let name = match mode {
            "lexical" => "lexical: CPU per query",
            "semantic" => "semantic: CPU per query",
            _ => "hybrid: CPU per query",
        };
        report.figure(name, spent.cpu_s * 1e3 / count, "ms");
        report.figure("  median", latencies.at(50), "ms");
        report.figure("  95th percentile", latencies.at(95), "ms");
    }
    Report::ratio(
        "hybrid CPU to raw tantivy plus raw usearch",
        report.value("hybrid: CPU per query"),
        report.value("tantivy: CPU per query, top 50") + report.value("usearch: CPU per query, top 50"),
        "at most 1.3",
    );
    let recall = recall(engine, corpus, &[], &corpus.kth_similarity(10, |_| true))?;
    report.figure("semantic: recall at 10", recall.0, "(wanted: at least 0.98)");
    report.figure("  of the worst query in a hundred", recall.1, "");
    Ok(())
}

/// The mean share of the ten nearest that semantic searches find, and that of the worst in a hundred.
fn recall(engine: &Engine, corpus: &Corpus, tags: &[&str], tenth: &[f32]) -> Outcome<(f64, f64)> {
    let mut shares = Vec::new();
    for ((query, _), tenth) in corpus.queries.iter().zip(tenth) {
        let mut input = search_input(query, "semantic");
        input["tags"] = json!(tags);
        let answer = call(engine, "knowledge.search", input)?;
        let hits = answer["results"].as_array().ok_or("an answer has results")?;
        let near =
            hits.iter().filter_map(|hit| hit["similarity"].as_f64()).filter(|found| *found >= f64::from(*tenth - TIE));
        shares.push(float(near.count()) / float(hits.len().max(1)));
    }
    shares.sort_by(f64::total_cmp);
    Ok((shares.iter().sum::<f64>() / float(shares.len()), shares[shares.len() / 100]))
}

/// Searches under filters.
pub fn filtered(engine: &Engine, corpus: &Corpus, report: &mut Report) -> Outcome<()> {
    Report::heading("hybrid search under a filter");
    for (tag, share) in SHARES {
        let keep = |at: usize| corpus.document_of[at].is_multiple_of(share);
        let found = recall(engine, corpus, &[tag], &corpus.kth_similarity(10, keep))?;
        let ((), spent) = measure::thread(|| {
            for (query, _) in &corpus.queries {
                let mut input = search_input(query, "hybrid");
                input["tags"] = json!([tag]);
                call(engine, "knowledge.search", input)?;
            }
            Ok(())
        })?;
        let cpu = spent.cpu_s * 1e3 / float(corpus.queries.len());
        report.figure(
            if share == 100 {
                "a hundredth of the documents: CPU per query"
            } else {
                "a thousandth of the documents: CPU per query"
            },
            cpu,
            "ms",
        );
        report.figure("  recall at 10 of the vector leg", found.0, "(wanted: 1)");
        Report::ratio("  CPU to that without a filter", cpu, report.value("hybrid: CPU per query"), "below 1");
    }
    Ok(())
}

/// Many searches at a time.
pub fn parallel(engine: &Engine, corpus: &Corpus, report: &mut Report) -> Outcome<()> {
    Report::heading("hybrid search in parallel");
    let rate = |threads: usize| -> Outcome<f64> {
        let started = Instant::now();
        thread::scope(|scope| {
            let searchers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        corpus.queries.iter().try_for_each(|(query, _)| {
                            call(engine, "knowledge.search", search_input(query, "hybrid"))
                                .map(drop)
                                .map_err(|error| error.to_string())
                        })
                    })
                })
                .collect();
            searchers.into_iter().try_for_each(|searcher| searcher.join().unwrap_or_else(|_| Err("it panicked".into())))
        })?;
        Ok(float(threads * corpus.queries.len()) / started.elapsed().as_secs_f64())
    };
    let (one, many) = (rate(1)?, rate(SEARCHERS)?);
    report.figure("queries a second, 1 thread", one, "");
    report.figure("queries a second, 8 threads", many, "");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Report::ratio("8 threads to 1", many, one, &format!("about the cores, {cores}"));
    Ok(())
}

/// Single durable writes, against one redb commit, and concurrent ones.
pub fn upserts(engine: &Engine, corpus: &Corpus, folder: &Path, report: &mut Report) -> Outcome<()> {
    Report::heading("durable, searchable upserts of one note");
    let note: String = corpus.documents[0].1.chars().take(1000).collect();
    let floor = baseline::Redb::create(&folder.join("floor.redb"))?;
    let (mut bare, mut upserts) = (Latencies::default(), Latencies::default());
    let write = |at: usize| {
        call(
            engine,
            "knowledge.upsert",
            json!({ "source_uri": format!("note://{at}"), "content": format!("{note}\n\nNote {at}.") }),
        )
    };
    for at in 0..UPSERTS {
        // In turns, so that whatever else the disk does meets both.
        bare.push(measure::thread(|| floor.put(at as u64, note.as_bytes()))?.1);
        upserts.push(measure::thread(|| write(at))?.1);
    }
    report.figure("redb: median of one commit", bare.at(50), "ms");
    report.figure("upsert: median", upserts.at(50), "ms");
    report.figure("  95th percentile", upserts.at(95), "ms");
    Report::ratio("upsert to one redb commit", upserts.at(50), bare.at(50), "at most 2");
    let rate = |writers: usize, from: usize| -> Outcome<f64> {
        let started = Instant::now();
        thread::scope(|scope| {
            let writers: Vec<_> = (0..writers)
                .map(|writer| {
                    scope.spawn(move || {
                        (0..UPSERTS).try_for_each(|at| {
                            write(from + writer * UPSERTS + at).map(drop).map_err(|error| error.to_string())
                        })
                    })
                })
                .collect();
            writers.into_iter().try_for_each(|writer| writer.join().unwrap_or_else(|_| Err("it panicked".into())))
        })?;
        Ok(float(writers * UPSERTS) / started.elapsed().as_secs_f64())
    };
    let (one, many) = (rate(1, UPSERTS)?, rate(WRITERS, 2 * UPSERTS)?);
    report.figure("upserts a second, 1 writer", one, "");
    report.figure("upserts a second, 16 writers", many, "");
    Report::ratio("16 writers to 1", many, one, "at least 4");
    Ok(())
}

/// From opening the folder to the first answer; the page cache is warm, since the files were just written.
pub fn reopen(corpus: &Corpus, data: &Path, report: &mut Report) -> Outcome<()> {
    Report::heading("opening the folder");
    let mut firsts = Latencies::default();
    for (query, _) in corpus.queries.iter().take(5) {
        let (engine, spent) = measure::process(|| {
            let engine = Engine::open(data, Config::default())?;
            call(&engine, "knowledge.search", search_input(query, "hybrid"))?;
            Ok(engine)
        })?;
        firsts.push(spent);
        engine.close()?;
    }
    report.figure("to the first answer, median of 5", firsts.at(50), "ms (wanted: below 100)");
    Ok(())
}
