//! Reading words off pages and pictures, by programs of the system that run confined like the extractor itself.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::watch::{Watch, end};
use crate::extraction::frames::Words;

mod tsv;

/// Dots per inch that pages are drawn with.
const PAGE_DPI: f32 = 200.0;
/// Points per inch.
const POINTS: f32 = 72.0;
/// How long one program may take for one page.
const PAGE_WAIT: Duration = Duration::from_mins(1);
/// The largest drawn page, and the most that is read off one.
const PICTURE_BYTES_MAX: u64 = 128 << 20;
const TSV_BYTES_MAX: u64 = 16 << 20;

/// The programs that read words off pictures, where they are installed.
pub struct Ocr {
    /// The `loom` program, which confines itself before it becomes one of the others.
    loom: PathBuf,
    pdftoppm: Option<PathBuf>,
    tesseract: Option<PathBuf>,
}

/// The reading of one file's pages.
pub struct Pages<'a> {
    ocr: &'a Ocr,
    watch: Watch<'a>,
    file: Vec<u8>,
}

impl Ocr {
    /// Looks for the programs on the path.
    pub fn find(loom: &Path) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let find = |name: &str| {
            let named = format!("{name}{}", std::env::consts::EXE_SUFFIX);
            std::env::split_paths(&path).map(|folder| folder.join(&named)).find(|program| program.is_file())
        };
        Self { loom: loom.to_owned(), pdftoppm: find("pdftoppm"), tesseract: find("tesseract") }
    }

    /// What is missing and how to get it.
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<&str> = [("pdftoppm", &self.pdftoppm), ("tesseract", &self.tesseract)]
            .into_iter()
            .filter_map(|(name, program)| program.is_none().then_some(name))
            .collect();
        (!missing.is_empty()).then(|| {
            format!(
                "{} not found on PATH: scanned pages and pictures are not read; \
                 on Debian `apt install poppler-utils tesseract-ocr` brings both",
                missing.join(" and ")
            )
        })
    }

    /// What reads the pages of one file, until `watch` says that it is time.
    pub fn of_file<'a>(&'a self, watch: Watch<'a>) -> Pages<'a> {
        Pages { ocr: self, watch, file: Vec::new() }
    }

    /// Runs a program on `input` and returns what it wrote.
    fn run(&self, program: &Path, args: &[&str], input: &[u8], limit: u64, watch: Watch<'_>) -> io::Result<Vec<u8>> {
        let mut command = Command::new(&self.loom);
        command.args(["extractor", "--confined"]).arg(program).args(args).env_clear().env("OMP_THREAD_LIMIT", "1");
        for name in ["TESSDATA_PREFIX", "LD_LIBRARY_PATH", "SystemRoot"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let child = Mutex::new(child);
        let watch = Watch { overtime: watch.overtime.min(Instant::now() + PAGE_WAIT), ..watch };
        let (read, cut) = watch.over(&child, || {
            thread::scope(|scope| {
                let mut written = Vec::new();
                scope.spawn(|| {
                    // A program may end before it has read all; what it wrote tells whether that was enough.
                    if let Some(mut stdin) = stdin
                        && let Err(error) = stdin.write_all(input)
                    {
                        tracing::debug!(%error, "a program did not take its input whole");
                    }
                });
                let read = stdout.map_or(Ok(0), |stdout| stdout.take(limit + 1).read_to_end(&mut written));
                if written.len() as u64 > limit {
                    // Which also ends the wait for its input.
                    end(&child);
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                read.map(|_| written)
            })
        });
        let status = child.lock().wait();
        let written = read?;
        if cut.is_some() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if status?.success() { Ok(written) } else { Err(io::Error::other("it failed")) }
    }

    fn words(&self, picture: &[u8], scale: f32, watch: Watch<'_>) -> Words {
        let Some(tesseract) = &self.tesseract else { return Words::Unavailable };
        let args = ["stdin", "stdout", "--psm", "1", "-c", "tessedit_create_tsv=1"];
        match self.run(tesseract, &args, picture, TSV_BYTES_MAX, watch) {
            Ok(written) => tsv::words(&String::from_utf8_lossy(&written), scale),
            Err(error) => Words::Failed(format!("tesseract: {error}")),
        }
    }
}

impl Pages<'_> {
    /// Takes the file whose pages are asked for.
    pub fn file(&mut self, bytes: Vec<u8>) {
        self.file = bytes;
    }

    /// The words of a page.
    pub fn page(&self, number: u32) -> Words {
        let Some(pdftoppm) = self.ocr.pdftoppm.as_ref().filter(|_| self.ocr.tesseract.is_some()) else {
            return Words::Unavailable;
        };
        let (number, dpi) = (number.to_string(), PAGE_DPI.to_string());
        let args = ["-png", "-gray", "-r", &dpi, "-f", &number, "-l", &number, "-singlefile", "-"];
        match self.ocr.run(pdftoppm, &args, &self.file, PICTURE_BYTES_MAX, self.watch) {
            Ok(picture) => self.ocr.words(&picture, POINTS / PAGE_DPI, self.watch),
            Err(error) => Words::Failed(format!("pdftoppm: {error}")),
        }
    }

    /// The words of a picture.
    pub fn picture(&self, bytes: Vec<u8>) -> Words {
        let words = self.ocr.words(&bytes, 1.0, self.watch);
        drop(bytes);
        words
    }
}
