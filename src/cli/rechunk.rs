//! `loom rechunk` and `loom lexical-stats-rebuild`: what is searched, made anew from what is stored.

use std::io::{IsTerminal as _, Write as _};

use loom_storage::Scope;
use serde_json::json;

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted, harmless};
use super::settings::{Global, Identity};
use crate::{Caller, Engine};

/// Cut documents again after a change of the chunk settings or of the rules; no server may hold the folder
///
/// Without --apply nothing is written: it lists the documents whose chunks would be others.
#[derive(clap::Args)]
pub struct Args {
    /// Only this document
    #[arg(long, value_name = "URI")]
    source_uri: Option<String>,
    /// Rewrite them, each as its next revision
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    identity: Identity,
}

/// Build what is searched of a namespace anew; no server may hold the folder
#[derive(clap::Args)]
pub struct RebuildArgs {
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let Client::Local(engine) = &client else { return Err(client.served()?) };
    let scope = scope(engine, &args.identity);
    let mut shown = 0;
    let mut progress = |done: u64, all: u64| {
        let percent = done * 100 / all.max(1);
        if percent > shown {
            shown = percent;
            report(&format!("{done} of {all} documents"), done == all);
        }
    };
    let done = engine.rechunk(&Caller::local(), &scope, args.source_uri.as_deref(), args.apply, &mut progress)?;
    client.close();
    if screen.is_json() {
        screen.json(&done)?;
    } else {
        for uri in done.changed.iter().filter(|_| !args.apply) {
            screen.line(format!("would change {}", harmless(uri)))?;
        }
        for uri in &done.failed {
            screen.line(format!("failed, since it was written meanwhile: {}", harmless(uri)))?;
        }
        let looked_at = counted(done.documents, "document");
        screen.line(if args.apply {
            format!("{looked_at} looked at, {} rewritten", done.rewritten)
        } else {
            format!("{looked_at} looked at, {} would change; --apply rewrites them", done.changed.len())
        })?;
        if done.extracted > 0 {
            screen
                .line(format!("{} left as extracted; ingest their originals again", counted(done.extracted, "file")))?;
        }
    }
    if done.failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Unmet("some documents were written meanwhile: run it again for them".into()))
    }
}

pub fn rebuild(global: &Global, args: &RebuildArgs, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let Client::Local(engine) = &client else { return Err(client.served()?) };
    let scope = scope(engine, &args.identity);
    report("building", false);
    engine.rebuild_index(&Caller::local(), &scope)?;
    report("built", true);
    client.close();
    if screen.is_json() {
        return screen.json(&json!({ "namespace": scope.namespace, "rebuilt": true }));
    }
    screen.line(format!("what is searched of {} was built anew", harmless(&scope.namespace)))
}

fn scope(engine: &Engine, identity: &Identity) -> Scope {
    let config = engine.config();
    let namespace = identity.namespace.as_deref().unwrap_or(&config.namespace);
    Scope::new(identity.org.as_deref().unwrap_or(&config.org), namespace)
}

/// Says on standard error how far it has come, when somebody watches.
fn report(what: &str, last: bool) {
    let mut screen = std::io::stderr();
    if screen.is_terminal() {
        // Progress that cannot be shown is no failure.
        let _ = write!(screen, "\r{what}{}", if last { "\n" } else { "" });
    }
}
