//! Asking the engine to read words off pages and pictures, which this process can start no program for.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};

use loom_extract::readers::{Ocr, OcrFailure, OcrParagraph, OcrText};

use crate::extraction::frames::{self, Kind, Words};

/// The engine, asked about one file.
pub struct Asking<'a> {
    pipes: RefCell<(&'a mut dyn Read, &'a mut dyn Write)>,
    file: &'a [u8],
    /// Whether the engine has the file, whose pages it is asked for.
    sent: Cell<bool>,
    available: bool,
}

impl<'a> Asking<'a> {
    pub fn new(input: &'a mut dyn Read, output: &'a mut dyn Write, file: &'a [u8], available: bool) -> Self {
        Self { pipes: RefCell::new((input, output)), file, sent: Cell::new(false), available }
    }

    fn ask(&self, kind: Kind, payload: &[u8]) -> io::Result<Words> {
        let mut pipes = self.pipes.borrow_mut();
        let (input, output) = &mut *pipes;
        if kind == Kind::Page && !self.sent.replace(true) {
            frames::write(output, Kind::File, self.file)?;
        }
        frames::write(output, kind, payload)?;
        match frames::read_head(input)? {
            Some((Kind::Words, length)) => {
                let words = frames::read_payload(input, length, WORDS_BYTES_MAX)?;
                serde_json::from_slice(&words).map_err(|_| io::ErrorKind::InvalidData.into())
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn read(&self, kind: Kind, payload: &[u8]) -> Result<OcrText, OcrFailure> {
        if !self.available {
            return Err(OcrFailure::Unavailable);
        }
        match self.ask(kind, payload) {
            Ok(Words::Read { paragraphs, confidence }) => {
                let paragraphs = paragraphs.into_iter().map(|(text, bbox)| OcrParagraph { text, bbox }).collect();
                Ok(OcrText { paragraphs, confidence })
            }
            Ok(Words::Unavailable) => Err(OcrFailure::Unavailable),
            Ok(Words::Failed(why)) => Err(OcrFailure::Failed(why)),
            Err(error) => Err(OcrFailure::Failed(error.kind().to_string())),
        }
    }
}

/// The most bytes of the words of one page.
const WORDS_BYTES_MAX: u64 = 64 << 20;

impl Ocr for Asking<'_> {
    fn is_available(&self) -> bool {
        self.available
    }

    fn page(&self, number: u32) -> Result<OcrText, OcrFailure> {
        self.read(Kind::Page, number.to_string().as_bytes())
    }

    fn picture(&self, bytes: &[u8]) -> Result<OcrText, OcrFailure> {
        self.read(Kind::Picture, bytes)
    }
}
