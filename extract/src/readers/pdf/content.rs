//! Carries out the drawing instructions of a page, as far as they place characters and straight lines.

#![expect(clippy::wildcard_enum_match_arm, reason = "of the many instructions few place characters or lines")]

use hayro_font::UNITS_PER_EM;
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, Rect, Stream};
use hayro_syntax::page::{Page, Resources, Rotation};
use kurbo::{Affine, Point};

use super::fonts::{Chosen, Code, Fonts};
use super::page::{Drawn, FontLook, Glyph};
use super::strokes::Path;
use crate::contract::{BoundingBox, Refusal, RefusalCode};
use crate::readers::Bounds;

/// The most characters that are read of one page.
const GLYPHS_MAX: usize = 400_000;
/// The most instructions that are carried out for one page, those of the forms it draws counted as often as they are drawn.
const INSTRUCTIONS_MAX: usize = 4_000_000;
/// The deepest that forms may draw forms.
const FORM_DEPTH_MAX: usize = 16;
/// The most saved states; more are those of a file that saves and never restores.
const STATES_MAX: usize = 512;

#[derive(Clone)]
struct Text<'a> {
    char_space: f64,
    word_space: f64,
    /// 1 is not stretched.
    stretch: f64,
    leading: f64,
    font: Option<Chosen<'a>>,
    size: f64,
    rise: f64,
    invisible: bool,
}

#[derive(Clone)]
struct State<'a> {
    to_page: Affine,
    text: Text<'a>,
}

/// Marked content that is open.
struct Mark {
    hides: bool,
    artifact: bool,
    /// The text that stands for what is drawn, and how many glyphs there were before.
    replaced: Option<(String, usize)>,
}

struct Painter<'a, 'f> {
    fonts: &'f Fonts<'a>,
    bounds: &'f Bounds,
    drawn: Drawn,
    instructions: usize,
    states: Vec<State<'a>>,
    state: State<'a>,
    matrix: Affine,
    line_matrix: Affine,
    marks: Vec<Mark>,
    path: Path,
}

/// What is drawn on a page.
///
/// # Errors
/// When the time is over, and where its instructions unpack to more than the bounds allow.
pub fn draw<'a>(page: &Page<'a>, fonts: &Fonts<'a>, bounds: &Bounds) -> Result<Drawn, Refusal> {
    let (width, height) = page.render_dimensions();
    let text = Text {
        char_space: 0.0,
        word_space: 0.0,
        stretch: 1.0,
        leading: 0.0,
        font: None,
        size: 1.0,
        rise: 0.0,
        invisible: false,
    };
    let mut painter = Painter {
        fonts,
        bounds,
        drawn: Drawn { width, height, ..Drawn::default() },
        instructions: 0,
        states: Vec::new(),
        state: State { to_page: shown(page), text },
        matrix: Affine::IDENTITY,
        line_matrix: Affine::IDENTITY,
        marks: Vec::new(),
        path: Path::default(),
    };
    if let Some(stream) = contents(page, bounds)? {
        painter.carry_out(&stream, page.resources(), 0)?;
    }
    painter.annotations(page)?;
    Ok(painter.drawn)
}

/// The instructions of a page, of all its streams, which may be one again and again.
fn contents(page: &Page<'_>, bounds: &Bounds) -> Result<Option<Vec<u8>>, Refusal> {
    if let Some(stream) = page.raw().get::<Stream<'_>>("Contents") {
        return Ok(stream.decoded_data().ok().map(std::borrow::Cow::into_owned));
    }
    let Some(streams) = page.raw().get::<Array<'_>>("Contents") else { return Ok(None) };
    let mut all = Vec::new();
    for stream in streams.iter::<Stream<'_>>() {
        if let Ok(data) = stream.decoded_data() {
            all.extend_from_slice(&data);
            all.push(b'\n');
        }
        if all.len() as u64 > bounds.inflated_bytes {
            let message = format!("a page unpacks to more than {} bytes", bounds.inflated_bytes);
            return Err(Refusal::new(RefusalCode::ResourceLimit, message));
        }
    }
    Ok(Some(all))
}

