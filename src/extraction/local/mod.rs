//! The extractor that comes with Loom: processes of the `loom` program that confine themselves, and what starts, keeps and
//! ends them.
//!
//! One file is one process, except for text formats: what reads those is small, holds no state and no unsafe code, and a
//! process takes as long to start as many small files take to read.

mod ocr;
mod process;
mod watch;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use loom_extract::contract::{Artifact, Capabilities, Request};
use parking_lot::{Condvar, Mutex};

use super::answer;
use super::failure::{Failure, FailureCode};
use super::frames::{Attempt, Layer, Setup};
use super::known::{Known, Recent};
use super::settings::{ExtractionSettings, LocalExtractionLimits, SandboxMode};
use ocr::Ocr;
use process::{Outcome, Process};
use watch::Watch;

/// Formats of which one process reads many files.
const REUSED: [&str; 9] = ["csv", "json", "jsonl", "markdown", "sql", "text", "toml", "tsv", "vtt"];
/// How many files one process reads at most.
const REUSE_FILES_MAX: u32 = 1_000;
/// For how long one process works at most before its last file. It may compute for this long beyond what one file may.
const REUSE_BUSY_MAX: Duration = Duration::from_secs(5);
/// How long a process waits without work.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// How many processes wait at most.
const IDLE_PROCESSES_MAX: usize = 4;
/// How long a process may take to start.
const START_WAIT: Duration = Duration::from_secs(20);
/// How much longer than the process itself the engine waits for the end of its time: what it says itself says more.
const OVERTIME: Duration = Duration::from_secs(2);

/// The extractor that comes with Loom.
pub struct Local {
    shared: Arc<Shared>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// What is known of the extractor that comes with Loom.
#[derive(Clone, Debug)]
pub struct LocalReport {
    /// What it reads.
    pub capabilities: Capabilities,
    /// What confines its processes.
    pub layers: Vec<Layer>,
    /// What one of them could still do when it tried.
    pub attempts: Vec<Attempt>,
    /// Whether words can be read off pictures; otherwise what to do about it.
    pub ocr: Result<(), String>,
}

struct Shared {
    program: PathBuf,
    limits: LocalExtractionLimits,
    artifact_bytes_max: u64,
    ocr: Ocr,
    known: Known,
    waiting: Mutex<Waiting>,
    /// Rung when the keeper has something to do.
    bell: Condvar,
    /// Cuts the start of a spare process short.
    closing: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    processes: Vec<(Instant, Process)>,
    /// Whether another process is to be started.
    spare_wanted: bool,
    closed: bool,
}

impl Local {
    /// The extractor in `program`; nothing is started.
    pub fn new(program: &Path, settings: &ExtractionSettings) -> Self {
        let shared = Shared {
            program: program.to_owned(),
            limits: settings.limits.clone(),
            artifact_bytes_max: settings.artifact_bytes_max,
            ocr: Ocr::find(program),
            known: Known::default(),
            waiting: Mutex::default(),
            bell: Condvar::new(),
            closing: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), keeper: Mutex::default() }
    }

    /// What it reads, as known for a minute or told within `wait`; `None` while no process starts.
    pub fn listed(&self, wait: Duration) -> Option<Arc<Capabilities>> {
        match self.shared.known.recent() {
            Recent::Told(capabilities) => return Some(capabilities),
            Recent::Failed => return None,
            Recent::Unasked => {}
        }
        let process = self.shared.start(Instant::now() + wait, &AtomicBool::new(false));
        let process = process.inspect_err(|error| tracing::warn!(%error, "no extractor starts")).ok()?;
        let capabilities = Arc::new(process.hello.capabilities.clone());
        self.shared.give_back(process);
        self.keep();
        Some(capabilities)
    }

