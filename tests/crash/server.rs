//! The real process: started on a folder, called over HTTP, and killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use loom::Config;
use serde_json::Value;

/// The embedding model of a run: the built-in one, or one of the loopback endpoint's.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// As `LOOM_EMBEDDING_MODEL` has it; empty for the built-in model.
    pub model: String,
    pub base_url: String,
}

impl Embedding {
    /// The settings of an engine that opens the folder in this process.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        if !self.model.is_empty() {
            config.embedding.model.clone_from(&self.model);
            config.embedding.base_url.clone_from(&self.base_url);
        }
        config
    }
}

/// A server in a process of its own, which is killed when this goes.
pub struct Server {
    child: Child,
    pub base: String,
}

impl Server {
    pub fn start(folder: &Path, embedding: &Embedding) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loom"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LOOM_")) {
            command.env_remove(name);
        }
        command.env("LOOM_EMBEDDING_MODEL", &embedding.model).env("LOOM_EMBEDDING_BASE_URL", &embedding.base_url);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("the server said {line:?}"));
        Self { base: base.to_owned(), child }
    }

    /// Tells it to end in its own way, which writes the projections.
    pub fn ask_to_end(&self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
    }

    /// Ends it without a word.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.end();
        }
    }
}

/// One caller's connection.
pub struct Client {
    agent: ureq::Agent,
    base: String,
}

impl Client {
    pub fn new(base: &str) -> Self {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        Self { agent, base: base.to_owned() }
    }

    /// The answer, or `None` when the server did not give one.
    pub fn post(&self, op: &str, input: &Value) -> Option<Value> {
        let mut response = self.agent.post(format!("{}/v1/{op}", self.base)).send_json(input).ok()?;
        response.body_mut().read_json().ok()
    }

    /// What an upload answers, or `None` when the server did not answer.
    pub fn upload(&self, filename: &str, bytes: &[u8]) -> Option<Value> {
        let request = self.agent.post(format!("{}/v1/knowledge.upload", self.base)).query("filename", filename);
        let mut response = request.header("content-type", "application/octet-stream").send(bytes).ok()?;
        response.body_mut().read_json().ok()
    }

    /// What answers a request without fields by a stream, or `None` when the server does not answer.
    pub fn stream(&self, path: &str) -> Option<ureq::http::Response<ureq::Body>> {
        self.agent.post(format!("{}/v1/{path}", self.base)).send_json(serde_json::json!({})).ok()
    }
}