/// From the page's own coordinates to points from the top left corner of the page as it is shown.
fn shown(page: &Page<'_>) -> Affine {
    let shown = page.intersected_crop_box();
    let (width, height) = page.base_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let turn = match page.rotation() {
        Rotation::None => Affine::new([1.0, 0.0, 0.0, -1.0, 0.0, height]),
        Rotation::Horizontal => Affine::new([0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        Rotation::Flipped => Affine::new([-1.0, 0.0, 0.0, 1.0, width, 0.0]),
        Rotation::FlippedHorizontal => Affine::new([0.0, -1.0, -1.0, 0.0, height, width]),
    };
    turn * Affine::translate((-shown.x0, -shown.y0))
}

fn affine(numbers: [Number; 6]) -> Affine {
    Affine::new(numbers.map(|number| number.as_f64()))
}

impl<'a> Painter<'a, '_> {
    fn carry_out(&mut self, stream: &[u8], resources: &Resources<'a>, depth: usize) -> Result<(), Refusal> {
        let (states, marks) = (self.states.len(), self.marks.len());
        let mut instructions = TypedIter::new(stream);
        while let Some(op) = instructions.next() {
            self.instructions += 1;
            if self.instructions.is_multiple_of(4096) {
                self.bounds.check_time()?;
            }
            if self.instructions > INSTRUCTIONS_MAX || self.drawn.glyphs.len() > GLYPHS_MAX {
                self.drawn.cut = true;
                break;
            }
            match &op {
                Op::XObject(name) => self.object(name.0, resources, depth)?,
                Op::TextFont(font) => self.choose_font(font.0, font.1.as_f64(), resources),
                Op::BeginMarkedContentWithProperties(mark) => self.mark(mark.0, Some(mark.1), resources),
                Op::BeginMarkedContent(mark) => self.mark(mark.0, None, resources),
                Op::EndMarkedContent(_) if self.marks.len() > marks => self.end_mark(),
                Op::RestoreState(_) if self.states.len() > states => {
                    self.state = self.states.pop().unwrap_or_else(|| self.state.clone());
                }
                op => self.set(op),
            }
        }
        while self.marks.len() > marks {
            self.end_mark();
        }
        if self.states.len() > states {
            self.state = self.states[states].clone();
            self.states.truncate(states);
        }
        self.path.clear();
        Ok(())
    }

    /// Instructions that need no resources.
    fn set(&mut self, op: &Op<'_, '_>) {
        let text = &mut self.state.text;
        match op {
            Op::SaveState(_) if self.states.len() < STATES_MAX => self.states.push(self.state.clone()),
            Op::Transform(by) => self.state.to_page *= affine([by.0, by.1, by.2, by.3, by.4, by.5]),
            Op::CharacterSpacing(space) => text.char_space = space.0.as_f64(),
            Op::WordSpacing(space) => text.word_space = space.0.as_f64(),
            Op::HorizontalScaling(percent) => text.stretch = percent.0.as_f64() / 100.0,
            Op::TextLeading(leading) => text.leading = leading.0.as_f64(),
            Op::TextRenderingMode(mode) => text.invisible = matches!(mode.0.as_i64(), 3 | 7),
            Op::TextRise(rise) => text.rise = rise.0.as_f64(),
            Op::BeginText(_) => self.at(Affine::IDENTITY),
            Op::SetTextMatrix(to) => self.at(affine([to.0, to.1, to.2, to.3, to.4, to.5])),
            Op::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            Op::NextLineAndSetLeading(by) => {
                text.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            Op::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.text.leading),
            Op::ShowText(shown) => self.show(shown.0.as_bytes()),
            Op::NextLineAndShowText(shown) => {
                self.next_line(0.0, -self.state.text.leading);
                self.show(shown.0.as_bytes());
            }
            Op::ShowTextWithParameters(shown) => {
                (text.word_space, text.char_space) = (shown.0.as_f64(), shown.1.as_f64());
                self.next_line(0.0, -self.state.text.leading);
                self.show(shown.2.as_bytes());
            }
            Op::ShowTexts(parts) => {
                for part in parts.0.iter::<Object<'_>>() {
                    if let Some(number) = part.clone().into_number() {
                        self.adjust(number.as_f64());
                    } else if let Some(shown) = part.into_string() {
                        self.show(shown.as_bytes());
                    }
                }
            }
            Op::InlineImage(_) => self.picture(),
            op => self.path.add(op, self.state.to_page, &mut self.drawn.rulings),
        }
    }

    fn at(&mut self, matrix: Affine) {
        (self.matrix, self.line_matrix) = (matrix, matrix);
    }

    fn next_line(&mut self, right: f64, up: f64) {
        self.at(self.line_matrix * Affine::translate((right, up)));
    }

    fn adjust(&mut self, by: f64) {
        let text = &self.state.text;
        let by = -by / f64::from(UNITS_PER_EM) * text.size;
        let horizontal = text.font.as_ref().is_none_or(|chosen| chosen.font.is_horizontal());
        let by = if horizontal { (by * text.stretch, 0.0) } else { (0.0, by) };
        self.matrix *= Affine::translate(by);
    }

    fn choose_font(&mut self, name: &Name<'_>, size: f64, resources: &Resources<'a>) {
        self.state.text.size = size;
        let dict = resources.get_font(name);
        self.state.text.font = dict.map_or_else(|| self.fonts.standard(), |dict| self.fonts.choose(&dict));
    }

    fn show(&mut self, bytes: &[u8]) {
        if self.state.text.font.is_none() {
            self.state.text.font = self.fonts.standard();
        }
        let text = self.state.text.clone();
        let Some(chosen) = &text.font else { return };
        let font = &chosen.font;
        let hidden_by_layer = self.marks.iter().any(|mark| mark.hides);
        let mut at = 0;
        while at < bytes.len() && self.drawn.glyphs.len() <= GLYPHS_MAX {
            let (code, length) = font.read_code(bytes, at);
            at += length.max(1);
            let found = self.fonts.code(chosen, code);
            let scale = text.size / f64::from(UNITS_PER_EM);
            let advance = (found.advance.0 * scale, found.advance.1 * scale);
            let space = text.char_space + if code == 32 && length == 1 { text.word_space } else { 0.0 };
            let horizontal = font.is_horizontal();
            let drawn = if horizontal { (advance.0 * text.stretch, 0.0) } else { (0.0, advance.1) };
            let step = if horizontal { ((advance.0 + space) * text.stretch, 0.0) } else { (0.0, advance.1 + space) };
            if !hidden_by_layer {
                self.place(chosen.look, &found, drawn);
            }
            self.matrix *= Affine::translate(step);
        }
    }

    fn place(&mut self, look: FontLook, code: &Code, advance: (f64, f64)) {
        let to_page = self.state.to_page * self.matrix;
        let rise = self.state.text.rise;
        let origin = to_page * Point::new(0.0, rise);
        let end = to_page * Point::new(advance.0, advance.1 + rise);
        let [_, _, c, d, _, _] = to_page.as_coeffs();
        let size = (self.state.text.size * c.hypot(d)).abs();
        let outside = |at: f64, length: f32| at < -20.0 || at > f64::from(length) + 20.0 || !at.is_finite();
        if outside(origin.x, self.drawn.width) || outside(origin.y, self.drawn.height) || !end.is_finite() {
            return;
        }
        let start = self.drawn.text.len();
        self.drawn.unnamed += usize::from(!code.is_known);
        let (Ok(start), Ok(length @ 1..)) = (u32::try_from(start), u16::try_from(code.text.len())) else { return };
        self.drawn.text.push_str(&code.text);
        self.drawn.glyphs.push(Glyph {
            text: (start, length),
            origin: (origin.x as f32, origin.y as f32),
            advance: ((end.x - origin.x) as f32, (end.y - origin.y) as f32),
            size: size as f32,
            look,
            hidden: self.state.text.invisible,
            artifact: self.marks.iter().any(|mark| mark.artifact),
        });
    }

    fn mark(&mut self, tag: &Name<'_>, properties: Option<&Object<'_>>, resources: &Resources<'a>) {
        let name = properties.and_then(|properties| properties.clone().into_name());
        let layer = name.as_ref().and_then(|name| resources.properties.get_ref(name.as_ref()));
        let dict = name
            .and_then(|name| resources.properties.get::<Dict<'_>>(name))
            .or_else(|| properties.and_then(|properties| properties.clone().into_dict()));
        let replaced = dict
            .and_then(|dict| dict.get::<hayro_syntax::object::String<'_>>("ActualText"))
            .map(|text| (super::outline::text_string(text.as_bytes()), self.drawn.glyphs.len()));
        let hides = tag.as_ref() == b"OC" && layer.is_some_and(|layer| self.fonts.is_off(layer.into()));
        if self.marks.len() < STATES_MAX {
            self.marks.push(Mark { hides, artifact: tag.as_ref() == b"Artifact", replaced });
        }
    }

    fn end_mark(&mut self) {
        let Some(Mark { replaced: Some((text, from)), .. }) = self.marks.pop() else { return };
        let Some(last) = self.drawn.glyphs.last().copied() else { return };
        let start = self.drawn.text.len();
        let (Some(first), Ok(at), Ok(length)) =
            (self.drawn.glyphs.get_mut(from), u32::try_from(start), u16::try_from(text.len()))
        else {
            return;
        };
        self.drawn.text.push_str(&text);
        first.text = (at, length);
        let end = (last.origin.0 + last.advance.0, last.origin.1 + last.advance.1);
        // Words on several lines keep the first one's place.
        if (last.origin.1 - first.origin.1).abs() < first.size || first.advance.0.abs() < first.advance.1.abs() {
            first.advance = (end.0 - first.origin.0, end.1 - first.origin.1);
        }
        self.drawn.glyphs.truncate(from + usize::from(length > 0));
    }

    fn picture(&mut self) {
        let corners =
            [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|corner| self.state.to_page * Point::from(corner));
        let fold = |of: fn(&Point) -> f64, pick: fn(f64, f64) -> f64| {
            corners.iter().map(of).reduce(pick).unwrap_or_default() as f32
        };
        let sides = [
            fold(|at| at.x, f64::min),
            fold(|at| at.y, f64::min),
            fold(|at| at.x, f64::max),
            fold(|at| at.y, f64::max),
        ];
        if self.drawn.pictures.len() < 10_000 && sides.iter().all(|side| side.is_finite()) {
            self.drawn.pictures.push(BoundingBox(sides));
        }
    }

    fn object(&mut self, name: &Name<'_>, resources: &Resources<'a>, depth: usize) -> Result<(), Refusal> {
        let Some(stream) = resources.get_x_object(name) else { return Ok(()) };
        let kind = stream.dict().get::<Name<'_>>("Subtype");
        if kind.as_ref().is_some_and(|kind| kind.as_ref() == b"Image") {
            self.picture();
            return Ok(());
        }
        let hidden = stream.dict().get_ref("OC").is_some_and(|layer| self.fonts.is_off(layer.into()));
        if hidden || depth >= FORM_DEPTH_MAX {
            return Ok(());
        }
        self.form(&stream, Affine::IDENTITY, resources, depth)
    }

    fn form(
        &mut self,
        stream: &Stream<'a>,
        place: Affine,
        around: &Resources<'a>,
        depth: usize,
    ) -> Result<(), Refusal> {
        let Ok(data) = stream.decoded_data() else { return Ok(()) };
        let own = stream.dict().get::<Dict<'_>>("Resources").map(Resources::new);
        let matrix = stream.dict().get::<[f64; 6]>("Matrix").map_or(Affine::IDENTITY, Affine::new);
        let before = self.state.clone();
        let matrices = (self.matrix, self.line_matrix);
        self.state.to_page *= place * matrix;
        let done = self.carry_out(&data, own.as_ref().unwrap_or(around), depth + 1);
        self.state = before;
        (self.matrix, self.line_matrix) = matrices;
        done
    }

    /// The words of form fields and of notes that are written on the page.
    fn annotations(&mut self, page: &Page<'a>) -> Result<(), Refusal> {
        let Some(all) = page.raw().get::<Array<'_>>("Annots") else { return Ok(()) };
        for annotation in all.iter::<Dict<'_>>().take(10_000) {
            let written = annotation
                .get::<Name<'_>>("Subtype")
                .is_some_and(|kind| matches!(kind.as_ref(), b"Widget" | b"FreeText" | b"Stamp"));
            let hidden = annotation.get::<u32>("F").unwrap_or(0) & 0b10_0010 != 0;
            let looks = annotation.get::<Dict<'_>>("AP").and_then(|looks| looks.get::<Stream<'_>>("N"));
            let (Some(stream), Some(to), true, false) = (looks, annotation.get::<Rect>("Rect"), written, hidden) else {
                continue;
            };
            let matrix = stream.dict().get::<[f64; 6]>("Matrix").map_or(Affine::IDENTITY, Affine::new);
            let from = stream.dict().get::<Rect>("BBox").map_or(kurbo::Rect::ZERO, |from| {
                matrix.transform_rect_bbox(kurbo::Rect::new(from.x0, from.y0, from.x1, from.y1))
            });
            if from.width() > 0.0 && from.height() > 0.0 {
                let scale = ((to.x1 - to.x0) / from.width(), (to.y1 - to.y0) / from.height());
                let place = Affine::translate((to.x0, to.y0))
                    * Affine::scale_non_uniform(scale.0, scale.1)
                    * Affine::translate((-from.x0, -from.y0));
                self.form(&stream, place, page.resources(), 1)?;
            }
        }
        Ok(())
    }
}
