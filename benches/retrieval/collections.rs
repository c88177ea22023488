//! The measures of rankings against judgements.

use std::fs;
use std::path::{Path, PathBuf};

use loom::eval::{self, DEEP_CUTOFF, Evaluation, Judged};
use loom::{Config, Engine, FusionKind};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::{Outcome, call};

/// Bytes of text in one call.
const CALL_BYTES: usize = 2 << 20;

#[derive(Deserialize)]
struct Document {
    id: String,
    title: String,
    text: String,
}

/// What was asked for.
struct Asked {
    collections: Vec<PathBuf>,
    shares: Vec<f64>,
    /// Which half of the queries: those with an odd id, those with an even one, or both.
    odd: Option<bool>,
    words_only: bool,
    queries_max: usize,
    /// The embedding model as settings name it; empty for the one in the binary.
    model: String,
    /// The folder of a cross-encoder; empty for none.
    reranker: String,
}

impl Asked {
    fn config(&self) -> Config {
        let mut config = Config::default();
        config.embedding.model.clone_from(&self.model);
        config.rerank.local_model.clone_from(&self.reranker);
        config
    }
}

/// How searches are made.
struct Setting {
    name: String,
    mode: &'static str,
    rerank: &'static str,
    config: Config,
}

/// Runs what the arguments ask for.
#[expect(clippy::print_stdout, reason = "a benchmark prints")]
pub fn run(arguments: impl Iterator<Item = String>) -> Outcome<()> {
    let asked = asked(arguments)?;
    println!(
        "{:<14} {:>7} {:>7}  {:<24} {:>7} {:>9} {:>10} {:>6} {:>6}",
        "collection", "docs", "queries", "setting", "nDCG@10", "recall@10", "recall@100", "MRR", "first"
    );
    let mut sums: Vec<(String, f64, f64)> = Vec::new();
    for collection in &asked.collections {
        for (name, mean) in measured(collection, &asked)? {
            match sums.iter_mut().find(|(known, _, _)| *known == name) {
                Some((_, sum, count)) => (*sum, *count) = (*sum + mean, *count + 1.0),
                None => sums.push((name, mean, 1.0)),
            }
        }
    }
    for (name, sum, count) in sums {
        println!("{:<14} {:>7} {:>7}  {name:<24} {:>7.4}", "mean", "", count, sum / count);
    }
    Ok(())
}

fn asked(mut arguments: impl Iterator<Item = String>) -> Outcome<Asked> {
    let root = PathBuf::from(arguments.next().ok_or("name the folder of the collections")?);
    let mut asked = Asked {
        collections: Vec::new(),
        shares: Vec::new(),
        odd: Some(false),
        words_only: false,
        queries_max: usize::MAX,
        model: String::new(),
        reranker: String::new(),
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--odd" => asked.odd = Some(true),
            "--all" => asked.odd = None,
            "--words" => asked.words_only = true,
            "--share" => {
                let shares = arguments.next().ok_or("--share takes numbers")?;
                asked.shares = shares.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--model" => asked.model = arguments.next().ok_or("--model takes a name")?,
            "--rerank" => asked.reranker = arguments.next().ok_or("--rerank takes a folder")?,
            "--queries" => asked.queries_max = arguments.next().ok_or("--queries takes a number")?.parse()?,
            name => asked.collections.push(root.join(name)),
        }
    }
    if asked.collections.is_empty() {
        find_collections(&root, &mut asked.collections)?;
        asked.collections.sort();
    }
    Ok(asked)
}

fn find_collections(folder: &Path, found: &mut Vec<PathBuf>) -> Outcome<()> {
    if folder.join("qrels.tsv").exists() && folder.join("docs.jsonl").exists() {
        found.push(folder.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_collections(&path, found)?;
        }
    }
    Ok(())
}

