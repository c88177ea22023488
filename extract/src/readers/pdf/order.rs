//! The order in which the parts of a page are read: columns before rows where there are columns.

use super::frame::Word;
use super::tables::Draft;

/// Words further apart than this many ems are parts of their own.
const PART_GAP: f32 = 0.9;
/// The narrowest space between columns, in ems and in points.
const GUTTER_EMS: f32 = 0.8;
const GUTTER_MIN: f32 = 5.0;
/// The most gutters that are followed at once.
const BANDS_MAX: usize = 24;
/// The deepest that columns are looked for within columns.
const DEPTH_MAX: usize = 24;

/// Words of one row without a wide space among them, or a table.
#[derive(Clone, Debug)]
pub enum Part {
    Words(Vec<Word>),
    Table(Box<Draft>),
}

impl Part {
    pub fn u(&self) -> (f32, f32) {
        match self {
            Self::Words(words) => {
                words.iter().fold((f32::MAX, f32::MIN), |u, word| (u.0.min(word.u.0), u.1.max(word.u.1)))
            }
            Self::Table(table) => table.u,
        }
    }

    /// Where it is sorted: its baseline, or the first one of a table.
    pub fn v(&self) -> f32 {
        match self {
            Self::Words(words) => words.first().map_or(0.0, |word| word.v),
            Self::Table(table) => table.v.0,
        }
    }

    fn size(&self) -> f32 {
        match self {
            Self::Words(words) => words.iter().map(|word| word.size).fold(0.0, f32::max),
            Self::Table(_) => 0.0,
        }
    }
}

/// A part of a page that is read row by row.
#[derive(Debug)]
pub struct Region {
    pub rows: Vec<Vec<Part>>,
}

/// Cuts rows of words where they stand wide apart, or where `walls` part them: upright lines by their u and v.
pub fn parts(rows: Vec<Vec<Word>>, walls: &[(f32, (f32, f32))]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for row in rows {
        let mut open: Vec<Word> = Vec::new();
        for word in row {
            let apart = open.last().is_some_and(|last| {
                let walled = || {
                    walls
                        .iter()
                        .any(|(u, v)| last.u.1 <= *u + 0.5 && *u <= word.u.0 + 0.5 && v.0 < word.v && word.v < v.1)
                };
                word.u.0 - last.u.1 > PART_GAP * last.size.max(word.size) || walled()
            });
            if apart {
                parts.push(Part::Words(std::mem::take(&mut open)));
            }
            open.push(word);
        }
        if !open.is_empty() {
            parts.push(Part::Words(open));
        }
    }
    parts
}

/// The regions of a page in reading order.
pub fn regions(mut parts: Vec<Part>, rtl: bool) -> Vec<Region> {
    parts.sort_by(|a, b| a.v().total_cmp(&b.v()));
    let mut out = Vec::new();
    split(parts, rtl, 0, &mut out);
    out
}

fn split(parts: Vec<Part>, rtl: bool, depth: usize, out: &mut Vec<Region>) {
    if parts.is_empty() {
        return;
    }
    let rows = rows(parts);
    let Some(band) = (depth < DEPTH_MAX).then(|| columns(&rows)).flatten() else {
        out.push(Region { rows });
        return;
    };
    let mut rows = rows.into_iter();
    let above: Vec<Part> = rows.by_ref().take(band.start).flatten().collect();
    let middle = band.gap.0.midpoint(band.gap.1);
    let (left, right): (Vec<Part>, Vec<Part>) =
        rows.by_ref().take(band.end - band.start).flatten().partition(|part| part.u().0 < middle);
    let below: Vec<Part> = rows.flatten().collect();
    split(above, rtl, depth + 1, out);
    let (first, second) = if rtl { (right, left) } else { (left, right) };
    split(first, rtl, depth + 1, out);
    split(second, rtl, depth + 1, out);
    split(below, rtl, depth + 1, out);
}

/// Parts that share a baseline, each row from left to right.
fn rows(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut rows: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let joins = rows
            .last()
            .and_then(|row| row.first())
            .is_some_and(|first| part.v() - first.v() <= 0.3 * first.size().min(part.size()));
        match rows.last_mut() {
            Some(row) if joins => row.push(part),
            _ => rows.push(vec![part]),
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.u().0.total_cmp(&b.u().0));
    }
    rows
}

/// Consecutive rows with an empty strip down through all of them.
#[derive(Clone, Debug)]
struct Band {
    start: usize,
    end: usize,
    gap: (f32, f32),
    left: usize,
    right: usize,
}

