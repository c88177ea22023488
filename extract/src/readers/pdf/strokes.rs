//! Straight lines among the paths of a page.

#![expect(clippy::wildcard_enum_match_arm, reason = "of the many instructions few build or paint paths")]

use hayro_syntax::content::ops::TypedInstruction as Op;
use kurbo::{Affine, Point};

use super::page::Ruling;

/// The most lines that are kept of a page; a drawing of more is no table.
const RULINGS_MAX: usize = 20_000;
/// The most points of one path that are looked at.
const POINTS_MAX: usize = 4096;
/// A filled shape no thicker than this, in points, is a line.
const THICKNESS_MAX: f64 = 3.0;
/// How far a line may lean, in points.
const LEAN_MAX: f64 = 0.7;
/// The shortest line that may belong to a table, in points.
const LENGTH_MIN: f64 = 4.0;

/// The path under construction.
#[derive(Default)]
pub struct Path {
    /// Its straight pieces, on the page as shown.
    pieces: Vec<(Point, Point)>,
    /// Corners of its rectangles.
    rects: Vec<(Point, Point)>,
    start: Point,
    last: Point,
    curved: bool,
}

impl Path {
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.rects.clear();
        self.curved = false;
    }

    /// Takes an instruction of path construction or painting; others leave it as it is.
    pub fn add(&mut self, op: &Op<'_, '_>, to_page: Affine, into: &mut Vec<Ruling>) {
        let at = |x: f64, y: f64| to_page * Point::new(x, y);
        match op {
            Op::MoveTo(to) => {
                self.start = at(to.0.as_f64(), to.1.as_f64());
                self.last = self.start;
            }
            Op::LineTo(to) => self.line(at(to.0.as_f64(), to.1.as_f64())),
            Op::CubicTo(to) => self.curve(at(to.4.as_f64(), to.5.as_f64())),
            Op::CubicStartTo(to) => self.curve(at(to.2.as_f64(), to.3.as_f64())),
            Op::CubicEndTo(to) => self.curve(at(to.2.as_f64(), to.3.as_f64())),
            Op::ClosePath(_) => self.line(self.start),
            Op::RectPath(rect) => {
                let (x, y) = (rect.0.as_f64(), rect.1.as_f64());
                if self.rects.len() < POINTS_MAX {
                    self.rects.push((at(x, y), at(x + rect.2.as_f64(), y + rect.3.as_f64())));
                }
            }
            Op::CloseAndStrokePath(_) | Op::CloseFillAndStrokeNonZero(_) | Op::CloseFillAndStrokeEvenOdd(_) => {
                self.line(self.start);
                self.stroke(into);
            }
            Op::StrokePath(_) | Op::FillAndStrokeNonZero(_) | Op::FillAndStrokeEvenOdd(_) => self.stroke(into),
            Op::FillPathNonZero(_) | Op::FillPathNonZeroCompatibility(_) | Op::FillPathEvenOdd(_) => self.fill(into),
            Op::EndPath(_) => self.clear(),
            _ => {}
        }
    }

    fn line(&mut self, to: Point) {
        if self.pieces.len() < POINTS_MAX {
            self.pieces.push((self.last, to));
        }
        self.last = to;
    }

    fn curve(&mut self, to: Point) {
        self.last = to;
        self.curved = true;
    }

    fn stroke(&mut self, into: &mut Vec<Ruling>) {
        for &(from, to) in &self.pieces {
            keep(from, to, into);
        }
        for &(one, other) in &self.rects {
            let (across, down) = (Point::new(other.x, one.y), Point::new(one.x, other.y));
            for (from, to) in [(one, across), (across, other), (other, down), (down, one)] {
                keep(from, to, into);
            }
        }
        self.clear();
    }

    /// A filled shape is a line where it is thin.
    fn fill(&mut self, into: &mut Vec<Ruling>) {
        if !self.curved && !self.pieces.is_empty() && self.pieces.len() <= 5 {
            let points = self.pieces.iter().flat_map(|(from, to)| [*from, *to]);
            let rect = points.fold(None, |rect: Option<kurbo::Rect>, point| {
                Some(rect.map_or(kurbo::Rect::from_points(point, point), |rect| rect.union_pt(point)))
            });
            self.rects.extend(rect.map(|rect| (Point::new(rect.x0, rect.y0), Point::new(rect.x1, rect.y1))));
        }
        for &(one, other) in &self.rects {
            let (width, height) = ((one.x - other.x).abs(), (one.y - other.y).abs());
            let middle = one.midpoint(other);
            if height <= THICKNESS_MAX && width > height {
                keep(Point::new(one.x, middle.y), Point::new(other.x, middle.y), into);
            } else if width <= THICKNESS_MAX && height > width {
                keep(Point::new(middle.x, one.y), Point::new(middle.x, other.y), into);
            }
        }
        self.clear();
    }
}

fn keep(from: Point, to: Point, into: &mut Vec<Ruling>) {
    let (across, down) = ((from.x - to.x).abs(), (from.y - to.y).abs());
    if into.len() >= RULINGS_MAX || !from.is_finite() || !to.is_finite() || across.max(down) < LENGTH_MIN {
        return;
    }
    if down <= LEAN_MAX {
        into.push(ruling(true, from.y, from.x, to.x));
    } else if across <= LEAN_MAX {
        into.push(ruling(false, from.x, from.y, to.y));
    }
}

fn ruling(horizontal: bool, at: f64, one: f64, other: f64) -> Ruling {
    Ruling { horizontal, at: at as f32, from: one.min(other) as f32, to: one.max(other) as f32 }
}
