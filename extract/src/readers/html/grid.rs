//! The grid of a table whose cells span rows and columns.

use crate::contract::{Cell, Column, Row, Table};

/// The most columns of a table, and the most that one cell spans.
const COLUMNS_MAX: usize = 1000;
/// The most rows that one cell spans.
const ROWS_SPANNED_MAX: usize = 65_534;
/// A longer text is not repeated in the cells that it spans.
const REPEATED_BYTES_MAX: usize = 500;
/// The most bytes that the tables of a page repeat.
const REPEATED_ALL_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The most rows that make up a header.
const HEADER_ROWS_MAX: usize = 6;

/// What stands before a number in a cell of its own, and what stands after it.
const BEFORE_NUMBERS: &[&str] = &["$", "€", "£", "¥", "US$", "(", "$(", "($"];
const AFTER_NUMBERS: &[&str] = &["%", ")", ")%", "%)"];

/// A cell as the page has it.
pub struct Source {
    /// Its text.
    pub text: String,
    /// Whether it is a heading cell.
    pub is_header: bool,
    /// How many columns it spans; 0 counts as 1.
    pub columns: usize,
    /// How many rows it spans; 0 is all that follow.
    pub rows: usize,
}

#[derive(Default)]
struct Line {
    /// Its number in the source.
    number: u64,
    cells: Vec<String>,
    /// Whether it lies in the part of the table that is its head.
    in_head: bool,
    /// How many heading cells it has.
    headings: usize,
    /// How many other cells with text it has.
    others: usize,
    /// Whether it is one cell over more than one column.
    is_section: bool,
}

/// A text that reaches down into further rows.
#[derive(Clone)]
struct Hanging {
    text: String,
    rows: usize,
}

/// What the tables of a page may still have.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Cells.
    pub cells: usize,
    /// Bytes of text that stands in more cells than the source writes it in.
    pub repeated: usize,
}

impl Room {
    /// For so many cells.
    pub fn of(cells: usize) -> Self {
        Self { cells, repeated: REPEATED_ALL_BYTES_MAX }
    }
}

/// A table that is being read cell by cell.
pub struct Grid<'a> {
    lines: Vec<Line>,
    /// What reaches into the row that is being read, by column.
    hanging: Vec<Option<Hanging>>,
    room: &'a mut Room,
    /// The cells of the widest row: in the end each row has as many.
    widest: usize,
    /// Rows that were started, those past the bound counted.
    rows: u64,
}

impl<'a> Grid<'a> {
    /// A table of the rows that there is room for.
    pub fn new(room: &'a mut Room) -> Self {
        Self { lines: Vec::new(), hanging: Vec::new(), room, widest: 1, rows: 0 }
    }

    /// Starts a row; `in_head` in the part of the table that is its head.
    pub fn start_row(&mut self, in_head: bool) {
        self.end_row();
        self.rows += 1;
        if self.has_room(self.lines.len() + 1) {
            self.lines.push(Line { number: self.rows, in_head, ..Line::default() });
        }
    }

    fn has_room(&self, rows: usize) -> bool {
        rows.saturating_mul(self.widest) <= self.room.cells
    }

    /// Adds the next cell of the row.
    pub fn cell(&mut self, source: Source) {
        let Some(line) = self.lines.last_mut().filter(|line| line.number == self.rows) else { return };
        while let Some(text) = hangs(&mut self.hanging, line.cells.len(), self.room) {
            line.cells.push(text);
        }
        let is_first = line.cells.is_empty();
        line.headings += usize::from(source.is_header);
        line.others += usize::from(!source.is_header && !source.text.is_empty());
        let width = source.columns.clamp(1, COLUMNS_MAX).min(COLUMNS_MAX.saturating_sub(line.cells.len()));
        let rows = if source.rows == 0 { ROWS_SPANNED_MAX } else { source.rows.min(ROWS_SPANNED_MAX) };
        line.is_section = is_first && width > 1 && !source.is_header && !line.in_head;
        let repeated = source.text.len().saturating_mul(width - width.min(1));
        let is_short = source.text.len() <= REPEATED_BYTES_MAX && repeated <= self.room.repeated;
        let again = if is_short { source.text.clone() } else { String::new() };
        self.room.repeated = self.room.repeated.saturating_sub(if is_short { repeated } else { 0 });
        let column = line.cells.len();
        if rows > 1 {
            self.hanging.resize(self.hanging.len().max(column + width), None);
            self.hanging[column..column + width].fill(Some(Hanging { text: again.clone(), rows: rows - 1 }));
        }
        line.cells.extend(std::iter::once(source.text).chain(std::iter::repeat(again)).take(width));
    }

    /// Fills the rest of the row with what reaches into it.
    fn end_row(&mut self) {
        let Some(line) = self.lines.last_mut().filter(|line| line.number == self.rows) else { return };
        if line.is_section {
            // The name of the rows below it: once is enough.
            line.cells[1..].fill(String::new());
        }
        while line.cells.len() < self.hanging.len() {
            let text = hangs(&mut self.hanging, line.cells.len(), self.room);
            line.cells.push(text.unwrap_or_default());
        }
        while self.hanging.last().is_some_and(Option::is_none) {
            self.hanging.pop();
        }
        self.widest = self.widest.max(line.cells.len());
        if !self.has_room(self.lines.len()) {
            self.lines.pop();
        }
    }

