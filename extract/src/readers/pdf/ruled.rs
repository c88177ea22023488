//! Tables whose cells are drawn with lines.

use super::page::Ruling;

/// Lines nearer than this, in points, are one.
const SAME: f32 = 2.5;
/// How far the end of a line may be from the line that it meets.
const REACH: f32 = 3.0;
/// More pairs of lines than this are those of a drawing.
const PAIRS_MAX: usize = 4_000_000;
/// The most columns and cells of a table on one page.
const COLUMNS_MAX: usize = 200;
const CELLS_MAX: usize = 50_000;

/// Cells between lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Where its columns and rows are parted, the outer sides included.
    pub us: Vec<f32>,
    pub vs: Vec<f32>,
    pub cells: Vec<GridCell>,
}

/// A cell over `rows` rows and `columns` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridCell {
    pub row: usize,
    pub column: usize,
    pub rows: usize,
    pub columns: usize,
}

impl Grid {
    /// The row and the column around a point.
    pub fn place(&self, u: f32, v: f32) -> Option<(usize, usize)> {
        let within = |parts: &[f32], at: f32| {
            let after = parts.partition_point(|part| *part <= at);
            (after > 0 && after < parts.len()).then(|| after - 1)
        };
        Some((within(&self.vs, v)?, within(&self.us, u)?))
    }
}

/// The tables that the lines of a page draw, at least two rows and two columns each.
pub fn grids(rulings: &[Ruling]) -> Vec<Grid> {
    let (across, down): (Vec<Ruling>, Vec<Ruling>) = merged(rulings).into_iter().partition(|ruling| ruling.horizontal);
    if across.len() * down.len() > PAIRS_MAX {
        return Vec::new();
    }
    let mut groups = Groups::new(across.len() + down.len());
    for (one, h) in across.iter().enumerate() {
        for (other, v) in down.iter().enumerate() {
            let meets = |ruling: &Ruling, at: f32| ruling.from - REACH <= at && at <= ruling.to + REACH;
            if meets(h, v.at) && meets(v, h.at) {
                groups.join(one, across.len() + other);
            }
        }
    }
    let mut of_group: std::collections::BTreeMap<usize, (Vec<Ruling>, Vec<Ruling>)> = std::collections::BTreeMap::new();
    for (at, ruling) in across.iter().chain(&down).enumerate() {
        let group = of_group.entry(groups.root(at)).or_default();
        if ruling.horizontal { group.0.push(*ruling) } else { group.1.push(*ruling) }
    }
    let mut grids: Vec<Grid> = of_group.into_values().filter_map(|(across, down)| grid(&across, &down)).collect();
    grids.sort_by(|a, b| a.vs[0].total_cmp(&b.vs[0]));
    grids
}

/// Lines that continue each other as one.
fn merged(rulings: &[Ruling]) -> Vec<Ruling> {
    let mut all = rulings.to_vec();
    all.sort_by(|a, b| a.horizontal.cmp(&b.horizontal).then(a.at.total_cmp(&b.at)).then(a.from.total_cmp(&b.from)));
    let mut out: Vec<Ruling> = Vec::new();
    let mut start = 0;
    while start < all.len() {
        let first = all[start];
        let mut end = start;
        while end < all.len() && all[end].horizontal == first.horizontal && all[end].at - first.at <= SAME * 0.6 {
            end += 1;
        }
        all[start..end].sort_by(|a, b| a.from.total_cmp(&b.from));
        let from = out.len();
        for ruling in &all[start..end] {
            match out[from..].last_mut() {
                Some(last) if ruling.from <= last.to + REACH => last.to = last.to.max(ruling.to),
                _ => out.push(*ruling),
            }
        }
        start = end;
    }
    out
}

fn grid(across: &[Ruling], down: &[Ruling]) -> Option<Grid> {
    if across.len() < 2 || down.is_empty() || across.len() + down.len() < 5 && down.len() < 2 {
        return None;
    }
    let us = parts(down, across);
    let vs = parts(across, down);
    let (columns, rows) = (us.len().checked_sub(1)?, vs.len().checked_sub(1)?);
    if columns < 2 || rows < 2 || columns > COLUMNS_MAX || rows * columns > CELLS_MAX {
        return None;
    }
    let index = |row: usize, column: usize| row * columns + column;
    // Whether a wall stands to the right of a cell, and below it.
    let mut right = vec![false; rows * columns];
    let mut below = vec![false; rows * columns];
    let nearest = |parts: &[f32], at: f32| parts.iter().position(|part| (part - at).abs() <= SAME);
    for ruling in down {
        let Some(column) = nearest(&us, ruling.at).and_then(|at| at.checked_sub(1)) else { continue };
        for row in 0..rows {
            let middle = vs[row].midpoint(vs[row + 1]);
            right[index(row, column)] |= ruling.from <= middle && middle <= ruling.to;
        }
    }
    for ruling in across {
        let Some(row) = nearest(&vs, ruling.at).and_then(|at| at.checked_sub(1)) else { continue };
        for column in 0..columns {
            let middle = us[column].midpoint(us[column + 1]);
            below[index(row, column)] |= ruling.from <= middle && middle <= ruling.to;
        }
    }
    let mut taken = vec![false; rows * columns];
    let mut cells = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            if taken[index(row, column)] {
                continue;
            }
            let free = |column: usize| column < columns && !taken[index(row, column)];
            let mut last = column;
            while !right[index(row, last)] && free(last + 1) {
                last += 1;
            }
            let mut bottom = row;
            while bottom + 1 < rows
                && (column..=last).all(|at| !below[index(bottom, at)] && !taken[index(bottom + 1, at)])
                && (column..last).all(|at| !right[index(bottom + 1, at)])
            {
                bottom += 1;
            }
            for taken_row in row..=bottom {
                taken[index(taken_row, column)..=index(taken_row, last)].fill(true);
            }
            cells.push(GridCell { row, column, rows: bottom - row + 1, columns: last - column + 1 });
        }
    }
    (cells.len() >= 4).then_some(Grid { us, vs, cells })
}

/// Where lines stand, and where those that cross them end outside of the outermost.
fn parts(rulings: &[Ruling], crossing: &[Ruling]) -> Vec<f32> {
    let ends =
        crossing.iter().fold((f32::MAX, f32::MIN), |ends, ruling| (ends.0.min(ruling.from), ends.1.max(ruling.to)));
    let mut at: Vec<f32> = rulings.iter().map(|ruling| ruling.at).collect();
    at.sort_by(f32::total_cmp);
    at.dedup_by(|next, last| *next - *last <= SAME);
    let outside = 8.0;
    if at.first().is_some_and(|first| first - ends.0 > outside) {
        at.insert(0, ends.0);
    }
    if at.last().is_some_and(|last| ends.1 - last > outside) {
        at.push(ends.1);
    }
    at
}

/// Which lines hang together.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}
