//! Tables as documents have them: rows of cells that span columns and rows.

use crate::contract::{Cell, Column, Row, Table};
use crate::readers::cells::type_cells;

/// The most columns that one cell may span; a wider span is a mistake or an attack.
const SPAN_MAX: usize = 256;
/// The most columns of a table.
const COLUMNS_MAX: usize = 16_384;
/// The most characters of a cell that may be a column's name.
const NAME_CHARS_MAX: usize = 200;

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
    /// Whether it is the continuation of the cell above.
    pub continues: bool,
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
    /// The text of a cell that spans several stands in the first. Columns without any text are left out, as they are where cells
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
        for (number, row) in self.rows.iter().enumerate().skip(header_rows) {
            let mut cells = vec![Cell::Empty; columns.len()];
            for (at, cell) in positions(row) {
                if let Some(to) = place.get(at).copied().flatten() {
                    cells[to] = Cell::Text(cell.text.trim().to_owned());
                }
            }
            rows.push(Row(number as u64 + 1, cells));
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
                let spanned = if header_rows > 1 { cell.width() } else { 1 };
                for name in names.iter_mut().skip(at).take(spanned) {
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
        .filter(|(_, cell)| !cell.continues)
}

/// Whether a text is a number, as no column's name is.
fn is_number(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | '%' | '$' | '€' | '£' | ' '))
}
