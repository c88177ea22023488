//! Reads a file as one format and prints what was made of it: `extract FORMAT FILE [--text | --summary]`.
//!
//! As JSON, as text (headings, blocks and pipe rows, roughly as the engine writes a document), or as one line with the
//! outcome and the milliseconds it took.

use std::error::Error;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use loom_extract::contract::{Artifact, ArtifactLimits, Block, BlockKind, CONTRACT_VERSION, Request, Table, check};
use loom_extract::readers::{
    Bounds, Context, Languages, Launcher, NoOcr, Ocr, OcrFailure, Program, ProgramOcr, Run, extract,
};

/// How long one page may take to be read.
const PAGE_WAIT: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, file, rest @ ..] = arguments.as_slice() else {
        return Err("usage: extract FORMAT FILE [--text | --summary]".into());
    };
    let bytes = std::fs::read(file)?;
    let mut request = Request { contract: CONTRACT_VERSION, format: format.clone(), ..Request::default() };
    request.options.encoding = std::env::var("ENCODING").unwrap_or_default();
    request.options.sql_dialect = std::env::var("SQL_DIALECT").unwrap_or_default();
    let languages = std::env::var_os("OCR").map(|_| Languages::installed(&Unconfined, "", PAGE_WAIT)).transpose()?;
    let programs = languages.as_ref().map(|languages| ProgramOcr::new(&Unconfined, &bytes, languages, PAGE_WAIT));
    let ocr: &dyn Ocr = programs.as_ref().map_or(&NoOcr, |programs| programs);
    let begun = Instant::now();
    let context = Context { bounds: Bounds::within(Duration::from_mins(1)), ocr };
    let read = extract(&bytes, &request, &context);
    let took = begun.elapsed();
    let mut out = std::io::stdout().lock();
    let mode = rest.first().map_or("", String::as_str);
    match read {
        Ok(mut artifact) => {
            check(&mut artifact, format, &ArtifactLimits::default())?;
            match mode {
                "--text" => write!(out, "{}", text(&artifact))?,
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

fn text(artifact: &Artifact) -> String {
    if let Some(text) = &artifact.text {
        return text.clone();
    }
    let mut out = String::new();
    for block in &artifact.blocks {
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
        row(numbered.1.iter().map(loom_extract::contract::Cell::shown).collect());
    }
}
