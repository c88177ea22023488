//! OCR by two programs: `pdftoppm` draws a page, `tesseract` reads its words.
//!
//! What is run and with what is decided here ([`Run`]); how a program is started, and confined, is the [`Launcher`]'s.
//! Both read standard input and write standard output, and need no file but their own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Ocr, OcrFailure, OcrParagraph, OcrText};
use crate::contract::BoundingBox;

/// What pages are drawn at. Tesseract is made for letters of this size.
pub const DOTS_PER_INCH: u16 = 200;
/// The most bytes of a drawn page, which is packed.
pub const PICTURE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most bytes of a page's words.
const WORDS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many languages are looked for at once; each takes its time.
const LANGUAGES_MAX: usize = 6;

/// A program that OCR runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Draws a page of a PDF.
    Pdftoppm,
    /// Reads the words of a picture.
    Tesseract,
}

impl Program {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Pdftoppm, Self::Tesseract];

    /// The name of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdftoppm => "pdftoppm",
            Self::Tesseract => "tesseract",
        }
    }

    /// The packages of Debian that have it and what it needs.
    pub const fn debian_package(self) -> &'static str {
        match self {
            Self::Pdftoppm => "poppler-utils",
            Self::Tesseract => "tesseract-ocr",
        }
    }
}

/// One run of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// The program.
    pub program: Program,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Settings of its environment; it needs no others than `PATH`.
    pub environment: &'static [(&'static str, &'static str)],
    /// What it reads.
    pub input: &'a [u8],
    /// The most bytes that it may write.
    pub output_bytes_max: usize,
}

impl<'a> Run<'a> {
    /// Draws one page of a PDF, in shades of grey and packed: a page that claims to be many metres wide is a small picture
    /// as long as little is on it.
    pub fn draw_page(pdf: &'a [u8], page: u32) -> Self {
        let number = page.to_string();
        let dots = DOTS_PER_INCH.to_string();
        let arguments = ["-png", "-gray", "-r", &dots, "-f", &number, "-l", &number, "-"].map(str::to_owned).to_vec();
        Self {
            program: Program::Pdftoppm,
            arguments,
            environment: &[],
            input: pdf,
            output_bytes_max: PICTURE_BYTES_MAX,
        }
    }

    /// Reads the words of a picture.
    pub fn read_words(picture: &'a [u8], languages: &Languages) -> Self {
        // Without the data for it, the picture's direction is taken to be right.
        let mode = if languages.directions { "1" } else { "3" };
        let dots = DOTS_PER_INCH.to_string();
        let names = languages.names.join("+");
        // The setting instead of the file of settings called `tsv`, which an installation may lack.
        let table = ["-c", "tessedit_create_tsv=1"];
        let arguments = ["stdin", "stdout", "-l", &names, "--psm", mode, "--dpi", &dots];
        let arguments = arguments.into_iter().chain(table).map(str::to_owned).collect();
        // A page is too little work to share among threads.
        let environment = &[("OMP_THREAD_LIMIT", "1")];
        Self { program: Program::Tesseract, arguments, environment, input: picture, output_bytes_max: WORDS_BYTES_MAX }
    }

    /// Lists the languages that can be read.
    pub fn list_languages() -> Self {
        let arguments = vec!["--list-langs".to_owned()];
        Self { program: Program::Tesseract, arguments, environment: &[], input: &[], output_bytes_max: 64 * 1024 }
    }
}

/// Starts programs.
///
/// Whoever runs readers knows how: the processes that read files may start none, and what may is confined elsewhere.
pub trait Launcher {
    /// Whether the program is there.
    fn finds(&self, program: Program) -> bool;

    /// Runs a program to its end, and returns what it wrote.
    ///
    /// # Errors
    /// [`OcrFailure::Failed`] when it fails, writes too much, or is not done at the deadline.
    fn launch(&self, run: &Run<'_>, deadline: Instant) -> Result<Vec<u8>, OcrFailure>;
}

/// The languages to read with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Languages {
    /// Their names, as tesseract has them.
    pub names: Vec<String>,
    /// Whether there is data to tell which way up a picture is.
    pub directions: bool,
}

impl Languages {
    /// Those that tesseract has here, chosen as by [`Languages::choose`]. It may take `time` to list them.
    ///
    /// # Errors
    /// [`OcrFailure::Unavailable`] without tesseract, and [`OcrFailure::Failed`] when it fails or has none.
    pub fn installed(launcher: &dyn Launcher, wanted: &str, time: Duration) -> Result<Self, OcrFailure> {
        if !launcher.finds(Program::Tesseract) {
            return Err(OcrFailure::Unavailable);
        }
        let listed = launcher.launch(&Run::list_languages(), Instant::now() + time)?;
        Self::choose(wanted, &String::from_utf8_lossy(&listed))
    }

