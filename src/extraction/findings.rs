//! What `loom doctor` says of the extractor that comes with Loom.

use crate::doctor::{Finding, Severity};
use crate::engine::Engine;

impl Engine {
    /// Starts an extractor, where files go to the one that comes with Loom, and tells what does not confine it, what it can do
    /// that it should not, and whether words can be read off pictures. None of it is about what is stored.
    pub fn extraction_findings(&self) -> Vec<Finding> {
        let info = |what: String| Finding { severity: Severity::Info, what };
        match self.inner().extractors.local_report() {
            None => Vec::new(),
            Some(Err(error)) => vec![info(format!("files cannot be read: {error}"))],
            Some(Ok(report)) => {
                let layers = report.layers.iter().filter(|layer| !layer.active);
                let layers =
                    layers.map(|layer| info(format!("the extractor runs without {}: {}", layer.name, layer.detail)));
                let attempts = report.attempts.iter().filter(|attempt| attempt.allowed);
                let attempts = attempts.map(|attempt| info(format!("the extractor can {}", attempt.what)));
                let ocr = report.ocr.err().map(info);
                layers.chain(attempts).chain(ocr).collect()
            }
        }
    }
}
