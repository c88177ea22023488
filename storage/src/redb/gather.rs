//! Vectors that come one by one, put into blocks.

use super::tables::Table;
use crate::codec::{self, VectorBlock, VectorPlace};
use crate::error::Error;
use crate::id::Hash;
use crate::keys;

/// What writes a row.
pub(super) type Put<'a> = dyn FnMut(Table, &[u8], &[u8]) -> Result<(), Error> + 'a;

/// Gathers vectors that arrive in order of their keys (scope, model and input) into blocks numbered from 0: fewer than
/// a commit's number starts with, so that none meets a block of a later commit.
#[derive(Default)]
pub(super) struct Gathering {
    /// Scope and model of what is gathered.
    model: Vec<u8>,
    next: u64,
    vectors: Vec<(Hash, Vec<f32>)>,
}

impl Gathering {
    /// Takes in the vector under `key`, and writes a block when one is full.
    pub(super) fn add(&mut self, key: &[u8], vector: Vec<f32>, put: &mut Put<'_>) -> Result<(), Error> {
        let Some((model, input)) = key.split_last_chunk::<{ size_of::<Hash>() }>() else {
            let detail = "its key is too short".into();
            return Err(Error::Corrupt { what: "vector", key: keys::printable(key), detail });
        };
        let differs = self.vectors.first().is_some_and(|(_, first)| {
            self.vectors.len() == VectorBlock::capacity(first.len()) || first.len() != vector.len()
        });
        if differs || model != self.model {
            self.finish(put)?;
        }
        if model != self.model {
            self.model = model.to_vec();
            self.next = 0;
        }
        self.vectors.push((Hash(*input), vector));
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self, put: &mut Put<'_>) -> Result<(), Error> {
        let Some((_, first)) = self.vectors.first() else { return Ok(()) };
        let key = [&self.model[..], &self.next.to_be_bytes()].concat();
        let entries = self.vectors.iter().map(|(input, vector)| (input, vector.as_slice()));
        put(Table::VectorBlocks, &key, &codec::encode(&key, &VectorBlock::of(first.len(), entries)?)?)?;
        for (at, (input, _)) in (0..).zip(&self.vectors) {
            let key = [&self.model[..], &input.0].concat();
            put(Table::VectorPlaces, &key, &codec::encode(&key, &VectorPlace { block: self.next, at })?)?;
        }
        self.vectors.clear();
        self.next += 1;
        Ok(())
    }
}
