//! `loom search`: finds passages.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::reasons;
use super::screen::{Screen, WIDTH, harmless, wrap};
use super::settings::{Global, Identity};

/// How many lines of a passage are shown unless it is asked for whole.
const PASSAGE_LINES: usize = 8;
/// How far what belongs to a hit is moved in.
const INDENT: usize = 3;

/// Find passages
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Args {
    /// What to find, in plain words
    #[arg(required = true)]
    query: Vec<String>,
    /// How many passages
    #[arg(short = 'k', long, value_name = "N", default_value_t = 5)]
    top_k: u32,
    /// By words and meaning, by meaning, or by words
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    mode: Mode,
    /// Only documents with this tag; any of them when repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only documents whose source URI starts so; any of them when repeated
    #[arg(long = "prefix", value_name = "URI")]
    prefixes: Vec<String>,
    /// Search this namespace too
    #[arg(long = "also", value_name = "NAME")]
    also: Vec<String>,
    /// Search my other namespaces too
    #[arg(long, conflicts_with = "also")]
    mine: bool,
    /// Print passages whole
    #[arg(long)]
    full: bool,
    /// Print the two sentences of each passage that are nearest to the query
    #[arg(long, conflicts_with_all = ["full", "expand"])]
    narrow: bool,
    /// Print each passage with so many more before and after it (1 to 10), or with all of its `section`
    #[arg(long, value_name = "N|section", value_parser = expansion)]
    expand: Option<Value>,
    /// Say why each passage stands where it stands
    #[arg(long)]
    explain: bool,
    /// Say why this document is not among the passages
    #[arg(long, value_name = "URI")]
    why_not: Option<String>,
    /// Have the best passages ordered by this reranker, or by `none`
    #[arg(long, value_name = "NAME")]
    rerank: Option<String>,
    /// How much words count beside meaning
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0)]
    lexical_weight: f64,
    /// Show every passage of a section, not the best alone
    #[arg(long)]
    all_of_section: bool,
    #[command(flatten)]
    identity: Identity,
    #[command(flatten)]
    filters: Filters,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
struct Filters {
    /// Only documents whose metadata is so, such as '{"team": "storage", "year": {"gte": 2025}}'
    #[arg(long, value_name = "JSON", value_parser = object)]
    metadata: Option<Map<String, Value>>,
    /// Only documents written in the last so many seconds
    #[arg(long, value_name = "SECONDS")]
    since: Option<u64>,
    /// Only documents written in this session; any of them when repeated
    #[arg(long = "session", value_name = "ID")]
    sessions: Vec<String>,
    /// Only documents of this class: asserted, derived, external or imported; any of them when repeated
    #[arg(long = "class", value_name = "CLASS")]
    classes: Vec<String>,
    /// Only documents of this format, '' for texts; any of them when repeated
    #[arg(long = "format", value_name = "FORMAT")]
    formats: Vec<String>,
    /// Only passages of this block type; any of them when repeated
    #[arg(long = "block-type", value_name = "TYPE")]
    block_types: Vec<String>,
}

/// `--expand`, as the operation takes it.
fn expansion(text: &str) -> Result<Value, String> {
    match text.parse::<u32>() {
        _ if text == "section" => Ok(json!("section")),
        Ok(chunks) => Ok(json!({ "before": chunks, "after": chunks })),
        Err(_) => Err("it is a number of passages, or the word section".into()),
    }
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("it is no JSON object, such as {{\"team\": \"storage\"}}: {error}"))
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Hybrid,
    Semantic,
    Lexical,
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Semantic => "semantic",
            Self::Lexical => "lexical",
        }
    }
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let answer = client.call("knowledge.search", input(args, screen.is_json()))?;
    client.close();
    if screen.is_json() {
        return screen.json(&answer);
    }
    let hits = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines_max = if args.full || args.expand.is_some() { usize::MAX } else { PASSAGE_LINES };
    for (rank, hit) in (1..).zip(hits) {
        print_head(hit, rank, screen)?;
        let span = hit["span"]["text"].as_str().filter(|_| args.narrow);
        match span {
            Some(span) => print_lines(wrap(span, WIDTH - INDENT, usize::MAX), screen)?,
            None => print_passage(hit, lines_max, screen)?,
        }
        if args.explain {
            reasons::print_hit(hit, screen)?;
        }
        screen.line("")?;
    }
    if hits.is_empty() {
        screen.line(screen.faint("no passage found"))?;
    }
    for skipped in answer["namespaces_skipped"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        screen.line(screen.faint(&format!("the namespace {skipped} was not searched")))?;
    }
    reasons::print_search(&answer, screen)
}

