//! Words on the pictures of an office file.

use crate::contract::{BlockKind, Refusal, lost};
use crate::readers::{Ocr, OcrFailure};

use super::{Output, Package};

/// The most pictures of one file that are read.
const PICTURES_MAX: usize = 100;
/// Pictures of fewer bytes are ornaments.
const ORNAMENT_BYTES: usize = 2048;
/// Words that are less certain than this, in percent, are told of.
const CONFIDENCE_LOW: f32 = 60.0;
const EXTENSIONS: [&str; 7] = ["png", "jpg", "jpeg", "tif", "tiff", "bmp", "webp"];

/// What a picture is said to show; nothing where that is only the name of its file.
pub fn described(said: &str) -> &str {
    let said = said.trim();
    let extension = said.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_file =
        EXTENSIONS.iter().chain(&["gif", "emf", "wmf", "svg"]).any(|known| extension.eq_ignore_ascii_case(known));
    if is_file && !said.contains(char::is_whitespace) { "" } else { said }
}

/// What became of pictures.
#[derive(Default)]
pub struct Pictures {
    /// How many may hold words and were not looked at, since nothing here can read them.
    pub unread: usize,
    failed: usize,
    read: usize,
}

impl Pictures {
    /// Adds the words of the pictures in `parts`.
    pub fn read(
        package: &Package<'_>,
        parts: &[String],
        ocr: &dyn Ocr,
        output: &mut Output<'_>,
    ) -> Result<Self, Refusal> {
        let mut pictures = Self::default();
        pictures.add(package, parts, ocr, output)?;
        pictures.tell(output);
        Ok(pictures)
    }

    /// Adds the words of more pictures.
    pub fn add(
        &mut self,
        package: &Package<'_>,
        parts: &[String],
        ocr: &dyn Ocr,
        output: &mut Output<'_>,
    ) -> Result<(), Refusal> {
        for part in parts {
            let extension = part.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
            if !EXTENSIONS.contains(&extension.as_str()) || !package.archive.has(part) {
                continue;
            }
            if !ocr.is_available() || self.read + self.failed == PICTURES_MAX {
                self.unread += 1;
                continue;
            }
            let Some(bytes) = package.archive.read(part)? else { continue };
            if bytes.len() < ORNAMENT_BYTES {
                continue;
            }
            match ocr.picture(&bytes) {
                Ok(text) => {
                    self.read += 1;
                    for paragraph in &text.paragraphs {
                        output.push(BlockKind::Image, 0, &paragraph.text)?;
                    }
                    if text.confidence < CONFIDENCE_LOW && !text.paragraphs.is_empty() {
                        output.warn("words on some pictures are uncertain".into());
                    }
                }
                Err(OcrFailure::Unavailable) => self.unread += 1,
                Err(OcrFailure::Failed(_)) => self.failed += 1,
            }
        }
        Ok(())
    }

    /// Tells a person of pictures that failed.
    pub fn tell(&self, output: &mut Output<'_>) {
        if self.failed > 0 {
            output.lose(lost::OCR_TEXT, format!("{} pictures could not be read", self.failed));
        }
    }
}
