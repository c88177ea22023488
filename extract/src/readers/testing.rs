//! What the readers' tests share: reading through the same door as the engine.

use std::time::Duration;

use super::{Bounds, Context, NoOcr, extract};
use crate::contract::{Artifact, ArtifactLimits, CONTRACT_VERSION, Options, Refusal, Request, Span, check};

/// Reads bytes as a format, and holds what comes of it against the contract.
pub fn read_as(format: &str, bytes: &[u8]) -> Result<Artifact, Refusal> {
    read_with(format, bytes, Options::default())
}

/// As [`read_as`], with options.
pub fn read_with(format: &str, bytes: &[u8], options: Options) -> Result<Artifact, Refusal> {
    let request = Request { contract: CONTRACT_VERSION, format: format.to_owned(), options, ..Request::default() };
    read_within(&request, bytes, Bounds::within(Duration::from_mins(1)))
}

/// As [`read_as`], with bounds.
pub fn read_within(request: &Request, bytes: &[u8], bounds: Bounds) -> Result<Artifact, Refusal> {
    let mut artifact = extract(bytes, request, &Context { bounds, ocr: &NoOcr })?;
    if let Err(violation) = check(&mut artifact, &request.format, &ArtifactLimits::default()) {
        panic!("the {} reader breaks the contract: {violation}", request.format);
    }
    Ok(artifact)
}

/// The texts of an artifact's spans.
pub fn spanned(artifact: &Artifact) -> Vec<String> {
    let text: Vec<char> = artifact.text.as_deref().unwrap_or_default().chars().collect();
    let place = |at: u64| usize::try_from(at).expect("a test's text is short");
    let of = |span: Span| text[place(span.start)..place(span.end)].iter().collect();
    artifact.blocks.iter().filter_map(|block| block.span).map(of).collect()
}

/// A line for each block: its kind, level, text and keys, and below it the rows of its table.
pub fn listed(artifact: &Artifact) -> String {
    let spans = spanned(artifact);
    let shown = |text: &str| text.replace('\n', "\\n").replace('\r', "\\r");
    let mut lines = Vec::new();
    for (at, block) in artifact.blocks.iter().enumerate() {
        let text = shown(spans.get(at).unwrap_or(&block.text));
        let level = if block.level > 0 { block.level.to_string() } else { String::new() };
        let keys = if block.keys.is_empty() { String::new() } else { format!(" {:?}", block.keys) };
        let language = if block.language.is_empty() { String::new() } else { format!("({})", block.language) };
        lines.push(format!("{}{level}{language}: {text}{keys}", block.kind.name()));
        if let Some(table) = block.table.and_then(|at| artifact.tables.get(at as usize)) {
            let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
            lines.push(format!("  {}", names.join(" | ")));
            for row in &table.rows {
                let cells: Vec<String> = row.1.iter().map(|cell| shown(cell.shown())).collect();
                lines.push(format!("  {} {}", row.0, cells.join(" | ")));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// As [`listed`], and below it a line for each warning.
pub fn told(artifact: &Artifact) -> String {
    let warnings: Vec<String> = artifact.warnings.iter().map(|warning| format!("! {warning}\n")).collect();
    listed(artifact) + &warnings.concat()
}

/// Reads every cut of the bytes, and the bytes with each one changed: nothing may panic.
pub fn survives(format: &str, bytes: &[u8]) {
    assert!(read_as(format, bytes).is_ok(), "the bytes themselves are sound");
    for end in 0..bytes.len() {
        let _ = read_as(format, &bytes[..end]);
        let mut changed = bytes.to_vec();
        for flip in [0x01, 0x80, 0xFF] {
            changed[end] = bytes[end] ^ flip;
            let _ = read_as(format, &changed);
        }
    }
}
