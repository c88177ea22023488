//! Pictures: the words on them, where an OCR program is installed.

use super::{Context, OcrFailure};
use crate::contract::{
    Artifact, Block, BlockKind, Coverage, CoverageUnit, Parser, Refusal, RefusalCode, Request, lost,
};

/// Words that were recognized with a confidence under this, of 100, are warned of.
const CONFIDENCE_MIN: f32 = 60.0;

/// Reads a picture, which counts as one page.
///
/// # Errors
/// `format_mismatch` where it is none that is known, and `no_text` where it shows no words.
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::new(RefusalCode::Corrupt, "the file is empty"));
    }
    if !is_picture(bytes) {
        let message = "the file is no picture that is known: PNG, JPEG, TIFF, BMP and WebP are";
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    }
    let mut artifact = Artifact {
        parser: Parser { name: "loom-image".into(), version: env!("CARGO_PKG_VERSION").into() },
        coverage: Coverage::complete(CoverageUnit::Pages, 1),
        ..Artifact::default()
    };
    let text = match context.ocr.picture(bytes) {
        Ok(text) => text,
        Err(OcrFailure::Unavailable) => {
            unread(&mut artifact, "the file is a picture, and no OCR program is installed to read it");
            return Ok(artifact);
        }
        Err(OcrFailure::Failed(_)) => {
            unread(&mut artifact, "OCR failed on the picture");
            return Ok(artifact);
        }
    };
    if text.paragraphs.is_empty() {
        return Err(Refusal::new(RefusalCode::NoText, "no words were found on the picture"));
    }
    context.bounds.check_text(text.paragraphs.iter().map(|paragraph| paragraph.text.len()).sum())?;
    if text.confidence < CONFIDENCE_MIN {
        artifact.warnings.push("the words were read off the picture with little confidence".into());
    }
    // A picture has no points: its boxes are in pixels, and no page that they could be places on.
    let block = |text: String| Block { kind: BlockKind::Image, text, ..Block::default() };
    artifact.blocks = text.paragraphs.into_iter().map(|paragraph| block(paragraph.text)).collect();
    Ok(artifact)
}

fn unread(artifact: &mut Artifact, why: &str) {
    artifact.coverage.extracted = 0;
    artifact.coverage.failed = 1;
    artifact.coverage.lose(lost::OCR_TEXT);
    artifact.warnings.push(why.to_owned());
}

fn is_picture(bytes: &[u8]) -> bool {
    const STARTS: [&[u8]; 6] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"];
    let webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    // A bitmap's start is short: where its pixels begin is checked too.
    let bitmap = bytes.starts_with(b"BM")
        && bytes.get(10..14).and_then(|at| at.try_into().ok()).is_some_and(|at| {
            let at = u32::from_le_bytes(at) as usize;
            at >= 26 && at <= bytes.len()
        });
    webp || bitmap || STARTS.iter().any(|start| bytes.starts_with(start))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::contract::BoundingBox;
    use crate::readers::{Bounds, NoOcr, Ocr, OcrParagraph, OcrText};

    /// Finds the same words on every picture.
    struct Words(&'static [&'static str], f32);

    impl Ocr for Words {
        fn is_available(&self) -> bool {
            true
        }

        fn page(&self, _: u32) -> Result<OcrText, OcrFailure> {
            Err(OcrFailure::Failed("no page".into()))
        }

        fn picture(&self, _: &[u8]) -> Result<OcrText, OcrFailure> {
            let bbox = BoundingBox([0.0, 0.0, 1.0, 1.0]);
            let paragraphs = self.0.iter().map(|text| OcrParagraph { text: (*text).to_owned(), bbox }).collect();
            Ok(OcrText { paragraphs, confidence: self.1 })
        }
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand the rest";

    fn read_with(bytes: &[u8], ocr: &dyn Ocr) -> Result<Artifact, Refusal> {
        read(bytes, &Request::default(), &Context { bounds: Bounds::within(Duration::from_mins(1)), ocr })
    }

    #[test]
    fn its_words_are_blocks_and_little_confidence_is_warned_of() {
        let artifact = read_with(PNG, &Words(&["One", "Two"], 59.0)).expect("a picture with words");
        let texts: Vec<&str> = artifact.blocks.iter().map(|block| block.text.as_str()).collect();
        assert_eq!((texts, artifact.warnings.len()), (vec!["One", "Two"], 1));
        assert!(artifact.coverage.is_complete());
        assert!(read_with(PNG, &Words(&["One"], 90.0)).expect("a picture with words").warnings.is_empty());
    }

    #[test]
    fn without_ocr_it_is_one_unit_that_failed() {
        let artifact = read_with(PNG, &NoOcr).expect("a picture");
        assert_eq!((artifact.coverage.failed, artifact.coverage.lost), (1, vec![lost::OCR_TEXT.to_owned()]));
        assert!(artifact.blocks.is_empty());
    }

    #[test]
    fn what_is_no_picture_or_shows_no_words_is_refused() {
        let bitmap = [b"BM".as_slice(), &[0; 8], &26_u32.to_le_bytes(), &[0; 12]].concat();
        for (bytes, code) in [
            (&b""[..], Some(RefusalCode::Corrupt)),
            (b"%PDF-1.7", Some(RefusalCode::FormatMismatch)),
            (b"BMW is no bitmap, whatever it begins with", Some(RefusalCode::FormatMismatch)),
            (b"RIFF....WAVE", Some(RefusalCode::FormatMismatch)),
            (PNG, Some(RefusalCode::NoText)),
            (b"\xff\xd8\xff\xe0", Some(RefusalCode::NoText)),
            (b"II*\0....", Some(RefusalCode::NoText)),
            (b"RIFF....WEBP", Some(RefusalCode::NoText)),
            (&bitmap, Some(RefusalCode::NoText)),
        ] {
            assert_eq!(read_with(bytes, &Words(&[], 0.0)).err().map(|refusal| refusal.code), code, "{bytes:?}");
        }
    }
}
