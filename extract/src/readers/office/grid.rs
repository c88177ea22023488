//! Tables as documents have them: rows of cells that span columns and rows.

use crate::contract::{Cell, Column, Row, Table};
use crate::readers::cells::type_cells;

/// The most columns that one cell may span; a wider span is a mistake or an attack.
const SPAN_MAX: usize = 256;
/// The most columns of a table.
const COLUMNS_MAX: usize = 16_384;
/// A longer text is not repeated in the cells that it spans, in bytes.
const REPEATED_TEXT_MAX: usize = 500;
/// The most bytes of one table that are repeated.
const REPEATED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The most characters of a cell that may be a column's name.
const NAME_CHARS_MAX: usize = 200;

/// A column's name that is longer takes no more header rows.
const NAME_BYTES_MAX: usize = 2000;

/// A table in the making.
#[derive(Default)]
pub struct Grid {
    rows: Vec<Vec<GridCell>>,
    /// How many rows the source marks as the header, from the first.
    pub header_rows: usize,
    /// Whether the source says that the first row stands out.
    pub has_styled_first_row: bool,
}

/// A cell as the source has it.
#[derive(Default)]
pub struct GridCell {
    pub text: String,
    /// How many columns it spans.
    pub columns: usize,
    /// Whether it is the continuation of another, and so has no text of its own.
    pub continues: Option<Continued>,
}

/// The cell that one continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continued {
    /// The one above.
    Above,
    /// The one to the left.
    Left,
}

impl Grid {
    /// Adds a row.
    pub fn push(&mut self, row: Vec<GridCell>) {
        self.rows.push(row);
    }

    /// Its text as lines of cells.
    pub fn flat(&self) -> String {
        let line = |row: &Vec<GridCell>| {
            row.iter().map(|cell| cell.text.trim()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
        };
        self.rows.iter().map(line).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The table, and whether rows were left out because it has more than `cells` cells; `None` where it has no text.
    ///
    /// The words of a cell that spans several stand in each of them, so that every row and column can be understood alone; a
    /// number or a long text stands in the first. Columns without any text of their own are left out, as they are where cells
    /// of one row end between those of another.
    pub fn into_table(mut self, name: String, cells: usize) -> (Option<Table>, bool) {
        let width = self.rows.iter().map(|row| row.iter().map(GridCell::width).sum::<usize>()).max().unwrap_or(0);
        let is_too_wide = width > COLUMNS_MAX;
        let width = width.min(COLUMNS_MAX);
        let mut is_used = vec![false; width];
        for row in &self.rows {
            for (at, cell) in positions(row).filter(|(at, _)| *at < width) {
                is_used[at] |= !cell.text.trim().is_empty();
            }
        }
        let columns: Vec<usize> = (0..width).filter(|at| is_used[*at]).collect();
        if columns.is_empty() {
            return (None, false);
        }
        let total = self.rows.len();
        let kept = total.min(cells / columns.len());
        self.rows.truncate(kept);
        let header_rows = self.header();
        let names = self.names(header_rows, width);
        let mut place = vec![None; width];
        for (to, at) in columns.iter().enumerate() {
            place[*at] = Some(to);
        }
        let mut rows = Vec::with_capacity(kept.saturating_sub(header_rows));
        let mut filler = Filler { above: vec![""; width], budget: REPEATED_BYTES_MAX };
        for (number, row) in self.rows.iter().enumerate() {
            let texts = filler.filled(row);
            if number >= header_rows {
                let mut cells = vec![Cell::Empty; columns.len()];
                for (at, text) in texts {
                    if let Some(to) = place[at] {
                        cells[to] = Cell::Text(text.to_owned());
                    }
                }
                rows.push(Row(number as u64 + 1, cells));
            }
        }
        let columns = columns.iter().map(|at| Column { name: names[*at].clone(), ..Column::default() }).collect();
        let total_rows = total.saturating_sub(header_rows) as u64;
        let header_rows = u32::try_from(header_rows).unwrap_or(u32::MAX);
        let mut table = Table { name, columns, header_rows, rows, total_rows, numbered: false };
        type_cells(&mut table, false);
        (Some(table), kept < total || is_too_wide)
    }

    /// How many rows are the header: those that are marked, else the first where it looks like one.
    fn header(&self) -> usize {
        if self.header_rows > 0 && self.header_rows < self.rows.len() {
            return self.header_rows;
        }
        let looks_like_one = |row: &Vec<GridCell>| {
            let mut others = row.iter().skip(1).peekable();
            let is_name = |cell: &GridCell| {
                let text = cell.text.trim();
                !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX && !is_number(text)
            };
            // The corner may be empty.
            row.first().is_some_and(|cell| cell.text.trim().is_empty() || is_name(cell))
                && (others.peek().is_some() || self.has_styled_first_row)
                && others.all(|cell| is_name(cell) || (self.has_styled_first_row && cell.text.trim().is_empty()))
        };
        usize::from(self.rows.len() > 1 && looks_like_one(&self.rows[0]))
    }

    /// The columns' names: of several header rows each name is joined by ` / `, and a cell names all the columns it spans.
    fn names(&self, header_rows: usize, width: usize) -> Vec<String> {
        let mut names = vec![String::new(); width];
        for row in &self.rows[..header_rows] {
            for (at, cell) in positions(row) {
                let text = cell.text.split_whitespace().collect::<Vec<_>>().join(" ");
                let text: String = text.chars().take(NAME_CHARS_MAX).collect();
                for name in names.iter_mut().skip(at).take(cell.width()).filter(|name| name.len() < NAME_BYTES_MAX) {
                    if !text.is_empty() && !name.is_empty() {
                        name.push_str(" / ");
                    }
                    name.push_str(&text);
                }
            }
        }
        names
    }
}

/// Repeats texts in the cells that they span.
struct Filler<'a> {
    /// The last text of each column that may be repeated.
    above: Vec<&'a str>,
    /// How many bytes may still be repeated.
    budget: usize,
}

impl<'a> Filler<'a> {
    /// The texts of a row by their columns.
    fn filled(&mut self, row: &'a [GridCell]) -> Vec<(usize, &'a str)> {
        let mut texts = Vec::new();
        let (mut at, mut left) = (0, "");
        for cell in row {
            let end = (at + cell.width()).min(self.above.len());
            let own = cell.text.trim();
            for column in at..end {
                let text = match cell.continues {
                    None if column == at => own,
                    None | Some(Continued::Left) => left,
                    Some(Continued::Above) => self.above[column],
                };
                let is_own = cell.continues.is_none() && column == at;
                let repeated = if is_own { 0 } else { text.len() };
                if !text.is_empty() && repeated <= self.budget {
                    self.budget -= repeated;
                    texts.push((column, text));
                }
                if is_own {
                    left = if own.len() <= REPEATED_TEXT_MAX && !is_number(own) { own } else { "" };
                }
                if cell.continues != Some(Continued::Above) {
                    self.above[column] = left;
                }
            }
            at += cell.width();
        }
        texts
    }
}

impl GridCell {
    fn width(&self) -> usize {
        self.columns.clamp(1, SPAN_MAX)
    }
}

/// The cells that do not continue another, with the column each begins at.
fn positions(row: &[GridCell]) -> impl Iterator<Item = (usize, &GridCell)> {
    let mut at = 0;
    row.iter()
        .map(move |cell| {
            let start = at;
            at += cell.width();
            (start, cell)
        })
        .filter(|(_, cell)| cell.continues.is_none())
}

/// Whether a text is a number, as no column's name is.
fn is_number(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | '%' | '$' | '€' | '£' | ' '))
}
