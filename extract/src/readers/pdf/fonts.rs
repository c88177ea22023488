//! The fonts of a file: how they look, and which characters their codes stand for.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use hayro_cmap::{BfString, CMap, CMapName};
use hayro_font::{Font, FontCache, FontGlyph, FontQuery, OutlineGlyph, StandardFont};
use hayro_syntax::object::{Array, Dict, Name, ObjectIdentifier};
use skrifa::MetadataProvider as _;

use super::page::FontLook;

/// The most characters of a font that are remembered.
const CHARMAP_MAX: usize = 100_000;
/// The most codes of a font that are remembered; any other is looked up each time.
const CODES_MAX: usize = 70_000;

/// What the pages of a file share.
pub struct Fonts<'a> {
    cache: FontCache<'a>,
    resolve: hayro_font::FontResolverFn,
    cmaps: hayro_font::CMapResolverFn,
    /// Layers that are switched off.
    off: HashSet<ObjectIdentifier>,
    /// The characters of embedded fonts by their glyphs, for files that do not say which character a code is.
    charmaps: RefCell<HashMap<u128, HashMap<u32, char>>>,
    /// By their dictionaries.
    chosen: RefCell<HashMap<Vec<u8>, Option<Chosen<'a>>>>,
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
        let (charmaps, chosen) = (RefCell::default(), RefCell::default());
        Self { cache: FontCache::new(), resolve, cmaps, off: off_layers(catalog), charmaps, chosen }
    }

    /// Whether a layer is switched off.
    pub fn is_off(&self, layer: ObjectIdentifier) -> bool {
        self.off.contains(&layer)
    }

    /// The font of a dictionary; where it cannot be read, a standard one that may do.
    pub fn choose(&self, dict: &Dict<'a>) -> Option<Chosen<'a>> {
        if let Some(chosen) = self.chosen.borrow().get(dict.data()) {
            return chosen.clone();
        }
        let own = self.cache.font(dict, &self.resolve, &self.cmaps);
        let own = own.map(|font| Chosen { font, look: look(dict), names: names(dict), codes: Rc::default() });
        let chosen = own.or_else(|| self.standard().map(|chosen| Chosen { look: look(dict), ..chosen }));
        self.chosen.borrow_mut().insert(dict.data().to_vec(), chosen.clone());
        chosen
    }

    /// The font of text that names none.
    pub fn standard(&self) -> Option<Chosen<'a>> {
        let font = self.cache.standard_font(StandardFont::Helvetica, &self.resolve)?;
        Some(Chosen { font, look: FontLook::default(), names: Names::Font, codes: Rc::default() })
    }

    /// What a code stands for.
    pub fn code(&self, chosen: &Chosen<'a>, code: u32) -> Rc<Code> {
        if let Some(known) = chosen.codes.borrow().get(&code) {
            return known.clone();
        }
        let mut text = String::new();
        let is_known = self.name(chosen, code, &mut text);
        let advance = chosen.font.code_advance(code);
        let found = Rc::new(Code { text, is_known, advance: (advance.x, advance.y) });
        let mut codes = chosen.codes.borrow_mut();
        if codes.len() < CODES_MAX {
            codes.insert(code, found.clone());
        }
        found
    }

    /// Adds the characters that a code stands for to a text. Whether it is known which.
    fn name(&self, chosen: &Chosen<'a>, code: u32, text: &mut String) -> bool {
        let named = match &chosen.names {
            Names::Font => None,
            Names::Codes => char::from_u32(code).map(BfString::Char),
            Names::Collection(collection) => collection.lookup_bf_string(code),
        };
        let named = named.or_else(|| match chosen.font.glyph(chosen.font.map_code(code), code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode().or_else(|| self.char_of(&glyph)),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        });
        match &named {
            Some(BfString::Char(char)) => push(text, *char),
            Some(BfString::String(chars)) => chars.chars().for_each(|char| push(text, char)),
            None => {}
        }
        named.is_some()
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
    off.iter().flat_map(Array::raw_iter).filter_map(|layer| layer.as_obj_ref()).map(Into::into).collect()
}

/// A font, how it looks, and what else says which characters its codes are.
#[derive(Clone)]
pub struct Chosen<'a> {
    pub font: Font<'a>,
    pub look: FontLook,
    names: Names,
    /// What was looked up before: a page has the same few letters again and again.
    codes: Rc<RefCell<HashMap<u32, Rc<Code>>>>,
}

/// What a code of a font stands for.
pub struct Code {
    /// Its characters; none where it is not known which they are.
    pub text: String,
    pub is_known: bool,
    /// To the next character across and down, in units of the font.
    pub advance: (f64, f64),
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

/// Characters of the private area by which old fonts number their signs are those of the Symbol font.
fn push(text: &mut String, char: char) {
    match char {
        // This one is a mark of lists in the other such font.
        '\u{f076}' | '\u{f080}'..='\u{f0ff}' => text.push('•'),
        '\u{f020}'..='\u{f07e}' => text.extend(char::from_u32(u32::from(char) - 0xf000)),
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
        bold: (says(&["bold", "black", "heavy", "cmbx", "semibold", "demi", "-medi"]) && !name.ends_with("-medium"))
            || weight >= 600.0
            || flags & 1 << 18 != 0,
        italic: says(&["italic", "oblique", "slanted", "cmti", "cmsl"]) || flags & 1 << 6 != 0,
        mono: flags & 1 != 0 && !says(&["gothic"])
            || says(&["mono", "courier", "consol", "cmtt", "menlo", "typewriter"]),
    }
}
