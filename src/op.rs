//! What an operation is, and what is done around every one of them: decoding, identity, snapshot, commit,
//! waiting until the write is searchable, audit and encoding.

use std::time::Instant;

use loom_storage::{Batch, Committed};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::access::{self, Addresses, Caller};
use crate::context::{Planning, Reading};
use crate::deadline::Deadline;
use crate::disk;
use crate::engine::Engine;
use crate::error::Error;

/// The least role that may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May read.
    Viewer,
    /// May also write.
    Writer,
    /// May also curate.
    Admin,
}

impl Role {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Writer => "writer",
            Self::Admin => "admin",
        }
    }
}

/// What calling an operation again does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It changes nothing.
    Read,
    /// Repeating it leaves the same state.
    Idempotent,
    /// Repeating it may do more.
    Write,
}

/// The facts of an operation, from which routes, `OpenAPI`, `GET /v1/ops` and the command line derive.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Facts {
    /// Its name, such as `knowledge.upsert`.
    pub name: &'static str,
    /// The least role that may call it.
    pub role: Role,
    /// What calling it again does.
    pub kind: Kind,
    /// Whether each call leaves an audit record.
    pub audited: bool,
    /// Whether the MCP toolset `all` lists it.
    pub mcp_all_listed: bool,
    /// One sentence: what it does.
    pub summary: &'static str,
}

/// An operation that only reads. Nothing it is given can write.
pub trait Query {
    /// The fields it takes.
    type Input: DeserializeOwned + JsonSchema;
    /// The fields it answers.
    type Output: Serialize + JsonSchema;
    /// Its facts.
    const FACTS: Facts;
    /// What its role is needed in.
    const ADDRESSES: Addresses = Addresses::Namespace;
    /// Answers from one snapshot.
    fn answer(reading: &Reading<'_>, input: Self::Input) -> Result<Self::Output, Error>;
}

/// An operation that writes: it turns a snapshot and an input into one batch, which is committed for it.
pub trait Command {
    /// The fields it takes.
    type Input: DeserializeOwned + JsonSchema;
    /// The fields it answers.
    type Output: Serialize + JsonSchema;
    /// Its facts.
    const FACTS: Facts;
    /// What its role is needed in.
    const ADDRESSES: Addresses = Addresses::Namespace;
    /// Plans the one batch to commit.
    fn plan(planning: &Planning<'_>, input: &Self::Input) -> Result<Plan<Self::Output>, Error>;
}

/// What a command wants committed, and how to answer once it is.
pub struct Plan<Output> {
    /// The batch; an empty one commits nothing.
    pub batch: Batch,
    /// Makes the answer of what the commit did.
    pub answer: Box<dyn FnOnce(&Committed) -> Output>,
    /// What the audit record of an audited operation says, beside the operation and its writer.
    pub audit: Value,
}

/// An operation's answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The output object; `ignored_args` names unknown input fields when there were any.
    pub output: Value,
    /// Where the time went, in milliseconds, by stage.
    pub timings: Vec<(&'static str, f64)>,
}

/// The most unknown input fields that an answer names.
const IGNORED_MAX: usize = 100;
/// How often a command is planned anew because a control record changed under it.
const PLAN_ATTEMPTS_MAX: u32 = 8;

type Run = fn(&Engine, &Caller, Call) -> Result<Answer, Error>;

/// The namespace that a call addresses, as it names it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub org: String,
    pub namespace: String,
}

impl Place {
    fn of(input: &Map<String, Value>) -> Self {
        let text = |field| input.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { org: text("org"), namespace: text("namespace") }
    }
}

/// An admitted call.
struct Call {
    /// Its input, with the identity fields filled in.
    input: Map<String, Value>,
    /// The identity fields that the call did not say itself.
    filled: Vec<&'static str>,
}

/// One operation of the registry.
#[derive(Clone, Copy)]
pub struct Spec {
    /// Its facts.
    pub facts: Facts,
    /// What its role is needed in.
    pub addresses: Addresses,
    run: Run,
    input: fn() -> Schema,
    output: fn() -> Schema,
}

impl Spec {
    /// The spec of a query.
    pub const fn query<Q: Query>() -> Self {
        Self {
            facts: Q::FACTS,
            addresses: Q::ADDRESSES,
            run: run_query::<Q>,
            input: input_schema::<Q::Input>,
            output: output_schema::<Q::Output>,
        }
    }

