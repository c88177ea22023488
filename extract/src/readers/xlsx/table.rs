//! From the cells of a sheet to a table: which rows are its title, which its header.

use std::collections::{HashMap, HashSet};

use crate::contract::{Cell, Column, Row, Table};

use super::sheet::{Merge, Sheet};

/// How many rows above the header are looked at as its title.
const TITLES_MAX: usize = 20;
/// The most rows of a header.
const HEADER_ROWS_MAX: usize = 8;
/// The most characters of a column's name.
const NAME_CHARS_MAX: usize = 300;
/// Numbers that stand in a header are years.
const YEARS: std::ops::RangeInclusive<u32> = 1800..=2200;

impl Sheet {
    /// Takes away the rows above the header that hold one text each.
    pub fn take_titles(&mut self) -> Vec<(u64, String)> {
        let is_title = |row: &(u64, Vec<(u32, Cell)>)| matches!(row.1.as_slice(), [(_, Cell::Text(_))]);
        let count = self.rows.iter().take(TITLES_MAX).take_while(|row| is_title(row)).count();
        // A list of one column has no title, and what follows must be a table.
        if count == 0 || self.rows.get(count).is_none_or(|row| row.1.len() < 2) {
            return Vec::new();
        }
        self.total_rows = self.total_rows.saturating_sub(count as u64);
        let titles = self.rows.drain(..count);
        titles.map(|(number, cells)| (number, cells.iter().map(|cell| cell.1.shown()).collect())).collect()
    }

    /// The table of what is left; `None` where nothing is.
    pub fn into_table(mut self, name: &str) -> Option<Table> {
        let used: HashSet<u32> = self.rows.iter().flat_map(|row| row.1.iter().map(|cell| cell.0)).collect();
        let mut columns: Vec<u32> = used.into_iter().collect();
        columns.sort_unstable();
        if columns.is_empty() {
            return None;
        }
        let header_rows = self.header(columns.len());
        let names = self.names(header_rows, &columns);
        let place: HashMap<u32, usize> = columns.iter().enumerate().map(|(to, from)| (*from, to)).collect();
        let total_rows = self.total_rows.saturating_sub(header_rows as u64);
        let body = self.rows.drain(..).skip(header_rows);
        let dense = |(number, cells): (u64, Vec<(u32, Cell)>)| {
            let mut row = vec![Cell::Empty; columns.len()];
            for (column, cell) in cells {
                row[place[&column]] = cell;
            }
            Row(number, row)
        };
        let mut table = Table {
            name: name.to_owned(),
            columns: names.into_iter().map(|name| Column { name, ..Column::default() }).collect(),
            header_rows: u32::try_from(header_rows).unwrap_or(0),
            rows: body.map(dense).collect(),
            total_rows,
            numbered: true,
        };
        table.infer_types();
        Some(table)
    }

    /// How many of the first rows are the header. Merged cells make it several: those that a cell reaches down to, and the one
    /// below cells that are merged sideways.
    fn header(&self, width: usize) -> usize {
        let is_header = |at: usize| self.rows.get(at).is_some_and(|row| reads_as_header(&row.1));
        let fills = |at: usize| self.rows.get(at).map_or(0, |row| row.1.len()) * 2 >= width.min(8);
        if self.rows.len() < 2 || !is_header(0) {
            return 0;
        }
        let first = self.rows[0].0;
        let in_first = || self.merges.iter().filter(|merge| merge.top == first);
        let down = in_first().map(|merge| merge.bottom - first).max().unwrap_or(0);
        let is_wide = in_first().any(|merge| merge.right > merge.left);
        let reach = if down > 0 { first + down } else { first + u64::from(is_wide) };
        let rows = self.rows.iter().take(HEADER_ROWS_MAX).take_while(|row| row.0 <= reach).count();
        let all_names = (0..rows).take_while(|at| is_header(*at)).count();
        if all_names == rows && rows < self.rows.len() && (rows > 1 || fills(0)) { rows } else { usize::from(fills(0)) }
    }

    /// The columns' names: those of several header rows joined by ` / `, a merged cell naming every column it covers.
    fn names(&self, header_rows: usize, columns: &[u32]) -> Vec<String> {
        let mut names = vec![String::new(); columns.len()];
        let Some((last, _)) = header_rows.checked_sub(1).and_then(|at| self.rows.get(at)) else { return names };
        let merges: HashMap<(u64, u32), Merge> = self
            .merges
            .iter()
            .filter(|merge| merge.top <= *last)
            .map(|merge| ((merge.top, merge.left), *merge))
            .collect();
        for (number, cells) in &self.rows[..header_rows] {
            for (column, cell) in cells {
                let words = cell.shown().split_whitespace().collect::<Vec<_>>().join(" ");
                let words: String = words.chars().take(NAME_CHARS_MAX).collect();
                let right = merges.get(&(*number, *column)).map_or(*column, |merge| merge.right);
                let from = columns.partition_point(|used| used < column);
                for (name, _) in names[from..].iter_mut().zip(columns[from..].iter().take_while(|used| **used <= right))
                {
                    if !name.is_empty() {
                        name.push_str(" / ");
                    }
                    name.push_str(&words);
                }
            }
        }
        names
    }
}

/// Whether the cells could be names of columns: texts, and years after one.
pub fn reads_as_header(cells: &[(u32, Cell)]) -> bool {
    let is_name = |cell: &Cell| match cell {
        Cell::Text(text) => text.chars().count() <= NAME_CHARS_MAX,
        Cell::Typed { .. } => cells.len() > 1 && cell.shown().parse().is_ok_and(|year: u32| YEARS.contains(&year)),
        Cell::Empty => false,
    };
    cells.iter().any(|(_, cell)| matches!(cell, Cell::Text(_))) && cells.iter().all(|(_, cell)| is_name(cell))
}
