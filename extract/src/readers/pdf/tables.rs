//! Tables on their way from words to typed cells.

use std::collections::HashSet;

use super::bidi;
use super::frame::Word;
use super::page::Ruling;
use super::quantity;
use super::ruled::{self, Grid};
use crate::contract::{Cell, Column, Row, Table};
use crate::readers::cells;

/// The cells of a row that have words, by their columns.
type RowCells<'a> = Vec<(usize, &'a Vec<&'a Word>)>;

/// A table of a page, in the frame's coordinates.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub u: (f32, f32),
    pub v: (f32, f32),
    /// What stands in one cell over its whole width at its top.
    pub title: String,
    pub rows: Vec<Vec<String>>,
    /// Whether all words of a row are bold.
    pub bold: Vec<bool>,
    /// Cells of the first rows that span further columns: the row, the first column and the last.
    pub spans: Vec<(usize, usize, usize)>,
}

/// The tables that lines draw, and the rows without the words in them.
pub fn ruled(rows: Vec<Vec<Word>>, rulings: &[Ruling]) -> (Vec<Draft>, Vec<Vec<Word>>) {
    let grids = ruled::grids(rulings);
    if grids.is_empty() {
        return (Vec::new(), rows);
    }
    let all: usize = rows.iter().map(Vec::len).sum();
    let mut inside: Vec<Vec<Word>> = vec![Vec::new(); grids.len()];
    let around = |word: &Word| {
        grids.iter().enumerate().rev().find(|(_, grid)| grid.place(word.middle(), word.v - word.size * 0.3).is_some())
    };
    let mut rest: Vec<Vec<Word>> = Vec::with_capacity(rows.len());
    for row in rows {
        let mut outside = Vec::new();
        for word in row {
            match around(&word) {
                Some((at, _)) => inside[at].push(word),
                None => outside.push(word),
            }
        }
        rest.push(outside);
    }
    let mut drafts = Vec::new();
    for (grid, words) in grids.iter().zip(inside) {
        match fill(grid, &words, all) {
            Some(draft) => drafts.push(draft),
            None => give_back(&mut rest, words),
        }
    }
    rest.retain(|row| !row.is_empty());
    rest.sort_by(|a, b| a[0].v.total_cmp(&b[0].v));
    (drafts, rest)
}

/// Words of lines that are no table go back among the others.
fn give_back(rows: &mut Vec<Vec<Word>>, words: Vec<Word>) {
    let mut by_row: Vec<Vec<Word>> =
        rows.drain(..).chain(words.into_iter().map(|word| vec![word])).filter(|row| !row.is_empty()).collect();
    by_row.sort_by(|a, b| a[0].v.total_cmp(&b[0].v));
    for row in by_row {
        match rows.last_mut() {
            Some(last) if (last[0].v - row[0].v).abs() < 0.1 * row[0].size => last.extend(row),
            _ => rows.push(row),
        }
    }
    for row in rows {
        row.sort_by(|a, b| a.u.0.total_cmp(&b.u.0));
    }
}

/// The cells' texts of a grid; `None` where it is a frame around text and no table.
fn fill(grid: &Grid, words: &[Word], all: usize) -> Option<Draft> {
    let (rows, columns) = (grid.vs.len() - 1, grid.us.len() - 1);
    let mut owner = vec![0; rows * columns];
    for (at, cell) in grid.cells.iter().enumerate() {
        for row in cell.row..cell.row + cell.rows {
            owner[row * columns + cell.column..row * columns + cell.column + cell.columns].fill(at);
        }
    }
    let mut of_cell: Vec<Vec<&Word>> = vec![Vec::new(); grid.cells.len()];
    for word in words {
        let (row, column) = grid.place(word.middle(), word.v - word.size * 0.3)?;
        of_cell[owner[row * columns + column]].push(word);
    }
    let filled = of_cell.iter().filter(|words| !words.is_empty()).count();
    let most = of_cell.iter().map(Vec::len).max().unwrap_or(0);
    // A frame around most of the page, or around one text, is layout; hardly any words among many lines are a chart.
    if filled < 3
        || (of_cell.len() > 20 && filled * 5 < of_cell.len())
        || (most * 2 > all && most > 60)
        || (most * 5 > words.len() * 4 && most > 40)
    {
        return None;
    }
    let mut draft = Draft {
        u: (grid.us[0], grid.us[columns]),
        v: (grid.vs[0], grid.vs[rows]),
        rows: vec![vec![String::new(); columns]; rows],
        bold: vec![true; rows],
        ..Draft::default()
    };
    for (cell, words) in grid.cells.iter().zip(&of_cell) {
        draft.rows[cell.row][cell.column] = cell_text(words);
        draft.bold[cell.row] &= words.iter().all(|word| word.look.bold);
        if cell.columns > 1 && !words.is_empty() {
            draft.spans.push((cell.row, cell.column, cell.column + cell.columns - 1));
        }
    }
    draft.split_rows(grid, &of_cell);
    draft.tidy();
    (draft.rows.len() >= 2 && draft.rows[0].len() >= 2).then_some(draft)
}

