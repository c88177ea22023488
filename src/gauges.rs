//! What an engine tells a monitor.

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Gauges: name, what it means, value.
    pub fn metrics(&self) -> Result<Vec<(&'static str, &'static str, f64)>, Error> {
        let snapshot = self.inner().store.snapshot()?;
        let rows = snapshot.namespaces(None)?;
        let sum = |count: fn(&loom_storage::NamespaceRow) -> u64| rows.iter().map(count).sum::<u64>();
        let mut unsaved = 0;
        self.inner().projections.each_open(|projection| unsaved += projection.totals().unsaved);
        let index = self.inner().projections.counts();
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        let gauges = vec![
            (
                "loom_takes_writes",
                "1 when documents are stored, 0 while the storage or the room on the disk does not allow it.",
                f64::from(u8::from(self.inner().disk.admit(0).is_ok() && self.inner().store.ready().is_ok())),
            ),
            (
                "loom_disk_free_bytes",
                "Free bytes of the data folder's disk.",
                self.inner().disk.free().unwrap_or(0) as f64,
            ),
            (
                "loom_disk_free_min_bytes",
                "Free bytes below which nothing is stored.",
                self.inner().disk.free_min_bytes() as f64,
            ),
            ("loom_namespaces", "Namespaces that were ever written to.", rows.len() as f64),
            ("loom_documents", "Live documents.", sum(|row| row.documents) as f64),
            ("loom_chunks", "Chunks of live documents.", sum(|row| row.chunks) as f64),
            ("loom_versions", "Stored document versions, superseded ones included.", sum(|row| row.versions) as f64),
            ("loom_commit_seq", "The number of the last commit.", snapshot.seq().0 as f64),
            ("loom_ingests_open", "Ingests that are not over.", self.inner().queue.len() as f64),
            ("loom_projections_open", "Namespaces whose projections are open.", index.open as f64),
            ("loom_projections_building", "Namespaces whose projections are opened or built.", index.building as f64),
            ("loom_projections_bytes", "About how much memory the open projections hold.", index.bytes as f64),
            ("loom_projections_opened_total", "Projections opened or built.", index.opened_total as f64),
            ("loom_projections_closed_total", "Projections closed for want of use.", index.closed_total as f64),
            (
                "loom_projections_unready_total",
                "Calls that found a projection not open yet.",
                index.unready_total as f64,
            ),
            (
                "loom_projections_unsaved_changes",
                "Chunks added or removed that projection files do not show yet.",
                unsaved as f64,
            ),
        ];
        Ok(gauges)
    }
}
