//! What every command is told: where the documents are, whose they are, and how to print.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;
use directories::ProjectDirs;

use super::failure::Failure;
use crate::Config;

/// The options that every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "The data folder [env: LOOM_DATA] [default: the platform's folder for application data]"
    )]
    pub data: Option<PathBuf>,
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "Use the server at this address instead of a folder [env: LOOM_BASE_URL; its key: LOOM_API_KEY]"
    )]
    pub server: Option<String>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
}

/// Whose documents a command works on.
#[derive(Args, Clone, Debug, Default)]
pub struct Identity {
    /// The namespace
    #[arg(long, env = "LOOM_NAMESPACE", value_name = "NAME", hide_env_values = true)]
    pub namespace: Option<String>,
    /// The organisation
    #[arg(long, env = "LOOM_ORG", value_name = "NAME", hide = true)]
    pub org: Option<String>,
    #[arg(skip = setting("LOOM_AGENT"))]
    agent: Option<String>,
}

/// Where the documents are.
pub enum Place {
    /// In a folder of this machine.
    Folder(PathBuf),
    /// Behind a server.
    Server(String),
}

impl Global {
    /// Where the documents are: what the command line names goes before what the environment names, and a server
    /// before a folder.
    pub fn place(&self) -> Result<Place, Failure> {
        match (&self.server, &self.data) {
            (Some(_), Some(_)) => Err(Failure::Usage("--server and --data exclude each other: give one".into())),
            (Some(server), None) => Ok(Place::Server(server.clone())),
            (None, Some(_)) => self.folder().map(Place::Folder),
            (None, None) => match setting("LOOM_BASE_URL") {
                Some(server) => Ok(Place::Server(server)),
                None => self.folder().map(Place::Folder),
            },
        }
    }

    /// The data folder.
    pub fn folder(&self) -> Result<PathBuf, Failure> {
        self.data
            .clone()
            .or_else(|| env::var_os("LOOM_DATA").filter(|folder| !folder.is_empty()).map(PathBuf::from))
            .or_else(|| setting("LOOM_DATA").map(PathBuf::from))
            .or_else(|| ProjectDirs::from("", "", "loom").map(|folders| folders.data_dir().to_path_buf()))
            .ok_or_else(|| Failure::Usage("this account has no home folder: name a data folder with --data DIR".into()))
    }
}

impl Identity {
    /// The identity fields that were given, by the name that operations have for them.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("org", &self.org), ("namespace", &self.namespace), ("agent", &self.agent)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    /// The engine's settings, in which this identity is the default.
    pub fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::from_lookup(&setting)?;
        config.extraction.program = program();
        for (name, value) in self.fields() {
            match name {
                "org" => config.org = value.into(),
                "namespace" => config.namespace = value.into(),
                _ => config.agent = value.into(),
            }
        }
        Ok(config)
    }
}

/// This program, which is run to read files; none where the system does not tell it.
pub fn program() -> Option<PathBuf> {
    env::current_exe()
        .inspect_err(|error| tracing::warn!(%error, "no file can be read: this program is not known"))
        .ok()
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The environment, which goes before the file.
    Environment,
    /// The file of settings.
    File,
}

/// A setting of the environment or the file; an empty one counts as unset.
pub fn setting(name: &str) -> Option<String> {
    find(name).map(|(value, _)| value)
}

/// A setting and where it comes from.
pub fn find(name: &str) -> Option<(String, Origin)> {
    let given = |value: &String| !value.is_empty();
    let environment = env::var(name).ok().filter(given).map(|value| (value, Origin::Environment));
    environment.or_else(|| Some((in_file().get(name).filter(|value| given(value))?.clone(), Origin::File)))
}

/// The names of all that is given, whoever reads it.
pub fn given() -> BTreeSet<String> {
    let environment = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    environment.chain(in_file().keys().cloned()).collect()
}

/// The file of settings, when there is one: `LOOM_CONFIG`, or `settings.env` in the platform's folder for configuration.
pub fn file() -> Option<PathBuf> {
    let named = env::var_os("LOOM_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from);
    let usual = || ProjectDirs::from("", "", "loom").map(|folders| folders.config_dir().join("settings.env"));
    named.or_else(usual).filter(|file| file.is_file())
}

/// What the file of settings says; read once.
fn in_file() -> &'static BTreeMap<String, String> {
    static READ: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    READ.get_or_init(|| {
        let Some(file) = file() else { return BTreeMap::new() };
        match fs::read_to_string(&file) {
            Ok(text) => parse(&text),
            Err(error) => {
                tracing::error!(file = %file.display(), %error, "the file of settings cannot be read");
                BTreeMap::new()
            }
        }
    })
}

/// Lines of `NAME=value`, the value in quotes or not; empty lines and those that begin with `#` say nothing.
fn parse(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='))
        .map(|(name, value)| {
            let value = value.trim();
            let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
            (name.trim().to_owned(), quoted.unwrap_or(value).to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_settings_is_lines_of_names_and_values() {
        let parsed =
            parse("# comment\n\nLOOM_ORG=acme\n export LOOM_NAMESPACE = \"a b\"\nLOOM_AGENT='x=y'\nnonsense\n");
        let wanted = [("LOOM_AGENT", "x=y"), ("LOOM_NAMESPACE", "a b"), ("LOOM_ORG", "acme")];
        assert_eq!(parsed, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}
