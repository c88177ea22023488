//! `loom config`: each setting and where it comes from.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::json;

use super::failure::Failure;
use super::screen::{Screen, harmless};
use super::settings::{self, Origin};
use crate::Config;

/// Settings that the command line reads and the engine does not.
const COMMAND_LINE: [&str; 10] = [
    "LOOM_API_KEY",
    "LOOM_BASE_URL",
    "LOOM_CONFIG",
    "LOOM_DATA",
    "LOOM_EXTRACTOR_TOKEN",
    "LOOM_LISTEN",
    "LOOM_LOG",
    "LOOM_LOG_FORMAT",
    "LOOM_JWT_SECRET",
    "LOOM_JWT_SECRET_OLD",
];
/// Settings that tests and benchmarks of this project read.
const OF_TESTS: [&str; 4] = ["LOOM_CRASH_", "LOOM_FUZZ_", "LOOM_HISTORY_", "LOOM_CHURN_"];
/// Parts of names whose values are never printed.
const SECRET: [&str; 5] = ["KEY", "SECRET", "TOKEN", "JSON", "PASSWORD"];

/// Show each setting and where it comes from
#[derive(clap::Args)]
pub struct Args {
    /// Also the settings that nobody gave
    #[arg(long)]
    all: bool,
}

pub fn run(args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let known = known();
    let mut shown = BTreeMap::new();
    for name in &known {
        match settings::find(name) {
            Some((value, origin)) => {
                let value = if is_secret(name) { "(hidden)".to_owned() } else { value };
                shown.insert(name.clone(), (Some(value), origin.name()));
            }
            None if args.all => {
                shown.insert(name.clone(), (None, "default"));
            }
            None => {}
        }
    }
    let (unknown, file) = (unknown(&known), settings::file());
    if screen.is_json() {
        let rows: Vec<_> = shown
            .iter()
            .map(|(name, (value, origin))| json!({ "name": name, "value": value, "origin": origin }))
            .collect();
        return screen.json(&json!({ "settings": rows, "unknown": unknown, "file": file }));
    }
    for (name, (value, origin)) in &shown {
        let value = value.as_deref().map_or_else(|| screen.faint("(default)"), harmless);
        screen.line(format!("{} = {value}  {}", screen.strong(name), screen.faint(origin)))?;
    }
    if shown.is_empty() {
        screen.line(screen.faint("every setting has its default; --all lists their names"))?;
    }
    if let Some(file) = file {
        screen.line(screen.faint(&format!("the file of settings is {}", file.display())))?;
    }
    for name in unknown {
        screen.line(format!("{}: no setting has this name", screen.strong(&name)))?;
    }
    // What is wrong with one is said last, after all are shown.
    Config::from_lookup(&settings::setting)?;
    Ok(())
}

/// Says in the log which settings were given that nobody reads.
pub fn warn_of_unknown() {
    for name in unknown(&known()) {
        tracing::warn!(name, "no setting has this name: `loom config --all` lists those there are");
    }
}

/// The names of all settings: those that reading them asks for.
fn known() -> Vec<String> {
    let asked = RefCell::new(COMMAND_LINE.map(str::to_owned).to_vec());
    // Nothing is set here, so nothing can be wrong.
    let read = Config::from_lookup(&|name| {
        asked.borrow_mut().push(name.to_owned());
        None
    });
    if let Err(error) = read {
        tracing::debug!(%error, "the defaults are refused");
    }
    let mut known = asked.into_inner();
    known.sort();
    known.dedup();
    known
}

fn unknown(known: &[String]) -> Vec<String> {
    let is_unknown = |name: &String| {
        name.starts_with("LOOM_") && !known.contains(name) && !OF_TESTS.iter().any(|start| name.starts_with(start))
    };
    settings::given().into_iter().filter(is_unknown).collect()
}

fn is_secret(name: &str) -> bool {
    name.split('_').any(|part| SECRET.contains(&part))
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::File => "file",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_known_and_secrets_are_told_apart() {
        let known = known();
        for name in ["LOOM_ORG", "LOOM_HTTP_WORKERS", "LOOM_AUTH", "LOOM_LISTEN", "LOOM_MCP_TOOLSET"] {
            assert!(known.iter().any(|known| known == name), "{name}");
        }
        for secret in ["LOOM_JWT_SECRET", "LOOM_API_KEY", "LOOM_EMBEDDING_API_KEY", "LOOM_RERANK_ENDPOINTS_JSON"] {
            assert!(is_secret(secret), "{secret}");
        }
        assert!(!is_secret("LOOM_KNOWLEDGE_MAX_CHUNKS"));
    }
}
