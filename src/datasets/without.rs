//! What stands for datasets in a build that has none.

use loom_extract::contract::{Artifact, Table};
use loom_storage::{DocId, Scope, Seq, Snapshot, Version, Write};
use schemars::JsonSchema;
use serde::Serialize;

use crate::chunk::Mark;
use crate::engine::Inner;
use crate::error::Error;

/// The tables of a file.
pub(crate) struct Tables(Vec<Table>);

/// Datasets that wait for the version they are of: there are none.
pub(crate) enum Prepared {}

impl Tables {
    pub fn take(artifact: &mut Artifact, _: usize) -> (Self, Option<String>) {
        (Self(std::mem::take(&mut artifact.tables)), None)
    }

    pub fn all(&self) -> &[Table] {
        &self.0
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in a build with datasets")]
    pub fn prepare(
        &self,
        _: &Inner,
        _: &dyn Snapshot,
        _: &Scope,
        _: Option<&Version>,
        _: Option<Prepared>,
    ) -> Result<(Option<Prepared>, Option<Seq>), Error> {
        Ok((None, None))
    }
}

impl Prepared {
    pub fn place(&mut self, _: &[Mark]) {
        match *self {}
    }

    pub fn writes(&self, _: &Scope, _: DocId) -> Result<Vec<Write>, Error> {
        match *self {}
    }
}

/// Forgets what was read of datasets lately.
pub(crate) fn forget(_: &Inner) {}

/// A dataset in brief: there is none.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "OutlineDataset")]
pub(crate) enum Brief {}

/// The datasets of versions, read once each.
#[derive(Default)]
pub(crate) struct Briefs {}

impl Briefs {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in a build with datasets")]
    pub fn of_chunk(&mut self, _: &dyn Snapshot, _: &Scope, _: DocId, _: u32) -> Result<Option<String>, Error> {
        Ok(None)
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in a build with datasets")]
    pub fn of_version(&mut self, _: &dyn Snapshot, _: &Scope, _: DocId) -> Result<Vec<Brief>, Error> {
        Ok(Vec::new())
    }
}
