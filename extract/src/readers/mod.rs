//! Loom's own parsers.
//!
//! They run in a process of their own, which may run out of memory, crash or hang without harm to the engine. Even so each keeps
//! to its [`Bounds`] and answers [`RefusalCode::ResourceLimit`], because a refusal that says why is worth more than
//! a dead process.

use crate::contract::{
    Artifact, ArtifactLimits, CONTRACT_VERSION, Capabilities, FormatCapability, Parser, Refusal, RefusalCode, Request,
    Table, lost,
};

mod bounds;
mod calendar;
mod cells;
mod decode;
mod delimited;
mod docx;
mod eml;
mod epub;
mod html;
mod image;
mod ipynb;
mod json;
mod json_scan;
mod jsonl;
mod keyed;
mod likely;
mod magic;
mod markdown;
mod ocr;
mod odt;
mod office;
mod parquet;
mod pdf;
mod pptx;
mod spans;
mod sql;
#[cfg(test)]
mod testing;
mod text;
mod toml;
mod vtt;
mod xlsx;
mod yaml;

pub use bounds::Bounds;
pub use ocr::{Languages, Launcher, NoOcr, Ocr, OcrFailure, OcrParagraph, OcrText, Program, ProgramOcr, Run};

/// What a reader is given beside the file.
pub struct Context<'a> {
    /// What the extraction may use.
    pub bounds: Bounds,
    /// Reads words off pictures.
    pub ocr: &'a dyn Ocr,
}

/// Reads the bytes of a file as one format. The format's name and the contract's number are filled in by [`extract`].
type Read = fn(&[u8], &Request, &Context<'_>) -> Result<Artifact, Refusal>;

/// A reader of one format.
struct Reader {
    format: &'static str,
    /// The options it heeds.
    options: &'static [&'static str],
    /// Whether it reads less without OCR.
    wants_ocr: bool,
    read: Read,
}

/// Every reader, by the format's name.
const READERS: &[Reader] = &[
    Reader { format: "csv", options: &["encoding"], wants_ocr: false, read: delimited::read_csv },
    Reader { format: "docx", options: &[], wants_ocr: true, read: docx::read },
    Reader { format: "eml", options: &[], wants_ocr: false, read: eml::read },
    Reader { format: "epub", options: &[], wants_ocr: false, read: epub::read },
    Reader { format: "html", options: &["encoding"], wants_ocr: false, read: html::read },
    Reader { format: "image", options: &[], wants_ocr: true, read: image::read },
    Reader { format: "ipynb", options: &["encoding"], wants_ocr: false, read: ipynb::read },
    Reader { format: "json", options: &["encoding"], wants_ocr: false, read: json::read },
    Reader { format: "jsonl", options: &["encoding"], wants_ocr: false, read: jsonl::read },
    Reader { format: "markdown", options: &["encoding"], wants_ocr: false, read: markdown::read },
    Reader { format: "odt", options: &[], wants_ocr: false, read: odt::read },
    Reader { format: "parquet", options: &[], wants_ocr: false, read: parquet::read },
    Reader { format: "pdf", options: &[], wants_ocr: true, read: pdf::read },
    Reader { format: "pptx", options: &[], wants_ocr: true, read: pptx::read },
    Reader { format: "sql", options: &["encoding", "sql_dialect"], wants_ocr: false, read: sql::read },
    Reader { format: "text", options: &["encoding"], wants_ocr: false, read: text::read },
    Reader { format: "toml", options: &["encoding"], wants_ocr: false, read: toml::read },
    Reader { format: "tsv", options: &["encoding"], wants_ocr: false, read: delimited::read_tsv },
    Reader { format: "vtt", options: &["encoding"], wants_ocr: false, read: vtt::read },
    Reader { format: "xlsx", options: &[], wants_ocr: false, read: xlsx::read },
    Reader { format: "yaml", options: &["encoding"], wants_ocr: false, read: yaml::read },
];

/// What this extractor reads on this machine. It takes files of at most `max_bytes` bytes.
pub fn capabilities(max_bytes: u64, ocr: &dyn Ocr) -> Capabilities {
    let of = |reader: &Reader| FormatCapability {
        format: reader.format.to_owned(),
        options: reader.options.iter().map(|option| (*option).to_owned()).collect(),
        missing: (reader.wants_ocr && !ocr.is_available()).then(|| lost::OCR_TEXT.to_owned()).into_iter().collect(),
    };
    Capabilities {
        contract: CONTRACT_VERSION,
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        formats: READERS.iter().map(of).collect(),
        max_bytes,
    }
}

/// Reads a file.
///
/// # Errors
/// A [`Refusal`] that says why it cannot be read.
pub fn extract(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let unread = || {
        let message = format!("this extractor does not read {:?}", request.format);
        Refusal::new(RefusalCode::FormatUnavailable, message)
    };
    let reader = READERS.iter().find(|reader| reader.format == request.format).ok_or_else(unread)?;
    let mut artifact = (reader.read)(bytes, request, context)?;
    artifact.contract = CONTRACT_VERSION;
    reader.format.clone_into(&mut artifact.format);
    within_bounds(&artifact, &context.bounds)?;
    Ok(artifact)
}

/// Refuses what goes beyond the bounds, or beyond what anybody takes from an extractor, where a reader has no finer way.
fn within_bounds(artifact: &Artifact, bounds: &Bounds) -> Result<(), Refusal> {
    let limits = ArtifactLimits::default();
    let cells = |table: &Table| table.rows.len().saturating_mul(table.columns.len());
    for (count, most, what) in [
        (artifact.blocks.len(), limits.blocks, "blocks of text"),
        (artifact.tables.len(), limits.tables, "tables"),
        (artifact.tables.iter().map(cells).sum(), bounds.cells, "cells of tables"),
        (artifact.text_bytes(), bounds.text_bytes, "bytes of text"),
    ] {
        if count > most {
            let message = format!("the file holds more than {most} {what}");
            return Err(Refusal::new(RefusalCode::ResourceLimit, message));
        }
    }
    Ok(())
}

/// A parser of this crate.
fn parser(name: &str) -> Parser {
    Parser { name: name.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// The refusal of a file that has nothing to index.
fn no_text() -> Refusal {
    Refusal::new(RefusalCode::NoText, "the file holds no text to index")
}
