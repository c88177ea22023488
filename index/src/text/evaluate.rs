//! The best chunks of one segment for a set of terms.
//!
//! The postings are gone through in windows of documents, term after term, and what cannot reach the best `k` any more
//! is left out (`MaxScore`): terms whose weights together stay below the threshold are only looked up for documents
//! that another term found. Under a filter, what lies between the spans of documents that it leaves is skipped.

use std::ops::Range;

use loom_storage::ChunkId;
use tantivy::{DocId, TERMINATED};

use super::cursor::Cursor;
use super::score::{Best, Points, Similarity};
use super::segment::Segment;

/// One term of a query in one segment.
pub(super) struct Posted {
    pub(super) cursor: Cursor,
    pub(super) weight: f32,
}

/// Documents in a window: its scores take 32 KiB, the size of a first-level cache.
const WINDOW: u32 = 4096;
const WORD_BITS: u32 = u64::BITS;

/// Scores of the documents of one window.
pub(super) struct Window {
    start: DocId,
    points: Box<[Points]>,
    touched: [u64; (WINDOW / WORD_BITS) as usize],
}

impl Window {
    pub(super) fn new() -> Self {
        let points = vec![0; WINDOW as usize].into_boxed_slice();
        Self { start: 0, points, touched: [0; (WINDOW / WORD_BITS) as usize] }
    }

    fn add(&mut self, doc: DocId, points: Points) {
        let at = doc - self.start;
        self.points[at as usize] += points;
        self.touched[(at / WORD_BITS) as usize] |= 1 << (at % WORD_BITS);
    }

    /// Empties the window, in which nothing is at `end` or behind, calling `each` with every document and its points,
    /// ascending.
    fn drain(&mut self, end: DocId, mut each: impl FnMut(DocId, Points)) {
        let words = (end - self.start).div_ceil(WORD_BITS) as usize;
        for (word, bits) in (0..).zip(&mut self.touched[..words]) {
            while *bits != 0 {
                let at = word * WORD_BITS + bits.trailing_zeros();
                *bits &= *bits - 1;
                each(self.start + at, std::mem::take(&mut self.points[at as usize]));
            }
        }
    }
}

/// Offers the chunks of `segment` within `spans`, ascending and disjoint, that hold a term and that `accept` lets pass,
/// save those that would not enter.
pub(super) fn best_of(
    segment: &Segment,
    mut terms: Vec<Posted>,
    spans: &[Range<DocId>],
    similarity: &Similarity,
    window: &mut Window,
    mut accept: impl FnMut(ChunkId) -> bool,
    best: &mut Best,
) {
    terms.sort_by(|left, right| left.weight.total_cmp(&right.weight));
    // What the first n terms can be worth together at the most.
    let mut bounds: Vec<Points> = vec![0];
    bounds.extend(terms.iter().scan(0, |sum, term| {
        *sum += Similarity::points_max(term.weight);
        Some(*sum)
    }));
    // The first terms, by themselves too light to lift a document above the threshold.
    let mut light = 0;
    let mut spans = spans.iter().peekable();
    loop {
        while light < terms.len() && bounds[light + 1] < best.threshold() {
            light += 1;
        }
        let (light_terms, leading) = terms.split_at_mut(light);
        let first = leading.iter().map(|term| term.cursor.doc()).min().unwrap_or(TERMINATED);
        while spans.next_if(|span| span.end <= first).is_some() {}
        let Some(span) = spans.peek().filter(|_| first != TERMINATED) else { return };
        window.start = first.max(span.start);
        let end = span.end.min(window.start + WINDOW);
        for term in leading {
            if term.cursor.doc() < window.start {
                term.cursor.seek(window.start);
            }
            term.cursor.take_before(end, |doc, count| {
                window.add(doc, similarity.points(term.weight, segment.norms[doc as usize], count));
            });
        }
        window.drain(end, |doc, found| {
            if found + bounds[light] < best.threshold() || !segment.is_live(doc) {
                return;
            }
            let chunk = segment.chunk(doc);
            if !accept(chunk) {
                return;
            }
            let mut points = found;
            for (term, bound) in light_terms.iter_mut().zip(&bounds[1..]).rev() {
                if points + bound < best.threshold() {
                    return;
                }
                if term.cursor.seek(doc) == doc {
                    points += similarity.points(term.weight, segment.norms[doc as usize], term.cursor.count());
                }
            }
            best.offer(chunk, points);
        });
    }
}
