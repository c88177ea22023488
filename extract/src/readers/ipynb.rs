//! Notebooks: their texts, their code, and what the code printed.

use serde_json::Value;

use super::decode::{Decoded, Guess, decode};
use super::markdown::parts;
use super::{Context, no_text, parser};
use crate::contract::{Artifact, Block, BlockKind, Coverage, CoverageUnit, Refusal, RefusalCode, Request};

/// The most characters of one output that are kept.
const OUTPUT_CHARS_MAX: usize = 20_000;

/// Reads a notebook: the blocks of its Markdown cells, its code cells with their language, and the text of their outputs.
///
/// # Errors
/// Those of decoding, [`RefusalCode::Corrupt`] for broken JSON, [`RefusalCode::FormatMismatch`] for JSON that is no notebook, and
/// [`RefusalCode::NoText`].
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, .. } = decode(bytes, &request.options, None, Guess::Never)?;
    context.bounds.check_text(text.len())?;
    if text.trim().is_empty() {
        return Err(no_text());
    }
    let notebook: Value = serde_json::from_str(&text).map_err(|error| {
        Refusal::new(RefusalCode::Corrupt, format!("the file is no valid JSON: line {}", error.line()))
    })?;
    // Notebooks of the third version and before keep cells in sheets.
    let sheets = notebook.get("worksheets").and_then(Value::as_array).into_iter().flatten();
    let lists = sheets.chain(std::iter::once(&notebook)).filter_map(|sheet| sheet.get("cells")?.as_array());
    let cells: Vec<&Value> = lists.flatten().collect();
    if cells.is_empty() && notebook.get("nbformat").is_none() {
        return Err(Refusal::new(RefusalCode::FormatMismatch, "the file is JSON, but no notebook: it has no cells"));
    }
    let language = language(&notebook);
    let mut blocks = Vec::new();
    let mut dropped = 0_usize;
    for cell in cells {
        context.bounds.check_time()?;
        dropped += add_cell(&mut blocks, cell, &language);
    }
    if blocks.is_empty() {
        return Err(no_text());
    }
    let warnings = (dropped > 0).then(|| format!("{dropped} pictures and other outputs without text were left out"));
    Ok(Artifact {
        parser: parser("loom-ipynb"),
        coverage: Coverage::complete(CoverageUnit::Bytes, bytes.len() as u64),
        blocks,
        warnings: warnings.into_iter().collect(),
        ..Artifact::default()
    })
}

fn language(notebook: &Value) -> String {
    let names = ["/metadata/kernelspec/language", "/metadata/language_info/name"];
    let name = names.iter().find_map(|path| notebook.pointer(path)?.as_str());
    name.filter(|name| name.len() <= 40).unwrap_or("python").to_owned()
}

/// Adds a cell; how many of its outputs have no text.
fn add_cell(blocks: &mut Vec<Block>, cell: &Value, language: &str) -> usize {
    let source = words(cell.get("source").or_else(|| cell.get("input")));
    let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "markdown" | "heading" => blocks.extend(parts(&source).into_iter().map(|part| {
            let text = &source[part.range.clone()];
            let is_line = part.kind == BlockKind::Heading;
            let text = if is_line { heading(text) } else { without_marks(text, part.kind) };
            Block { kind: part.kind, level: part.level, language: part.language, text, ..Block::default() }
        })),
        "code" => {
            push(blocks, BlockKind::Code, source.trim_end(), language);
            let outputs = cell.get("outputs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let mut dropped = 0;
            for output in outputs {
                let text = output_text(output);
                dropped += usize::from(text.trim().is_empty());
                push(blocks, BlockKind::Code, text.trim_end(), "");
            }
            return dropped;
        }
        _ => push(blocks, BlockKind::Paragraph, source.trim(), ""),
    }
    0
}

fn push(blocks: &mut Vec<Block>, kind: BlockKind, text: &str, language: &str) {
    if !text.trim().is_empty() {
        blocks.push(Block { kind, text: text.to_owned(), language: language.to_owned(), ..Block::default() });
    }
}

/// The text of a heading without its marks.
fn heading(source: &str) -> String {
    let line = source.lines().next().unwrap_or_default().trim();
    line.trim_start_matches('#').trim_end_matches('#').trim().to_owned()
}

/// A block of Markdown without the marks that the engine would write around it again.
fn without_marks(source: &str, kind: BlockKind) -> String {
    if kind == BlockKind::Code && source.starts_with(['`', '~']) {
        let mut lines: Vec<&str> = source.lines().skip(1).collect();
        lines.pop_if(|last| last.trim_start().starts_with(['`', '~']));
        lines.join("\n")
    } else if kind == BlockKind::Quote {
        source.lines().map(|line| line.trim_start_matches(['>', ' '])).collect::<Vec<_>>().join("\n")
    } else if kind == BlockKind::ListItem {
        source.trim_start_matches(['-', '*', '+', ' ']).to_owned()
    } else {
        source.to_owned()
    }
}

/// What a cell printed, answered or failed with.
fn output_text(output: &Value) -> String {
    let data = output.get("data").unwrap_or(output);
    let text = [output.get("text"), data.get("text/plain"), data.get("text/markdown"), output.get("traceback")];
    let text = words(text.into_iter().flatten().next());
    let mut plain = String::with_capacity(text.len().min(OUTPUT_CHARS_MAX));
    let mut characters = text.chars().take(OUTPUT_CHARS_MAX);
    while let Some(c) = characters.next() {
        if c == '\u{1b}' {
            // Colours of the terminal: up to their letter.
            let _ = characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

/// A string, or lines of one.
fn words(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => String::new(),
    }
}

#[cfg(test)]
mod tests;