/// The baselines of the lines in cells, by their columns, where all cells have the same ones, and mostly numbers.
fn alike(cells: &[(usize, &Vec<&Word>)]) -> Option<Vec<f32>> {
    let baselines = |words: &[&Word]| {
        let mut all: Vec<f32> = words.iter().map(|word| word.v).collect();
        all.sort_by(f32::total_cmp);
        all.dedup_by(|next, last| *next - *last < 2.0);
        all
    };
    let first = baselines(cells.first()?.1);
    let same = |words: &[&Word]| {
        let own = baselines(words);
        own.len() == first.len() && own.iter().zip(&first).all(|(a, b)| (a - b).abs() < 2.0)
    };
    let words = || cells.iter().flat_map(|(_, words)| words.iter());
    let numbers = words().filter(|word| quantity::is_shown(&word.seen)).count();
    let well = first.len() > 1
        && cells.len() > 1
        && cells.iter().all(|(_, words)| same(words))
        && numbers * 2 >= words().count();
    well.then_some(first)
}

/// The text in a cell, its lines joined.
pub fn cell_text(words: &[&Word]) -> String {
    let mut sorted = words.to_vec();
    sorted.sort_by(|a, b| a.v.total_cmp(&b.v));
    let mut lines: Vec<Vec<&Word>> = Vec::new();
    for word in sorted {
        match lines.last_mut() {
            Some(line) if word.v - line[0].v < 0.35 * line[0].size => line.push(word),
            _ => lines.push(vec![word]),
        }
    }
    let mut text = String::new();
    for line in &mut lines {
        line.sort_by(|a, b| a.u.0.total_cmp(&b.u.0));
        super::lines::join(&mut text, &super::lines::text(line.iter().copied()), &HashSet::new());
    }
    text
}

impl Draft {
    /// Splits rows between lines that hold several rows of numbers, each with as many lines in all of its cells.
    fn split_rows(&mut self, grid: &Grid, of_cell: &[Vec<&Word>]) {
        // Cells over several rows or columns stand in the way.
        let mut by_row: Vec<Option<RowCells<'_>>> = vec![Some(Vec::new()); self.rows.len()];
        for (cell, words) in grid.cells.iter().zip(of_cell).filter(|(_, words)| !words.is_empty()) {
            for row in &mut by_row[cell.row..cell.row + cell.rows] {
                match row {
                    Some(row) if cell.rows == 1 && cell.columns == 1 => row.push((cell.column, words)),
                    row => *row = None,
                }
            }
        }
        for (row, own) in by_row.into_iter().enumerate().rev() {
            let Some((own, lines)) = own.and_then(|own| alike(&own).map(|lines| (own, lines))) else { continue };
            let mut split = vec![vec![String::new(); self.rows[row].len()]; lines.len()];
            for (column, words) in &own {
                for (line, v) in split.iter_mut().zip(&lines) {
                    let on_line: Vec<&Word> =
                        words.iter().copied().filter(|word| (word.v - v).abs() < word.size * 0.35).collect();
                    line[*column] = cell_text(&on_line);
                }
            }
            let bold = self.bold[row];
            let more = lines.len() - 1;
            self.bold.splice(row..=row, vec![bold; more + 1]);
            self.rows.splice(row..=row, split);
            for span in self.spans.iter_mut().filter(|span| span.0 > row) {
                span.0 += more;
            }
        }
    }

