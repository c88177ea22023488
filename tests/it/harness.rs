//! Engines on temporary folders, a clock and ids that stand still, and scripts whose transcript is checked.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use expect_test::Expect;
use loom::{Caller, Clock, Config, Engine, Identity, Ids, Role, Roles};
use loom_storage::Timestamp;
use serde_json::{Map, Value};
use tempfile::TempDir;

pub use crate::calls::{add, call, hits, ok, refused, search, uris};

/// 2026-01-01T00:00:00Z in milliseconds.
const START_MS: i64 = 1_767_225_600_000;

/// A clock that moves only when it is told to.
#[derive(Clone, Default)]
pub struct HandClock(Arc<AtomicI64>);

impl HandClock {
    /// Moves the clock.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let elapsed = Arc::clone(&self.0);
        Clock::new(move || Timestamp(START_MS + elapsed.load(Ordering::SeqCst)))
    }
}

/// A folder with an engine that can be closed and opened again.
pub struct Folder {
    pub dir: TempDir,
    pub clock: HandClock,
    ids: Arc<AtomicU64>,
}

impl Folder {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        Self { dir, clock: HandClock::default(), ids: Arc::default() }
    }

    /// The settings of its engines: ids count up, the clock stands.
    pub fn config(&self) -> Config {
        let ids = Arc::clone(&self.ids);
        Config {
            clock: self.clock.clock(),
            ids: Ids::new(move || uuid::Uuid::from_u128(u128::from(ids.fetch_add(1, Ordering::SeqCst) + 1))),
            ..Config::default()
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn open(&self) -> Engine {
        self.open_with(|_| {})
    }

    pub fn open_with(&self, set: impl FnOnce(&mut Config)) -> Engine {
        let mut config = self.config();
        set(&mut config);
        Engine::open(self.path(), config).expect("the folder opens")
    }
}

/// Whoever holds a token of the organisation `dev` with these roles.
pub fn holder(roles: &[(&str, Role)]) -> Caller {
    Caller::of(Identity {
        subject: "tester".into(),
        org: "dev".into(),
        roles: Roles::new(roles.iter().map(|(namespace, role)| (*namespace, *role))),
        agent: None,
        user_id: None,
        session_id: None,
    })
}

/// Runs a script in process and over HTTP, demands one transcript, and compares it with what is expected.
///
/// A line is `operation {json}`, `advance <ms>` or a comment after `#`.
pub fn check(script: &str, expect: &Expect) {
    let local = {
        let folder = Folder::new();
        let engine = folder.open();
        transcript(script, &folder.clock, |op, input| match engine.call(&Caller::local(), op, input) {
            Ok(answer) => answer.output,
            Err(error) => error.to_json(),
        })
    };
    let http = {
        let folder = Folder::new();
        let server = crate::server::Server::start(folder.open());
        transcript(script, &folder.clock, |op, input| server.post(op, &Value::Object(input)).1)
    };
    pretty_assertions(&local, &http);
    expect.assert_eq(&local);
}

fn pretty_assertions(local: &str, http: &str) {
    for (one, other) in local.lines().zip(http.lines()) {
        assert_eq!(one, other, "in process and over HTTP");
    }
    assert_eq!(local.lines().count(), http.lines().count(), "in process and over HTTP");
}

fn transcript(script: &str, clock: &HandClock, mut run: impl FnMut(&str, Map<String, Value>) -> Value) -> String {
    let mut transcript = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (op, input) = line.split_once(' ').unwrap_or((line, "{}"));
        if op == "advance" {
            clock.advance_ms(input.parse().expect("milliseconds"));
            continue;
        }
        let input = serde_json::from_str(input).unwrap_or_else(|error| panic!("{line}: {error}"));
        let answer = run(op, input).to_string();
        writeln!(transcript, "{}", answer.replace("00000000-0000-0000-0000-0000000000", "#")).expect("a string");
    }
    transcript
}