    /// Reads one file: see [`Extractors::extract`](super::Extractors::extract).
    pub fn extract(
        &self,
        request: &Request,
        size: u64,
        body: &mut dyn Read,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Artifact, Failure> {
        let shared = &self.shared;
        if size > shared.limits.file_bytes {
            return Err(Failure::too_large(size, shared.limits.file_bytes));
        }
        let mut process = shared.take(until, stop)?;
        self.keep();
        if process.hello.capabilities.of(&request.format).is_none() {
            let message = format!("the extractor that comes with Loom does not read the format {}", request.format);
            shared.give_back(process);
            return Err(Failure::refused(FailureCode::FormatUnavailable, message));
        }
        let overtime = Instant::now() + Duration::from_secs(shared.limits.time_seconds) + OVERTIME;
        let limits = (shared.artifact_bytes_max, shared.limits.file_bytes);
        match process.read(request, size, body, limits, &shared.ocr, Watch { until, overtime, stop })? {
            Outcome::Refused(failure) => Err(failure),
            Outcome::Artifact(bytes) => {
                let artifact = answer::artifact(&bytes, &request.format)?;
                let is_fresh = process.files < REUSE_FILES_MAX && process.busy < REUSE_BUSY_MAX;
                if is_fresh && REUSED.contains(&request.format.as_str()) {
                    shared.give_back(process);
                }
                Ok(artifact)
            }
        }
    }

    /// Starts a process and asks it what it can do.
    pub fn report(&self) -> Result<LocalReport, Failure> {
        let stop = AtomicBool::new(false);
        let until = Instant::now() + START_WAIT;
        let mut process = self.shared.start(until, &stop)?;
        let attempts = process.probe(Watch { until, overtime: until, stop: &stop })?;
        let hello = process.hello.clone();
        Ok(LocalReport {
            capabilities: hello.capabilities,
            layers: hello.layers,
            attempts,
            ocr: self.shared.ocr.missing().map_or(Ok(()), Err),
        })
    }

    /// Ends the processes that wait, and keeps none from now on.
    pub fn close(&self) {
        let waiting = {
            let mut waiting = self.shared.waiting.lock();
            waiting.closed = true;
            std::mem::take(&mut waiting.processes)
        };
        self.shared.closing.store(true, Ordering::Release);
        self.shared.bell.notify_all();
        drop(waiting);
        if let Some(keeper) = self.keeper.lock().take()
            && keeper.join().is_err()
        {
            tracing::error!("the thread that keeps extractors panicked");
        }
    }

    /// Has the thread that keeps processes run.
    fn keep(&self) {
        let mut keeper = self.keeper.lock();
        if keeper.is_some() || self.shared.waiting.lock().closed {
            return;
        }
        let shared = Arc::clone(&self.shared);
        match thread::Builder::new().name("loom-extractors".into()).spawn(move || shared.keep()) {
            Ok(thread) => *keeper = Some(thread),
            Err(error) => tracing::warn!(%error, "no extractor is kept ready"),
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// A process that waits, or a new one.
    fn take(&self, until: Instant, stop: &AtomicBool) -> Result<Process, Failure> {
        let taken = {
            let mut waiting = self.waiting.lock();
            while waiting.processes.pop_if(|(_, process)| !process.lives()).is_some() {}
            let taken = waiting.processes.pop();
            if waiting.processes.is_empty() && !waiting.spare_wanted {
                waiting.spare_wanted = true;
                self.bell.notify_all();
            }
            taken
        };
        // One that waited too long is the keeper's to end, and as good as any other until then.
        taken.map_or_else(|| self.start(until, stop), |(_, process)| Ok(process))
    }

    fn give_back(&self, process: Process) {
        let mut waiting = self.waiting.lock();
        if !waiting.closed && waiting.processes.len() < IDLE_PROCESSES_MAX {
            waiting.processes.push((Instant::now(), process));
            self.bell.notify_all();
        }
    }

    fn start(&self, until: Instant, stop: &AtomicBool) -> Result<Process, Failure> {
        let limits = &self.limits;
        let setup = Setup {
            memory_bytes: limits.memory_bytes,
            cpu_seconds: limits.cpu_seconds.saturating_add(REUSE_BUSY_MAX.as_secs()),
            time_seconds: limits.time_seconds,
            file_bytes: limits.file_bytes,
            degraded: limits.sandbox == SandboxMode::Degraded,
            ocr: self.ocr.missing().is_none(),
        };
        let overtime = Instant::now() + START_WAIT;
        let started = Process::start(&self.program, &setup, Watch { until, overtime, stop });
        self.known.hear(started.as_ref().ok().map(|process| Arc::new(process.hello.capabilities.clone())));
        started
    }

    /// Keeps one process ready, and ends those that wait too long.
    fn keep(&self) {
        let mut waiting = self.waiting.lock();
        while !waiting.closed {
            if std::mem::take(&mut waiting.spare_wanted) && waiting.processes.is_empty() {
                drop(waiting);
                let started = self.start(Instant::now() + START_WAIT, &self.closing);
                match started {
                    Ok(process) => self.give_back(process),
                    Err(_) if self.closing.load(Ordering::Acquire) => {}
                    Err(error) => tracing::warn!(%error, "no extractor is kept ready"),
                }
                waiting = self.waiting.lock();
                continue;
            }
            let old: Vec<_> = waiting.processes.extract_if(.., |(since, _)| since.elapsed() >= IDLE_MAX).collect();
            if !old.is_empty() {
                drop(waiting);
                drop(old);
                waiting = self.waiting.lock();
                continue;
            }
            match waiting.processes.iter().map(|(since, _)| *since + IDLE_MAX).min() {
                Some(next) => _ = self.bell.wait_until(&mut waiting, next),
                None => self.bell.wait(&mut waiting),
            }
        }
    }
}
