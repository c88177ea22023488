//! The cells of a sheet.

use crate::contract::{Cell, Locator, Refusal, Value};
use crate::readers::Bounds;
use crate::readers::office::{Element, Xml, xml_escaped};

use super::dates::{DateSystem, duration};
use super::formats::{Formats, Meaning};
use super::render::render;
use super::strings::rich;

/// The most columns and rows of a sheet; a cell beyond is a mistake and left out.
pub const COLUMNS_MAX: u32 = 16_384;
const ROWS_MAX: u64 = 1_048_576;
/// The most merged areas of a sheet that are heeded.
const MERGES_MAX: usize = 100_000;
/// A length of time is shorter than this, in days: a larger number with a clock's format is a moment.
const DURATION_DAYS_MAX: f64 = 1000.0;

/// What the cells of all sheets refer to.
pub struct Book {
    pub strings: Vec<String>,
    pub formats: Formats,
    pub dates: DateSystem,
}

/// What there is to tell of cells.
#[derive(Default)]
pub struct Counts {
    /// Cells with an error.
    pub errors: u64,
    /// Formulas without a value.
    pub formulas: u64,
    /// Days that are not in the calendar.
    pub no_days: u64,
    /// Bytes of text in all cells so far.
    text_bytes: usize,
}

/// A sheet's cells that are not empty.
#[derive(Default)]
pub struct Sheet {
    /// Rows by their numbers from 1, each with its cells by their columns from 0.
    pub rows: Vec<(u64, Vec<(u32, Cell)>)>,
    pub merges: Vec<Merge>,
    /// Whether cells were left out because there are more than there may be.
    pub is_cut: bool,
    /// How many rows with cells there are, those that were left out too.
    pub total_rows: u64,
}

/// An area of cells that is shown as one; rows from 1, columns from 0, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    pub top: u64,
    pub bottom: u64,
    pub left: u32,
    pub right: u32,
}

/// A cell's attributes.
struct Head {
    column: u32,
    style: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Shared,
    Inline,
    Text,
    Bool,
    Error,
    Date,
}

