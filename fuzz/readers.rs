//! What the fuzz targets of readers check of a file, each by panicking. `extract/tests/corpus.rs` includes this file.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loom_extract::contract::{
    Artifact, ArtifactLimits, BoundingBox, CONTRACT_VERSION, Options, Refusal, RefusalCode, Request, check,
};
use loom_extract::readers::{Bounds, Context, Ocr, OcrFailure, OcrParagraph, OcrText, extract};

#[path = "containers.rs"]
mod containers;

/// What a file may unpack to, and the most cells and bytes of text, in small: inputs are small too.
const SMALL: (u64, usize, usize) = (256 << 10, 500, 20_000);
/// An input makes at most this much text of each of its bytes, and of nothing this much.
const TEXT_PER_BYTE: usize = 600;
const TEXT_FREE: usize = 64 << 10;

/// Whether code of ours has panicked. Readers of formats whose library panics on damage catch what it does, and must not hide
/// what we do.
static PANICKED: AtomicBool = AtomicBool::new(false);

fn watch_panics() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        panic::set_hook(Box::new(|panicked| {
            let of = |folder: &str| panicked.location().is_some_and(|place| place.file().contains(folder));
            if !of("registry") {
                eprintln!("{panicked}");
            }
            if of("src/readers") {
                PANICKED.store(true, Ordering::Release);
            }
        }));
    });
}

/// Reads a file: it becomes an artifact that keeps the contract, or is refused, and the same again; and it keeps small bounds.
pub fn read(format: &str, options: &Options, file: &[u8]) {
    watch_panics();
    let artifact = read_within(format, options, file, usual());
    assert_eq!(artifact, read_within(format, options, file, usual()), "the same file is read in the same way");
    if let Ok(artifact) = &artifact {
        let text = artifact.text_bytes();
        assert!(text <= TEXT_FREE + TEXT_PER_BYTE * file.len(), "{text} bytes of text of {} bytes", file.len());
    }
    let (inflated_bytes, cells, text) = SMALL;
    let small = Bounds { inflated_bytes, archive_entries: 20, cells, text_bytes: text, depth: 20, ..usual() };
    match read_within(format, options, file, small) {
        Ok(artifact) => {
            let kept: usize = artifact.tables.iter().map(|table| table.rows.len() * table.columns.len()).sum();
            assert!(kept <= cells, "{kept} cells where {cells} are allowed");
            assert!(artifact.text_bytes() <= text, "the text is over its bound");
        }
        Err(refusal) => {
            let same = artifact.as_ref().err().is_some_and(|usual| usual.code == refusal.code);
            assert!(same || refusal.code == RefusalCode::ResourceLimit, "small bounds make {refusal}");
        }
    }
    let late = Bounds { deadline: Instant::now(), ..usual() };
    if let (Err(late), Ok(_)) = (read_within(format, options, file, late), &artifact) {
        assert_eq!(late.code, RefusalCode::Timeout);
    }
}

/// A file of text whose format has options: its first line may be one.
pub fn read_named(format: &str, data: &[u8]) {
    let line = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let named = |name: &str| {
        let value = std::str::from_utf8(&data[..line]).ok()?.trim().strip_prefix(name)?;
        Some((value.trim().to_owned(), &data[line..]))
    };
    if let Some((encoding, rest)) = named("encoding:") {
        read(format, &Options { encoding, ..Options::default() }, rest);
    } else if let Some((sql_dialect, rest)) = named("dialect:") {
        read(format, &Options { sql_dialect, ..Options::default() }, rest);
    } else {
        read(format, &Options::default(), data);
    }
}

/// An office file or a book of the parts of an input.
pub fn read_packed(format: &str, data: &[u8]) {
    read(format, &Options::default(), &containers::zip(data));
}

/// A zip archive as it is, read as each format that is one.
pub fn read_zip(data: &[u8]) {
    for format in ["docx", "epub", "odt", "pptx", "xlsx"] {
        read(format, &Options::default(), data);
    }
}

/// A PDF of the objects of an input, or as it is where it is one.
pub fn read_pdf(data: &[u8]) {
    if data.starts_with(b"%PDF-") {
        read("pdf", &Options::default(), data);
    } else {
        read("pdf", &Options::default(), &containers::pdf(data));
    }
}

fn usual() -> Bounds {
    Bounds::within(Duration::from_mins(1))
}

fn read_within(format: &str, options: &Options, file: &[u8], bounds: Bounds) -> Result<Artifact, Refusal> {
    let request = Request {
        contract: CONTRACT_VERSION,
        format: format.to_owned(),
        options: options.clone(),
        ..Request::default()
    };
    let read = extract(file, &request, &Context { bounds, ocr: &Seen });
    assert!(!PANICKED.load(Ordering::Acquire), "the {format} reader panics");
    let mut artifact = read?;
    if let Err(violation) = check(&mut artifact, format, &ArtifactLimits::default()) {
        panic!("the {format} reader breaks the contract: {violation}");
    }
    Ok(artifact)
}

/// Reads something off each picture, and off every third page nothing.
struct Seen;

impl Ocr for Seen {
    fn is_available(&self) -> bool {
        true
    }

    fn page(&self, number: u32) -> Result<OcrText, OcrFailure> {
        if number.is_multiple_of(3) {
            return Err(OcrFailure::Failed("the third".to_owned()));
        }
        self.picture(b"a page")
    }

    fn picture(&self, bytes: &[u8]) -> Result<OcrText, OcrFailure> {
        let paragraph = OcrParagraph { text: "Words seen".to_owned(), bbox: BoundingBox([1.0, 2.0, 30.0, 40.0]) };
        let paragraphs = if bytes.is_empty() { Vec::new() } else { vec![paragraph] };
        Ok(OcrText { paragraphs, confidence: 50.0 })
    }
}
