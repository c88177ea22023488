//! The tools: which there are, how they are described, what is hidden.

use std::sync::{Arc, OnceLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::advice::refused;
use super::calls::object;
use super::settings::{McpSettings, Toolset};
use super::unified;
use crate::op::{Kind, Spec};
use crate::ops;

/// Operations that no agent reaches: search and the reads ledger have `loom_search` in their place; keys, and what nothing brings
/// back, stay with people.
const HIDDEN: [&str; 6] =
    ["knowledge.search", "knowledge.reads", "token.create", "token.list", "token.revoke", "erasure.request"];
/// The operations that the default toolset lists.
const DEFAULT: [&str; 5] =
    ["knowledge.get", "knowledge.outline", "knowledge.add", "knowledge.upsert", "knowledge.list"];
/// Fields that a tool does not show: the identity of the process or the token fills them.
const IDENTITY: [&str; 4] = ["org", "agent", "session_id", "user_id"];
/// Fields that the tools of the default toolset leave to `loom_op`.
const RARE: [&str; 5] =
    ["original_bytes_b64", "original_filename", "blob_content_type", "source_class", "include_superseded"];

/// How much of a tool's name a message repeats.
const TOOL_SHOWN_CHARS: usize = 80;

/// The tools that a server offers. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    settings: McpSettings,
    tools: Arc<OnceLock<Vec<Tool>>>,
}

impl Registry {
    /// As the settings say.
    pub fn new(settings: McpSettings) -> Self {
        Self { settings, tools: Arc::default() }
    }

    /// The settings.
    pub fn settings(&self) -> &McpSettings {
        &self.settings
    }

    /// The tools in the order in which they are listed.
    pub fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| {
            let listed = ops::ALL.iter().filter(|spec| self.is_listed(spec));
            [unified::tool(), op_tool(self.settings.read_only)].into_iter().chain(listed.map(tool)).collect()
        })
    }

    /// The operation behind a tool's name, listed or not; an error is the API's error object.
    pub(super) fn op_of(&self, tool: &str) -> Result<&'static Spec, Value> {
        let named =
            |spec: &&Spec| tool.strip_prefix("loom_").is_some_and(|name| name == spec.facts.name.replace('.', "_"));
        let Some(spec) = ops::ALL.iter().find(named) else {
            let shown: String = tool.chars().take(TOOL_SHOWN_CHARS).collect();
            return Err(refused("UNKNOWN_OP", &format!("there is no tool {shown:?}: tools/list names them")));
        };
        self.op(spec.facts.name)
    }

    /// The operation of that name; an error is the API's error object.
    pub(super) fn op(&self, op: &str) -> Result<&'static Spec, Value> {
        let Some(spec) = ops::find(op) else {
            return Err(refused("UNKNOWN_OP", &format!("{}; loom_op without arguments lists all", ops::no_such(op))));
        };
        if HIDDEN.contains(&op) {
            let instead = match op {
                "knowledge.search" => "use loom_search, whose knowledge section is this search",
                "knowledge.reads" => "what was read is for people, who call it as POST /v1/knowledge.reads",
                "erasure.request" => "a person erases with `loom erase`",
                _ => "a person makes keys with `loom token`",
            };
            return Err(refused("FORBIDDEN", &format!("{op} is not for agents: {instead}")));
        }
        if self.is_reachable(spec) {
            Ok(spec)
        } else {
            Err(refused("FORBIDDEN", &format!("{op} writes, and this server lets agents only read")))
        }
    }

    /// The operations that `loom_op` reaches, each with what it does.
    pub fn reachable(&self) -> Vec<Value> {
        let reachable = ops::ALL.iter().filter(|spec| self.is_reachable(spec));
        reachable
            .map(|spec| json!({ "op": spec.facts.name, "summary": spec.facts.summary, "kind": spec.facts.kind }))
            .collect()
    }

    fn is_reachable(&self, spec: &Spec) -> bool {
        !HIDDEN.contains(&spec.facts.name) && (!self.settings.read_only || spec.facts.kind == Kind::Read)
    }

    fn is_listed(&self, spec: &Spec) -> bool {
        let in_toolset =
            DEFAULT.contains(&spec.facts.name) || (self.settings.toolset == Toolset::All && spec.facts.mcp_all_listed);
        in_toolset && self.is_reachable(spec)
    }
}

