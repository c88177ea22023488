//! The tables of the main file, and the two ways to reach them: for reading in a snapshot, for writing in a commit.

use std::ops::Bound;
use std::sync::OnceLock;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition, WriteTransaction};

use super::failed;
use super::file::guarded;
use crate::codec::{self, Stored};
use crate::error::Error;
use crate::store::Page;

pub(super) type Bytes = &'static [u8];
/// What is called with a row's key and value.
pub(super) type Each<'a, T> = dyn FnMut(&[u8], &[u8]) -> Result<T, Error> + 'a;
pub(super) type Definition = TableDefinition<'static, Bytes, Bytes>;

/// The tables of the main file; `docs/formats.md` says what is in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Meta,
    Namespaces,
    Heads,
    Versions,
    Revisions,
    Texts,
    Outlines,
    Timeline,
    TimelineLive,
    Live,
    Content,
    ChunkContent,
    Chunks,
    VectorBlocks,
    VectorPlaces,
    Supersessions,
    Changes,
    Blobs,
    Records,
}

impl Table {
    pub(super) const ALL: [Self; 19] = [
        Self::Meta,
        Self::Namespaces,
        Self::Heads,
        Self::Versions,
        Self::Revisions,
        Self::Texts,
        Self::Outlines,
        Self::Timeline,
        Self::TimelineLive,
        Self::Live,
        Self::Content,
        Self::ChunkContent,
        Self::Chunks,
        Self::VectorBlocks,
        Self::VectorPlaces,
        Self::Supersessions,
        Self::Changes,
        Self::Blobs,
        Self::Records,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Namespaces => "namespaces",
            Self::Heads => "heads",
            Self::Versions => "versions",
            Self::Revisions => "revisions",
            Self::Texts => "texts",
            Self::Outlines => "outlines",
            Self::Timeline => "timeline",
            Self::TimelineLive => "timeline_live",
            Self::Live => "live",
            Self::Content => "content",
            Self::ChunkContent => "chunk_content",
            Self::Chunks => "chunks",
            Self::VectorBlocks => "vector_blocks",
            Self::VectorPlaces => "vector_places",
            Self::Supersessions => "supersessions",
            Self::Changes => "changes",
            Self::Blobs => "blobs",
            Self::Records => "records",
        }
    }

    pub(super) const fn definition(self) -> Definition {
        TableDefinition::new(self.name())
    }
}

/// The tables as one read transaction sees them, each opened once, when first asked for.
pub(super) struct ReadTables {
    open: [OnceLock<ReadOnlyTable<Bytes, Bytes>>; Table::ALL.len()],
    transaction: ReadTransaction,
}

impl ReadTables {
    pub(super) fn new(transaction: ReadTransaction) -> Self {
        Self { open: Default::default(), transaction }
    }

    fn table(&self, table: Table) -> Result<&ReadOnlyTable<Bytes, Bytes>, Error> {
        let slot = &self.open[table as usize];
        if let Some(open) = slot.get() {
            return Ok(open);
        }
        let open = guarded(|| self.transaction.open_table(table.definition()).map_err(failed))?;
        Ok(slot.get_or_init(|| open))
    }

    /// The record under `key`.
    pub(super) fn get<T: Stored>(&self, table: Table, key: &[u8]) -> Result<Option<T>, Error> {
        let table = self.table(table)?;
        guarded(|| {
            let found = table.get(key).map_err(failed)?;
            found.map(|value| codec::decode(key, value.value())).transpose()
        })
    }

