//! `loom secrets`: credentials of others, sealed in the folder.

use std::io::{self, Read as _};

use clap::Subcommand;
use serde_json::json;

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted};
use super::settings::{Global, Identity, setting};
use crate::access::Secret;

/// The longest credential read, in bytes; the engine's own bound is not above it.
const INPUT_BYTES_MAX: u64 = 1 << 20;

/// Keep credentials sealed in the folder, under `LOOM_JWT_SECRET`
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    identity: Identity,
}

#[derive(Subcommand)]
enum Action {
    /// Store a credential, read from standard input, under the name of the setting that it stands for
    Set {
        /// The setting, such as `LOOM_EMBEDDING_API_KEY`
        name: String,
    },
    /// List the names of those that are stored
    List,
    /// Remove one
    Remove {
        /// The setting
        name: String,
    },
    /// Seal all that `LOOM_JWT_SECRET_OLD` opens under `LOOM_JWT_SECRET`
    Reseal,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let missing = if matches!(args.action, Action::Set { .. }) { Missing::Create } else { Missing::Refuse };
    let client = Client::open(global, &args.identity, missing)?;
    let Client::Local(engine) = &client else { return Err(client.served()?) };
    let done = match &args.action {
        Action::Set { name } => {
            let mut value = String::new();
            let read = io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut value);
            read.map_err(Failure::io("cannot read standard input"))?;
            engine.store_secret(name, value.trim())?;
            (json!({ "stored": name }), format!("stored {name}, sealed"))
        }
        Action::List => {
            let secrets = engine.secrets()?;
            let line = |secret: &crate::access::StoredSecret| {
                format!("{}{}", secret.name, if secret.opens { "" } else { "  (sealed under another secret)" })
            };
            let lines: Vec<String> = secrets.iter().map(line).collect();
            let text = if lines.is_empty() { "no credentials".to_owned() } else { lines.join("\n") };
            (json!({ "secrets": secrets }), text)
        }
        Action::Remove { name } => {
            let removed = engine.remove_secret(name)?;
            (
                json!({ "removed": removed }),
                if removed { format!("removed {name}") } else { format!("no {name} is stored") },
            )
        }
        Action::Reseal => {
            let old = setting("LOOM_JWT_SECRET_OLD")
                .ok_or_else(|| Failure::Usage("set LOOM_JWT_SECRET_OLD to the secret of before".into()))?;
            let count = engine.reseal_secrets(&Secret::new(old.as_bytes()))?;
            (json!({ "resealed": count }), format!("sealed {} again", counted(count as u64, "credential")))
        }
    };
    client.close();
    if screen.is_json() { screen.json(&done.0) } else { screen.line(done.1) }
}