impl Sheet {
    /// Reads a sheet's part, at most `cells` cells of it.
    pub fn read(text: &str, book: &Book, counts: &mut Counts, cells: usize, bounds: &Bounds) -> Result<Self, Refusal> {
        let mut xml = Xml::new(text, "a sheet", bounds);
        xml.root()?;
        let mut sheet = Self::default();
        let mut left = cells;
        let mut last = 0_u64;
        while let Some(element) = xml.child(1)? {
            match element.name() {
                "sheetData" => {
                    while let Some(element) = xml.child(2)? {
                        let number: u64 = element.number("r").unwrap_or(last + 1);
                        // Rows out of order would be numbered twice: they follow the last.
                        last = if number > last { number } else { last + 1 };
                        let row = Row { book, bounds, is_kept: left > 0 && last <= ROWS_MAX };
                        let cells = row.read(&mut xml, counts)?;
                        left = left.saturating_sub(cells.len());
                        sheet.total_rows += u64::from(!cells.is_empty());
                        sheet.is_cut |= !row.is_kept && !cells.is_empty();
                        if row.is_kept && !cells.is_empty() {
                            sheet.rows.push((last, cells));
                        }
                    }
                }
                "mergeCells" => {
                    while let Some(element) = xml.child(2)? {
                        let merge = element.attribute("ref").and_then(|area| Merge::parse(&area));
                        if sheet.merges.len() < MERGES_MAX {
                            sheet.merges.extend(merge);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(sheet)
    }

    /// The rows that it spans.
    pub fn span(&self, name: &str) -> Option<Locator> {
        let (first, last) = (self.rows.first()?.0, self.rows.last()?.0);
        Some(Locator::Rows { sheet: name.to_owned(), start: first, end: last })
    }
}

/// A row in the making.
struct Row<'a> {
    book: &'a Book,
    bounds: &'a Bounds,
    is_kept: bool,
}

impl Row<'_> {
    fn read(&self, xml: &mut Xml<'_>, counts: &mut Counts) -> Result<Vec<(u32, Cell)>, Refusal> {
        let depth = xml.depth();
        let mut cells: Vec<(u32, Cell)> = Vec::new();
        let mut next = 0;
        while let Some(element) = xml.child(depth)? {
            if element.name() != "c" {
                continue;
            }
            let head = Head::of(&element, next);
            next = head.column.saturating_add(1);
            let cell = self.cell(xml, &head, counts)?;
            if matches!(cell, Cell::Empty) || head.column >= COLUMNS_MAX {
                continue;
            }
            counts.text_bytes = counts.text_bytes.saturating_add(cell.shown().len());
            self.bounds.check_text(counts.text_bytes)?;
            let is_in_order = cells.last().is_none_or(|(column, _)| *column < head.column);
            if is_in_order {
                cells.push((head.column, cell));
            }
        }
        Ok(cells)
    }

    fn cell(&self, xml: &mut Xml<'_>, head: &Head, counts: &mut Counts) -> Result<Cell, Refusal> {
        let depth = xml.depth();
        let (mut value, mut formula, mut inline) = (None, None, None);
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "v" => value = Some(xml.text()?),
                "f" => formula = Some(xml.text()?),
                "is" => inline = Some(rich(xml)?),
                _ => {}
            }
        }
        if let (None, None, Some(formula)) = (&value, &inline, &formula) {
            counts.formulas += 1;
            let formula = if formula.is_empty() { "= (shared formula)".into() } else { format!("={formula}") };
            return Ok(Cell::Typed { value: Value::Formula(formula), text: None });
        }
        let value = value.unwrap_or_default();
        Ok(match head.kind {
            Kind::Shared => {
                let string = value.trim().parse().ok().and_then(|at: usize| self.book.strings.get(at));
                string.map_or(Cell::Empty, |string| text_cell(string.clone()))
            }
            Kind::Inline => text_cell(inline.unwrap_or(value)),
            Kind::Text => text_cell(if value.contains("_x") { xml_escaped(&value) } else { value }),
            Kind::Bool => Cell::Typed { value: Value::Bool(matches!(value.trim(), "1" | "true")), text: None },
            Kind::Error => {
                counts.errors += 1;
                Cell::Typed { value: Value::Error(value), text: None }
            }
            Kind::Date => iso(value.trim()),
            Kind::Number => self.number(value.trim(), head.style, counts),
        })
    }

    /// A number by what its format says it is.
    fn number(&self, raw: &str, style: usize, counts: &mut Counts) -> Cell {
        let Ok(number) = raw.parse::<f64>() else { return text_cell(raw.to_owned()) };
        if !number.is_finite() {
            counts.errors += 1;
            return Cell::Typed { value: Value::Error(raw.to_owned()), text: None };
        }
        let plain = || Cell::Typed { value: Value::Number(digits(raw, number)), text: None };
        let clock = |moment: super::dates::Moment| Cell::Typed { value: Value::Time(moment.time), text: None };
        let moment = || self.book.dates.moment(number);
        let meaning = self.book.formats.of(style);
        match meaning {
            Meaning::Plain => plain(),
            Meaning::Shown(code) => match render(code, number) {
                Some(shown) => Cell::typed(Value::Number(digits(raw, number)), &shown),
                None => plain(),
            },
            Meaning::Duration => length(number).unwrap_or_else(plain),
            Meaning::Time if (1.0..DURATION_DAYS_MAX).contains(&number) => length(number).unwrap_or_else(plain),
            Meaning::Time | Meaning::Datetime if (0.0..1.0).contains(&number) => moment().map_or_else(plain, clock),
            Meaning::Date | Meaning::Time | Meaning::Datetime => match moment() {
                None => plain(),
                Some(moment) if !moment.is_a_day => {
                    counts.no_days += 1;
                    Cell::Typed { value: Value::Error(moment.date), text: None }
                }
                Some(moment) if *meaning == Meaning::Date && moment.is_midnight => {
                    Cell::Typed { value: Value::Date(moment.date), text: None }
                }
                Some(moment) => {
                    let value = Value::Datetime(format!("{}T{}", moment.date, moment.time));
                    Cell::Typed { value, text: Some(format!("{} {}", moment.date, moment.time)) }
                }
            },
        }
    }
}

impl Head {
    fn of(element: &Element<'_>, next: u32) -> Self {
        let mut head = Self { column: next, style: 0, kind: Kind::Number };
        element.each(|name, value| match name {
            "r" => head.column = place(value).map_or(next, |(column, _)| column),
            "s" => head.style = value.parse().unwrap_or(0),
            "t" => {
                head.kind = match value {
                    "s" => Kind::Shared,
                    "inlineStr" => Kind::Inline,
                    "str" => Kind::Text,
                    "b" => Kind::Bool,
                    "e" => Kind::Error,
                    "d" => Kind::Date,
                    _ => Kind::Number,
                }
            }
            _ => {}
        });
        head
    }
}

impl Merge {
    fn parse(area: &str) -> Option<Self> {
        let (from, to) = area.split_once(':')?;
        let ((left, top), (right, bottom)) = (place(from)?, place(to)?);
        (left <= right && top <= bottom).then_some(Self { top, bottom, left, right })
    }
}

/// The column, from 0, and the row, from 1, of a reference such as `B12`.
pub fn place(reference: &str) -> Option<(u32, u64)> {
    let reference = reference.trim_start_matches('$');
    let letters = reference.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (column, row) = reference.split_at(letters);
    if column.is_empty() || column.len() > 3 {
        return None;
    }
    let number = column.bytes().fold(0, |sum, letter| sum * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1);
    Some((number - 1, row.trim_start_matches('$').parse().ok()?))
}

fn text_cell(text: String) -> Cell {
    if text.trim().is_empty() { Cell::Empty } else { Cell::Text(text) }
}

fn length(days: f64) -> Option<Cell> {
    let (seconds, shown) = duration(days)?;
    Some(Cell::Typed { value: Value::Duration(seconds), text: Some(shown) })
}

/// The digits of a number: the file's own, except where they are only the longest spelling of a binary fraction.
fn digits(raw: &str, number: f64) -> String {
    let significant = raw.bytes().filter(u8::is_ascii_digit).count();
    let is_fraction = raw.contains(['.', 'e', 'E']);
    let shortest = || {
        let plain = number.to_string();
        if plain.len() <= raw.len() { plain } else { format!("{number:e}") }
    };
    if is_fraction && significant > 15 { shortest() } else { raw.trim_start_matches('+').to_owned() }
}

/// A moment that is written as one, as strict workbooks do.
fn iso(text: &str) -> Cell {
    let bare = text.trim_end_matches('Z');
    let (date, time) = bare.split_once('T').unwrap_or(if bare.contains('-') { (bare, "") } else { ("", bare) });
    let is_made_of = |text: &str, marks: &str| text.chars().all(|c| c.is_ascii_digit() || marks.contains(c));
    let is_date = date.len() == 10 && is_made_of(date, "-");
    let is_time = (8..=16).contains(&time.len()) && is_made_of(time, ":.");
    let typed = |value| Cell::Typed { value, text: None };
    match (is_date, is_time) {
        (true, true) if time.trim_matches(['0', ':', '.']).is_empty() => typed(Value::Date(date.to_owned())),
        (true, true) => {
            Cell::Typed { value: Value::Datetime(format!("{date}T{time}")), text: Some(format!("{date} {time}")) }
        }
        (true, false) if time.is_empty() => typed(Value::Date(date.to_owned())),
        (false, true) if date.is_empty() => typed(Value::Time(time.to_owned())),
        _ => text_cell(text.to_owned()),
    }
}
