//! `loom doctor`: whether what is stored and what is searched agree.

use serde_json::json;

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, harmless};
use super::settings::{Global, Identity};
use crate::DoctorOptions;

/// Check that what is stored and what is searched agree
#[derive(clap::Args)]
pub struct Args {
    /// Rebuild what is searched where it disagrees
    #[arg(long)]
    repair: bool,
    /// Read every stored byte too
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let engine = match Client::open(global, &args.identity, Missing::Refuse)? {
        Client::Local(engine) => engine,
        Client::Http(remote) => {
            let state = if remote.readiness()?["ready"] == true { "ready" } else { "not ready yet" };
            return Err(Failure::Usage(format!(
                "the doctor needs the folder to itself, and the server at {} has it (it says it is {state}): \
                 stop the server and try again",
                remote.address()
            )));
        }
    };
    let report = engine.doctor(DoctorOptions { repair: args.repair, deep: args.deep })?;
    engine.close()?;
    let errors = report.findings.iter().filter(|finding| finding.severity == "error").count();
    if screen.is_json() {
        screen.json(&json!(report))?;
    } else {
        for finding in &report.findings {
            screen.line(format!("{}: {}", screen.strong(&finding.severity.to_string()), harmless(&finding.what)))?;
        }
        if report.findings.is_empty() {
            screen.line("nothing is wrong")?;
        }
    }
    match errors {
        0 => Ok(()),
        _ if args.repair => Err(Failure::Unmet(format!("{errors} findings are errors that a repair does not mend"))),
        _ => Err(Failure::Unmet(format!("{errors} findings are errors: `loom doctor --repair` rebuilds what is searched"))),
    }
}
