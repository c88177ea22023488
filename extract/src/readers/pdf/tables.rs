//! Tables on their way from words to typed cells.

use std::collections::HashSet;

use super::bidi;
use super::frame::Word;
use super::order::{Part, Region};
use super::page::Ruling;
use super::ruled::{self, Grid};
use crate::contract::{Cell, Column, Row, Table};
use crate::readers::cells;

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
    let mut by_row: Vec<Vec<Word>> = rows.drain(..).chain(words.into_iter().map(|word| vec![word])).filter(|row| !row.is_empty()).collect();
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
    // A frame around most of the page, or around one text, is layout.
    if filled < 3 || (most * 2 > all && most > 60) || (most * 5 > words.len() * 4 && most > 40) {
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
    draft.tidy();
    (draft.rows.len() >= 2 && draft.rows[0].len() >= 2).then_some(draft)
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
        let is_number = |cell: &&String| cells::looks_like_number(cell) && !cells::looks_like_year(cell);
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
            header_rows: header as u32,
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
        cells::type_columns(&mut table);
        table
    }
}

/// The tables of a region that show only by how their words are aligned.
pub fn unruled(region: Region) -> Vec<Part> {
    let mut out = Vec::new();
    let mut rows = region.rows;
    let mut at = 0;
    while at < rows.len() {
        let end = run(&rows, at);
        if let Some(draft) = (end - at >= 3).then(|| aligned(&rows[at..end])).flatten() {
            out.push(Part::Table(Box::new(draft)));
            at = end;
            continue;
        }
        // What is no table as a whole may have one further down.
        out.extend(line(std::mem::take(&mut rows[at])));
        at += 1;
    }
    out
}

/// A row of a region that is read across.
fn line(row: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    for part in row {
        match (out.last_mut(), part) {
            (Some(Part::Words(words)), Part::Words(more)) => words.extend(more),
            (_, part) => out.push(part),
        }
    }
    out
}

/// One past the last row of those that may be a table from `start` on: rows of several parts that are parted at the same
/// places, with single ones among them.
fn run(rows: &[Vec<Part>], start: usize) -> usize {
    let several = |row: &[Part]| row.len() >= 2 && row.iter().all(|part| matches!(part, Part::Words(_)));
    let mut end = start;
    let mut at = start;
    let mut strips: Vec<(f32, f32)> = Vec::new();
    let mut full = 0;
    while at < rows.len() && at - start < 2000 {
        let size = rows[at].iter().chain(&rows[at.saturating_sub(1).max(start)]).map(part_size).fold(0.0, f32::max);
        if at > start && rows[at][0].v() - rows[at - 1][0].v() > size * 3.2 {
            break;
        }
        if several(&rows[at]) {
            let next = narrowed(&strips, &rows[at], size * 0.45, full == 0);
            // Of a header over all columns some rows below have fewer; a table that goes on keeps what it has.
            let kept = next.len() * 3 >= strips.len() * 2;
            if full > 0 && (next.is_empty() || (full > 1 && !kept)) {
                break;
            }
            strips = next;
            full += 1;
            end = at + 1;
        } else if at == start || at + 1 - end > 2 || !is_continuation(&rows[at], &rows[at - 1]) {
            break;
        }
        at += 1;
    }
    end
}

/// Whether a row of one part belongs to the table above it, as the second line of a cell does, and not a heading.
fn is_continuation(row: &[Part], above: &[Part]) -> bool {
    let [Part::Words(words)] = row else { return false };
    let bold = |part: &Part| matches!(part, Part::Words(words) if words.iter().all(|word| word.look.bold));
    words.len() < 8 && (!row.iter().all(bold) || above.iter().all(bold)) && part_size(&row[0]) <= part_size(&above[0]) * 1.08
}

/// The strips between the parts of a row, as far as they are empty in the rows above too.
fn narrowed(strips: &[(f32, f32)], row: &[Part], narrowest: f32, first: bool) -> Vec<(f32, f32)> {
    let between: Vec<(f32, f32)> = row.windows(2).map(|pair| (pair[0].u().1, pair[1].u().0)).collect();
    if first {
        return between.into_iter().filter(|strip| strip.1 - strip.0 >= narrowest).collect();
    }
    let ends = [(f32::MIN, row[0].u().0), (row[row.len() - 1].u().1, f32::MAX)];
    let free: Vec<(f32, f32)> = between.into_iter().chain(ends).collect();
    strips
        .iter()
        .filter_map(|strip| {
            let meets = free.iter().map(|free| (strip.0.max(free.0), strip.1.min(free.1)));
            meets.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0))).filter(|strip| strip.1 - strip.0 >= narrowest)
        })
        .collect()
}

