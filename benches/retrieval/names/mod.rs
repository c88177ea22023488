//! Queries that are one name each, from the SQL, TOML and Markdown of a folder: deterministic, and chosen before anything is
//! searched.

mod markdown;
mod sql;
mod toml;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use crate::Outcome;

/// A name is rare while it stands in no more documents than this.
const RARE_DOCUMENTS_MAX: usize = 5;
/// The shortest and the longest name that is asked for, in bytes.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=80;

/// Where a text defines a name.
pub struct Definition {
    /// As spelled.
    pub name: String,
    /// Byte in the text.
    pub offset: usize,
}

/// A document of the collection.
pub struct Document {
    /// Its path in the folder.
    pub path: String,
    /// As stored.
    pub content: String,
}

/// A query.
pub struct Query {
    /// The name.
    pub name: String,
    /// Where it is defined, for names that are: documents and lines from 1.
    pub defined: Vec<(String, u64)>,
}

/// Queries of one kind.
pub struct Kind {
    /// What they have in common.
    pub title: &'static str,
    /// In the order of their hashes, so that the first ones are a sample.
    pub queries: Vec<Query>,
}

/// The documents of `root`. SQL and TOML files are one block of fenced code each.
pub fn documents(root: &Path) -> Outcome<Vec<Document>> {
    let mut paths = Vec::new();
    for folder in ["files/sql", "files/toml", "files/md", "md"] {
        paths_under(&root.join(folder), &mut paths)?;
    }
    paths.sort();
    let mut documents = Vec::new();
    for path in paths {
        let language = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if !matches!(language, "sql" | "toml" | "md") {
            continue;
        }
        // What is not UTF-8 is no text.
        let Ok(text) = String::from_utf8(fs::read(&path)?) else { continue };
        let content = if language == "md" { text } else { format!("~~~~~{language}\n{text}\n~~~~~\n") };
        let path = path.strip_prefix(root)?.to_string_lossy().into_owned();
        if !content.trim().is_empty() {
            documents.push(Document { path, content });
        }
    }
    Ok(documents)
}

