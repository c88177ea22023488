//! Reads a file as one format and prints what was made of it: `extract FORMAT FILE [--text | --summary]`.
//!
//! As JSON, as text (headings, blocks and pipe rows, roughly as the engine writes a document), or as one line with the
//! outcome and the milliseconds it took.
//!
//! `extract --lines` answers for many files: a JSON object a line with `format` and `path`, another with `text`, `tables`, `ms`
//! (from the file to its text) and, where the file is refused, `error`. There the text is that of the pages' body, unless
//! `MARGINS` is set.

use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use loom_extract::contract::{
    Artifact, ArtifactLimits, Block, BlockKind, CONTRACT_VERSION, Cell, Refusal, Request, Table, check,
};
use loom_extract::readers::{
    Bounds, Context, Languages, Launcher, NoOcr, Ocr, OcrFailure, Program, ProgramOcr, Run, extract,
};
use serde::Deserialize;
use serde_json::json;

/// How long one page may take to be read.
const PAGE_WAIT: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--lines"] {
        return lines();
    }
    let [format, file, rest @ ..] = arguments.as_slice() else {
        return Err("usage: extract FORMAT FILE [--text | --summary], or extract --lines".into());
    };
    let bytes = std::fs::read(file)?;
    let languages = languages()?;
    let begun = Instant::now();
    let read = read(&bytes, format, languages.as_ref());
    let took = begun.elapsed();
    let mut out = std::io::stdout().lock();
    let mode = rest.first().map_or("", String::as_str);
    match read {
        Ok(mut artifact) => {
            check(&mut artifact, format, &ArtifactLimits::default())?;
            match mode {
                "--text" => write!(out, "{}", text(&artifact, true))?,
                "--summary" => writeln!(out, "{}\t{:.2}\t{}", outcome(&artifact), millis(took), detail(&artifact))?,
                _ => writeln!(out, "{}", serde_json::to_string_pretty(&artifact)?)?,
            }
        }
        Err(refusal) if mode == "--summary" => {
            writeln!(out, "{}\t{:.2}\t{}", refusal.code.name(), millis(took), refusal.message)?;
        }
        Err(refusal) => writeln!(out, "refused: {refusal}")?,
    }
    Ok(())
}

/// Starts OCR programs as they are on the path, and waits for as long as they take.
struct Unconfined;

impl Launcher for Unconfined {
    fn finds(&self, _: Program) -> bool {
        true
    }