    /// The spec of a command.
    pub const fn command<C: Command>() -> Self
    where
        C::Output: 'static,
    {
        Self {
            facts: C::FACTS,
            addresses: C::ADDRESSES,
            run: run_command::<C>,
            input: input_schema::<C::Input>,
            output: output_schema::<C::Output>,
        }
    }

    /// Runs the operation.
    pub fn run(&self, engine: &Engine, caller: &Caller, mut input: Map<String, Value>) -> Result<Answer, Error> {
        let admitted = access::admit(engine, caller, &self.facts, self.addresses, &mut input);
        let asked = Place::of(&input);
        let answered = admitted.and_then(|filled| (self.run)(engine, caller, Call { input, filled }));
        answered.inspect_err(|error| engine.note_refusal(caller, error, self.facts.name, &asked.namespace))
    }

    /// The JSON Schema of its input, references resolved inside `#/components/schemas`.
    pub fn input_schema(&self) -> Schema {
        (self.input)()
    }

    /// The JSON Schema of its output, references resolved inside `#/components/schemas`.
    pub fn output_schema(&self) -> Schema {
        (self.output)()
    }
}

fn input_schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

fn output_schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn run_query<Q: Query>(engine: &Engine, caller: &Caller, call: Call) -> Result<Answer, Error> {
    let (input, ignored) = decode::<Q::Input>(call)?;
    let reading = engine.reading(caller, Deadline::of(Q::FACTS.kind, engine.config()))?;
    let output = Q::answer(&reading, input)?;
    encode(&output, &ignored, reading.timings())
}

fn run_command<C: Command>(engine: &Engine, caller: &Caller, call: Call) -> Result<Answer, Error>
where
    C::Output: 'static,
{
    let place = Place::of(&call.input);
    let (input, ignored) = decode::<C::Input>(call)?;
    let deadline = Deadline::of(C::FACTS.kind, engine.config());
    for attempt in 1.. {
        let planning = engine.planning(caller, deadline.clone())?;
        let Plan { mut batch, answer, audit } = C::plan(&planning, &input)?;
        if C::FACTS.audited {
            batch.writes.push(planning.audit_record(C::FACTS.name, &place, &audit)?);
        }
        if let Some(bytes) = disk::bytes(&batch) {
            engine.inner().disk.admit(bytes)?;
        }
        // Past this the batch is written, however long that takes.
        planning.check_deadline()?;
        let started = Instant::now();
        let committed = match engine.commit(batch) {
            // The namespace's embedding model changed under the plan, which says nothing about the document.
            Err(loom_storage::Error::RecordConflict { .. }) if attempt < PLAN_ATTEMPTS_MAX => continue,
            committed => committed?,
        };
        let mut timings = planning.timings();
        timings.push(("store", started.elapsed().as_secs_f64() * 1e3));
        return encode(&answer(&committed), &ignored, timings);
    }
    unreachable!("the loop ends with an answer or an error")
}

/// Decodes the input; returns the names of unknown fields too.
fn decode<T: DeserializeOwned>(Call { input, filled }: Call) -> Result<(T, Vec<String>), Error> {
    let mut ignored = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(Value::Object(input), &mut track);
    let decoded = serde_ignored::deserialize(tracked, |path| {
        if ignored.len() < IGNORED_MAX {
            ignored.push(field_path(&path.to_string()));
        }
    });
    ignored.retain(|name| !filled.contains(&name.as_str()));
    match decoded {
        Ok(decoded) => Ok((decoded, ignored)),
        Err(error) => {
            let path = track.path().to_string();
            let missing = error.to_string();
            let field = missing
                .strip_prefix("missing field `")
                .and_then(|rest| rest.split('`').next())
                .map_or_else(|| path.clone(), |name| if path == "." { name.into() } else { format!("{path}.{name}") });
            Err(Error::invalid(field.clone(), format!("{field}: {error}; see GET /openapi.json for the fields")))
        }
    }
}

/// `entries.3.source_uri` as `entries[3].source_uri`.
fn field_path(dotted: &str) -> String {
    let mut path = String::new();
    for part in dotted.split('.').filter(|part| *part != "?") {
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !path.is_empty() {
            path.push('[');
            path.push_str(part);
            path.push(']');
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(part);
        }
    }
    path
}

fn encode<T: Serialize>(output: &T, ignored: &[String], timings: Vec<(&'static str, f64)>) -> Result<Answer, Error> {
    let mut output = serde_json::to_value(output).map_err(Error::internal)?;
    if !ignored.is_empty()
        && let Value::Object(fields) = &mut output
    {
        fields.insert("ignored_args".into(), json!(ignored));
    }
    Ok(Answer { output, timings })
}
