//! `loom extractor`: the extractor that comes with Loom, as a service, and as the process that reads the files.

use std::path::PathBuf;
use std::process::ExitCode;

use super::failure::Failure;
use super::screen::Screen;
use super::settings::program;
use crate::Config;
use crate::extraction::{Extractors, LocalReport, child};

/// Read files for others over HTTP, each in a confined process
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    /// Start an extraction process and print what it can still do
    #[arg(long)]
    probe: bool,
    #[arg(long, hide = true, exclusive = true)]
    child: bool,
    #[arg(long, hide = true, exclusive = true, num_args = 1.., allow_hyphen_values = true, value_name = "PROGRAM")]
    confined: Vec<String>,
}

impl Args {
    /// What this process does when it is one that the engine started; nothing of the command line is wanted then.
    pub fn as_process(&self) -> Option<ExitCode> {
        if self.child {
            return Some(child::run());
        }
        let (program, args) = self.confined.split_first()?;
        let failed = child::become_program(&PathBuf::from(program), args);
        tracing::debug!(failed, "a program could not be started");
        Some(ExitCode::FAILURE)
    }

    /// Whether it runs until it is stopped.
    pub fn is_server(&self) -> bool {
        false
    }
}

pub fn run(args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let mut settings = Config::from_env()?.extraction;
    settings.program = program();
    probe(args, &Extractors::new(&settings)?, screen)
}

fn probe(_: &Args, extractors: &Extractors, screen: &mut Screen) -> Result<(), Failure> {
    let report = extractors
        .local_report()
        .ok_or_else(|| Failure::Unmet("this program cannot find itself".into()))?
        .map_err(|error| Failure::Unmet(error.to_string()))?;
    print(&report, screen)
}

/// Prints what confines the process and what it can still do.
pub fn print(report: &LocalReport, screen: &mut Screen) -> Result<(), Failure> {
    for layer in &report.layers {
        let state = if layer.active { "holds" } else { "does not hold" };
        screen.line(format!("{} {state}: {}", screen.strong(&layer.name), layer.detail))?;
    }
    for attempt in &report.attempts {
        let state = if attempt.allowed { "can" } else { "cannot" };
        screen.line(format!("it {state} {}: {}", attempt.what, attempt.said))?;
    }
    Ok(())
}
