//! What every command is told: where the documents are, whose they are, and how to print.

use std::env;
use std::path::PathBuf;

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
        let mut config = Config::from_env()?;
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

/// A setting of the environment; an empty one counts as unset.
pub fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