    /// The bytes under `key`.
    pub(super) fn get_raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let table = self.table(table)?;
        guarded(|| Ok(table.get(key).map_err(failed)?.map(|value| value.value().to_vec())))
    }

    pub(super) fn contains(&self, table: Table, key: &[u8]) -> Result<bool, Error> {
        Ok(self.get_raw(table, key)?.is_some())
    }

    pub(super) fn len(&self, table: Table) -> Result<u64, Error> {
        self.table(table)?.len().map_err(failed)
    }

    /// Calls `each` with the rows whose keys start with `prefix` and sort after `after`, in order, until it
    /// answers `false`.
    pub(super) fn walk(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        each: &mut Each<'_, bool>,
    ) -> Result<(), Error> {
        let table = self.table(table)?;
        guarded(|| walk(table, prefix, after, each))
    }

    /// At most `limit` of the rows whose keys start with `prefix` and sort after `after`, in order.
    pub(super) fn page<T>(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
        item: impl Fn(&[u8], &[u8]) -> Result<T, Error>,
    ) -> Result<Page<T>, Error> {
        let mut page = Page { items: Vec::new(), more: false };
        self.walk(table, prefix, after, &mut |key, value| {
            if page.items.len() == limit {
                page.more = true;
                return Ok(false);
            }
            page.items.push(item(key, value)?);
            Ok(true)
        })?;
        Ok(page)
    }
}

/// The tables inside one write transaction, each opened when first touched.
pub(super) struct WriteTables<'txn> {
    open: [Option<redb::Table<'txn, Bytes, Bytes>>; Table::ALL.len()],
    transaction: &'txn WriteTransaction,
}

impl<'txn> WriteTables<'txn> {
    pub(super) fn new(transaction: &'txn WriteTransaction) -> Self {
        Self { open: Default::default(), transaction }
    }

    fn table(&mut self, table: Table) -> Result<&mut redb::Table<'txn, Bytes, Bytes>, Error> {
        let slot = &mut self.open[table as usize];
        match slot {
            Some(open) => Ok(open),
            None => Ok(slot.insert(self.transaction.open_table(table.definition()).map_err(failed)?)),
        }
    }

    /// The record under `key`, the transaction's own writes included.
    pub(super) fn get<T: Stored>(&mut self, table: Table, key: &[u8]) -> Result<Option<T>, Error> {
        let found = self.table(table)?.get(key).map_err(failed)?;
        found.map(|value| codec::decode(key, value.value())).transpose()
    }

    /// The bytes under `key`, the transaction's own writes included.
    pub(super) fn get_raw(&mut self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.table(table)?.get(key).map_err(failed)?.map(|value| value.value().to_vec()))
    }

    /// See [`ReadTables::walk`].
    pub(super) fn walk(
        &mut self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        each: &mut Each<'_, bool>,
    ) -> Result<(), Error> {
        walk(self.table(table)?, prefix, after, each)
    }

    pub(super) fn contains(&mut self, table: Table, key: &[u8]) -> Result<bool, Error> {
        Ok(self.table(table)?.get(key).map_err(failed)?.is_some())
    }

    pub(super) fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.table(table)?.insert(key, value).map_err(failed)?;
        Ok(())
    }

    pub(super) fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        self.table(table)?.remove(key).map_err(failed)?;
        Ok(())
    }

    pub(super) fn remove_prefix(&mut self, table: Table, prefix: &[u8]) -> Result<(), Error> {
        let Some(end) = prefix_end(prefix) else {
            return Err(Error::Invalid("a prefix without an end".into()));
        };
        self.table(table)?.retain_in(prefix..end.as_slice(), |_, _| false).map_err(failed)
    }
}

fn walk(
    table: &impl ReadableTable<Bytes, Bytes>,
    prefix: &[u8],
    after: Option<&[u8]>,
    each: &mut Each<'_, bool>,
) -> Result<(), Error> {
    let from = match after {
        Some(after) if after >= prefix => Bound::Excluded(after),
        _ => Bound::Included(prefix),
    };
    for row in table.range::<&[u8]>((from, Bound::Unbounded)).map_err(failed)? {
        let (key, value) = row.map_err(failed)?;
        if !key.value().starts_with(prefix) || !each(key.value(), value.value())? {
            break;
        }
    }
    Ok(())
}

/// The first key past all that start with `prefix`; `None` when there is none.
fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_past_all_its_keys() {
        assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(prefix_end(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(prefix_end(b"\xff\xff"), None);
        assert_eq!(prefix_end(b""), None);
    }

    #[test]
    fn tables_stand_at_their_own_index() {
        for (index, table) in Table::ALL.into_iter().enumerate() {
            assert_eq!(table as usize, index);
        }
    }
}
