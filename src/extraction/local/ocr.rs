//! The programs of the system that read words off pages and pictures, each confined like the extractor itself.
//!
//! What they are told and what their output means is [`loom_extract::readers`]' own; here they are found and started.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use loom_extract::readers::{Languages, Launcher, Ocr as _, OcrFailure, OcrText, Program, ProgramOcr, Run};
use parking_lot::Mutex;

use super::watch::{Watch, end};
use crate::extraction::frames::Words;

/// How long the programs may take for one page or picture.
const PAGE_WAIT: Duration = Duration::from_mins(1);
/// What they need of the engine's environment: where languages and the system's own libraries are.
const ENVIRONMENT: [&str; 3] = ["TESSDATA_PREFIX", "LD_LIBRARY_PATH", "SystemRoot"];

/// The programs that read words off pictures, where they are installed.
pub struct Ocr {
    /// The `loom` program, which confines itself before it becomes one of the others.
    loom: PathBuf,
    places: Vec<(Program, PathBuf)>,
    /// What tesseract reads, once it has said so.
    languages: OnceLock<Languages>,
}

/// The reading of one file's pages.
pub struct Pages<'a> {
    ocr: &'a Ocr,
    watch: Watch<'a>,
    file: Vec<u8>,
}

/// Starts the programs, and ends them when it is time.
struct Confined<'a> {
    ocr: &'a Ocr,
    watch: Watch<'a>,
}

impl Ocr {
    /// Looks for the programs on the path.
    pub fn find(loom: &Path) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let find = |program: Program| {
            let name = format!("{}{}", program.name(), std::env::consts::EXE_SUFFIX);
            let place = std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| file.is_file())?;
            Some((program, place))
        };
        let places = Program::ALL.into_iter().filter_map(find).collect();
        Self { loom: loom.to_owned(), places, languages: OnceLock::new() }
    }

    /// What is missing and how to get it.
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<&str> =
            Program::ALL.into_iter().filter(|program| self.place(*program).is_none()).map(Program::name).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "{} not found on PATH: scanned pages and pictures are not read; on Debian `apt install {}` brings both",
                missing.join(" and "),
                Program::ALL.map(Program::debian_package).join(" ")
            )
        })
    }

    /// What reads the pages of one file, until `watch` says that it is time.
    pub fn of_file<'a>(&'a self, watch: Watch<'a>) -> Pages<'a> {
        Pages { ocr: self, watch, file: Vec::new() }
    }

    fn place(&self, program: Program) -> Option<&Path> {
        self.places.iter().find(|(found, _)| *found == program).map(|(_, place)| place.as_path())
    }

    /// Asks tesseract once what it reads; again only where it fails.
    fn languages(&self, launcher: &Confined<'_>) -> Result<&Languages, OcrFailure> {
        if let Some(languages) = self.languages.get() {
            return Ok(languages);
        }
        let languages = Languages::installed(launcher, "", PAGE_WAIT)?;
        Ok(self.languages.get_or_init(|| languages))
    }
}

impl Pages<'_> {
    /// Takes the file whose pages are asked for.
    pub fn file(&mut self, bytes: Vec<u8>) {
        self.file = bytes;
    }

    /// The words of a page.
    pub fn page(&self, number: u32) -> Words {
        self.read(|programs| programs.page(number))
    }

    /// The words of a picture.
    pub fn picture(&self, bytes: &[u8]) -> Words {
        self.read(|programs| programs.picture(bytes))
    }

    fn read(&self, read: impl FnOnce(&ProgramOcr<'_>) -> Result<OcrText, OcrFailure>) -> Words {
        let launcher = Confined { ocr: self.ocr, watch: self.watch };
        let text = self
            .ocr
            .languages(&launcher)
            .and_then(|languages| read(&ProgramOcr::new(&launcher, &self.file, languages, PAGE_WAIT)));
        match text {
            Ok(OcrText { paragraphs, confidence }) => {
                let paragraphs = paragraphs.into_iter().map(|paragraph| (paragraph.text, paragraph.bbox)).collect();
                Words::Read { paragraphs, confidence }
            }
            Err(OcrFailure::Unavailable) => Words::Unavailable,
            Err(OcrFailure::Failed(why)) => Words::Failed(why),
        }
    }
}

impl Launcher for Confined<'_> {
    fn finds(&self, program: Program) -> bool {
        self.ocr.place(program).is_some()
    }

    fn launch(&self, run: &Run<'_>, deadline: Instant) -> Result<Vec<u8>, OcrFailure> {
        let place = self.ocr.place(run.program).ok_or(OcrFailure::Unavailable)?;
        let mut command = Command::new(&self.ocr.loom);
        command.args(["extractor", "--confined"]).arg(place).args(&run.arguments).env_clear();
        for name in ENVIRONMENT {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs(run.environment.iter().copied());
        let watch = Watch { overtime: self.watch.overtime.min(deadline), ..self.watch };
        finished(command, run, watch)
            .map_err(|error| OcrFailure::Failed(format!("{}: {}", run.program.name(), told(&error))))
    }
}

/// Runs a program to its end and returns what it wrote. It and all that it started end when it is time, and when it writes too
/// much.
fn finished(mut command: Command, run: &Run<'_>, watch: Watch<'_>) -> io::Result<Vec<u8>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let child = Mutex::new(child);
    let most = run.output_bytes_max as u64;
    let (read, cut) = watch.over(&child, || {
        thread::scope(|scope| {
            let mut written = Vec::new();
            scope.spawn(|| {
                // A program may end before it has read all; what it wrote tells whether that was enough.
                if let Some(mut stdin) = stdin
                    && let Err(error) = stdin.write_all(run.input)
                {
                    tracing::debug!(%error, "a program did not take its input whole");
                }
            });
            let read = stdout.map_or(Ok(0), |stdout| stdout.take(most + 1).read_to_end(&mut written));
            if written.len() as u64 > most {
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
    if status?.success() { Ok(written) } else { Err(io::Error::other("it ended with an error")) }
}

/// What went wrong, in words that hold nothing of the file.
fn told(error: &io::Error) -> String {
    let kind = error.kind();
    if kind == io::ErrorKind::FileTooLarge {
        return "its output is too large".to_owned();
    }
    if kind == io::ErrorKind::TimedOut { "it took too long".to_owned() } else { error.to_string() }
}
