//! Calls operations on a folder, or through the server that holds it.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};

use super::failure::{Failure, Refusal};
use super::settings::{Global, Identity, Place, setting};
use crate::{Caller, Config, Engine, OpenError, UploadRequest};

/// How long a command waits for another short-lived command to leave the folder.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(40);
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A batch of documents on a slow machine is the longest call there is.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);
/// The largest answer read into memory; no operation's documented limits add up to more.
const ANSWER_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// How much of a file is read at a time.
const UPLOAD_PIECE_BYTES: usize = 128 * 1024;

/// What a command does when the folder is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Makes it: the command writes.
    Create,
    /// Says that nothing was stored yet: the command reads.
    Refuse,
}

/// The engine behind a command.
pub enum Client {
    /// In this process.
    Local(Engine),
    /// In a server's.
    Http(Remote),
}

/// A server, as a client sees it.
pub struct Remote {
    base: String,
    agent: Agent,
    key: Option<String>,
    identity: Identity,
}

impl Client {
    /// Opens the folder, or connects to the server that holds it or that the settings name.
    ///
    /// A folder that another command holds is waited for a few seconds.
    pub fn open(global: &Global, identity: &Identity, missing: Missing) -> Result<Self, Failure> {
        Self::open_with(global, identity, missing, |_| {})
    }

    /// As [`Client::open`], with settings that `set` changes where the engine is in this process.
    pub fn open_with(
        global: &Global,
        identity: &Identity,
        missing: Missing,
        set: impl FnOnce(&mut Config),
    ) -> Result<Self, Failure> {
        match global.place()? {
            Place::Server(base) => Ok(Self::Http(Remote::new(&base, identity))),
            Place::Folder(folder) if missing == Missing::Refuse && !folder.exists() => Err(Failure::NoFolder(folder)),
            Place::Folder(folder) => {
                let mut config = identity.config()?;
                set(&mut config);
                Self::open_folder(&folder, &config, identity)
            }
        }
    }

    fn open_folder(folder: &Path, config: &Config, identity: &Identity) -> Result<Self, Failure> {
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            let locked = match Engine::open(folder, config.clone()) {
                Ok(engine) => return Ok(Self::Local(engine)),
                Err(locked @ OpenError::Locked { .. }) => locked,
                Err(other) => return Err(Failure::Open(other)),
            };
            if let OpenError::Locked { address: Some(address), .. } = &locked {
                let remote = Remote::new(address, identity);
                if remote.is_up() {
                    return Ok(Self::Http(remote));
                }
            }
            if Instant::now() >= deadline {
                return Err(Failure::Open(locked));
            }
            thread::sleep(LOCK_POLL);
        }
    }

    /// Calls an operation; `input` is a JSON object.
    pub fn call(&self, op: &str, input: Value) -> Result<Value, Failure> {
        let Value::Object(input) = input else {
            return Err(Failure::Usage("the input of an operation is a JSON object".into()));
        };
        match self {
            Self::Local(engine) => Ok(engine.call(&Caller::local(), op, input)?.output),
            Self::Http(remote) => remote.call(op, input),
        }
    }

    /// Uploads a file; answers what `POST /v1/knowledge.upload` does.
    pub fn upload(&self, filename: &str, content_type: &str, body: &mut dyn io::Read) -> Result<Value, Failure> {
        match self {
            Self::Local(engine) => {
                let request = UploadRequest {
                    filename: filename.to_owned(),
                    content_type: content_type.to_owned(),
                    ..UploadRequest::default()
                };
                let mut uploading = engine.begin_upload(&Caller::local(), request)?;
                let mut piece = vec![0; UPLOAD_PIECE_BYTES];
                loop {
                    let count = body.read(&mut piece).map_err(Failure::io(format!("cannot read {filename}")))?;
                    if count == 0 {
                        return Ok(serde_json::to_value(uploading.finish()?).unwrap_or_default());
                    }
                    uploading.write(&piece[..count])?;
                }
            }
            Self::Http(remote) => remote.upload(filename, content_type, body),
        }
    }

    /// The refusal of a command that needs the folder to itself, which a server has.
    pub fn served(&self) -> Result<Failure, Failure> {
        let Self::Http(remote) = self else {
            return Ok(Failure::Usage("the folder is held by no server".into()));
        };
        let state = if remote.readiness()?["ready"] == true { "it is ready" } else { "it is not ready yet" };
        Ok(Failure::Served { address: remote.address().to_owned(), state })
    }

    /// Leaves the folder in order. What was answered stays answered when that fails.
    pub fn close(self) {
        if let Self::Local(engine) = self
            && let Err(error) = engine.close()
        {
            tracing::warn!(%error, "what is searched could not be written; the next command takes longer");
        }
    }
}