    /// Drops rows and columns without a word, and takes a first row of a single wide cell as the title.
    fn tidy(&mut self) {
        if let Some(&(0, first, last)) = self.spans.iter().find(|span| span.0 == 0)
            && last - first + 1 == self.rows[0].len()
            && self.rows.len() > 2
        {
            self.title = std::mem::take(&mut self.rows[0][first]);
            self.spans.retain(|span| span.0 != 0);
        }
        let kept_rows: Vec<bool> = self.rows.iter().map(|row| row.iter().any(|cell| !cell.is_empty())).collect();
        let columns = self.rows.first().map_or(0, Vec::len);
        let kept: Vec<bool> = (0..columns).map(|at| self.rows.iter().any(|row| !row[at].is_empty())).collect();
        let before = |kept: &[bool], at: usize| kept[..at].iter().filter(|kept| **kept).count();
        for span in &mut self.spans {
            let last = before(&kept, span.2 + 1).saturating_sub(1);
            *span = (before(&kept_rows, span.0), before(&kept, span.1), last);
        }
        let mut at = 0;
        self.bold.retain(|_| (kept_rows[at], at += 1).0);
        at = 0;
        self.rows.retain(|_| (kept_rows[at], at += 1).0);
        for row in &mut self.rows {
            at = 0;
            row.retain(|_| (kept[at], at += 1).0);
        }
    }

    fn is_rtl(&self) -> bool {
        let words = self.rows.iter().flatten().filter(|cell| cell.chars().any(char::is_alphabetic));
        let (rtl, all) = words.fold((0, 0), |(rtl, all), cell| (rtl + usize::from(bidi::is_mostly_rtl(cell)), all + 1));
        rtl * 2 > all
    }

    /// How many of the first rows name the columns.
    fn header_rows(&self) -> usize {
        // Years name columns as often as they fill them.
        let is_number = |cell: &&String| quantity::is_shown(cell) && !quantity::is_year(cell);
        let numbers = |row: &[String]| row.iter().filter(is_number).count();
        let filled = |row: &[String]| row.iter().filter(|cell| !cell.is_empty()).count();
        let body_numbers: usize = self.rows.iter().skip(1).map(|row| numbers(row)).sum();
        let Some(first) = self.rows.first() else { return 0 };
        let named = numbers(first);
        if self.rows.len() < 2 || filled(first) == 0 || named * 3 > filled(first) || (named > 0 && !self.bold[0]) {
            return 0;
        }
        let spans_first = self.spans.iter().any(|span| span.0 == 0);
        let mut count = 1;
        while count < 4
            && count + 1 < self.rows.len()
            && numbers(&self.rows[count]) == 0
            && ((count == 1 && (spans_first || filled(first) * 2 < first.len() + 1) && body_numbers > 0)
                || (self.bold[count] && self.bold[0] && !self.bold[self.rows.len() - 1]))
        {
            count += 1;
        }
        count
    }

    /// The table with its cells typed. One whose words run from right to left begins at the right.
    pub fn table(mut self) -> Table {
        if self.is_rtl() {
            let last = self.rows.first().map_or(0, Vec::len).saturating_sub(1);
            for span in &mut self.spans {
                let text = std::mem::take(&mut self.rows[span.0][span.1]);
                self.rows[span.0][span.2] = text;
                *span = (span.0, last - span.2, last - span.1);
            }
            self.rows.iter_mut().for_each(|row| row.reverse());
        }
        let header = self.header_rows();
        let width = self.rows.first().map_or(0, Vec::len);
        let mut names = vec![String::new(); width];
        for row in 0..header {
            let mut above = self.rows[row].clone();
            for span in self.spans.iter().filter(|span| span.0 == row) {
                let text = above.get(span.1).cloned().unwrap_or_default();
                above.iter_mut().take(span.2 + 1).skip(span.1 + 1).for_each(|cell| text.clone_into(cell));
            }
            for (name, part) in names.iter_mut().zip(above) {
                if !part.is_empty() && !name.ends_with(&part) {
                    name.push_str(if name.is_empty() { "" } else { " / " });
                    name.push_str(&part);
                }
            }
        }
        let body = self.rows.split_off(header);
        let numbered = body.into_iter().zip(header as u64 + 1..);
        let mut table = Table {
            name: self.title,
            columns: names.into_iter().map(|name| Column { name, ..Column::default() }).collect(),
            header_rows: u32::try_from(header).unwrap_or(0),
            total_rows: 0,
            rows: numbered
                .map(|(cells, number)| {
                    let cell = |text: String| if text.is_empty() { Cell::Empty } else { Cell::Text(text) };
                    Row(number, cells.into_iter().map(cell).collect())
                })
                .collect(),
            numbered: false,
        };
        table.total_rows = table.rows.len() as u64;
        cells::type_cells(&mut table, false);
        table
    }
}
