//! Counts and times of what was answered, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::envelope::OTHER;
use super::pool::Load;
use crate::ops;

/// The routes that are no operations and have a label of their own.
const ROUTES: [&str; 10] = [
    "backup",
    "healthz",
    "knowledge.download",
    "knowledge.upload",
    "mcp",
    "metrics",
    "openapi",
    "ops",
    "readyz",
    OTHER,
];
/// The upper bounds of the latency histogram, in seconds.
const BOUNDS_S: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The numbers of one operation or route.
#[derive(Clone, Default)]
struct Series {
    by_status: BTreeMap<u16, u64>,
    by_bound: [u64; BOUNDS_S.len()],
    total_s: f64,
}

/// The numbers of a server since it started; labels are only the names of the registry and the routes.
pub struct Metrics {
    labels: Vec<&'static str>,
    series: Vec<Mutex<Series>>,
    in_flight: Arc<AtomicUsize>,
}

/// A request that is being answered, until it is dropped.
pub struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Nothing answered so far.
    pub fn new() -> Self {
        let mut labels: Vec<_> = ops::ALL.iter().map(|spec| spec.facts.name).chain(ROUTES).collect();
        labels.sort_unstable();
        labels.dedup();
        let series = labels.iter().map(|_| Mutex::default()).collect();
        Self { labels, series, in_flight: Arc::default() }
    }

    /// Counts a request as being answered.
    pub fn begin(&self) -> Running {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Running(self.in_flight.clone())
    }

    /// Counts an answer; a label that is not known counts as [`OTHER`].
    pub fn record(&self, label: &str, status: u16, elapsed: Duration) {
        let found = self.labels.binary_search(&label).or_else(|_| self.labels.binary_search(&OTHER));
        let Some(series) = found.ok().and_then(|at| self.series.get(at)) else { return };
        let seconds = elapsed.as_secs_f64();
        let mut series = series.lock();
        *series.by_status.entry(status).or_default() += 1;
        series.total_s += seconds;
        for (count, bound) in series.by_bound.iter_mut().zip(BOUNDS_S) {
            *count += u64::from(seconds <= bound);
        }
    }

    /// The numbers as text; `load` is what the pool has to do, `numbers` are the engine's.
    pub fn text(&self, load: Load, numbers: &[(&'static str, &'static str, f64)]) -> String {
        let called: Vec<(&str, Series)> = self
            .labels
            .iter()
            .zip(&self.series)
            .map(|(label, series)| (*label, series.lock().clone()))
            .filter(|(_, series)| !series.by_status.is_empty())
            .collect();
        let mut text = Text::default();
        text.family("loom_build_info", "gauge", "The version that runs.");
        text.line(format_args!("loom_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")));
        for (name, help, value) in numbers {
            let prefix = if name.starts_with("loom_") { "" } else { "loom_" };
            text.family(&format!("{prefix}{name}"), kind_of(name), help);
            text.line(format_args!("{prefix}{name} {value}"));
        }
        for (name, help, value) in [
            ("loom_http_in_flight", "Requests being answered.", self.in_flight.load(Ordering::Relaxed)),
            ("loom_http_workers_busy", "Calls running on the blocking pool.", load.running),
            ("loom_http_queue", "Calls waiting for a worker.", load.waiting),
            ("loom_http_namespaces_busy", "Namespaces that have calls running or waiting.", load.namespaces),
        ] {
            text.family(name, "gauge", help);
            text.line(format_args!("{name} {value}"));
        }
        text.family("loom_http_refused_total", "counter", "Calls refused because there were too many at once.");
        text.line(format_args!("loom_http_refused_total {}", load.refused_total));
        text.family("loom_http_requests_total", "counter", "Requests answered, by operation or route and status.");
        for (op, series) in &called {
            for (status, count) in &series.by_status {
                text.line(format_args!("loom_http_requests_total{{op=\"{op}\",status=\"{status}\"}} {count}"));
            }
        }
        text.family("loom_http_request_seconds", "histogram", "Time from a request's head to its answer's head.");
        for (op, series) in &called {
            text.histogram("loom_http_request_seconds", op, series);
        }
        text.0
    }
}

/// A number that only grows has a name that says so.
fn kind_of(name: &str) -> &'static str {
    if name.ends_with("_total") { "counter" } else { "gauge" }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn histogram(&mut self, name: &str, op: &str, series: &Series) {
        let count: u64 = series.by_status.values().sum();
        for (bound, below) in BOUNDS_S.iter().zip(series.by_bound) {
            self.line(format_args!("{name}_bucket{{op=\"{op}\",le=\"{bound}\"}} {below}"));
        }
        self.line(format_args!("{name}_bucket{{op=\"{op}\",le=\"+Inf\"}} {count}"));
        self.line(format_args!("{name}_sum{{op=\"{op}\"}} {}", series.total_s));
        self.line(format_args!("{name}_count{{op=\"{op}\"}} {count}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_label_and_status() {
        let metrics = Metrics::new();
        let running = metrics.begin();
        metrics.record("healthz", 200, Duration::from_millis(2));
        metrics.record("healthz", 200, Duration::from_mins(1));
        metrics.record("healthz", 403, Duration::from_millis(2));
        metrics.record("made-up\"label", 404, Duration::ZERO);
        let text =
            metrics.text(Load { running: 3, waiting: 4, ..Load::default() }, &[("documents", "Live documents.", 12.0)]);
        for line in [
            "loom_documents 12",
            "loom_http_in_flight 1",
            "loom_http_workers_busy 3",
            "loom_http_queue 4",
            "loom_http_requests_total{op=\"healthz\",status=\"200\"} 2",
            "loom_http_requests_total{op=\"healthz\",status=\"403\"} 1",
            "loom_http_requests_total{op=\"other\",status=\"404\"} 1",
            "loom_http_request_seconds_bucket{op=\"healthz\",le=\"0.001\"} 0",
            "loom_http_request_seconds_bucket{op=\"healthz\",le=\"0.0025\"} 2",
            "loom_http_request_seconds_bucket{op=\"healthz\",le=\"30\"} 2",
            "loom_http_request_seconds_bucket{op=\"healthz\",le=\"+Inf\"} 3",
            "loom_http_request_seconds_count{op=\"healthz\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("made-up"));
        drop(running);
        assert!(metrics.text(Load::default(), &[]).contains("loom_http_in_flight 0"));
    }
}