    /// Those of `wanted` (names parted by `+`) that `listed`, the output of tesseract, has; where it is empty English and
    /// then what else is there.
    ///
    /// # Errors
    /// [`OcrFailure::Failed`] when none is there.
    pub fn choose(wanted: &str, listed: &str) -> Result<Self, OcrFailure> {
        let plain = |name: &&str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_/-".contains(&byte))
        };
        let there: Vec<&str> = listed.lines().map(str::trim).filter(plain).collect();
        let mut names: Vec<String> = if wanted.is_empty() {
            there.iter().filter(|name| **name != "osd").map(|name| (*name).to_owned()).collect()
        } else {
            wanted.split('+').filter(|name| there.contains(name)).map(str::to_owned).collect()
        };
        if wanted.is_empty() {
            names.sort_by_key(|name| name != "eng");
        }
        names.truncate(LANGUAGES_MAX);
        if names.is_empty() {
            return Err(OcrFailure::Failed(format!("none of the languages {wanted:?} is installed")));
        }
        Ok(Self { names, directions: there.contains(&"osd") })
    }
}

/// OCR of one file by programs.
pub struct ProgramOcr<'a> {
    launcher: &'a dyn Launcher,
    file: &'a [u8],
    languages: &'a Languages,
    /// How long a picture may take.
    time: Duration,
}

impl<'a> ProgramOcr<'a> {
    /// OCR of the pages of `file`, a PDF, and of any picture, in languages that are installed; each page or picture may take
    /// `time`.
    pub fn new(launcher: &'a dyn Launcher, file: &'a [u8], languages: &'a Languages, time: Duration) -> Self {
        Self { launcher, file, languages, time }
    }

    fn words(&self, picture: &[u8], deadline: Instant, scale: f32) -> Result<OcrText, OcrFailure> {
        let written = self.launcher.launch(&Run::read_words(picture, self.languages), deadline)?;
        Ok(paragraphs(&String::from_utf8_lossy(&written), scale))
    }
}

impl Ocr for ProgramOcr<'_> {
    fn is_available(&self) -> bool {
        self.launcher.finds(Program::Tesseract)
    }

    fn page(&self, number: u32) -> Result<OcrText, OcrFailure> {
        if !self.launcher.finds(Program::Pdftoppm) {
            return Err(OcrFailure::Unavailable);
        }
        let deadline = Instant::now() + self.time;
        let picture = self.launcher.launch(&Run::draw_page(self.file, number), deadline)?;
        self.words(&picture, deadline, 72.0 / f32::from(DOTS_PER_INCH))
    }

    fn picture(&self, bytes: &[u8]) -> Result<OcrText, OcrFailure> {
        self.words(bytes, Instant::now() + self.time, 1.0)
    }
}

