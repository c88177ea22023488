//! `loom doctor`: whether what is stored and what is searched agree.

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted, harmless};
use super::settings::{Global, Identity};
use crate::doctor::{DoctorOptions, Report, Severity};

/// Check that what is stored and what is searched agree
#[derive(clap::Args)]
pub struct Args {
    /// Rebuild what is searched where it disagrees
    #[arg(long)]
    repair: bool,
    /// Read every stored byte too, and compare the words of every chunk
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let Client::Local(engine) = &client else { return Err(client.served()?) };
    let mut report = engine.doctor(DoctorOptions { repair: args.repair, deep: args.deep })?;
    #[cfg(feature = "extract")]
    report.findings.extend(engine.extraction_findings());
    client.close();
    if screen.is_json() {
        screen.json(&report)?;
    } else {
        print(&report, screen)?;
    }
    match (report.sound, args.repair) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Unmet("not everything could be repaired: see what was found".into())),
        (false, false) => {
            Err(Failure::Unmet("something is wrong: `loom doctor --repair` rebuilds what is searched".into()))
        }
    }
}

fn print(report: &Report, screen: &mut Screen) -> Result<(), Failure> {
    for finding in &report.findings {
        let severity = match finding.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        screen.line(format!("{}: {}", screen.strong(severity), harmless(&finding.what)))?;
    }
    for scope in &report.repaired {
        screen.line(format!("rebuilt what is searched of {}", harmless(scope)))?;
    }
    let (documents, chunks) = (counted(report.documents, "document"), counted(report.chunks, "chunk"));
    let verdict = if report.sound { "nothing is wrong" } else { "not sound" };
    screen.line(format!("{verdict}: {documents} and {chunks} checked"))
}
