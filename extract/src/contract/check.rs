//! An artifact is untrusted input: this is where it is held against the contract.

use super::artifact::{Artifact, Block, BlockKind, Coverage, CoverageUnit, LIST_LEVEL_MAX};
use super::locator::{BoundingBox, Locator};
use super::table::{Cell, Table, Value};
use super::{CONTRACT_VERSION, Parser};

/// What an artifact may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Blocks.
    pub blocks: usize,
    /// Tables.
    pub tables: usize,
    /// Cells of all tables together.
    pub cells: usize,
    /// Columns of one table.
    pub columns: usize,
    /// Bytes of all text: of blocks, cells and the text whole.
    pub text_bytes: usize,
    /// Names of one block.
    pub keys: usize,
    /// Bytes of one name, of a locator's path and of a sheet's name.
    pub name_bytes: usize,
    /// Warnings.
    pub warnings: usize,
    /// Bytes of one warning.
    pub warning_bytes: usize,
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self {
            blocks: 2_000_000,
            tables: 10_000,
            cells: 20_000_000,
            columns: 16_384,
            text_bytes: 256 * 1024 * 1024,
            keys: 10_000,
            name_bytes: 4096,
            warnings: 1000,
            warning_bytes: 2000,
        }
    }
}

/// The first thing in an artifact that breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at} {problem}")]
pub struct Violation {
    /// Where, such as `blocks[3].locator`.
    pub at: String,
    /// What is wrong there.
    pub problem: String,
}

/// Holds an artifact of `format` against the contract, and replaces each NUL in its text by a space, with a warning.
///
/// # Errors
/// The first [`Violation`]. The artifact is then not to be used.
pub fn check(artifact: &mut Artifact, format: &str, limits: &ArtifactLimits) -> Result<(), Violation> {
    let against = |at: &str, problem: String| Err(Violation { at: at.to_owned(), problem });
    if artifact.contract != CONTRACT_VERSION {
        return against("contract", format!("is {}, and {CONTRACT_VERSION} is read here", artifact.contract));
    }
    if artifact.format != format {
        return against("format", format!("is not {format:?}, which was asked for"));
    }
    within("blocks", artifact.blocks.len(), limits.blocks)?;
    within("tables", artifact.tables.len(), limits.tables)?;
    within("warnings", artifact.warnings.len(), limits.warnings)?;
    for (at, warning) in artifact.warnings.iter().enumerate() {
        within(&format!("warnings[{at}]"), warning.len(), limits.warning_bytes)?;
    }
    parser(&artifact.parser, limits)?;
    coverage(&artifact.coverage, limits)?;
    let chars = artifact.text.as_ref().map(|text| text.chars().count() as u64);
    let mut checker =
        Checker { limits, chars, bytes: artifact.text.as_ref().map_or(0, String::len), ..Checker::new(limits) };
    for (at, table) in artifact.tables.iter().enumerate() {
        checker.table(&format!("tables[{at}]"), table)?;
    }
    checker.tables_named = vec![false; artifact.tables.len()];
    for (at, block) in artifact.blocks.iter().enumerate() {
        checker.block(&format!("blocks[{at}]"), block, &artifact.coverage)?;
    }
    if let Some(unnamed) = checker.tables_named.iter().position(|named| !named) {
        return against(&format!("tables[{unnamed}]"), "stands in no block".into());
    }
    clean(artifact);
    Ok(())
}

struct Checker<'a> {
    limits: &'a ArtifactLimits,
    /// The length of the text whole, where there is one.
    chars: Option<u64>,
    bytes: usize,
    cells: usize,
    /// Where the last span ended.
    span_end: u64,
    tables_named: Vec<bool>,
}

impl<'a> Checker<'a> {
    fn new(limits: &'a ArtifactLimits) -> Self {
        Self { limits, chars: None, bytes: 0, cells: 0, span_end: 0, tables_named: Vec::new() }
    }

