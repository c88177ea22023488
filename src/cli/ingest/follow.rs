//! Following jobs to their ends, and what is printed of them.

use std::thread;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::screen::{Screen, harmless};

/// How long to wait before the open jobs are asked after again: at first, and at most.
const POLL: Duration = Duration::from_millis(10);
const POLL_MAX: Duration = Duration::from_millis(500);
/// The most jobs that are shown at once.
const BARS_MAX: usize = 8;

/// A file whose ingest was asked for.
pub struct Asked {
    pub shown: String,
    pub source_uri: String,
    pub fate: Fate,
}

/// What became of it.
pub enum Fate {
    /// The job is not known to be over: its id.
    Open(String),
    /// The job's last status.
    Over(Value),
    /// It never became a job: why.
    Refused(String),
    /// The job was not over in time: its last status.
    Late(Value),
}

impl Asked {
    /// A file that never became a job.
    pub fn refused(shown: String, source_uri: String, reason: String) -> Self {
        Self { shown, source_uri, fate: Fate::Refused(reason) }
    }

    fn json(&self) -> Value {
        let fate = match &self.fate {
            Fate::Open(id) => json!({ "ingestion_id": id, "state": "pending" }),
            Fate::Over(status) | Fate::Late(status) => status.clone(),
            Fate::Refused(reason) => json!({ "state": "failed", "error_code": "not_asked", "error_message": reason }),
        };
        let mut row = json!({ "file": self.shown, "source_uri": self.source_uri });
        for (name, value) in fate.as_object().into_iter().flatten() {
            row[name] = value.clone();
        }
        row
    }
}

/// Waits until every job is over, or has had `timeout` since it was asked after first.
pub fn to_the_end(client: &Client, mut asked: Vec<Asked>, timeout: Duration) -> Result<Vec<Asked>, Failure> {
    let bars = Bars::new(asked.len() as u64);
    let until = Instant::now() + timeout;
    let mut poll = POLL;
    loop {
        let mut open = 0;
        for (at, job) in asked.iter_mut().enumerate() {
            let Fate::Open(id) = &job.fate else { continue };
            let status = client.call("knowledge.ingest_status", json!({ "ingestion_id": id }))?;
            let is_over = !matches!(status["state"].as_str(), Some("pending" | "processing"));
            bars.tell(at, &job.shown, &status, is_over);
            if is_over {
                job.fate = Fate::Over(status);
            } else if Instant::now() >= until {
                job.fate = Fate::Late(status);
            } else {
                open += 1;
            }
        }
        if open == 0 {
            bars.clear();
            return Ok(asked);
        }
        thread::sleep(poll);
        poll = (poll * 2).min(POLL_MAX);
    }
}

/// A bar for all files, and one for each of those that run.
struct Bars {
    all: MultiProgress,
    total: ProgressBar,
    running: std::cell::RefCell<Vec<(usize, ProgressBar)>>,
}

impl Bars {
    fn new(files: u64) -> Self {
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files ({elapsed})");
        let total =
            ProgressBar::new(files).with_style(style.expect("the template is constant, and every run parses it"));
        Self { total: all.add(total), all, running: std::cell::RefCell::default() }
    }

    /// Shows where a job stands.
    fn tell(&self, at: usize, shown: &str, status: &Value, is_over: bool) {
        let mut running = self.running.borrow_mut();
        let known = running.iter().position(|(job, _)| *job == at);
        if is_over {
            self.total.inc(1);
            if let Some(known) = known {
                running.remove(known).1.finish_and_clear();
            }
            return;
        }
        let bar = match known {
            Some(known) => &running[known].1,
            None if running.len() < BARS_MAX && status["state"] == "processing" => {
                let style = ProgressStyle::with_template("  {spinner} {msg}");
                let style = style.expect("the template is constant, and every run parses it");
                running.push((at, self.all.add(ProgressBar::new_spinner().with_style(style))));
                &running[running.len() - 1].1
            }
            None => return,
        };
        bar.set_message(format!("{} {}", status["stage"].as_str().unwrap_or_default(), harmless(shown)));
        bar.tick();
    }

    fn clear(&self) {
        for (_, bar) in self.running.borrow_mut().drain(..) {
            bar.finish_and_clear();
        }
        self.total.finish_and_clear();
    }
}

/// Prints the jobs' ids.
pub fn show_ids(asked: &[Asked], screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        screen.json(&json!({ "ingestions": asked.iter().map(Asked::json).collect::<Vec<_>>() }))?;
    } else {
        for job in asked {
            let what = match &job.fate {
                Fate::Open(id) => id.clone(),
                Fate::Refused(reason) => format!("not asked: {reason}"),
                Fate::Over(_) | Fate::Late(_) => String::new(),
            };
            screen.line(format!("{what}  {}", harmless(&job.shown)))?;
        }
    }
    verdict(asked)
}

/// Prints a row for each file and the sums.
pub fn show(asked: &[Asked], screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        screen.json(&json!({ "ingestions": asked.iter().map(Asked::json).collect::<Vec<_>>() }))?;
        return verdict(asked);
    }
    let width = asked.iter().map(|job| job.shown.chars().count()).max().unwrap_or(0).min(60);
    screen.line(format!("{:width$}  {:9}  {:9} {:>7} {:>8}", "file", "state", "format", "chunks", "revision"))?;
    for job in asked {
        row(job, width, screen)?;
    }
    let count = |state: &str| asked.iter().filter(|job| job.json()["state"] == state).count();
    let sums = ["ready", "partial", "failed", "cancelled", "pending", "processing"].map(|state| (state, count(state)));
    let sums: Vec<String> =
        sums.iter().filter(|(_, count)| *count > 0).map(|(state, count)| format!("{count} {state}")).collect();
    screen.line(sums.join(", "))?;
    verdict(asked)
}

fn row(job: &Asked, width: usize, screen: &mut Screen) -> Result<(), Failure> {
    let status = job.json();
    let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
    let number =
        |field: &str| status[field].as_u64().filter(|number| *number > 0).map_or(String::new(), |n| n.to_string());
    let shown: String = harmless(&job.shown);
    let line = format!(
        "{shown:width$}  {:9}  {:9} {:>7} {:>8}",
        text("state"),
        text("format"),
        number("chunks"),
        number("revision")
    );
    screen.line(line.trim_end())?;
    let why = (text("error_code"), text("error_message"));
    if !why.0.is_empty() {
        screen.line(harmless(&format!("    {}: {}", why.0, why.1)))?;
    }
    for warning in status["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        screen.line(screen.faint(&format!("    {warning}")))?;
    }
    Ok(())
}

fn verdict(asked: &[Asked]) -> Result<(), Failure> {
    let is_good = |job: &Asked| match &job.fate {
        Fate::Open(_) => true,
        Fate::Over(status) => matches!(status["state"].as_str(), Some("ready" | "partial")),
        Fate::Refused(_) | Fate::Late(_) => false,
    };
    let bad = asked.iter().filter(|job| !is_good(job)).count();
    if bad == 0 { Ok(()) } else { Err(Failure::Unmet(format!("{bad} of {} files were not ingested", asked.len()))) }
}