/// The paragraphs in a table of words as tesseract writes it, their boxes times `scale`.
///
/// Its columns are level, page, block, paragraph, line, word, left, top, width, height, confidence and text.
pub fn paragraphs(table: &str, scale: f32) -> OcrText {
    let mut of: BTreeMap<(u32, u32, u32), OcrParagraph> = BTreeMap::new();
    let (mut sum, mut count) = (0.0_f64, 0_u32);
    for line in table.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [level, page, block, paragraph, _, _, left, top, width, height, confidence, text] = columns.as_slice()
        else {
            continue;
        };
        let number = |column: &str| column.parse::<f32>().ok().filter(|number| number.is_finite());
        let text = text.trim();
        if *level != "5" || text.is_empty() {
            continue;
        }
        let (Some(left), Some(top), Some(width), Some(height)) =
            (number(left), number(top), number(width), number(height))
        else {
            continue;
        };
        let (Ok(page), Ok(block), Ok(paragraph)) = (page.parse(), block.parse(), paragraph.parse()) else { continue };
        if let Some(confidence) = number(confidence).filter(|confidence| *confidence >= 0.0) {
            sum += f64::from(confidence);
            count += 1;
        }
        let bbox = BoundingBox([left, top, left + width.max(0.0), top + height.max(0.0)].map(|side| side * scale));
        let whole = of.entry((page, block, paragraph)).or_insert_with(|| OcrParagraph { text: String::new(), bbox });
        whole.bbox = whole.bbox.around(bbox);
        if !whole.text.is_empty() {
            whole.text.push(' ');
        }
        whole.text.push_str(text);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a mean of percents")]
    let confidence = if count == 0 { 0.0 } else { (sum / f64::from(count)) as f32 };
    OcrText { paragraphs: of.into_values().collect(), confidence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_together_in_paragraphs_with_a_box_and_the_mean_confidence() {
        let table = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n\
                     1\t1\t0\t0\t0\t0\t0\t0\t640\t480\t-1\t\n\
                     5\t1\t1\t1\t1\t1\t100\t50\t40\t10\t90.5\tTwo\n\
                     5\t1\t1\t1\t2\t1\t90\t70\t60\t10\t69.5\twords\n\
                     5\t1\t1\t2\t1\t1\t90\t170\t60\t10\t80\tand\n\
                     5\t1\t1\t2\t1\t2\tx\t170\t60\t10\t80\tlost\n\
                     5\t1\t2\t1\t1\t1\t0\t300\t5\t10\t95\t \n";
        let text = paragraphs(table, 0.5);
        let found: Vec<(&str, BoundingBox)> = text.paragraphs.iter().map(|one| (one.text.as_str(), one.bbox)).collect();
        assert_eq!(
            found,
            [("Two words", BoundingBox([45.0, 25.0, 75.0, 40.0])), ("and", BoundingBox([45.0, 85.0, 75.0, 90.0]))]
        );
        assert!((text.confidence - 80.0).abs() < 0.01);
        assert_eq!(paragraphs("", 1.0), OcrText::default());
    }

    #[test]
    fn english_goes_first_and_what_is_not_installed_is_left_out() {
        let listed = "List of available languages in \"/usr/share/tessdata/\" (3):\ndeu\neng\nosd\n";
        for (wanted, names) in
            [("", Some(vec!["eng", "deu"])), ("deu+fra", Some(vec!["deu"])), ("fra", None), ("osd;x", None)]
        {
            let found = Languages::choose(wanted, listed).ok();
            let found_names = found.as_ref().map(|found| found.names.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found_names, names, "{wanted}");
            assert!(found.is_none_or(|found| found.directions));
        }
    }

    /// Answers as the programs do, and remembers nothing.
    struct Answers {
        pdftoppm: bool,
    }

    impl Launcher for Answers {
        fn finds(&self, program: Program) -> bool {
            program == Program::Tesseract || self.pdftoppm
        }

        fn launch(&self, run: &Run<'_>, _: Instant) -> Result<Vec<u8>, OcrFailure> {
            let arguments = run.arguments.join(" ");
            match (run.program, arguments.as_str()) {
                (Program::Tesseract, "--list-langs") => Ok(b"eng\n".to_vec()),
                (Program::Pdftoppm, "-png -gray -r 200 -f 7 -l 7 -") => Ok([b"drawn ", run.input].concat()),
                (Program::Tesseract, "stdin stdout -l eng --psm 3 --dpi 200 -c tessedit_create_tsv=1") => {
                    let input = String::from_utf8_lossy(run.input);
                    Ok(format!("5\t1\t1\t1\t1\t1\t200\t0\t200\t100\t90\t{input}").into_bytes())
                }
                _ => Err(OcrFailure::Failed(arguments)),
            }
        }
    }

    #[test]
    fn a_page_is_drawn_and_then_read_with_its_box_in_points() {
        let launcher = Answers { pdftoppm: true };
        let languages = Languages::installed(&launcher, "", Duration::from_secs(1)).expect("the program answers");
        let ocr = ProgramOcr::new(&launcher, b"file", &languages, Duration::from_secs(1));
        let page = ocr.page(7).expect("the programs answer");
        assert_eq!(
            page.paragraphs[0],
            OcrParagraph { text: "drawn file".into(), bbox: BoundingBox([72.0, 0.0, 144.0, 36.0]) }
        );
        let picture = ocr.picture(b"as it is").expect("the program answers");
        assert_eq!(picture.paragraphs[0].bbox, BoundingBox([200.0, 0.0, 400.0, 100.0]));
    }

    #[test]
    fn without_the_program_that_draws_pages_pictures_are_still_read() {
        let launcher = Answers { pdftoppm: false };
        let languages = Languages::installed(&launcher, "eng", Duration::from_secs(1)).expect("the program answers");
        let ocr = ProgramOcr::new(&launcher, b"file", &languages, Duration::from_secs(1));
        assert!(ocr.is_available());
        assert_eq!(ocr.page(7), Err(OcrFailure::Unavailable));
        assert!(ocr.picture(b"x").is_ok());
        let missing = Languages::installed(&launcher, "fra", Duration::from_secs(1));
        assert!(matches!(missing, Err(OcrFailure::Failed(_))), "{missing:?}");
    }
}
