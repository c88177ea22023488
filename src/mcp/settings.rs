//! What agents are shown.

use crate::config::number;
use crate::error::Error;

/// Which tools are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Toolset {
    /// The few that an agent needs for looking things up and noting them down.
    #[default]
    Default,
    /// Also each operation that the registry lists for agents.
    All,
}

/// What agents are shown.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// Which tools are listed: `LOOM_MCP_TOOLSET`, `default` or `all`.
    pub toolset: Toolset,
    /// Whether only what reads is offered: `LOOM_MCP_READ_ONLY`, `true` or `false` (default).
    pub read_only: bool,
    /// The similarity below which `loom_search` leaves a passage out that no word and no name of the query is in:
    /// `LOOM_MCP_LOOM_SEARCH_KNOWLEDGE_MIN_SIMILARITY`, default 0.30, from where on a passage counts as close.
    pub similarity_min: f64,
    /// The tokens that an answer of `loom_search` may take when the call does not say: `LOOM_MCP_LOOM_SEARCH_MAX_TOKENS`,
    /// default 4,000.
    pub search_tokens: u32,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { toolset: Toolset::Default, read_only: false, similarity_min: 0.30, search_tokens: 4_000 }
    }
}

impl McpSettings {
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        let given = |name: &str| lookup(name).map(|given| given.trim().to_owned()).filter(|given| !given.is_empty());
        if let Some(toolset) = given("LOOM_MCP_TOOLSET") {
            self.toolset = match toolset.as_str() {
                "default" => Toolset::Default,
                "all" => Toolset::All,
                other => return Err(wrong("LOOM_MCP_TOOLSET", other, "default or all")),
            };
        }
        if let Some(read_only) = given("LOOM_MCP_READ_ONLY") {
            self.read_only = match read_only.as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                other => return Err(wrong("LOOM_MCP_READ_ONLY", other, "true or false")),
            };
        }
        let name = "LOOM_MCP_LOOM_SEARCH_KNOWLEDGE_MIN_SIMILARITY";
        if let Some(least) = given(name) {
            let parsed = least.parse().ok().filter(|least| (-1.0..=1.0).contains(least));
            self.similarity_min = parsed.ok_or_else(|| wrong(name, &least, "a number from -1 to 1"))?;
        }
        number(lookup, "LOOM_MCP_LOOM_SEARCH_MAX_TOKENS", &mut self.search_tokens, 100)
    }
}

fn wrong(name: &str, given: &str, what: &str) -> Error {
    Error::invalid(name, format!("the setting {name} is {given:?}: it must be {what}"))
}