/// Measures every setting on a collection; answers the nDCG of each.
fn measured(collection: &Path, asked: &Asked) -> Outcome<Vec<(String, f64)>> {
    let folder = tempfile::tempdir()?;
    let (documents, judged) = read(collection, asked)?;
    let engine = Engine::open(folder.path(), asked.config())?;
    fill(&engine, &documents)?;
    engine.close()?;
    drop(engine);
    let mut means = Vec::new();
    for setting in settings(asked) {
        let engine = Engine::open(folder.path(), setting.config.clone())?;
        let evaluation = evaluated(&engine, &judged, &setting)?;
        engine.close()?;
        print(collection, documents.len(), &judged, &setting.name, &evaluation);
        means.push((setting.name, evaluation.mean.ndcg_10));
    }
    Ok(means)
}

fn settings(asked: &Asked) -> Vec<Setting> {
    let setting = |name: &str, mode, rerank| Setting { name: name.to_owned(), mode, rerank, config: asked.config() };
    let mut settings = vec![
        setting("lexical", "lexical", "none"),
        setting("semantic", "semantic", "none"),
        setting("hybrid", "hybrid", "none"),
        setting("hybrid, reciprocal rank", "hybrid", "none"),
    ];
    settings[3].config.search.fusion = FusionKind::ReciprocalRank;
    if !asked.reranker.is_empty() {
        settings.push(setting("hybrid, reranked", "hybrid", "builtin:local"));
    }
    for share in &asked.shares {
        let mut with_share = setting(&format!("hybrid, share {share}"), "hybrid", "none");
        with_share.config.search.vector_share = Some(*share);
        settings.push(with_share);
    }
    if asked.words_only {
        settings.truncate(1);
    }
    settings
}

/// The documents, and the queries that are measured.
fn read(collection: &Path, asked: &Asked) -> Outcome<(Vec<Document>, Judged)> {
    let read = |file: &str| fs::read_to_string(collection.join(file));
    let mut judged = Judged::read(&read("queries.jsonl")?, &read("qrels.tsv")?)?;
    judged.queries.retain(|(id, _, _)| asked.odd.is_none_or(|odd| is_odd(id) == odd));
    judged.queries.truncate(asked.queries_max);
    Ok((documents(collection)?, judged))
}

fn documents(collection: &Path) -> Outcome<Vec<Document>> {
    let text = fs::read_to_string(collection.join("docs.jsonl"))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Whether a query's id is odd: by its last digit, hexadecimal ones included.
fn is_odd(id: &str) -> bool {
    id.chars().rev().find_map(|c| c.to_digit(16)).is_some_and(|digit| digit % 2 == 1)
}

fn fill(engine: &Engine, documents: &[Document]) -> Outcome<()> {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for document in documents {
        bytes += document.text.len();
        entries.push(json!({ "source_uri": document.id, "title": document.title, "content": document.text }));
        if bytes > CALL_BYTES || entries.len() == 500 {
            call(engine, "knowledge.bulk_add", json!({ "entries": std::mem::take(&mut entries) }))?;
            bytes = 0;
        }
    }
    if !entries.is_empty() {
        call(engine, "knowledge.bulk_add", json!({ "entries": entries }))?;
    }
    Ok(())
}

fn evaluated(engine: &Engine, judged: &Judged, setting: &Setting) -> Outcome<Evaluation> {
    let Setting { mode, rerank, .. } = setting;
    let one = |(_, text, judgements): &(String, String, eval::Judgements)| {
        let input = json!({
            "query": text, "search_mode": mode, "rerank": rerank, "top_k": DEEP_CUTOFF, "namespace_scope": "this",
        });
        let answer = call(engine, "knowledge.search", input)?;
        let hits = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(eval::of_ranking(hits.iter().filter_map(|hit| hit["source_uri"].as_str()), judgements))
    };
    Ok(Evaluation::of(judged.queries.par_iter().map(one).collect::<Outcome<_>>()?))
}

#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn print(collection: &Path, documents: usize, judged: &Judged, name: &str, evaluation: &Evaluation) {
    let mean = evaluation.mean;
    let collection = collection.file_name().unwrap_or_default().to_string_lossy();
    println!(
        "{collection:<14} {documents:>7} {:>7}  {name:<24} {:>7.4} {:>9.3} {:>10.3} {:>6.3} {:>6.3}",
        judged.queries.len(),
        mean.ndcg_10,
        mean.recall_10,
        mean.recall_100,
        mean.mrr,
        mean.success_1
    );
}
