//! `loom extractor`: the extractor that comes with Loom, as a service, and as the process that reads the files.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::failure::Failure;
use super::screen::{Screen, harmless};
use super::settings::{program, setting};
use crate::Config;
use crate::extraction::{ExtractionSettings, Extractors, child};
use crate::http::{self, ExtractorService};

/// Read files for others over HTTP, each in a confined process
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[arg(
        long,
        value_name = "ADDR:PORT",
        help = "The address to listen on; callers need the token of LOOM_EXTRACTOR_TOKEN, without which it must be loopback"
    )]
    listen: Option<String>,
    /// Start an extraction process and print what confines it and what it can still do
    #[arg(long, conflicts_with = "listen")]
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
        // Standard error is the only place to say it.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{program}: {failed}\n").as_bytes());
        Some(ExitCode::FAILURE)
    }

    /// Whether it runs until it is stopped.
    pub fn is_server(&self) -> bool {
        self.listen.is_some()
    }
}

pub fn run(args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let mut settings = Config::from_lookup(&setting)?.extraction;
    settings.program = program();
    match &args.listen {
        Some(listen) => serve(listen, &settings, screen),
        None => probe(settings, screen),
    }
}

fn serve(listen: &str, settings: &ExtractionSettings, screen: &mut Screen) -> Result<(), Failure> {
    let service = ExtractorService::new(settings, setting("LOOM_EXTRACTOR_TOKEN").as_deref())?;
    let mut announced = Ok(());
    http::serve_extractor(service, listen, http::signalled(), |address| {
        announced = announce(&format!("http://{address}"), screen);
    })?;
    announced
}

/// Prints the address, for whoever started the service and waits for the line.
fn announce(address: &str, screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        screen.json(&json!({ "listening": address }))?;
    } else {
        screen.line(format!("listening on {address}"))?;
    }
    screen.flush()
}

fn probe(settings: ExtractionSettings, screen: &mut Screen) -> Result<(), Failure> {
    let settings = ExtractionSettings { service: None, services: std::collections::BTreeMap::new(), ..settings };
    let report = Extractors::new(&settings)?
        .local_report()
        .ok_or_else(|| Failure::Unmet("the system does not tell where this program is".into()))?
        .map_err(|error| Failure::Unmet(error.to_string()))?;
    if screen.is_json() {
        return screen.json(&json!({
            "capabilities": report.capabilities,
            "layers": report.layers,
            "attempts": report.attempts,
            "ocr": report.ocr.is_ok(),
        }));
    }
    for layer in &report.layers {
        let state = if layer.active { "holds" } else { "does not hold" };
        screen.line(format!("{} {state}: {}", screen.strong(&layer.name), harmless(&layer.detail)))?;
    }
    for attempt in &report.attempts {
        let state = if attempt.allowed { "can" } else { "cannot" };
        screen.line(format!("it {state} {}: {}", attempt.what, harmless(&attempt.said)))?;
    }
    screen.line(match &report.ocr {
        Ok(()) => "words are read off pictures".to_owned(),
        Err(missing) => missing.clone(),
    })
}