/// The band that parts the rows into columns best, if any does.
fn columns(rows: &[Vec<Part>]) -> Option<Band> {
    let boxes: Vec<Vec<(f32, f32)>> = rows.iter().map(|row| row.iter().map(Part::u).collect()).collect();
    let all = boxes.iter().flatten().fold((f32::MAX, f32::MIN), |all, u| (all.0.min(u.0), all.1.max(u.1)));
    let mut sizes: Vec<f32> = rows.iter().flatten().map(Part::size).filter(|size| *size > 0.0).collect();
    sizes.sort_by(f32::total_cmp);
    let narrowest = (sizes.get(sizes.len() / 2).copied().unwrap_or(10.0) * GUTTER_EMS).max(GUTTER_MIN);
    let mut closed = bands(&boxes, all, narrowest);
    let height = |band: &Band| rows[band.end - 1][0].v() - rows[band.start][0].v() + 1.0;
    closed.retain(|band| band.left >= 2 && band.right >= 2);
    let score = |band: &Band| height(band) * band.left.min(band.right) as f32;
    closed.sort_by(|a, b| score(b).total_cmp(&score(a)));
    closed.into_iter().find(|band| is_columns(rows, band))
}

fn bands(boxes: &[Vec<(f32, f32)>], all: (f32, f32), narrowest: f32) -> Vec<Band> {
    let mut open: Vec<Band> = Vec::new();
    let mut closed: Vec<Band> = Vec::new();
    for (at, row) in boxes.iter().enumerate() {
        let mut gaps: Vec<(f32, f32)> = Vec::with_capacity(row.len() + 1);
        let mut from = all.0;
        for u in row {
            if u.0 - from >= narrowest {
                gaps.push((from, u.0));
            }
            from = from.max(u.1);
        }
        if all.1 - from >= narrowest {
            gaps.push((from, all.1));
        }
        let mut still: Vec<Band> = Vec::with_capacity(open.len());
        let mut used = vec![false; gaps.len()];
        for mut band in open.drain(..) {
            let meets =
                gaps.iter().enumerate().map(|(index, gap)| (index, (gap.0.max(band.gap.0), gap.1.min(band.gap.1))));
            match meets.max_by(|a, b| (a.1.1 - a.1.0).total_cmp(&(b.1.1 - b.1.0))) {
                Some((index, gap)) if gap.1 - gap.0 >= narrowest => {
                    band.gap = gap;
                    band.end = at + 1;
                    let middle = gap.0.midpoint(gap.1);
                    band.left += usize::from(row.iter().any(|u| u.0 < middle));
                    band.right += usize::from(row.iter().any(|u| u.0 >= middle));
                    used[index] = true;
                    still.push(band);
                }
                _ => closed.push(band),
            }
        }
        open = still;
        for (gap, _) in gaps.into_iter().zip(used).filter(|(_, used)| !used) {
            if open.len() < BANDS_MAX {
                let middle = gap.0.midpoint(gap.1);
                let left = usize::from(row.iter().any(|u| u.0 < middle));
                open.push(Band {
                    start: at,
                    end: at + 1,
                    gap,
                    left,
                    right: usize::from(row.iter().any(|u| u.0 >= middle)),
                });
            }
        }
    }
    closed.extend(open);
    closed
}

/// Whether what stands to both sides of a band is to be read down rather than across.
fn is_columns(rows: &[Vec<Part>], band: &Band) -> bool {
    let middle = band.gap.0.midpoint(band.gap.1);
    let mut sides = [Side::default(), Side::default()];
    let mut both = 0;
    for row in &rows[band.start..band.end] {
        let mut seen = [false; 2];
        for part in row {
            let at = usize::from(part.u().0 >= middle);
            seen[at] = true;
            sides[at].add(part);
        }
        both += usize::from(seen[0] && seen[1]);
    }
    let fewest = band.left.min(band.right);
    if sides.iter().all(Side::is_prose) {
        return true;
    }
    fewest >= 3 && both * 2 < fewest
}

#[derive(Default)]
struct Side {
    parts: usize,
    words: usize,
    chars: usize,
}

impl Side {
    fn add(&mut self, part: &Part) {
        match part {
            Part::Words(words) => {
                self.parts += 1;
                self.words += words.len();
                self.chars += words.iter().map(|word| word.seen.chars().count()).sum::<usize>();
                // A character of a script without spaces says as much as half a word.
                self.words +=
                    words.iter().flat_map(|word| word.seen.chars()).filter(|char| *char >= '\u{2e80}').count() / 3;
            }
            Part::Table(_) => {}
        }
    }

    /// Whether its lines are those of running text.
    fn is_prose(&self) -> bool {
        self.parts > 0 && self.words * 10 >= self.parts * 24 && self.chars >= self.parts * 13
    }
}