/// The input of the operation. What is not given is left to its defaults.
fn input(args: &Args, json: bool) -> Value {
    let Args { filters, .. } = args;
    let mut input = json!({
        "query": args.query.join(" "), "top_k": args.top_k, "search_mode": args.mode.as_str(),
        "tags": args.tags, "uri_prefix": args.prefixes,
        "namespace_scope": if args.mine { "all_mine" } else { "this" },
        "narrow_spans": args.narrow || !(json || args.full || args.expand.is_some()),
        "lexical_weight": args.lexical_weight, "collapse_sections": !args.all_of_section,
        "session_ids": filters.sessions, "source_classes": filters.classes, "formats": filters.formats,
        "block_types": filters.block_types, "explain": args.explain,
    });
    let given = [
        ("namespaces", (!args.also.is_empty()).then(|| json!(args.also))),
        ("since_seconds", filters.since.map(Value::from)),
        ("metadata", filters.metadata.clone().map(Value::Object)),
        ("expand", args.expand.clone()),
        ("why_not", args.why_not.clone().map(Value::String)),
        ("rerank", args.rerank.clone().map(Value::String)),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            input[name] = value;
        }
    }
    input
}

/// Prints a hit: what it is, where it is from, and its passage.
pub fn print_hit(hit: &Value, rank: usize, lines_max: usize, screen: &mut Screen) -> Result<(), Failure> {
    print_head(hit, rank, screen)?;
    print_passage(hit, lines_max, screen)?;
    screen.line("")
}

fn print_head(hit: &Value, rank: usize, screen: &mut Screen) -> Result<(), Failure> {
    let text = |name: &str| hit[name].as_str().unwrap_or_default();
    let title = if text("title").is_empty() { text("source_uri") } else { text("title") };
    let section = text("section");
    let heading = if section.is_empty() { String::new() } else { format!("  {}", harmless(section)) };
    screen.line(format!("{rank}. {}{heading}", screen.strong(title)))?;
    screen.line(format!("   {}", screen.faint(&citation(hit))))
}

fn print_passage(hit: &Value, lines_max: usize, screen: &mut Screen) -> Result<(), Failure> {
    print_lines(excerpt(hit["content"].as_str().unwrap_or_default(), &hit["span"]["start"], lines_max), screen)
}

fn print_lines(lines: Vec<String>, screen: &mut Screen) -> Result<(), Failure> {
    for line in lines {
        screen.line(if line.is_empty() { line } else { format!("   {line}") })?;
    }
    Ok(())
}

/// The lines of a passage to show: all when they are few, else those from where it matches best, a character offset.
fn excerpt(passage: &str, best: &Value, lines_max: usize) -> Vec<String> {
    let width = WIDTH - INDENT;
    let whole = wrap(passage, width, lines_max.saturating_add(1));
    if whole.len() <= lines_max {
        return whole;
    }
    let best = best.as_u64().and_then(|chars| usize::try_from(chars).ok()).unwrap_or(0);
    let best = passage.char_indices().nth(best).map_or(0, |(at, _)| at);
    let line = passage[..best].rfind('\n').map_or(0, |end| end + 1);
    // A whole line before the match gives it its setting; of a paragraph that is one line, that would be all of it.
    let start = if best - line > width { best } else { line };
    let mut lines = wrap(&passage[start..], width, lines_max);
    if start > 0
        && let Some(first) = lines.first_mut()
    {
        first.insert_str(0, "… ");
    }
    lines
}

/// Where a hit is from and how well it matches, in one line.
fn citation(hit: &Value) -> String {
    let mut parts = vec![hit["source_uri"].as_str().unwrap_or_default().to_owned()];
    parts.extend(place(&hit["locator"]));
    parts.push(format!("revision {}", hit["revision"]));
    if let Some(score) = hit["score"].as_f64() {
        parts.push(format!("score {score:.3}"));
    }
    if let Some(similarity) = hit["similarity"].as_f64() {
        parts.push(format!("similarity {similarity:.2}"));
    }
    parts.join("  ")
}

/// The place of a passage in its source: `lines 3-9`.
fn place(locator: &Value) -> Option<String> {
    let (first, last) = match locator["kind"].as_str()? {
        "key" => ("line_start", "line_end"),
        _ => ("start", "end"),
    };
    let (first, last) = (locator[first].as_u64()?, locator[last].as_u64()?);
    let unit = match locator["kind"].as_str()? {
        "lines" | "key" => "line",
        "pages" => "page",
        "slides" => "slide",
        "rows" => "row",
        other => other,
    };
    Some(if first == last { format!("{unit} {first}") } else { format!("{unit}s {first}-{last}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_passage_is_shown_from_where_it_matches() {
        let passage = "# Title\n\none\ntwo\nthe answer is here\nfour\nfive\nsix\n";
        let at = passage.find("answer").expect("it is there");
        assert_eq!(excerpt(passage, &json!(at), 2), ["… the answer is here", "four …"]);
        assert_eq!(excerpt(passage, &Value::Null, 2), ["# Title …"]);
        assert_eq!(excerpt(passage, &json!(at), 20).first().map(String::as_str), Some("# Title"));
        assert_eq!(excerpt(passage, &json!(9_999), 2), ["# Title …"]);
    }

    #[test]
    fn a_place_reads_as_one_line_or_a_range() {
        assert_eq!(place(&json!({"kind": "lines", "start": 3, "end": 9})).as_deref(), Some("lines 3-9"));
        assert_eq!(
            place(&json!({"kind": "key", "path": "a.b", "line_start": 4, "line_end": 4})).as_deref(),
            Some("line 4")
        );
        assert_eq!(place(&Value::Null), None);
    }
}