    fn launch(&self, run: &Run<'_>, _: Instant) -> Result<Vec<u8>, OcrFailure> {
        let failed = |what: &dyn std::fmt::Display| OcrFailure::Failed(format!("{}: {what}", run.program.name()));
        let mut command = Command::new(run.program.name());
        command.args(&run.arguments).envs(run.environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let input = child.stdin.take();
        let output = thread::scope(|scope| {
            // A program that ends before it has read everything says why by its status.
            scope.spawn(move || input.map(|mut input| input.write_all(run.input)));
            child.wait_with_output()
        });
        let output = output.map_err(|error| failed(&error))?;
        if output.status.success() { Ok(output.stdout) } else { Err(failed(&output.status)) }
    }
}

/// The languages that OCR knows, where `OCR` is set.
fn languages() -> Result<Option<Languages>, Box<dyn Error>> {
    let known = std::env::var_os("OCR").map(|_| Languages::installed(&Unconfined, "", PAGE_WAIT));
    Ok(known.transpose()?)
}

/// Reads a file, with OCR in these languages.
fn read(bytes: &[u8], format: &str, languages: Option<&Languages>) -> Result<Artifact, Refusal> {
    let mut request = Request { contract: CONTRACT_VERSION, format: format.to_owned(), ..Request::default() };
    request.options.encoding = std::env::var("ENCODING").unwrap_or_default();
    request.options.sql_dialect = std::env::var("SQL_DIALECT").unwrap_or_default();
    let programs = languages.map(|languages| ProgramOcr::new(&Unconfined, bytes, languages, PAGE_WAIT));
    let ocr: &dyn Ocr = programs.as_ref().map_or(&NoOcr, |programs| programs);
    extract(bytes, &request, &Context { bounds: Bounds::within(Duration::from_mins(1)), ocr })
}

/// A file to be read, as a line of standard input has it.
#[derive(Deserialize)]
struct Asked {
    format: String,
    path: String,
}

/// Answers line by line, until standard input ends.
fn lines() -> Result<(), Box<dyn Error>> {
    let languages = languages()?;
    let with_margins = std::env::var_os("MARGINS").is_some();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let asked: Asked = serde_json::from_str(&line?)?;
        let begun = Instant::now();
        let bytes = std::fs::read(&asked.path)?;
        let read =
            read(&bytes, &asked.format, languages.as_ref()).map(|artifact| (text(&artifact, with_margins), artifact));
        let ms = millis(begun.elapsed());
        let answer = match read {
            Ok((text, artifact)) => {
                json!({ "text": text, "tables": artifact.tables.iter().map(grid).collect::<Vec<_>>(), "ms": ms })
            }
            Err(refusal) => json!({ "text": "", "tables": [], "ms": ms, "error": refusal.to_string() }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// The header's names, then what the rows show.
fn grid(table: &Table) -> Vec<Vec<&str>> {
    let names = table.columns.iter().map(|column| column.name.as_str()).collect();
    let shown = table.rows.iter().map(|row| row.1.iter().map(Cell::shown).collect());
    std::iter::once(names).chain(shown).collect()
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

fn outcome(artifact: &Artifact) -> &'static str {
    if artifact.coverage.is_complete() { "ready" } else { "partial" }
}

fn detail(artifact: &Artifact) -> String {
    let coverage = &artifact.coverage;
    format!(
        "{} blocks, {} tables, {}/{} {:?}, lost {:?}, warnings {:?}",
        artifact.blocks.len(),
        artifact.tables.len(),
        coverage.extracted,
        coverage.total,
        coverage.unit,
        coverage.lost,
        artifact.warnings
    )
}

/// The text, with or without what stands at the head and the foot of pages.
fn text(artifact: &Artifact, with_margins: bool) -> String {
    if let Some(text) = &artifact.text {
        return text.clone();
    }
    let mut out = String::new();
    for block in artifact.blocks.iter().filter(|block| with_margins || block.kind != BlockKind::Margin) {
        match block.table.and_then(|at| artifact.tables.get(at as usize)) {
            Some(table) => rows(&mut out, table),
            None => words(&mut out, block),
        }
        out.push('\n');
    }
    out
}

fn words(out: &mut String, block: &Block) {
    let fence = if block.kind == BlockKind::Code { "```" } else { "" };
    let before = match block.kind {
        BlockKind::Heading => "#".repeat(usize::from(block.level)) + " ",
        BlockKind::ListItem => "  ".repeat(usize::from(block.level.saturating_sub(1))) + "- ",
        BlockKind::Quote => "> ".to_owned(),
        BlockKind::Code => format!("{fence}{}\n", block.language),
        BlockKind::Paragraph
        | BlockKind::Table
        | BlockKind::SqlStatement
        | BlockKind::TomlTable
        | BlockKind::TomlKey
        | BlockKind::Caption
        | BlockKind::Note
        | BlockKind::Margin
        | BlockKind::Image
        | BlockKind::Field => String::new(),
    };
    out.push_str(&before);
    out.push_str(&block.text);
    out.push('\n');
    if !fence.is_empty() {
        out.push_str(fence);
        out.push('\n');
    }
}

fn rows(out: &mut String, table: &Table) {
    let mut row = |cells: Vec<&str>| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('\n', " ").replace('|', "\\|")).collect();
        out.extend(["| ", &cells.join(" | "), " |\n"]);
    };
    row(table.columns.iter().map(|column| column.name.as_str()).collect());
    row(vec!["---"; table.columns.len()]);
    for numbered in &table.rows {
        row(numbered.1.iter().map(Cell::shown).collect());
    }
}
