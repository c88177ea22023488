//! Carries out the drawing instructions of a page, as far as they place characters and straight lines.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use hayro_cmap::{BfString, CMap, CMapName};
use hayro_font::{Font, FontCache, FontGlyph, FontQuery, OutlineGlyph, UNITS_PER_EM};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, ObjectIdentifier, Rect, Stream};
use hayro_syntax::page::{Page, Resources, Rotation};
use kurbo::{Affine, Point};
use skrifa::MetadataProvider as _;

use super::page::{Drawn, FontLook, Glyph};
use super::strokes::Path;
use crate::contract::{BoundingBox, Refusal};
use crate::readers::Bounds;

/// The most characters that are read of one page.
const GLYPHS_MAX: usize = 400_000;
/// The most instructions that are carried out for one page, those of the forms it draws counted as often as they are drawn.
const INSTRUCTIONS_MAX: usize = 4_000_000;
/// The deepest that forms may draw forms.
const FORM_DEPTH_MAX: usize = 16;
/// The most saved states; more are those of a file that saves and never restores.
const STATES_MAX: usize = 512;

/// The most characters of a font that are remembered.
const CHARMAP_MAX: usize = 100_000;

/// What the pages of a file share.
pub struct Fonts<'a> {
    cache: FontCache<'a>,
    resolve: hayro_font::FontResolverFn,
    cmaps: hayro_font::CMapResolverFn,
    /// Layers that are switched off.
    off: HashSet<ObjectIdentifier>,
    /// The characters of embedded fonts by their glyphs, for files that do not say which character a code is.
    charmaps: RefCell<HashMap<u128, HashMap<u32, char>>>,
}

impl<'a> Fonts<'a> {
    pub fn new(catalog: Option<&Dict<'a>>) -> Self {
        let resolve: hayro_font::FontResolverFn = Arc::new(|query| {
            Some(match query {
                FontQuery::Standard(standard) => standard.get_font_data(),
                FontQuery::Fallback(wanted) => wanted.pick_standard_font().get_font_data(),
            })
        });
        let cmaps: hayro_font::CMapResolverFn = Arc::new(hayro_cmap::load_embedded);
        Self { cache: FontCache::new(), resolve, cmaps, off: off_layers(catalog), charmaps: RefCell::default() }
    }

    /// The character that an embedded font itself has for a glyph.
    fn char_of(&self, glyph: &OutlineGlyph) -> Option<BfString> {
        let font = glyph.font_data()?;
        let mut charmaps = self.charmaps.borrow_mut();
        let charmap = charmaps.entry(font.cache_key).or_insert_with(|| {
            let read = skrifa::FontRef::new((*font.data).as_ref()).ok();
            let mappings = read.iter().flat_map(|font| font.charmap().mappings().take(CHARMAP_MAX).collect::<Vec<_>>());
            let mut charmap = HashMap::new();
            for (char, glyph) in mappings {
                // Of the letters that share an Arabic shape, the shape's own character tells which is meant.
                let shape = (0xfe70..=0xfefc).contains(&char);
                if let Some(char) = char::from_u32(char).filter(|_| shape || !charmap.contains_key(&glyph.to_u32())) {
                    charmap.insert(glyph.to_u32(), char);
                }
            }
            charmap
        });
        charmap.get(&glyph.glyph_id().to_u32()).copied().map(BfString::Char)
    }
}

fn off_layers(catalog: Option<&Dict<'_>>) -> HashSet<ObjectIdentifier> {
    let config = catalog
        .and_then(|catalog| catalog.get::<Dict<'_>>("OCProperties"))
        .and_then(|properties| properties.get::<Dict<'_>>("D"));
    let off = config.and_then(|config| config.get::<Array<'_>>("OFF"));
    off.iter().flat_map(|off| off.raw_iter()).filter_map(|layer| layer.as_obj_ref()).map(Into::into).collect()
}

/// A font, how it looks, and what else says which characters its codes are.
#[derive(Clone)]
struct Chosen<'a> {
    font: Font<'a>,
    look: u16,
    names: Names,
}

#[derive(Clone)]
enum Names {
    /// The font's own tables.
    Font,
    /// The codes are the characters.
    Codes,
    /// The codes number the characters of a collection.
    Collection(Rc<CMap>),
}

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
    chosen: HashMap<Vec<u8>, Option<Chosen<'a>>>,
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
/// Only when the time is over.
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
        chosen: HashMap::new(),
        instructions: 0,
        states: Vec::new(),
        state: State { to_page: shown(page), text },
        matrix: Affine::IDENTITY,
        line_matrix: Affine::IDENTITY,
        marks: Vec::new(),
        path: Path::default(),
    };
    if let Some(stream) = contents(page) {
        painter.carry_out(&stream, page.resources(), 0)?;
    }
    painter.annotations(page)?;
    Ok(painter.drawn)
}