fn paths_under(folder: &Path, paths: &mut Vec<std::path::PathBuf>) -> Outcome<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            paths_under(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

/// The names of each kind, those of one kind once.
#[derive(Default)]
struct Found<'a> {
    tables: BTreeMap<String, Vec<(&'a Document, usize)>>,
    columns: BTreeMap<String, Vec<(&'a Document, usize)>>,
    paths: BTreeMap<String, Vec<(&'a Document, usize)>>,
    alone: BTreeSet<String>,
    fenced: BTreeSet<String>,
}

/// The queries, at most `most` of a kind.
pub fn queries(documents: &[Document], most: usize) -> Vec<Kind> {
    let found = found(documents);
    let counts = document_counts(documents);
    let is_rare = |name: &str| counts.get(name).is_none_or(|count| *count <= RARE_DOCUMENTS_MAX);
    let of = |title, names: &mut dyn Iterator<Item = Query>| {
        let mut queries: Vec<Query> = names.filter(|query| NAME_BYTES.contains(&query.name.len())).collect();
        queries.sort_by_key(|query| hash(&query.name));
        queries.truncate(most);
        Kind { title, queries }
    };
    let defined = |names: &BTreeMap<String, Vec<(&Document, usize)>>| {
        let rare = names.iter().filter(|(name, places)| is_rare(name) && places.len() <= RARE_DOCUMENTS_MAX);
        rare.map(|(name, places)| Query {
            name: name.clone(),
            defined: places.iter().map(|(document, offset)| place(document, *offset)).collect(),
        })
        .collect::<Vec<_>>()
    };
    let plain = |name: &String| Query { name: name.clone(), defined: Vec::new() };
    let code: BTreeSet<&String> = found.alone.iter().chain(&found.fenced).collect();
    let alike = look_alikes(code.iter().copied().chain(found.tables.keys()).chain(found.columns.keys()));
    vec![
        of("SQL tables", &mut defined(&found.tables).into_iter()),
        of("SQL columns", &mut defined(&found.columns).into_iter()),
        of("TOML key paths", &mut defined(&found.paths).into_iter()),
        of("Markdown, between backticks", &mut found.alone.iter().filter(|name| is_rare(name)).map(plain)),
        of("Markdown, in fenced code", &mut found.fenced.iter().filter(|name| is_rare(name)).map(plain)),
        of("look-alikes, in any number", &mut alike.iter().map(|name| plain(name))),
        of("in code, in many documents", &mut code.into_iter().filter(|name| !is_rare(name)).map(plain)),
    ]
}

fn has_extension(path: &str, extension: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|found| found == extension)
}

fn found(documents: &[Document]) -> Found<'_> {
    let mut found = Found::default();
    for document in documents {
        let put = |to: &mut BTreeMap<String, Vec<_>>, names: Vec<Definition>| {
            for Definition { name, offset } in names {
                to.entry(name).or_default().push((document, offset));
            }
        };
        if has_extension(&document.path, "sql") {
            let (tables, columns) = sql::definitions(&document.content);
            put(&mut found.tables, tables);
            put(&mut found.columns, columns);
        } else {
            let code = markdown::code(&document.content);
            put(&mut found.paths, code.toml);
            if has_extension(&document.path, "md") {
                found.alone.extend(code.alone);
                found.fenced.extend(code.fenced);
            }
        }
    }
    found
}

fn place(document: &Document, offset: usize) -> (String, u64) {
    let line_ends = document.content[..offset].bytes().filter(|byte| *byte == b'\n').count();
    (document.path.clone(), line_ends as u64 + 1)
}

/// The names that have the same words as another one, which is not the same but for case.
fn look_alikes<'a>(names: impl Iterator<Item = &'a String>) -> BTreeSet<&'a String> {
    let mut by_words: BTreeMap<String, BTreeSet<&String>> = BTreeMap::new();
    for name in names {
        let words = words(name);
        if words.contains(' ') {
            by_words.entry(words).or_default().insert(name);
        }
    }
    let differ =
        |names: &BTreeSet<&String>| names.iter().map(|name| name.to_lowercase()).collect::<BTreeSet<_>>().len() > 1;
    by_words.into_values().filter(differ).flatten().collect()
}

/// A name's words: `orders_daily`, `orders.daily` and `ordersDaily` have the same.
fn words(name: &str) -> String {
    let mut words = String::new();
    let mut after_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (after_small && c.is_uppercase()) {
            words.push(' ');
        }
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        }
        after_small = c.is_lowercase();
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// In how many documents each name stands.
fn document_counts(documents: &[Document]) -> HashMap<&str, usize> {
    let mut seen: HashMap<&str, (usize, usize)> = HashMap::new();
    for (at, document) in (1..).zip(documents) {
        for name in runs(&document.content).flat_map(named) {
            let (last, count) = seen.entry(name).or_default();
            if *last != at {
                (*last, *count) = (at, *count + 1);
            }
        }
    }
    seen.into_iter().map(|(name, (_, count))| (name, count)).collect()
}

/// Whether a text holds exactly this name.
pub fn holds(text: &str, name: &str) -> bool {
    runs(text).flat_map(named).any(|held| held == name)
}

/// The longest runs of what names are made of.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')));
    runs.map(|run| run.trim_matches(['.', '-'])).filter(|run| !run.is_empty())
}

/// What a run names: itself, in `a.b.c` also `b.c` and `c`, and in a run without a dot what its dashes join.
fn named(run: &str) -> impl Iterator<Item = &str> {
    let part = if run.contains('.') { '.' } else { '-' };
    let tails = run.match_indices(part).filter(move |_| part == '.').map(|(at, _)| &run[at + 1..]);
    let parts = run.split('-').filter(move |_| part == '-' && run.contains('-'));
    std::iter::once(run).chain(tails).chain(parts)
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
