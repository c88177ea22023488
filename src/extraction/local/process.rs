//! One process that reads files, as the engine sees it.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use loom_extract::contract::{Refusal, Request};
use parking_lot::Mutex;

use super::ocr::Ocr;
use super::watch::{Cut, Watch, end};
use crate::extraction::failure::{Failure, FailureCode};
use crate::extraction::frames::{self, Attempt, Hello, Kind, Setup};
use crate::extraction::{stopped, unreadable};

/// How much of a file is handed over at a time.
const PIECE_BYTES: usize = 64 << 10;
/// How much of what the process writes to its standard error is kept.
const ERRORS_BYTES_MAX: usize = 8 << 10;
/// How long a process that closed its output may take to end, on a busy machine.
const END_WAIT: Duration = Duration::from_secs(10);
/// How long the last of its standard error is waited for: it ends with the process, unless another one holds it.
const ERRORS_WAIT: Duration = Duration::from_secs(5);
/// What the standard library writes when memory ran out.
const OUT_OF_MEMORY: &str = "memory allocation of";

/// A process that is confined and waits for a file. Dropping it ends it.
pub struct Process {
    child: Mutex<Child>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What it wrote to its standard error, once that is closed.
    errors: Receiver<Vec<u8>>,
    /// What it said of itself.
    pub hello: Hello,
    /// How many files it was given.
    pub files: u32,
    /// How long it was at work.
    pub busy: Duration,
}

/// What a process made of a file.
pub enum Outcome {
    /// An artifact as JSON, which nobody has looked at.
    Artifact(Vec<u8>),
    /// A refusal.
    Refused(Failure),
}

/// Why a conversation broke.
enum Broken {
    /// The process closed a pipe.
    Pipe(io::Error),
    /// It said what it may not say.
    Garbage,
    /// Its artifact is too long.
    TooLong,
    /// The file cannot be read.
    File(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge) {
            return Self::Garbage;
        }
        Self::Pipe(error)
    }
}

