//! `loom demo`
use super::failure::Failure;
use super::screen::Screen;
/// Store Loom's own documents in a temporary folder and ask three questions of them
#[derive(clap::Args)]
pub struct Args {}
pub fn run(_args: &Args, _screen: &mut Screen) -> Result<(), Failure> { Ok(()) }