    /// The table without rows and columns that are blank; `None` where nothing is left.
    pub fn finish(mut self) -> Option<Table> {
        self.end_row();
        let mut lines = self.lines;
        let last = lines.last().map_or(0, |line| line.number);
        lines.retain(|line| line.cells.iter().any(|cell| !cell.is_empty()));
        let width = lines.iter().map(|line| line.cells.len()).max()?;
        self.room.cells = self.room.cells.saturating_sub(lines.len().saturating_mul(width));
        for line in &mut lines {
            line.cells.resize(width, String::new());
        }
        let header = header_rows(&lines);
        join_columns(&mut lines, header);
        let (head, body) = lines.split_at(header);
        let width = lines.first().map_or(0, |line| line.cells.len());
        let name = |column: usize| {
            let mut parts: Vec<&str> = head.iter().map(|line| line.cells[column].as_str()).collect();
            parts.retain(|part| !part.is_empty());
            parts.dedup();
            parts.join(" / ").replace('\n', " ")
        };
        let columns = (0..width).map(|column| Column { name: name(column), ..Column::default() }).collect();
        let cell = |text: &String| if text.is_empty() { Cell::Empty } else { Cell::Text(text.clone()) };
        let rows: Vec<Row> = body.iter().map(|line| Row(line.number, line.cells.iter().map(cell).collect())).collect();
        let total_rows = rows.len() as u64 + (self.rows - last);
        Some(Table {
            columns,
            header_rows: u32::try_from(header).unwrap_or(u32::MAX),
            rows,
            total_rows,
            ..Table::default()
        })
    }
}

/// The text that reaches into the row at a column, one row less from then on; nothing where there is no room to repeat it.
fn hangs(hanging: &mut [Option<Hanging>], column: usize, room: &mut Room) -> Option<String> {
    let slot = hanging.get_mut(column)?;
    let hanging = slot.as_mut()?;
    hanging.rows -= 1;
    let left = room.repeated.checked_sub(hanging.text.len());
    let text = left.map_or_else(String::new, |_| hanging.text.clone());
    room.repeated = left.unwrap_or(room.repeated);
    if hanging.rows == 0 {
        *slot = None;
    }
    Some(text)
}

/// How many rows at the top are the header: those of the table's head and those of heading cells alone; where there are
/// none, the first row if it has a word in every cell and others follow.
fn header_rows(lines: &[Line]) -> usize {
    let is_header = |line: &&Line| line.in_head || (line.headings > 0 && line.others == 0);
    let marked = lines.iter().take_while(is_header).count();
    if marked == lines.len() && marked > 0 {
        return usize::from(marked > 1);
    }
    if marked > 0 {
        return marked.min(HEADER_ROWS_MAX);
    }
    let Some((first, body)) = lines.split_first().filter(|(_, body)| !body.is_empty()) else { return 0 };
    let is_word = |(at, cell): (usize, &String)| {
        let is_spacer = || cell.is_empty() && body.iter().all(|line| line.cells[at].is_empty());
        (cell.chars().any(char::is_alphabetic) && cell.len() <= 200) || is_spacer()
    };
    usize::from(!first.is_section && first.cells.iter().enumerate().all(is_word))
}

/// Leaves out the columns that hold nothing but what a neighbour's heading spans, and joins the signs of money and of per cent that
/// stand in columns of their own to their numbers.
fn join_columns(lines: &mut [Line], header: usize) {
    let width = lines.first().map_or(0, |line| line.cells.len());
    let mut kept: Vec<usize> = Vec::with_capacity(width);
    let only = |lines: &[Line], column: usize, of: &[&str]| {
        let mut body = lines[header..].iter().map(|line| line.cells[column].as_str()).filter(|cell| !cell.is_empty());
        let mut count = 0;
        body.by_ref().all(|cell| {
            count += 1;
            of.contains(&cell)
        }) && count > 0
    };
    let spanned = |lines: &[Line], column: usize, other: usize| {
        lines[..header].iter().all(|line| line.cells[column].is_empty() || line.cells[column] == line.cells[other])
    };
    for column in 0..width {
        let is_blank = lines[header..].iter().all(|line| line.cells[column].is_empty());
        let next = Some(column + 1).filter(|next| *next < width);
        let beside = kept.last().copied().into_iter().chain(next);
        if is_blank
            && (lines[..header].iter().all(|line| line.cells[column].is_empty())
                || beside.clone().any(|other| spanned(lines, column, other)))
        {
            continue;
        }
        if let Some(before) = kept.last().copied()
            && only(lines, column, AFTER_NUMBERS)
            && spanned(lines, column, before)
        {
            for line in &mut lines[header..] {
                let sign = std::mem::take(&mut line.cells[column]);
                line.cells[before].push_str(&sign);
            }
        } else if let Some(next) = next
            && only(lines, column, BEFORE_NUMBERS)
            && spanned(lines, column, next)
        {
            for line in &mut lines[header..] {
                let sign = std::mem::take(&mut line.cells[column]);
                line.cells[next].insert_str(0, &sign);
            }
        } else {
            kept.push(column);
        }
    }
    for line in lines {
        line.cells = kept.iter().map(|column| std::mem::take(&mut line.cells[*column])).collect();
    }
}
