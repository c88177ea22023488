//! What an extractor made of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::locator::Locator;
use super::table::Table;

/// The deepest nesting of a list item that is told apart.
pub const LIST_LEVEL_MAX: u8 = 9;

/// What an extractor made of a file.
///
/// There are two kinds. Of a file that is text (Markdown, plain text, SQL, TOML), [`Artifact::text`] is the text whole
/// and each block a span of it. Of any other the blocks bring their own text, and the engine writes the document's text
/// from them in their order: headings as Markdown headings, code fenced, tables as rows of cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// The contract's number that it was written by.
    pub contract: u32,
    /// The format the file was read as.
    pub format: String,
    /// Who read it.
    pub parser: Parser,
    /// The whole text of a file that is text, decoded and without its byte order mark; `None` for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The blocks in reading order.
    #[serde(default)]
    pub blocks: Vec<Block>,
    /// The tables that blocks of kind [`BlockKind::Table`] name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// How much of the file was read.
    pub coverage: Coverage,
    /// What a person should know of the extraction, one plain sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Artifact {
    /// The bytes of its text: whole, of blocks, and of cells as they are shown.
    pub fn text_bytes(&self) -> usize {
        let blocks = self.blocks.iter().map(|block| block.text.len());
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let cells = rows.flat_map(|row| &row.1).map(|cell| cell.shown().len());
        self.text.as_ref().map_or(0, String::len) + blocks.chain(cells).sum::<usize>()
    }
}

/// The parser's name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parser {
    /// Its name, such as `loom-pdf`.
    pub name: String,
    /// Its version: two extractions of the same bytes by the same version are equal.
    pub version: String,
}

/// One block of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Its text, without markup: empty where it has a span or a table.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its place in [`Artifact::text`]; required of every block where there is one, and absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// A heading's level, 1 to 6, or how deep a list item is nested, from 1 to [`LIST_LEVEL_MAX`]; 0 for any other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub level: u8,
    /// Where it stands in the source. Without one, its lines in the document's text are its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locator: Option<Locator>,
    /// The exact names it defines or reads, such as tables and columns or a key's path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The language of code, such as `rust` or `sql`; empty where unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// The index in [`Artifact::tables`] of the table that stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
}

/// What a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// The name of the section that follows; its text is one line.
    Heading,
    /// Running text.
    #[default]
    Paragraph,
    /// One item of a list, its marker included where it is a number.
    ListItem,
    /// Somebody else's words.
    Quote,
    /// Text whose lines and spaces matter.
    Code,
    /// A table: it names one of [`Artifact::tables`], or has a span.
    Table,
    /// One statement of SQL.
    SqlStatement,
    /// The header of a table of keys.
    TomlTable,
    /// A key and its value.
    TomlKey,
    /// The words under a figure or over a table.
    Caption,
    /// A footnote, an end note or a speaker's notes.
    Note,
    /// What stands at the head or the foot of pages or slides, once.
    Margin,
    /// Words that were read from a picture.
    Image,
    /// A value of structured data with the path to it: JSON, YAML, a mail's header.
    Field,
}

impl BlockKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Heading,
        Self::Paragraph,
        Self::ListItem,
        Self::Quote,
        Self::Code,
        Self::Table,
        Self::SqlStatement,
        Self::TomlTable,
        Self::TomlKey,
        Self::Caption,
        Self::Note,
        Self::Margin,
        Self::Image,
        Self::Field,
    ];

    /// Its name in the contract and in `block_type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heading => "heading",
            Self::Paragraph => "paragraph",
            Self::ListItem => "list_item",
            Self::Quote => "quote",
            Self::Code => "code",
            Self::Table => "table",
            Self::SqlStatement => "sql_statement",
            Self::TomlTable => "toml_table",
            Self::TomlKey => "toml_key",
            Self::Caption => "caption",
            Self::Note => "note",
            Self::Margin => "margin",
            Self::Image => "image",
            Self::Field => "field",
        }
    }
}

/// A range of [`Artifact::text`] in Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The first.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// How much of a file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// What is counted.
    pub unit: CoverageUnit,
    /// How many there are.
    pub total: u64,
    /// How many were read whole.
    pub extracted: u64,
    /// How many could not be read. `extracted + failed` is `total`.
    pub failed: u64,
    /// Capabilities that some part of the file was read without: see [`lost`].
    #[serde(default)]
    pub lost: Vec<String>,
}

impl Coverage {
    /// All `total` units, with nothing lost.
    pub fn complete(unit: CoverageUnit, total: u64) -> Self {
        Self { unit, total, extracted: total, failed: 0, lost: Vec::new() }
    }

    /// Whether the whole file was read with everything in it.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.lost.is_empty()
    }

    /// Notes a lost capability, once.
    pub fn lose(&mut self, capability: &str) {
        if !self.lost.iter().any(|lost| lost == capability) {
            self.lost.push(capability.to_owned());
        }
    }
}

/// What a coverage counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoverageUnit {
    /// Bytes of the file.
    #[default]
    Bytes,
    /// Lines of its text.
    Lines,
    /// Pages.
    Pages,
    /// Slides.
    Slides,
    /// Sheets of a workbook.
    Sheets,
    /// Rows of a table, or records.
    Rows,
}

/// Capabilities that an extraction may have gone without.
pub mod lost {
    /// A table was cut or not read as one.
    pub const TABLES: &str = "tables";
    /// Pages or pictures of words were not read.
    pub const OCR_TEXT: &str = "ocr_text";
    /// A workbook was saved without the values of its formulas.
    pub const FORMULA_VALUES: &str = "formula_values";
    /// Statements could not be told apart or understood.
    pub const SQL_STRUCTURE: &str = "sql_structure";
    /// Names were left out.
    pub const EXACT_KEYS: &str = "exact_keys";
    /// Pictures that might hold words were left out.
    pub const IMAGES: &str = "images";
    /// Values that are bytes were left out.
    pub const BINARY_VALUES: &str = "binary_values";
    /// Part of the text could not be read.
    pub const TEXT: &str = "text";
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(level: &u8) -> bool {
    *level == 0
}