fn tool(spec: &Spec) -> Tool {
    let facts = &spec.facts;
    let mut input = plain(spec.input_schema().to_value(), true);
    if let Some(fields) = input.get_mut("properties").and_then(Value::as_object_mut) {
        fields.retain(|name, _| !IDENTITY.contains(&name.as_str()) && !RARE.contains(&name.as_str()));
    }
    input.remove("description");
    keep_used_definitions(&mut input);
    let annotations = ToolAnnotations::new()
        .read_only(facts.kind == Kind::Read)
        .destructive(is_destructive(facts.name))
        .idempotent(facts.kind != Kind::Write)
        .open_world(false);
    Tool::new(format!("loom_{}", facts.name.replace('.', "_")), facts.summary, input)
        .with_raw_output_schema(Arc::new(output(spec)))
        .with_annotations(annotations)
}

/// Whether an operation takes something away or replaces it.
pub(super) fn is_destructive(op: &str) -> bool {
    let verb = op.rsplit('.').next().unwrap_or(op);
    [
        "delete",
        "bulk_delete",
        "upsert",
        "remove",
        "request",
        "dedup_resolve",
        "update_metadata",
        "rotate",
        "revoke",
        "ingest_cancel",
    ]
    .contains(&verb)
        || (op.starts_with("knowledge.") && matches!(verb, "add" | "bulk_add"))
}

/// A schema as an agent needs it: without what only validators and generators read. Of an input, what may be null may also be
/// left out.
fn plain(schema: Value, is_input: bool) -> JsonObject {
    fn strip(value: &mut Value, in_properties: bool, is_input: bool) {
        match value {
            Value::Object(fields) => {
                if !in_properties {
                    fields.retain(|name, value| {
                        let is_noise = matches!(name.as_str(), "$schema" | "format" | "minimum" | "maximum")
                            || (name == "title" && value.is_string())
                            || (name == "default" && is_plain_default(value));
                        !is_noise
                    });
                    if is_input {
                        nullable(fields);
                    }
                }
                for (name, value) in fields {
                    strip(value, !in_properties && matches!(name.as_str(), "properties" | "$defs"), is_input);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| strip(item, false, is_input)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut schema = schema;
    strip(&mut schema, false, is_input);
    object(schema)
}

/// Drops the definitions that no field refers to any more.
fn keep_used_definitions(schema: &mut JsonObject) {
    let Some(Value::Object(mut definitions)) = schema.remove("$defs") else { return };
    let mut used = Map::new();
    // What a used definition refers to is used too.
    loop {
        let text = format!("{}{}", json!(schema), json!(used));
        let is_named = |name: &String| text.contains(&format!("\"#/$defs/{name}\""));
        let Some(name) = definitions.keys().find(|name| is_named(name)).cloned() else { break };
        if let Some(definition) = definitions.remove(&name) {
            used.insert(name, definition);
        }
    }
    if !used.is_empty() {
        schema.insert("$defs".into(), used.into());
    }
}

/// Defaults that say what leaving the field out says.
fn is_plain_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(given) => !given,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    }
}

/// `["string", "null"]` is `"string"` for whoever may leave the field out.
fn nullable(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get("type")
        && let [one, Value::String(null)] = types.as_slice()
        && null == "null"
    {
        let one = one.clone();
        fields.insert("type".into(), one);
    }
}

fn output(spec: &Spec) -> JsonObject {
    let mut schema = plain(spec.output_schema().to_value(), false);
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let ignored = json!({ "type": "array", "items": { "type": "string" }, "description": "Unknown input fields." });
        fields.insert("ignored_args".into(), ignored);
    }
    schema
}

fn op_tool(read_only: bool) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "op": { "type": "string", "description": "The operation; without it the answer lists all." },
            "args": { "type": "object", "description": "Its input; without it the answer is the input's schema." },
        },
    });
    let description = if read_only {
        "Any other operation that reads: history, formats, namespaces, findings and more. Call it without arguments for the \
         list."
    } else {
        "Any other operation: delete, restore, edit metadata, history, ingest, namespaces and more. Call it without \
         arguments for the list."
    };
    let annotations =
        ToolAnnotations::new().read_only(read_only).destructive(!read_only).idempotent(read_only).open_world(false);
    Tool::new("loom_op", description, plain(input, true))
        .with_raw_output_schema(Arc::new(object(json!({ "type": "object" }))))
        .with_annotations(annotations)
}

