//! From what is drawn on a page to its lines and tables in reading order.

use super::bidi;
use super::frame::{self, Frame, Turn, Word};
use super::lines::{self, Line};
use super::order::{self, Part};
use super::page::Drawn;
use super::tables::{self, Draft};
use super::unruled;
use crate::contract::BoundingBox;

/// What a page has, in reading order.
#[derive(Debug)]
pub enum Piece {
    Line(Line),
    Table {
        draft: Box<Draft>,
        page: u32,
        bbox: BoundingBox,
    },
    /// A paragraph that was read off a picture of the page.
    Read {
        text: String,
        page: u32,
        bbox: BoundingBox,
    },
}

/// The fewest numbered lines that make a transcript.
const NUMBERED_LINES_MIN: usize = 10;

/// The pieces of a page. `regions` counts the regions of the file.
pub fn pieces(drawn: &Drawn, page: u32, regions: &mut u32) -> Vec<Piece> {
    let frames = frame::frames(drawn);
    frames.into_iter().flat_map(|frame| of_frame(frame, page, drawn.height, regions)).collect()
}

fn of_frame(frame: Frame, page: u32, height: f32, regions: &mut u32) -> Vec<Piece> {
    let turn = Turn::by(frame.angle);
    let Frame { mut rows, rulings, .. } = frame;
    drop_line_numbers(&mut rows);
    rows.retain(|row| !row.is_empty());
    let rtl = {
        let words: Vec<&Word> = rows.iter().flatten().collect();
        words.iter().filter(|word| word.seen.chars().any(bidi::is_rtl)).count() * 2 > words.len()
    };
    let (drafts, rows) = tables::ruled(rows, &rulings);
    let walls: Vec<(f32, (f32, f32))> = rulings
        .iter()
        .filter(|ruling| !ruling.horizontal && ruling.to - ruling.from > 8.0)
        .map(|ruling| (ruling.at, (ruling.from, ruling.to)))
        .take(200)
        .collect();
    let mut parts = order::parts(rows, &walls);
    parts.extend(drafts.into_iter().map(|draft| Part::Table(Box::new(draft))));
    let mut out = Vec::new();
    for region in order::regions(parts, rtl) {
        *regions += 1;
        for part in unruled::pieces(region) {
            out.push(match part {
                Part::Words(words) => Piece::Line(line(&words, page, *regions, height, turn)),
                Part::Table(draft) => Piece::Table { bbox: turn.page_box(draft.u, draft.v), draft, page },
            });
        }
    }
    out
}

fn line(words: &[Word], page: u32, region: u32, height: f32, turn: Turn) -> Line {
    let (look, size) = lines::look(words);
    let ends = words.iter().fold((f32::MAX, f32::MIN), |u, word| (u.0.min(word.u.0), u.1.max(word.u.1)));
    let sides = words.iter().fold((f32::MAX, f32::MIN), |v, word| (v.0.min(word.top()), v.1.max(word.bottom())));
    let bbox = turn.page_box(ends, sides);
    let text = lines::text(words.iter());
    Line {
        rtl: bidi::is_mostly_rtl(&text),
        text,
        page,
        region,
        u: ends,
        v: words.first().map_or(0.0, |word| word.v),
        size,
        look,
        artifact: words.iter().all(|word| word.artifact),
        first_word: words.first().map_or(0.0, |word| word.u.1 - word.u.0),
        bbox,
        height: bbox.0[1].midpoint(bbox.0[3]) / height.max(1.0),
    }
}

/// Drops the numbers at the side of a page whose lines are numbered, as those of transcripts are.
fn drop_line_numbers(rows: &mut [Vec<Word>]) {
    let number = |row: &[Word]| {
        let first = row.first()?;
        let apart = row.get(1).is_none_or(|next| next.u.0 - first.u.1 > first.size * 0.8);
        (apart && first.seen.len() <= 3)
            .then(|| first.seen.parse::<u32>().ok())
            .flatten()
            .map(|number| (number, first.u))
    };
    let found: Vec<(usize, u32, (f32, f32))> =
        rows.iter().enumerate().filter_map(|(at, row)| number(row).map(|(number, u)| (at, number, u))).collect();
    let in_turn =
        found.windows(2).filter(|pair| pair[1].1 == pair[0].1 + 1 && (pair[1].2.1 - pair[0].2.1).abs() < 12.0).count()
            + 1;
    let with_words = found.iter().filter(|(at, ..)| rows[*at].len() > 2).count();
    if in_turn < NUMBERED_LINES_MIN
        || in_turn * 10 < found.len() * 9
        || in_turn * 2 < rows.len()
        || with_words * 3 < found.len()
    {
        return;
    }
    for (at, ..) in found {
        rows[at].remove(0);
    }
}
