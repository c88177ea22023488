//! Several tables on one sheet, told apart by the blank cells between them.

use crate::contract::Cell;

use super::sheet::Sheet;
use super::table::reads_as_header;

/// A sheet with more cells is one table.
const CELLS_MAX: usize = 200_000;
/// With more areas a sheet is a form or a drawing, and stays whole.
const AREAS_MAX: usize = 64;

/// The most rows of a title that stands apart from its table.
const TITLES_MAX: u64 = 3;

/// Cells that touch each other; rows and columns as in [`Sheet`], both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Area {
    top: u64,
    left: u32,
    bottom: u64,
    right: u32,
}

/// Neighbouring cells of a row.
struct Run {
    row: u64,
    left: u32,
    right: u32,
    /// A run of the same area, itself where it is the first.
    parent: usize,
}

impl Sheet {
    /// Its tables, from the top, each a sheet of its own. A sheet stays whole unless each of its areas is plainly a table: names
    /// above at least one row, in columns or over values that tell it from the one before. A text alone goes with the area below it.
    pub fn split(self) -> Vec<Sheet> {
        let cells: usize = self.rows.iter().map(|row| row.1.len()).sum();
        if self.is_cut || cells > CELLS_MAX {
            return vec![self];
        }
        let areas = areas(&self);
        if areas.len() < 2 || areas.len() > AREAS_MAX {
            return vec![self];
        }
        match self.tables(areas) {
            Some(tables) if tables.len() > 1 => tables.iter().map(|area| self.part(*area)).collect(),
            Some(_) | None => vec![self],
        }
    }

    /// The areas with their titles; `None` where one of them is no table.
    fn tables(&self, areas: Vec<Area>) -> Option<Vec<Area>> {
        let (titles, mut tables): (Vec<Area>, Vec<Area>) =
            areas.into_iter().partition(|area| area.bottom - area.top < TITLES_MAX && area.left == area.right);
        let mut before: Option<(Area, Vec<String>)> = None;
        for table in &tables {
            let rows: Vec<&[(u32, Cell)]> = self.rows_of(*table).collect();
            let titles = rows.iter().take_while(|row| matches!(row, [(_, Cell::Text(_))])).count();
            let (header, body) = rows.get(titles..)?.split_first()?;
            if body.is_empty() || header.len() < 2 || !reads_as_header(header) {
                return None;
            }
            let names: Vec<String> = header.iter().map(|(_, cell)| cell.shown().to_owned()).collect();
            let has_values = body.iter().any(|row| row.iter().any(|(_, cell)| !matches!(cell, Cell::Text(_))));
            let is_told_apart = before.as_ref().is_none_or(|(above, named)| {
                has_values || (above.left, above.right) != (table.left, table.right) || *named == names
            });
            if !is_told_apart {
                return None;
            }
            before = Some((*table, names));
        }
        for title in titles.iter().rev() {
            let below = |area: &&mut Area| area.top > title.top && (area.left..=area.right).contains(&title.left);
            let table = tables.iter_mut().filter(below).min()?;
            table.top = title.top;
        }
        let is_apart = |one: &Area, other: &Area| {
            one.bottom < other.top || other.bottom < one.top || one.right < other.left || other.right < one.left
        };
        let all_apart =
            tables.iter().enumerate().all(|(at, one)| tables[at + 1..].iter().all(|other| is_apart(one, other)));
        tables.sort_unstable();
        all_apart.then_some(tables)
    }

    /// The cells of an area, row by row.
    fn rows_of(&self, area: Area) -> impl Iterator<Item = &[(u32, Cell)]> {
        let from = self.rows.partition_point(|row| row.0 < area.top);
        let to = self.rows.partition_point(|row| row.0 <= area.bottom);
        self.rows[from..to].iter().map(move |(_, cells)| {
            let from = cells.partition_point(|cell| cell.0 < area.left);
            let to = cells.partition_point(|cell| cell.0 <= area.right);
            &cells[from..to]
        })
    }

    /// An area as a sheet.
    fn part(&self, area: Area) -> Sheet {
        let from = self.rows.partition_point(|row| row.0 < area.top);
        let numbers = self.rows[from..].iter().map(|row| row.0);
        let rows: Vec<(u64, Vec<(u32, Cell)>)> = numbers
            .zip(self.rows_of(area))
            .filter(|(_, cells)| !cells.is_empty())
            .map(|(number, cells)| (number, cells.to_vec()))
            .collect();
        let merges = self.merges.iter().filter(|merge| {
            (area.top..=area.bottom).contains(&merge.top) && (area.left..=area.right).contains(&merge.left)
        });
        Sheet { merges: merges.copied().collect(), is_cut: false, total_rows: rows.len() as u64, rows }
    }
}

/// The areas of a sheet, from the top.
fn areas(sheet: &Sheet) -> Vec<Area> {
    let mut runs: Vec<Run> = Vec::new();
    // The runs of the row before.
    let mut above = 0..0;
    for (number, cells) in &sheet.rows {
        let begin = runs.len();
        for (column, _) in cells {
            match runs[begin..].last_mut() {
                Some(run) if run.right + 1 == *column => run.right = *column,
                _ => runs.push(Run { row: *number, left: *column, right: *column, parent: runs.len() }),
            }
        }
        let is_below = runs[above.clone()].first().is_some_and(|run| run.row + 1 == *number);
        let mut upper = if is_below { above.clone() } else { 0..0 };
        for at in begin..runs.len() {
            while let Some(over) = upper.clone().next() {
                if runs[over].left <= runs[at].right && runs[at].left <= runs[over].right {
                    unite(&mut runs, over, at);
                }
                // One that reaches further to the right may touch the next run too.
                if runs[over].right > runs[at].right {
                    break;
                }
                upper.next();
            }
        }
        above = begin..runs.len();
    }
    let mut found: std::collections::HashMap<usize, Area> = std::collections::HashMap::new();
    for at in 0..runs.len() {
        let root = root(&mut runs, at);
        let Run { row, left, right, .. } = runs[at];
        let area = found.entry(root).or_insert(Area { top: row, left, bottom: row, right });
        area.bottom = row;
        area.left = area.left.min(left);
        area.right = area.right.max(right);
    }
    let mut areas: Vec<Area> = found.into_values().collect();
    areas.sort_unstable();
    areas
}

fn root(runs: &mut [Run], mut at: usize) -> usize {
    while runs[at].parent != at {
        runs[at].parent = runs[runs[at].parent].parent;
        at = runs[at].parent;
    }
    at
}

fn unite(runs: &mut [Run], one: usize, other: usize) {
    let (one, other) = (root(runs, one), root(runs, other));
    runs[one.max(other)].parent = one.min(other);
}
