//! Whether vectors are whole, of one dimension a model, and where their places say.

use super::{Check, keys};
use crate::codec::{VectorBlock, VectorPlace};
use crate::error::Error;
use crate::redb::tables::Table;

impl Check<'_> {
    pub(super) fn vectors(&mut self) -> Result<(), Error> {
        let mut dimensions = Dimensions::default();
        let mut vectors = 0;
        self.each(Table::VectorBlocks, &[], |check, key, block: VectorBlock| {
            let model_ends = key.len().saturating_sub(size_of::<u64>());
            dimensions.see(check, key, model_ends, block.dim());
            for at in (0..).take(block.len()) {
                let Some((input, _)) = block.get(at) else { break };
                let place = [&key[..model_ends], &input.0].concat();
                let found = check.snapshot.tables.get::<VectorPlace>(Table::VectorPlaces, &place);
                let right = VectorPlace { block: keys::number(key).unwrap_or_default(), at };
                if check.unless_damaged(found)?.flatten() != Some(right) {
                    check.fault(format!("vector {at} of block {} has no place", keys::printable(key)));
                }
                vectors += 1;
            }
            Ok(())
        })?;
        let places = self.snapshot.tables.len(Table::VectorPlaces)?;
        if places != vectors {
            self.fault(format!("vector_places has {places} rows where {vectors} belong"));
        }
        Ok(())
    }
}

/// The dimension of the model whose rows are being walked.
#[derive(Default)]
struct Dimensions(Option<(Vec<u8>, usize)>);

impl Dimensions {
    /// The row under `key`, whose first `model_ends` bytes name its model, has vectors of `dim` numbers.
    fn see(&mut self, check: &mut Check<'_>, key: &[u8], model_ends: usize, dim: usize) {
        let of = &key[..model_ends];
        match &self.0 {
            Some((current, known)) if current == of => {
                if *known != dim {
                    check.fault(format!("vector {} is not of its model's dimension", keys::printable(key)));
                }
            }
            _ => self.0 = Some((of.to_vec(), dim)),
        }
    }
}