/// The instructions of a page, of all its streams.
fn contents(page: &Page<'_>) -> Option<Vec<u8>> {
    if let Some(stream) = page.raw().get::<Stream<'_>>("Contents") {
        return Some(stream.decoded_data().ok()?.into_owned());
    }
    let mut all = Vec::new();
    for stream in page.raw().get::<Array<'_>>("Contents")?.iter::<Stream<'_>>() {
        if let Ok(data) = stream.decoded_data() {
            all.extend_from_slice(&data);
            all.push(b'\n');
        }
    }
    Some(all)
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
        while let Some(op) = instructions.next() { if std::env::var_os("DBG").is_some() { eprintln!("{depth} {op:?}"); }
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
        let Some(dict) = resources.get_font(name) else {
            self.state.text.font = self.standard_font();
            return;
        };
        let key = dict.data();
        if !self.chosen.contains_key(key) {
            let look = look(&dict);
            let at = self.drawn.fonts.iter().position(|other| *other == look).unwrap_or_else(|| {
                self.drawn.fonts.push(look);
                self.drawn.fonts.len() - 1
            });
            let font = self.fonts.cache.font(&dict, &self.fonts.resolve, &self.fonts.cmaps);
            let look = u16::try_from(at).unwrap_or(0);
            let names = if font.is_some() { names(&dict) } else { Names::Font };
            let font = font.or_else(|| self.standard_font().map(|chosen| chosen.font));
            self.chosen.insert(key.to_vec(), font.map(|font| Chosen { font, look, names }));
        }
        self.state.text.font = self.chosen.get(key).cloned().flatten();
    }

    fn standard_font(&mut self) -> Option<Chosen<'a>> {
        if self.drawn.fonts.is_empty() {
            self.drawn.fonts.push(FontLook::default());
        }
        let font = self.fonts.cache.standard_font(hayro_font::StandardFont::Helvetica, &self.fonts.resolve)?;
        Some(Chosen { font, look: 0, names: Names::Font })
    }

    fn show(&mut self, bytes: &[u8]) {
        if self.state.text.font.is_none() {
            self.state.text.font = self.standard_font();
        }
        let text = self.state.text.clone();
        let Some(chosen) = &text.font else { return };
        let font = &chosen.font;
        let hidden_by_layer = self.marks.iter().any(|mark| mark.hides);
        let mut at = 0;
        while at < bytes.len() && self.drawn.glyphs.len() <= GLYPHS_MAX {
            let (code, length) = font.read_code(bytes, at);
            at += length.max(1);
            let advance = font.code_advance(code) * (text.size / f64::from(UNITS_PER_EM));
            let space = text.char_space + if code == 32 && length == 1 { text.word_space } else { 0.0 };
            let horizontal = font.is_horizontal();
            let drawn = if horizontal { (advance.x * text.stretch, 0.0) } else { (0.0, advance.y) };
            let step =
                if horizontal { ((advance.x + space) * text.stretch, 0.0) } else { (0.0, advance.y + space) };
            if !hidden_by_layer {
                self.place(chosen, code, drawn);
            }
            self.matrix *= Affine::translate(step);
        }
    }

    fn place(&mut self, chosen: &Chosen<'a>, code: u32, advance: (f64, f64)) {
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
        let named = self.name(chosen, code);
        let start = self.drawn.text.len();
        match &named {
            Some(BfString::Char(char)) => push(&mut self.drawn.text, *char),
            Some(BfString::String(chars)) => chars.chars().for_each(|char| push(&mut self.drawn.text, char)),
            None => self.drawn.unnamed += 1,
        }
        let length = self.drawn.text.len() - start;
        let (Ok(start), Ok(length @ 1..)) = (u32::try_from(start), u16::try_from(length)) else { return };
        self.drawn.glyphs.push(Glyph {
            text: (start, length),
            origin: (origin.x as f32, origin.y as f32),
            advance: ((end.x - origin.x) as f32, (end.y - origin.y) as f32),
            size: size as f32,
            font: chosen.look,
            hidden: self.state.text.invisible,
            artifact: self.marks.iter().any(|mark| mark.artifact),
        });
    }

    /// The characters that a code stands for.
    fn name(&self, chosen: &Chosen<'a>, code: u32) -> Option<BfString> {
        let named = match &chosen.names {
            Names::Font => None,
            Names::Codes => char::from_u32(code).map(BfString::Char),
            Names::Collection(collection) => collection.lookup_bf_string(code),
        };
        named.or_else(|| match chosen.font.glyph(chosen.font.map_code(code), code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode().or_else(|| self.fonts.char_of(&glyph)),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        })
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
        let hides = tag.as_ref() == b"OC" && layer.is_some_and(|layer| self.fonts.off.contains(&layer.into()));
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
        let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|corner| self.state.to_page * Point::from(corner));
        let fold = |of: fn(&Point) -> f64, pick: fn(f64, f64) -> f64| {
            corners.iter().map(of).reduce(pick).unwrap_or_default() as f32
        };
        let sides = [fold(|at| at.x, f64::min), fold(|at| at.y, f64::min), fold(|at| at.x, f64::max), fold(|at| at.y, f64::max)];
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
        let hidden = stream.dict().get_ref("OC").is_some_and(|layer| self.fonts.off.contains(&layer.into()));
        if hidden || depth >= FORM_DEPTH_MAX {
            return Ok(());
        }
        self.form(&stream, Affine::IDENTITY, resources, depth)
    }

    fn form(&mut self, stream: &Stream<'a>, place: Affine, around: &Resources<'a>, depth: usize) -> Result<(), Refusal> {
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

/// Characters of the private area by which old fonts number their signs are those of the Symbol font.
fn push(text: &mut String, char: char) {
    match char {
        '\u{f0b7}' | '\u{f0a7}' | '\u{f076}' | '\u{f0d8}' => text.push('•'),
        '\u{f02d}' | '\u{f02b}' | '\u{f020}'..='\u{f07e}' => {
            text.extend(char::from_u32(u32::from(char) - 0xf000));
        }
        '\u{f080}'..='\u{f0ff}' => text.push('•'),
        '\0' => {}
        '\t' | '\n' | '\r' | '\u{a0}' | '\u{2002}'..='\u{200a}' => text.push(' '),
        '\u{fb00}' => text.push_str("ff"),
        '\u{fb01}' => text.push_str("fi"),
        '\u{fb02}' => text.push_str("fl"),
        '\u{fb03}' => text.push_str("ffi"),
        '\u{fb04}' => text.push_str("ffl"),
        '\u{fb05}' | '\u{fb06}' => text.push_str("st"),
        _ => text.push(char),
    }
}

/// What says which characters the codes of a font are, where its own tables do not.
fn names(dict: &Dict<'_>) -> Names {
    if dict.get::<Name<'_>>("ToUnicode").is_some_and(|name| name.as_ref().starts_with(b"Identity")) {
        return Names::Codes;
    }
    let identity = dict.get::<Name<'_>>("Encoding").is_some_and(|name| name.as_ref().starts_with(b"Identity"));
    if dict.contains_key("ToUnicode") || !identity {
        return Names::Font;
    }
    let descendant = dict.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
    let system = descendant.and_then(|font| font.get::<Dict<'_>>("CIDSystemInfo"));
    let ordering = system.and_then(|system| system.get::<hayro_syntax::object::String<'_>>("Ordering"));
    let Some(ordering) = ordering else { return Names::Font };
    let name = [b"Adobe-", ordering.as_bytes(), b"-UCS2"].concat();
    let data = hayro_cmap::load_embedded(CMapName::from_bytes(&name));
    let parsed = data.and_then(|data| CMap::parse(data, hayro_cmap::load_embedded));
    parsed.map_or(Names::Font, |collection| Names::Collection(Rc::new(collection)))
}

fn look(dict: &Dict<'_>) -> FontLook {
    let descendant = dict.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
    let descriptor = descendant.as_ref().unwrap_or(dict).get::<Dict<'_>>("FontDescriptor");
    let name = dict.get::<Name<'_>>("BaseFont").map(|name| name.as_str().to_ascii_lowercase()).unwrap_or_default();
    let name = name.split_once('+').map_or(name.as_str(), |(_, name)| name);
    let flags = descriptor.as_ref().and_then(|descriptor| descriptor.get::<u32>("Flags")).unwrap_or(0);
    let weight = descriptor.as_ref().and_then(|descriptor| descriptor.get::<f32>("FontWeight")).unwrap_or(400.0);
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    FontLook {
        bold: (says(&["bold", "black", "heavy", "cmbx", "semibold", "demi", "-medi"]) && !name.ends_with("-medium")) || weight >= 600.0 || flags & 1 << 18 != 0,
        italic: says(&["italic", "oblique", "slanted", "cmti", "cmsl"]) || flags & 1 << 6 != 0,
        mono: flags & 1 != 0 && !says(&["gothic"]) || says(&["mono", "courier", "consol", "cmtt", "menlo", "typewriter"]),
    }
}
