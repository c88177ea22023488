//! What is drawn on one page, as far as its words and tables need it.

use crate::contract::BoundingBox;

/// A character (or a few that are drawn as one) where it stands on the page as shown: points from its top left corner.
#[derive(Clone, Copy, Debug)]
pub struct Glyph {
    /// Where its text starts in [`Drawn::text`], and how many bytes it has.
    pub text: (u32, u16),
    /// The start of its baseline.
    pub origin: (f32, f32),
    /// From the start of its baseline to the next character's.
    pub advance: (f32, f32),
    /// Its em, in points.
    pub size: f32,
    pub look: FontLook,
    /// Whether it is drawn at all: the text layer under a scan is not.
    pub hidden: bool,
    /// Whether the file says that it belongs to the page and not to the text, as running heads do.
    pub artifact: bool,
}

/// What a font's name and flags say of its looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FontLook {
    pub bold: bool,
    pub italic: bool,
    pub mono: bool,
}

/// A straight line that runs across or down the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruling {
    pub horizontal: bool,
    /// Its y where it is horizontal, else its x.
    pub at: f32,
    /// Where it starts and ends.
    pub from: f32,
    pub to: f32,
}

/// All that was drawn on a page.
#[derive(Debug, Default)]
pub struct Drawn {
    pub width: f32,
    pub height: f32,
    pub text: String,
    pub glyphs: Vec<Glyph>,
    pub rulings: Vec<Ruling>,
    /// The boxes of its pictures.
    pub pictures: Vec<BoundingBox>,
    /// Characters that are drawn, and of which the file does not say which they are.
    pub unnamed: usize,
    /// Whether there was more on the page than is read of one.
    pub cut: bool,
}

impl Drawn {
    /// A glyph's text.
    pub fn text_of(&self, glyph: &Glyph) -> &str {
        let start = glyph.text.0 as usize;
        &self.text[start..start + usize::from(glyph.text.1)]
    }
}