fn part_size(part: &Part) -> f32 {
    match part {
        Part::Words(words) => words.iter().map(|word| word.size).fold(0.0, f32::max),
        Part::Table(_) => 0.0,
    }
}

fn aligned(rows: &[Vec<Part>]) -> Option<Draft> {
    let full: Vec<&Vec<Part>> = rows.iter().filter(|row| row.len() >= 2).collect();
    if full.len() < 3 {
        return None;
    }
    let size = full.iter().flat_map(|row| row.iter()).map(part_size).fold(0.0, f32::max);
    let gutters = gutters(&full, size * 0.45);
    if gutters.is_empty() || gutters.len() >= 60 {
        return None;
    }
    let columns = gutters.len() + 1;
    let mut draft = Draft { u: (f32::MAX, f32::MIN), v: (f32::MAX, f32::MIN), ..Draft::default() };
    for row in rows {
        let mut of_column: Vec<Vec<&Word>> = vec![Vec::new(); columns];
        for part in row {
            let Part::Words(words) = part else { return None };
            let u = part.u();
            let crosses = gutters.iter().filter(|gutter| u.0 < **gutter && **gutter < u.1).count();
            for word in words {
                let at = if crosses > 0 && row.len() == 1 { u.0 } else { word.middle() };
                of_column[gutters.partition_point(|gutter| *gutter < at)].push(word);
            }
            draft.u = (draft.u.0.min(u.0), draft.u.1.max(u.1));
            for word in words {
                draft.v = (draft.v.0.min(word.top()), draft.v.1.max(word.bottom()));
            }
        }
        draft.bold.push(row.iter().all(|part| matches!(part, Part::Words(words) if words.iter().all(|word| word.look.bold))));
        draft.rows.push(of_column.iter().map(|words| cell_text(words)).collect());
    }
    is_table(&draft.rows).then_some(draft)
}

/// Where the rows are parted: the middles of the strips that hardly any row has words in.
fn gutters(rows: &[&Vec<Part>], narrowest: f32) -> Vec<f32> {
    let mut edges: Vec<(f32, i32)> = rows.iter().flat_map(|row| row.iter()).flat_map(|part| [(part.u().0, 1), (part.u().1, -1)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let few = i32::try_from(rows.len() / 12).unwrap_or(0);
    let (mut over, mut gutters, mut since) = (0, Vec::new(), None);
    for (at, step) in edges {
        let before = over;
        over += step;
        if before > few && over <= few {
            since = Some(at);
        } else if before <= few && over > few
            && let Some(from) = since.take().filter(|from| at - from >= narrowest)
        {
            gutters.push(at.midpoint(from));
        }
    }
    gutters
}

/// Whether rows of cells are those of a table: numbers, or short texts in three columns or more.
fn is_table(rows: &[Vec<String>]) -> bool {
    let columns = rows.first().map_or(0, Vec::len);
    let cells = || rows.iter().flat_map(|row| row.iter()).filter(|cell| !cell.is_empty());
    let beside: Vec<&String> = rows.iter().flat_map(|row| row.iter().skip(1)).filter(|cell| !cell.is_empty()).collect();
    let first: Vec<&String> = rows.iter().filter_map(|row| row.first()).filter(|cell| !cell.is_empty()).collect();
    if beside.is_empty() || cells().any(|cell| cell.contains("....") || cell.contains(". . .")) {
        return false;
    }
    // Numbered or marked lists have their markers in a column of their own.
    let markers = first.iter().filter(|cell| super::lists::is_marker(cell)).count();
    if columns == 2 && markers * 2 > first.len() {
        return false;
    }
    let numbers = |cells: &[&String]| cells.iter().filter(|cell| cells::looks_like_number(cell)).count();
    let (total, filled) = (rows.len() * columns, cells().count());
    let long = cells().filter(|cell| cell.chars().count() > 60).count();
    let rtl_first = cells().any(|cell| bidi::is_mostly_rtl(cell)) && numbers(&first) * 3 > first.len();
    if columns == 2 {
        return (numbers(&beside) * 2 >= beside.len() || rtl_first) && long * 5 < filled;
    }
    let numeric = numbers(&beside) * 3 >= beside.len();
    filled * 20 >= total * 9 && long * 6 < filled && (numeric || filled * 10 >= total * 6)
}