    fn text(&mut self, at: &str, text: &str) -> Result<(), Violation> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > self.limits.text_bytes {
            return violation(at, format!("takes the text past {} bytes", self.limits.text_bytes));
        }
        Ok(())
    }

    fn block(&mut self, at: &str, block: &Block, coverage: &Coverage) -> Result<(), Violation> {
        self.text(at, &block.text)?;
        self.place(at, block)?;
        let level_max = if block.kind == BlockKind::Heading {
            6
        } else if block.kind == BlockKind::ListItem {
            LIST_LEVEL_MAX
        } else {
            0
        };
        let level_min = u8::from(block.kind == BlockKind::Heading);
        if block.level < level_min || block.level > level_max {
            return violation(&format!("{at}.level"), format!("is {}, not {level_min} to {level_max}", block.level));
        }
        within(&format!("{at}.keys"), block.keys.len(), self.limits.keys)?;
        within(&format!("{at}.language"), block.language.len(), self.limits.name_bytes)?;
        for (key, name) in block.keys.iter().enumerate() {
            within(&format!("{at}.keys[{key}]"), name.len(), self.limits.name_bytes)?;
            self.text(at, name)?;
        }
        block.locator.as_ref().map_or(Ok(()), |locator| self.locator(&format!("{at}.locator"), locator, coverage))
    }

    /// A block's text, span and table: which there must be depends on the kind of artifact.
    fn place(&mut self, at: &str, block: &Block) -> Result<(), Violation> {
        match (self.chars, block.span) {
            (Some(chars), Some(span)) => {
                if span.start < self.span_end || span.end <= span.start || span.end > chars {
                    let problem = format!(
                        "is {} to {}, not a part of the {chars} characters after {}",
                        span.start, span.end, self.span_end
                    );
                    return violation(&format!("{at}.span"), problem);
                }
                self.span_end = span.end;
                if !block.text.is_empty() || block.table.is_some() {
                    return violation(at, "has a span, and text or a table beside it".into());
                }
            }
            (Some(_), None) => return violation(at, "has no span, though the artifact has its text whole".into()),
            (None, Some(_)) => return violation(at, "has a span, though the artifact has no text".into()),
            (None, None) => {}
        }
        let Some(table) = block.table else { return Ok(()) };
        let named = usize::try_from(table).ok().and_then(|table| self.tables_named.get_mut(table));
        match named {
            Some(named) if block.kind == BlockKind::Table && !*named => {
                *named = true;
                Ok(())
            }
            _ => {
                violation(&format!("{at}.table"), "names no table, or one that stands elsewhere, or is no table".into())
            }
        }
    }

    fn locator(&self, at: &str, locator: &Locator, coverage: &Coverage) -> Result<(), Violation> {
        let ordered = |start: u64, end: u64, first: u64| {
            if first <= start && start <= end { Ok(()) } else { violation(at, format!("goes from {start} to {end}")) }
        };
        let counted = |unit: CoverageUnit, end: u64| {
            if coverage.unit == unit && end > coverage.total {
                return violation(at, format!("ends at {end}, past the {} of the source", coverage.total));
            }
            Ok(())
        };
        match locator {
            Locator::Lines { start, end, char_start, char_end } => {
                ordered(*start, *end, 1)?;
                ordered(*char_start, *char_end, 0)
            }
            Locator::Key { path, line_start, line_end } => {
                within(at, path.len(), self.limits.name_bytes)?;
                ordered(*line_start, *line_end, 1)
            }
            Locator::Pages { start, end, bbox } => {
                ordered(*start, *end, 1)?;
                counted(CoverageUnit::Pages, *end)?;
                match bbox {
                    Some(_) if start != end => violation(at, "has a box on more than one page".into()),
                    Some(bbox) if !is_box(*bbox) => violation(at, "has no box of finite numbers in order".into()),
                    _ => Ok(()),
                }
            }
            Locator::Slides { start, end } => {
                ordered(*start, *end, 1)?;
                counted(CoverageUnit::Slides, *end)
            }
            Locator::Rows { sheet, start, end } => {
                within(at, sheet.len(), self.limits.name_bytes)?;
                ordered(*start, *end, 1)
            }
        }
    }

    fn table(&mut self, at: &str, table: &Table) -> Result<(), Violation> {
        within(&format!("{at}.columns"), table.columns.len(), self.limits.columns)?;
        within(&format!("{at}.name"), table.name.len(), self.limits.name_bytes)?;
        for column in &table.columns {
            self.text(at, &column.name)?;
        }
        if table.total_rows < table.rows.len() as u64 {
            return violation(&format!("{at}.total_rows"), "is less than the rows there are".into());
        }
        let mut last = 0;
        for (number, row) in table.rows.iter().enumerate() {
            let at = || format!("{at}.rows[{number}]");
            if row.0 <= last {
                return violation(&at(), format!("is number {}, after {last}", row.0));
            }
            last = row.0;
            if row.1.len() != table.columns.len() {
                let problem = format!("has {} cells for {} columns", row.1.len(), table.columns.len());
                return violation(&at(), problem);
            }
            self.cells = self.cells.saturating_add(row.1.len());
            if self.cells > self.limits.cells {
                return violation(&at(), format!("takes the cells past {}", self.limits.cells));
            }
            for cell in &row.1 {
                self.cell(&at, cell)?;
            }
        }
        Ok(())
    }

    fn cell(&mut self, at: &dyn Fn() -> String, cell: &Cell) -> Result<(), Violation> {
        let bytes = match cell {
            Cell::Empty => 0,
            Cell::Text(text) => text.len(),
            Cell::Typed { value, text } => {
                if !is_written_well(value) {
                    return violation(&at(), "has a value that is not written as its type is".into());
                }
                value.written().len() + text.as_ref().map_or(0, String::len)
            }
        };
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.text_bytes {
            return violation(&at(), format!("takes the text past {} bytes", self.limits.text_bytes));
        }
        Ok(())
    }
}