/// The answer of `loom_op` that describes an operation.
pub(super) fn described(spec: &Spec) -> Value {
    json!({
        "op": spec.facts.name, "summary": spec.facts.summary, "role": spec.facts.role, "kind": spec.facts.kind,
        "args": plain(spec.input_schema().to_value(), true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(toolset: Toolset, read_only: bool) -> Registry {
        Registry::new(McpSettings { toolset, read_only, ..McpSettings::default() })
    }

    fn names(registry: &Registry) -> Vec<String> {
        registry.tools().iter().map(|tool| tool.name.to_string()).collect()
    }

    #[test]
    fn the_default_toolset_is_small_in_number_and_in_tokens() {
        let registry = registry(Toolset::Default, false);
        assert_eq!(
            names(&registry),
            [
                "loom_search",
                "loom_op",
                "loom_knowledge_add",
                "loom_knowledge_get",
                "loom_knowledge_list",
                "loom_knowledge_outline",
                "loom_knowledge_upsert",
            ]
        );
        let bytes: usize = registry
            .tools()
            .iter()
            .map(|tool| {
                let description = tool.description.as_deref().unwrap_or_default();
                tool.name.len() + description.len() + Value::Object((*tool.input_schema).clone()).to_string().len()
            })
            .sum();
        // A quarter of the bytes: about a tenth more than tokenizers in common use count of these schemas.
        assert!(bytes.div_ceil(4) <= 1_800, "{} tokens", bytes.div_ceil(4));
    }

    #[test]
    fn what_is_hidden_is_neither_listed_nor_reached() {
        let registry = registry(Toolset::All, false);
        for hidden in HIDDEN {
            let tool = format!("loom_{}", hidden.replace('.', "_"));
            assert!(!names(&registry).contains(&tool), "{hidden}");
            for refused in [registry.op(hidden), registry.op_of(&tool)] {
                let error = refused.err().expect("it is hidden");
                assert!(error["message"].as_str().is_some_and(|why| why.contains("not for agents")), "{error}");
            }
        }
        for spec in ops::ALL.iter().filter(|spec| spec.facts.mcp_all_listed && !HIDDEN.contains(&spec.facts.name)) {
            assert!(names(&registry).contains(&format!("loom_{}", spec.facts.name.replace('.', "_"))));
        }
        assert!(registry.op("knowledge.delete").is_ok() && registry.op_of("loom_knowledge_delete").is_ok());
        let error = registry.op("knowledge.delet").err().expect("there is none");
        assert_eq!(error["code"], "UNKNOWN_OP");
        assert!(error["message"].as_str().is_some_and(|why| why.contains("knowledge.delete")), "{error}");
    }

    #[test]
    fn a_server_that_only_reads_offers_nothing_that_writes() {
        let registry = registry(Toolset::All, true);
        for tool in registry.tools() {
            assert_eq!(tool.annotations.as_ref().and_then(|hints| hints.read_only_hint), Some(true), "{}", tool.name);
        }
        for refused in [registry.op("knowledge.delete"), registry.op_of("loom_knowledge_add")] {
            assert_eq!(refused.err().expect("it writes")["code"], "FORBIDDEN");
        }
        assert!(registry.op("knowledge.get").is_ok() && registry.op_of("loom_knowledge_get").is_ok());
        assert!(registry.reachable().iter().all(|op| op["kind"] == "read"));
    }

    #[test]
    fn every_schema_stands_by_itself() {
        for tool in registry(Toolset::All, false).tools() {
            for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()].into_iter().flatten() {
                assert_eq!(schema.get("type"), Some(&json!("object")), "{}", tool.name);
                let text = Value::Object((**schema).clone()).to_string();
                assert!(!text.contains("#/components"), "{}", tool.name);
                let defined = schema.get("$defs").and_then(Value::as_object);
                for name in text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
                    assert!(defined.is_some_and(|defined| defined.contains_key(name)), "{} {name}", tool.name);
                }
            }
        }
    }
}
