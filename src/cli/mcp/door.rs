//! What is behind the agents of this process: the folder, or the server that holds it, opened while the first messages come.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::super::client::{Client, Missing};
use super::super::failure::Failure;
use super::super::settings::{Global, Identity};
use crate::access::Caller;
use crate::http::{self, Pool};
use crate::mcp::{Calls, Done, Work, refusal};
use crate::op::Kind;
use crate::{Config, Error, ops};

/// The address that this process is reached at by others that want the folder; port 0 takes a free one.
const LISTEN: &str = "127.0.0.1:0";

/// The folder or its server. It is opened when it is first needed, and again when its server is gone.
pub struct Door {
    global: Global,
    identity: Identity,
    config: Config,
    pool: Pool,
    open: Mutex<Option<Arc<Open>>>,
}

struct Open {
    client: Client,
    /// Lets other commands and agents at the folder while this process holds it.
    shared: Option<http::Running>,
}

impl Door {
    /// A door that is still shut.
    pub fn new(global: &Global, identity: &Identity, config: Config) -> Self {
        let pool = Pool::new(&config.http);
        Self { global: global.clone(), identity: identity.clone(), config, pool, open: Mutex::new(None) }
    }

    /// Opens it, unless it is open. One that fails is tried again by the next call.
    pub fn open(&self) -> Result<(), Failure> {
        self.opened().map(|_| ())
    }

    /// Leaves the folder in order. One that is still being opened has nothing to leave.
    pub fn close(&self) {
        let Some(open) = self.open.try_lock().and_then(|mut open| open.take()).and_then(Arc::into_inner) else {
            return;
        };
        if let Some(shared) = open.shared
            && let Err(error) = shared.stop()
        {
            tracing::warn!(%error, "the door for other commands did not close cleanly");
        }
        open.client.close();
    }

    fn opened(&self) -> Result<Arc<Open>, Failure> {
        let mut slot = self.open.lock();
        if let Some(open) = slot.as_ref() {
            return Ok(Arc::clone(open));
        }
        let client = Client::open(&self.global, &self.identity, Missing::Create)?;
        let shared = match &client {
            Client::Local(engine) => http::start(engine.clone(), LISTEN)
                .inspect_err(|error| tracing::warn!(%error, "other commands cannot use the folder meanwhile"))
                .ok(),
            Client::Http(_) => None,
        };
        Ok(Arc::clone(slot.insert(Arc::new(Open { client, shared }))))
    }

    /// Forgets a server that gives no answer, so that the next call looks for who holds the folder now.
    fn forget(&self, gone: &Arc<Open>) {
        let mut slot = self.open.lock();
        if slot.as_ref().is_some_and(|open| Arc::ptr_eq(open, gone)) {
            *slot = None;
        }
    }

    fn run(&self, op: &str, input: Map<String, Value>) -> Result<Value, Failure> {
        let open = self.opened()?;
        // What writes may have been done before the answer was lost.
        let again = ops::find(op).is_some_and(|spec| spec.facts.kind == Kind::Read).then(|| input.clone());
        match open.client.call(op, Value::Object(input)) {
            Err(gone @ Failure::NoAnswer { .. }) => {
                self.forget(&open);
                match again {
                    Some(input) => self.opened()?.client.call(op, Value::Object(input)),
                    None => Err(gone),
                }
            }
            answered => answered,
        }
    }
}

impl Calls for Door {
    fn call(&self, op: &str, input: Map<String, Value>) -> Result<Value, Value> {
        self.run(op, input).map_err(|failure| match failure.to_json() {
            Some(mut error) => error["error"].take(),
            None => refusal(&Error::internal(failure.to_string())),
        })
    }

    fn admit<'calls>(&'calls self, org: &str, namespace: &str, work: Work) -> Done<'calls> {
        let lane = http::lane(&self.config, &Caller::local(), org, namespace);
        Box::pin(async move { self.pool.run(&lane, work).await.map_err(|error| refusal(&error)) })
    }
}
