//! Confinement where there is neither landlock nor seccomp: the bounds that the system has.

use std::path::Path;
use std::process::Command;

use super::Layers;
use crate::extraction::frames::{Layer, Setup};

/// Confines the process to its memory and its time.
pub fn extractor(setup: &Setup) -> Result<Vec<Layer>, String> {
    let mut layers = Layers::new(setup.degraded);
    #[cfg(unix)]
    layers.must("limits", limits(setup.cpu_seconds))?;
    #[cfg(unix)]
    layers.may("memory", memory(setup.memory_bytes));
    layers.may("sandbox", Err("this system has no way for a process to confine itself that Loom uses".into()));
    Ok(layers.layers)
}

#[cfg(unix)]
fn limits(cpu_seconds: u64) -> Result<String, String> {
    use nix::sys::resource::{Resource, setrlimit};
    for (resource, bound) in
        [(Resource::RLIMIT_CORE, 0), (Resource::RLIMIT_FSIZE, 0), (Resource::RLIMIT_CPU, cpu_seconds)]
    {
        setrlimit(resource, bound, bound).map_err(|error| format!("{resource:?} cannot be set: {error}"))?;
    }
    Ok(format!("writes no file, computes for {cpu_seconds} seconds"))
}

#[cfg(unix)]
fn memory(bytes: u64) -> Result<String, String> {
    use nix::sys::resource::{Resource, setrlimit};
    setrlimit(Resource::RLIMIT_DATA, bytes, bytes).map_err(|error| error.to_string())?;
    Ok(format!("{bytes} bytes"))
}

/// See [`super::super::become_program`].
#[cfg(unix)]
pub fn become_program(program: &Path, args: &[String]) -> String {
    use std::os::unix::process::CommandExt;
    match limits(60) {
        Ok(_) => Command::new(program).args(args).exec().to_string(),
        Err(why) => why,
    }
}

/// See [`super::super::become_program`]. The process stays, and ends as the program does.
#[cfg(not(unix))]
pub fn become_program(program: &Path, args: &[String]) -> String {
    match Command::new(program).args(args).status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error.to_string(),
    }
}
