//! `loom completions`: the script with which a shell completes the command line.

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use super::Cli;
use super::failure::Failure;
use super::screen::Screen;

/// Print the script with which a shell completes this command line
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "loom", &mut script);
    let script = String::from_utf8_lossy(&script);
    if screen.is_json() {
        return screen.json(&json!({ "shell": args.shell.to_string(), "script": script }));
    }
    screen.raw(&script)
}
