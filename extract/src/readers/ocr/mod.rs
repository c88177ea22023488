//! Reading words off pictures, by a program outside this process.
//!
//! A reader runs where it can start no program. Whoever confines it (or a test) gives it an [`Ocr`].

mod programs;

pub use programs::{Languages, Launcher, Program, ProgramOcr, Run};

use crate::contract::BoundingBox;

/// Reads words off pictures.
pub trait Ocr {
    /// Whether it can read anything here.
    fn is_available(&self) -> bool;

    /// Reads a page of the file that is being extracted. Pages count from 1.
    ///
    /// # Errors
    /// [`OcrFailure`]; other pages may still be read.
    fn page(&self, number: u32) -> Result<OcrText, OcrFailure>;

    /// Reads a picture: PNG, JPEG, TIFF, BMP or WebP, as its bytes are.
    ///
    /// # Errors
    /// [`OcrFailure`]; other pictures may still be read.
    fn picture(&self, bytes: &[u8]) -> Result<OcrText, OcrFailure>;
}

/// What was read off a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OcrText {
    /// Its paragraphs in reading order.
    pub paragraphs: Vec<OcrParagraph>,
    /// The mean confidence of the words, 0 to 100.
    pub confidence: f32,
}

/// A paragraph on a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct OcrParagraph {
    /// Its words; lines are joined.
    pub text: String,
    /// Where it stands on a page, in points; on a picture, in pixels.
    pub bbox: BoundingBox,
}

/// Why a picture was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OcrFailure {
    /// No program to read with is installed.
    #[error("no OCR program is installed")]
    Unavailable,
    /// The program failed on this picture, took too long, or found it unreadable.
    #[error("OCR failed: {0}")]
    Failed(String),
}

/// Reads nothing.
pub struct NoOcr;

impl Ocr for NoOcr {
    fn is_available(&self) -> bool {
        false
    }

    fn page(&self, _: u32) -> Result<OcrText, OcrFailure> {
        Err(OcrFailure::Unavailable)
    }

    fn picture(&self, _: &[u8]) -> Result<OcrText, OcrFailure> {
        Err(OcrFailure::Unavailable)
    }
}