fn parser(parser: &Parser, limits: &ArtifactLimits) -> Result<(), Violation> {
    within("parser.name", parser.name.len(), limits.name_bytes)?;
    within("parser.version", parser.version.len(), limits.name_bytes)
}

fn coverage(coverage: &Coverage, limits: &ArtifactLimits) -> Result<(), Violation> {
    within("coverage.lost", coverage.lost.len(), limits.keys)?;
    for lost in &coverage.lost {
        within("coverage.lost", lost.len(), limits.name_bytes)?;
    }
    match coverage.extracted.checked_add(coverage.failed) {
        Some(sum) if sum == coverage.total => Ok(()),
        _ => violation("coverage", "does not add up: extracted and failed are not the total".into()),
    }
}

/// Whether a value has the shape that its type is written in.
fn is_written_well(value: &Value) -> bool {
    match value {
        Value::Number(digits) | Value::Duration(digits) => is_decimal(digits),
        Value::Date(text) => is_made_of(text, "-") && text.len() >= 10,
        Value::Time(text) => is_made_of(text, ":.") && text.len() >= 8,
        Value::Datetime(text) => is_made_of(text, "-:.T+Z") && text.len() >= 19,
        Value::Bool(_) | Value::Error(_) | Value::Formula(_) => true,
    }
}

fn is_made_of(text: &str, marks: &str) -> bool {
    text.len() <= 64 && text.chars().all(|c| c.is_ascii_digit() || marks.contains(c))
}

/// An optional sign, digits with at most one point among them, and an optional exponent.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= 4096
        && whole.len() + fraction.len() > 0
        && all_digits(whole)
        && all_digits(fraction)
        && (1..=9).contains(&exponent.len())
        && all_digits(exponent)
}

fn is_box(BoundingBox([left, top, right, bottom]): BoundingBox) -> bool {
    [left, top, right, bottom].iter().all(|side| side.is_finite()) && left <= right && top <= bottom
}

fn within(at: &str, count: usize, limit: usize) -> Result<(), Violation> {
    if count <= limit { Ok(()) } else { violation(at, format!("is {count} long, over the limit of {limit}")) }
}

fn violation(at: &str, problem: String) -> Result<(), Violation> {
    Err(Violation { at: at.to_owned(), problem })
}

/// Replaces NUL, which no text of Loom may hold, by a space: places stay as they are.
fn clean(artifact: &mut Artifact) {
    let mut cleaned = 0_u64;
    let mut clean = |text: &mut String| {
        let nuls = text.matches('\0').count() as u64;
        if nuls > 0 {
            *text = text.replace('\0', " ");
            cleaned += nuls;
        }
    };
    artifact.text.iter_mut().for_each(&mut clean);
    for block in &mut artifact.blocks {
        clean(&mut block.text);
        clean(&mut block.language);
        block.keys.iter_mut().for_each(&mut clean);
        if let Some(Locator::Key { path: name, .. } | Locator::Rows { sheet: name, .. }) = &mut block.locator {
            clean(name);
        }
    }
    for table in &mut artifact.tables {
        clean(&mut table.name);
        table.columns.iter_mut().for_each(|column| clean(&mut column.name));
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.1) {
            match cell {
                Cell::Text(text) | Cell::Typed { text: Some(text), .. } => clean(text),
                Cell::Empty | Cell::Typed { text: None, .. } => {}
            }
        }
    }
    for text in artifact.warnings.iter_mut().chain(&mut artifact.coverage.lost) {
        clean(text);
    }
    clean(&mut artifact.parser.name);
    clean(&mut artifact.parser.version);
    if cleaned > 0 {
        artifact.warnings.push(format!("{cleaned} NUL characters were replaced by spaces"));
    }
}
