//! Tables without lines, which show only by how their words are aligned.

use super::bidi;
use super::frame::Word;
use super::lists;
use super::order::{Part, Region};
use super::quantity;
use super::tables::{Draft, cell_text};

/// In a region of more rows no tables are looked for.
const ROWS_MAX: usize = 4000;
/// The most rows of such a table.
const TABLE_ROWS_MAX: usize = 400;

/// The parts of a region, each row one, or a table where their words are aligned as those of one are.
pub fn pieces(region: Region) -> Vec<Part> {
    let mut out = Vec::new();
    let mut rows = region.rows;
    let few = rows.len() <= ROWS_MAX;
    let mut at = 0;
    while at < rows.len() {
        let end = if few { run(&rows, at) } else { at };
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
    while at < rows.len() && at - start < TABLE_ROWS_MAX {
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
    words.len() < 8
        && (!row.iter().all(bold) || above.iter().all(bold))
        && part_size(&row[0]) <= part_size(&above[0]) * 1.08
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
        draft
            .bold
            .push(row.iter().all(|part| matches!(part, Part::Words(words) if words.iter().all(|word| word.look.bold))));
        draft.rows.push(of_column.iter().map(|words| cell_text(words)).collect());
    }
    is_table(&draft.rows).then_some(draft)
}

/// Where the rows are parted: the middles of the strips that hardly any row has words in.
fn gutters(rows: &[&Vec<Part>], narrowest: f32) -> Vec<f32> {
    let mut edges: Vec<(f32, i32)> =
        rows.iter().flat_map(|row| row.iter()).flat_map(|part| [(part.u().0, 1), (part.u().1, -1)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let few = i32::try_from(rows.len() / 12).unwrap_or(0);
    let (mut over, mut gutters, mut since) = (0, Vec::new(), None);
    for (at, step) in edges {
        let before = over;
        over += step;
        if before > few && over <= few {
            since = Some(at);
        } else if before <= few
            && over > few
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
    let markers = first.iter().filter(|cell| lists::is_marker(cell)).count();
    if columns == 2 && markers * 2 > first.len() {
        return false;
    }
    let numbers = |cells: &[&String]| cells.iter().filter(|cell| quantity::is_shown(cell)).count();
    let (total, filled) = (rows.len() * columns, cells().count());
    let long = cells().filter(|cell| cell.chars().count() > 60).count();
    let rtl_first = cells().any(|cell| bidi::is_mostly_rtl(cell)) && numbers(&first) * 3 > first.len();
    if columns == 2 {
        return (numbers(&beside) * 2 >= beside.len() || rtl_first) && long * 5 < filled;
    }
    let numeric = numbers(&beside) * 3 >= beside.len();
    filled * 20 >= total * 9 && long * 6 < filled && (numeric || filled * 10 >= total * 6)
}
