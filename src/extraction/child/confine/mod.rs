//! How a process confines itself, in layers: what one lets through the next one stops, and a system that lacks some has the
//! others.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod syscalls;

#[cfg(target_os = "linux")]
pub use linux::{become_program, extractor};
#[cfg(not(target_os = "linux"))]
pub use other::{become_program, extractor};

use crate::extraction::frames::Layer;

/// The layers so far, and whether one that must hold may lack.
struct Layers {
    degraded: bool,
    layers: Vec<Layer>,
}

impl Layers {
    fn new(degraded: bool) -> Self {
        Self { degraded, layers: Vec::new() }
    }

    /// Notes a layer that must hold: what it does, or why it does not.
    #[cfg(unix)]
    fn must(&mut self, name: &str, held: Result<String, String>) -> Result<(), String> {
        if let Err(why) = &held
            && !self.degraded
        {
            return Err(format!(
                "the extractor does not run unconfined: {name}: {why}. \
                 LOOM_EXTRACTOR_SANDBOX=degraded runs it with what this system has"
            ));
        }
        self.may(name, held);
        Ok(())
    }

    /// Notes a layer that a system may lack.
    fn may(&mut self, name: &str, held: Result<String, String>) {
        let active = held.is_ok();
        let detail = held.unwrap_or_else(|why| why);
        self.layers.push(Layer { name: name.to_owned(), active, detail });
    }
}
