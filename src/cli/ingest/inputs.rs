//! What the command line names, as files to upload.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use loom_extract::formats;

use super::Args;
use crate::cli::add::walk::{self, Found, Walk, What};
use crate::cli::failure::Failure;

/// The most files of one command.
const FILES_MAX: usize = 100_000;

/// One file to upload.
pub struct Input {
    /// As messages show it.
    pub shown: String,
    pub source_uri: String,
    /// Its name, which selects its format.
    pub filename: String,
    pub source: Source,
}

/// Where its bytes are.
pub enum Source {
    File(PathBuf),
    StandardInput,
    Address(String),
    /// It cannot be read: why.
    Unreadable(String),
}

impl Input {
    /// Its size in bytes, where that is known before it is read.
    pub fn size(&self) -> Option<u64> {
        match &self.source {
            Source::File(path) => fs::metadata(path).map(|metadata| metadata.len()).ok(),
            Source::StandardInput | Source::Address(_) | Source::Unreadable(_) => None,
        }
    }
}

/// The files that the arguments name, each source URI once. What a folder or a pattern holds of no known format is left out.
pub fn find(args: &Args, own_folder: Option<&Path>) -> Result<Vec<Input>, Failure> {
    if args.source_uri.is_some() && args.sources.len() > 1 {
        return Err(Failure::Usage("--source-uri names one document: give one file".into()));
    }
    let mut inputs = Vec::new();
    for source in &args.sources {
        if source.starts_with("https://") || source.starts_with("http://") {
            inputs.push(address(source, args));
            continue;
        }
        let paths = if is_pattern(source) { matching(source)? } else { vec![PathBuf::from(source)] };
        if paths.is_empty() {
            return Err(Failure::Usage(format!("no file matches {source}")));
        }
        let roots = walk::roots(&paths, args.source_uri.as_deref(), args.prefix.as_deref())?;
        for found in Walk::new(roots, own_folder.map(Path::to_owned)) {
            inputs.extend(input(found, args)?);
            if inputs.len() > FILES_MAX {
                return Err(Failure::Usage(format!("more than {FILES_MAX} files: ingest them folder by folder")));
            }
        }
    }
    let mut seen = HashSet::new();
    inputs.retain(|input| seen.insert(input.source_uri.clone()));
    if inputs.is_empty() {
        return Err(Failure::Unmet("nothing to ingest: no file of a known format was found".into()));
    }
    Ok(inputs)
}

fn address(address: &str, args: &Args) -> Input {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    let path = path.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("page");
    let source_uri = args.source_uri.clone().unwrap_or_else(|| address.to_owned());
    Input {
        shown: address.to_owned(),
        source_uri,
        filename: name.to_owned(),
        source: Source::Address(address.to_owned()),
    }
}

/// A found file as an input; `None` for what nobody asked for by name and no reader reads.
fn input(found: Found, args: &Args) -> Result<Option<Input>, Failure> {
    let Found { shown, named, what } = found;
    let (path, source_uri) = match what {
        What::File(path, source_uri) => (path, source_uri),
        What::StandardInput(source_uri) => {
            let Some(format) = &args.format else {
                return Err(Failure::Usage("standard input has no name: say what it is with --format FORMAT".into()));
            };
            let extension = formats::named(format).and_then(|format| format.extensions.first()).unwrap_or(&"txt");
            let filename = format!("input.{extension}");
            return Ok(Some(Input { shown, source_uri, filename, source: Source::StandardInput }));
        }
        What::Link | What::Special if !named => return Ok(None),
        What::Link => return Ok(Some(unreadable(shown, "it is a link that leads nowhere"))),
        What::Special => return Ok(Some(unreadable(shown, "it is no file"))),
        What::Unreadable(reason) => return Ok(Some(unreadable(shown, &reason))),
    };
    let filename = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_known = formats::by_extension(&filename).is_some();
    if !named && !is_known {
        return Ok(None);
    }
    Ok(Some(Input { shown, source_uri, filename, source: Source::File(path) }))
}

fn unreadable(shown: String, reason: &str) -> Input {
    let source_uri = shown.clone();
    Input { shown, source_uri, filename: String::new(), source: Source::Unreadable(reason.to_owned()) }
}

/// Whether a source is a pattern, which the shell has not resolved, rather than the name of something that is there.
fn is_pattern(source: &str) -> bool {
    source.contains(['*', '?', '[', '{']) && !Path::new(source).exists()
}

/// The files that a pattern matches, in order.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let matcher = glob.map_err(|error| Failure::Usage(format!("{pattern} is no pattern: {error}")))?.compile_matcher();
    let fixed = &pattern[..pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len())];
    let base = fixed.rfind('/').map_or("", |at| &fixed[..=at]);
    let start = if base.is_empty() { "." } else { base };
    let mut paths = Vec::new();
    for entry in ignore::WalkBuilder::new(start).require_git(false).sort_by_file_name(Ord::cmp).build() {
        let entry = entry.map_err(|error| Failure::Usage(format!("{pattern}: {error}")))?;
        let path = if base.is_empty() { entry.path().strip_prefix(".").unwrap_or(entry.path()) } else { entry.path() };
        if entry.file_type().is_some_and(|kind| kind.is_file()) && matcher.is_match(path) {
            paths.push(path.to_owned());
        }
    }
    Ok(paths)
}