impl Process {
    /// Starts a process and waits until it is confined.
    pub fn start(program: &Path, setup: &Setup, watch: Watch<'_>) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args(["extractor", "--child"]).env_clear();
        for name in ENVIRONMENT {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let unstarted = |what: &str| Failure::Transient(format!("the extractor {} {what}", program.display()));
        let mut child =
            command.spawn().map_err(|error| unstarted(&format!("could not be started: {}", error.kind())))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let child = Mutex::new(child);
        let (Some(mut input), Some(output), Some(errors)) = pipes else {
            end(&child);
            return Err(unstarted("has no pipes"));
        };
        let mut output = BufReader::with_capacity(PIECE_BYTES, output);
        let errors = drain(errors)?;
        let (said, cut) = watch.over(&child, || {
            frames::write_json(&mut input, Kind::Setup, setup)?;
            match frames::read_head(&mut output)? {
                Some((kind @ (Kind::Hello | Kind::Unconfined), length)) => {
                    Ok((kind, frames::read_payload(&mut output, length, frames::SMALL_BYTES_MAX)?))
                }
                Some(_) => Err(io::Error::from(io::ErrorKind::InvalidData)),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        });
        let failed = match said {
            Ok((Kind::Hello, said)) => match serde_json::from_slice(&said) {
                Ok(hello) => {
                    return Ok(Self { child, input, output, errors, hello, files: 0, busy: Duration::ZERO });
                }
                Err(_) => unstarted("says what no extractor says: is it a loom program of another version?"),
            },
            Ok((_, said)) => Failure::told(&String::from_utf8_lossy(&said)),
            Err(_) if cut == Some(Cut::Stopped) => stopped(),
            Err(_) if cut.is_some() => unstarted("did not start in time"),
            Err(_) => unstarted("ended before it was ready, or is no loom program"),
        };
        end(&child);
        reap(&child);
        Err(failed)
    }

    /// Whether the process is still there.
    pub fn lives(&self) -> bool {
        matches!(self.child.lock().try_wait(), Ok(None))
    }

    /// Has a file read. On an error the process is of no more use.
    pub fn read(
        &mut self,
        request: &Request,
        size: u64,
        body: &mut dyn Read,
        limits: (u64, u64),
        ocr: &Ocr,
        watch: Watch<'_>,
    ) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let Self { child, input, output, .. } = self;
        let (said, cut) = watch.over(child, || {
            hand_over(input, request, size, body)?;
            converse(input, output, limits, ocr, watch)
        });
        self.files += 1;
        self.busy += started.elapsed();
        let broken = match (said, cut) {
            (Ok(outcome), _) => return Ok(outcome),
            (Err(Broken::File(error)), None) => return Err(unreadable(&error)),
            (Err(Broken::TooLong), None) => return Err(Failure::artifact_too_large(limits.0)),
            (Err(Broken::Garbage), None) => {
                let message = "the extractor said what the contract does not know";
                return Err(Failure::refused(FailureCode::InvalidArtifact, message));
            }
            (Err(_), Some(Cut::Stopped)) => return Err(stopped()),
            (Err(_), Some(Cut::Late)) => {
                return Err(Failure::Transient("the extraction was not done in the time there was".into()));
            }
            (Err(_), Some(Cut::Overtime)) => {
                let message = "the extraction took longer than it may (LOOM_EXTRACTOR_TIME_SECONDS)";
                return Err(Failure::refused(FailureCode::Timeout, message));
            }
            (Err(Broken::Pipe(error)), None) => error,
        };
        Err(self.died(&broken, watch))
    }

    /// What the process can still do.
    pub fn probe(&mut self, watch: Watch<'_>) -> Result<Vec<Attempt>, Failure> {
        let Self { child, input, output, .. } = self;
        let (said, _) = watch.over(child, || {
            frames::write(input, Kind::Probe, &[])?;
            frames::expect(output, Kind::Probe)
        });
        said.map_err(|error| self.died(&error, watch))
    }

    /// What became of a process that ended by itself.
    fn died(&mut self, error: &io::Error, watch: Watch<'_>) -> Failure {
        let status = self.ended(watch);
        let errors = self.errors.recv_timeout(ERRORS_WAIT).unwrap_or_default();
        let out_of_memory = String::from_utf8_lossy(&errors).contains(OUT_OF_MEMORY);
        tracing::debug!(?status, %error, out_of_memory, errors = errors.len(), "an extractor's process ended");
        match status.and_then(cause) {
            _ if out_of_memory => {
                let message = "the extraction needed more memory than it may use (LOOM_EXTRACTOR_MEMORY_BYTES)";
                Failure::refused(FailureCode::ResourceLimit, message)
            }
            Some(Death::Computing) => {
                let message = "the extraction needed more computing time than it may use (LOOM_EXTRACTOR_CPU_SECONDS)";
                Failure::refused(FailureCode::ResourceLimit, message)
            }
            Some(Death::Killed) => Failure::refused(
                FailureCode::ResourceLimit,
                "the system ended the extraction, as it does when memory is short",
            ),
            Some(Death::Crashed) | None => {
                Failure::refused(FailureCode::Corrupt, "the parser of its format fails on the file")
            }
        }
    }

    /// Waits a moment for the end of a process that closed its pipes, and ends it otherwise.
    fn ended(&mut self, watch: Watch<'_>) -> Option<ExitStatus> {
        let until = Instant::now() + END_WAIT;
        while Instant::now() < until && !watch.is_over() {
            match self.child.lock().try_wait() {
                Ok(None) => thread::park_timeout(Duration::from_millis(1)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that was waited for has a number that another may have by now.
        if !matches!(self.child.lock().try_wait(), Ok(Some(_))) {
            end(&self.child);
            reap(&self.child);
        }
    }
}

/// What the process needs of the engine's environment: where the system's own libraries are.
const ENVIRONMENT: [&str; 3] = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SystemRoot"];

fn reap(child: &Mutex<Child>) {
    if let Err(error) = child.lock().wait() {
        tracing::debug!(%error, "an ended process could not be waited for");
    }
}

/// Reads a process's standard error to its end, and keeps the first of it.
fn drain(errors: ChildStderr) -> Result<Receiver<Vec<u8>>, Failure> {
    let (done, kept) = mpsc::sync_channel(1);
    let drain = move || {
        let mut errors = errors;
        let mut first = Vec::new();
        let read = errors.by_ref().take(ERRORS_BYTES_MAX as u64).read_to_end(&mut first);
        let rest = read.and_then(|_| io::copy(&mut errors, &mut io::sink()));
        if done.send(first).is_err() || rest.is_err() {
            tracing::trace!("nobody asked for an extractor's standard error");
        }
    };
    let thread = thread::Builder::new().name("loom-extractor".into()).spawn(drain);
    thread.map_err(|_| Failure::Transient("no thread could be started for an extractor".into()))?;
    Ok(kept)
}

fn hand_over(input: &mut ChildStdin, request: &Request, size: u64, body: &mut dyn Read) -> Result<(), Broken> {
    frames::write_json(input, Kind::Request, request)?;
    frames::write_head(input, Kind::File, size)?;
    let mut piece = vec![0; usize::try_from(size).unwrap_or(PIECE_BYTES).min(PIECE_BYTES)];
    let mut left = size;
    while left > 0 {
        let room = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = match body.read(&mut piece[..room]) {
            Ok(0) => return Err(Broken::File(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Broken::File(error)),
        };
        input.write_all(&piece[..count])?;
        left -= count as u64;
    }
    input.flush()?;
    Ok(())
}

/// Does what the process asks for until it answers. `limits`: the most bytes of an artifact and of a file.
fn converse(
    input: &mut ChildStdin,
    output: &mut BufReader<ChildStdout>,
    (artifact_bytes_max, file_bytes_max): (u64, u64),
    ocr: &Ocr,
    watch: Watch<'_>,
) -> Result<Outcome, Broken> {
    let mut pages = ocr.of_file(watch);
    loop {
        let Some((kind, length)) = frames::read_head(output)? else {
            return Err(Broken::Pipe(io::ErrorKind::UnexpectedEof.into()));
        };
        let words = match kind {
            Kind::Artifact if length > artifact_bytes_max => return Err(Broken::TooLong),
            Kind::Artifact => {
                return Ok(Outcome::Artifact(frames::read_payload(output, length, artifact_bytes_max)?));
            }
            Kind::Refusal => {
                let payload = frames::read_payload(output, length, frames::SMALL_BYTES_MAX)?;
                let refusal: Refusal = serde_json::from_slice(&payload).map_err(|_| Broken::Garbage)?;
                return Ok(Outcome::Refused(refusal.into()));
            }
            Kind::File => {
                pages.file(frames::read_payload(output, length, file_bytes_max)?);
                continue;
            }
            Kind::Page => {
                let payload = frames::read_payload(output, length, frames::SMALL_BYTES_MAX)?;
                pages.page(serde_json::from_slice(&payload).map_err(|_| Broken::Garbage)?)
            }
            Kind::Picture => pages.picture(&frames::read_payload(output, length, file_bytes_max)?),
            Kind::Setup | Kind::Hello | Kind::Unconfined | Kind::Request | Kind::Words | Kind::Probe => {
                return Err(Broken::Garbage);
            }
        };
        frames::write_json(input, Kind::Words, &words)?;
    }
}

/// What ended a process that nobody ended.
enum Death {
    /// Its time of computing was over.
    Computing,
    /// The system, which does so when memory is short.
    Killed,
    /// A fault of its own.
    Crashed,
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems tell nothing")]
fn cause(status: ExitStatus) -> Option<Death> {
    use nix::sys::signal::Signal;
    use std::os::unix::process::ExitStatusExt;
    Some(match status.signal() {
        Some(signal) if signal == Signal::SIGXCPU as i32 => Death::Computing,
        Some(signal) if signal == Signal::SIGKILL as i32 => Death::Killed,
        _ => Death::Crashed,
    })
}

#[cfg(not(unix))]
fn cause(_: ExitStatus) -> Option<Death> {
    None
}
