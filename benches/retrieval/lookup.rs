//! Whether a search for a name alone has a first hit that holds exactly it.

use std::path::Path;

use loom::{Config, Engine};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::names::{self, Document, Kind, Query};
use crate::{Outcome, call};

/// Documents in one call.
const CALL_DOCUMENTS: usize = 100;
/// How many hits are looked at.
const HITS: usize = 10;

/// How a query went.
#[derive(Clone, Copy)]
struct Found {
    /// The place of the first right hit, from 1.
    right: Option<usize>,
    /// Whether the first hit defines the name; false for names that nothing defines.
    defines: bool,
}

/// Runs what the arguments ask for.
#[expect(clippy::print_stdout, reason = "a benchmark prints")]
pub fn run(mut arguments: impl Iterator<Item = String>) -> Outcome<()> {
    let root = arguments.next().ok_or("name the folder that holds files/ and md/")?;
    let (mut most, mut show) = (500, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--most" => most = arguments.next().ok_or("--most takes a number")?.parse()?,
            "--show" => show = true,
            other => return Err(format!("what is {other}?").into()),
        }
    }
    let documents = names::documents(Path::new(&root))?;
    let kinds = names::queries(&documents, most);
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path(), Config::default())?;
    fill(&engine, &documents)?;
    println!("{:<28} {:<9} {:>7} {:>11} {:>8} {:>9}", "names", "mode", "queries", "first right", "in ten", "defining");
    for Kind { title, queries } in &kinds {
        for mode in ["hybrid", "lexical"] {
            let found: Vec<Found> =
                queries.par_iter().map(|query| asked(&engine, query, mode)).collect::<Outcome<_>>()?;
            let share = |is: fn(&Found) -> bool| percent(found.iter().filter(|found| is(found)).count(), found.len());
            println!(
                "{title:<28} {mode:<9} {:>7} {:>10.1}% {:>7.1}% {:>8.1}%",
                queries.len(),
                share(|found| found.right == Some(1)),
                share(|found| found.right.is_some()),
                share(|found| found.defines),
            );
            for (query, found) in queries.iter().zip(&found).filter(|_| show && mode == "hybrid") {
                if found.right != Some(1) {
                    println!("    {} is right at {:?}", query.name, found.right);
                }
            }
        }
    }
    engine.close()?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts of queries are small")]
fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

fn fill(engine: &Engine, documents: &[Document]) -> Outcome<()> {
    for documents in documents.chunks(CALL_DOCUMENTS) {
        let entry = |document: &Document| {
            let title = document.path.rsplit('/').next().unwrap_or_default();
            json!({ "source_uri": document.path, "title": title, "content": document.content })
        };
        let entries: Vec<Value> = documents.iter().map(entry).collect();
        call(engine, "knowledge.bulk_add", json!({ "entries": entries }))?;
    }
    Ok(())
}

fn asked(engine: &Engine, query: &Query, mode: &str) -> Outcome<Found> {
    let input = json!({ "query": query.name, "search_mode": mode, "top_k": HITS, "namespace_scope": "this" });
    let answer = call(engine, "knowledge.search", input)?;
    let hits = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let right = hits.iter().position(|hit| is_right(query, hit)).map(|at| at + 1);
    Ok(Found { right, defines: hits.first().is_some_and(|hit| defines(query, hit)) })
}

/// Whether a hit's passage defines or holds the name, or stands under a heading that does. Of a name that is defined in one
/// place, only passages of that document are right.
fn is_right(query: &Query, hit: &Value) -> bool {
    let text = |field: &str| hit[field].as_str().unwrap_or_default();
    let is_held = names::holds(text("content"), &query.name) || names::holds(text("section"), &query.name);
    let is_elsewhere = matches!(&query.defined[..], [(document, _)] if text("source_uri") != document);
    defines(query, hit) || (is_held && !is_elsewhere)
}

fn defines(query: &Query, hit: &Value) -> bool {
    let line = |end: &str| hit["locator"][end].as_u64().unwrap_or_default();
    query.defined.iter().any(|(document, at)| {
        hit["source_uri"].as_str() == Some(document) && (line("start")..=line("end")).contains(at)
    })
}