impl Remote {
    fn new(base: &str, identity: &Identity) -> Self {
        let base = base.trim_end_matches('/');
        let base = if base.contains("://") { base.to_owned() } else { format!("http://{base}") };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT));
        let config = if is_loopback(&base) { config.proxy(None) } else { config };
        let agent = config.build().new_agent();
        Self { base, agent, key: setting("LOOM_API_KEY"), identity: identity.clone() }
    }

    /// The server's base address.
    pub fn address(&self) -> &str {
        &self.base
    }

    /// What `GET /readyz` says, ready or not.
    pub fn readiness(&self) -> Result<Value, Failure> {
        let mut response = self.agent.get(format!("{}/readyz", self.base)).call().map_err(|e| self.no_answer(&e))?;
        response.body_mut().read_json().map_err(|_| self.not_loom(response.status().as_u16()))
    }

    /// The server's numbers, in the text format of Prometheus.
    pub fn metrics(&self) -> Result<String, Failure> {
        let mut request = self.agent.get(format!("{}/metrics", self.base));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.call().map_err(|error| self.no_answer(&error))?;
        let status = response.status();
        if status.is_success() {
            return response.body_mut().read_to_string().map_err(|_| self.not_loom(status.as_u16()));
        }
        self.answered(response).map(|_| String::new())
    }

    /// Writes the server's backup to `to`.
    pub fn backup(&self, to: &mut impl io::Write) -> Result<(), Failure> {
        let mut response =
            self.posting("backup").send_json(Value::Object(Map::new())).map_err(|error| self.no_answer(&error))?;
        let status = response.status();
        if !status.is_success() {
            let body = response.body_mut().read_json().map_err(|_| self.not_loom(status.as_u16()))?;
            return Err(Refusal::of_answer(body).map_or_else(|| self.not_loom(status.as_u16()), Failure::Refused));
        }
        let copied = io::copy(&mut response.body_mut().as_reader(), to);
        copied.map(|_| ()).map_err(Failure::io(format!("the backup from {} broke off", self.base)))
    }

    fn upload(&self, filename: &str, content_type: &str, body: &mut dyn io::Read) -> Result<Value, Failure> {
        let mut request =
            self.posting("knowledge.upload").query("filename", filename).query("content_type", content_type);
        for (name, value) in self.identity.fields().filter(|(name, _)| *name != "agent") {
            request = request.query(name, value);
        }
        let request = request.header("content-type", "application/octet-stream");
        let response = request.send(SendBody::from_reader(body)).map_err(|error| self.no_answer(&error))?;
        self.answered(response)
    }

    fn posting(&self, route: &str) -> ureq::RequestBuilder<ureq::typestate::WithBody> {
        let request = self.agent.post(format!("{}/v1/{route}", self.base));
        match &self.key {
            Some(key) => request.header("authorization", format!("Bearer {key}")),
            None => request,
        }
    }

    fn is_up(&self) -> bool {
        let probe =
            self.agent.get(format!("{}/healthz", self.base)).config().timeout_global(Some(PROBE_TIMEOUT)).build();
        probe.call().is_ok_and(|response| response.status().is_success())
    }

    fn call(&self, op: &str, mut input: Map<String, Value>) -> Result<Value, Failure> {
        // The name becomes part of an address: one that could lead elsewhere is no operation.
        if !op.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')) {
            return Err(Failure::Usage(format!("{op:?} is no operation: `loom call --help` shows how to name one")));
        }
        let mut filled = Vec::new();
        for (name, value) in self.identity.fields() {
            if input.get(name).is_none_or(|given| given.is_null() || given == "") {
                input.insert(name.into(), value.into());
                filled.push(name);
            }
        }
        let response = self.posting(op).send_json(Value::Object(input)).map_err(|error| self.no_answer(&error))?;
        let Value::Object(answer) = self.answered(response)? else { return Ok(Value::Null) };
        Ok(Value::Object(without_ignored(answer, &filled)))
    }

    /// The object that a server answered with, or its refusal.
    fn answered(&self, mut response: Response<Body>) -> Result<Value, Failure> {
        let status = response.status();
        let body: Value = response
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES_MAX)
            .read_json()
            .map_err(|_| self.not_loom(status.as_u16()))?;
        if status.is_success() && body.is_object() {
            return Ok(body);
        }
        Err(Refusal::of_answer(body).map_or_else(|| self.not_loom(status.as_u16()), Failure::Refused))
    }

    fn no_answer(&self, error: &ureq::Error) -> Failure {
        Failure::NoAnswer { address: self.base.clone(), reason: error.to_string() }
    }

    fn not_loom(&self, status: u16) -> Failure {
        Failure::NotLoom { address: self.base.clone(), status }
    }
}

/// Takes the identity that was filled in here out of what the server ignored, as the engine does with its own.
fn without_ignored(mut answer: Map<String, Value>, filled: &[&str]) -> Map<String, Value> {
    if let Some(Value::Array(ignored)) = answer.get_mut("ignored_args") {
        ignored.retain(|name| !filled.iter().any(|filled| name == filled));
        if ignored.is_empty() {
            answer.remove("ignored_args");
        }
    }
    answer
}

fn is_loopback(base: &str) -> bool {
    let host = base.split_once("://").map_or(base, |(_, rest)| rest);
    host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]")
}
