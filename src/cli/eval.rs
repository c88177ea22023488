//! `loom eval`: how well searches find what was judged relevant.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use crate::eval::{self, DEEP_CUTOFF, Evaluation, Judged};

/// Measure how well searches find what was judged relevant
///
/// Every query is searched in each mode. What a search found are documents, by their source URI, in the order of their best
/// passages. With two modes or more each is compared with the first, query by query.
#[derive(clap::Args)]
pub struct Args {
    /// The queries: a JSON object with id and text on each line
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The judgements: query id, source URI and grade on each line, separated by tabs
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    /// A search mode to measure: hybrid, lexical or semantic; all of them when none is given
    #[arg(long = "mode", value_name = "MODE", value_parser = ["hybrid", "lexical", "semantic"])]
    modes: Vec<String>,
    /// Another setting to measure: fields of a search as a JSON object, say one with `lexical_weight`
    #[arg(long = "setting", value_name = "JSON")]
    settings: Vec<String>,
    /// At most this many queries
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let mut judged =
        Judged::read(&read(&args.queries)?, &read(&args.qrels)?).map_err(|error| Failure::Usage(error.to_string()))?;
    judged.queries.truncate(args.limit.unwrap_or(usize::MAX));
    if judged.queries.is_empty() {
        return Err(Failure::Usage("no query has a relevant document: do the ids of both files agree?".into()));
    }
    let settings = settings(args)?;
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let mut evaluations: Vec<(String, Evaluation)> = Vec::new();
    for (name, fields) in settings {
        let mut queries = Vec::with_capacity(judged.queries.len());
        for (_, text, judgements) in &judged.queries {
            let answer = client.call("knowledge.search", input(text, &fields))?;
            let hits = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
            let found = hits.iter().filter_map(|hit| hit["source_uri"].as_str());
            queries.push(eval::of_ranking(found, judgements));
        }
        evaluations.push((name, Evaluation::of(queries)));
    }
    client.close();
    print(&judged, &evaluations, screen)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Usage(format!("reading {}: {error}", path.display())))
}

/// What is measured: a name and the fields of a search.
fn settings(args: &Args) -> Result<Vec<(String, Value)>, Failure> {
    let modes = if args.modes.is_empty() && args.settings.is_empty() {
        vec!["hybrid".to_owned(), "lexical".to_owned(), "semantic".to_owned()]
    } else {
        args.modes.clone()
    };
    let mut settings: Vec<(String, Value)> =
        modes.into_iter().map(|mode| (mode.clone(), json!({ "search_mode": mode }))).collect();
    for setting in &args.settings {
        match serde_json::from_str(setting) {
            Ok(fields @ Value::Object(_)) => settings.push((setting.clone(), fields)),
            _ => return Err(Failure::Usage(format!("--setting {setting}: it is not a JSON object"))),
        }
    }
    Ok(settings)
}

fn input(query: &str, fields: &Value) -> Value {
    let mut input = json!({ "query": query, "top_k": DEEP_CUTOFF, "namespace_scope": "this" });
    if let (Value::Object(input), Value::Object(fields)) = (&mut input, fields) {
        input.extend(fields.clone());
    }
    input
}

fn print(judged: &Judged, evaluations: &[(String, Evaluation)], screen: &mut Screen) -> Result<(), Failure> {
    let first = &evaluations[0].1;
    let compared = |evaluation: &Evaluation| eval::compare(&first.queries, &evaluation.queries);
    if screen.is_json() {
        let rows: Vec<Value> = evaluations
            .iter()
            .enumerate()
            .map(|(at, (name, evaluation))| {
                let against_first = (at > 0).then(|| compared(evaluation));
                json!({ "setting": name, "measures": evaluation.mean, "against_first": against_first })
            })
            .collect();
        let (queries, unjudged) = (judged.queries.len(), judged.unjudged);
        return screen.json(&json!({ "queries": queries, "unjudged": unjudged, "settings": rows }));
    }
    screen.line(format!(
        "{} queries, {} without a relevant document left out",
        judged.queries.len(),
        judged.unjudged
    ))?;
    let width = evaluations.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(8);
    screen.line(format!("{:width$}  nDCG@10  recall@10  recall@100    MRR  first right", "setting"))?;
    for (name, Evaluation { mean, .. }) in evaluations {
        screen.line(format!(
            "{name:width$}  {:>7.3}  {:>9.3}  {:>10.3}  {:>5.3}  {:>11.3}",
            mean.ndcg_10, mean.recall_10, mean.recall_100, mean.mrr, mean.success_1
        ))?;
    }
    for (name, evaluation) in &evaluations[1..] {
        let found = compared(evaluation);
        screen.line(format!(
            "{name} against {}: {:+.4} nDCG@10; {} better, {} worse, {} the same; p = {:.4}",
            evaluations[0].0, found.difference, found.better, found.worse, found.same, found.p_value
        ))?;
    }
    Ok(())
}
