//! The steps from one format version to the next.

use redb::{ReadableTable, WriteTransaction};

use super::failed;
use super::gather::Gathering;
use super::tables::{Definition, Table, WriteTables};
use super::wal;
use crate::codec::{self, Vector};
use crate::error::Error;

/// The table of version 1: one vector a row, under scope, model and the hash of its input.
const VECTORS: Definition = Definition::new("vectors");

/// From 1 to 2: the vectors of a model share rows that fill their pages, found by a row for each.
pub(super) fn vectors_into_blocks(transaction: &WriteTransaction) -> Result<(), Error> {
    if !has_table(transaction, "vectors")? {
        return Ok(());
    }
    {
        let vectors = transaction.open_table(VECTORS).map_err(failed)?;
        let mut tables = WriteTables::new(transaction);
        let mut put = |table, key: &[u8], value: &[u8]| tables.put(table, key, value);
        let mut gathering = Gathering::default();
        for row in vectors.iter().map_err(failed)? {
            let (key, value) = row.map_err(failed)?;
            let Vector(vector) = codec::decode(key.value(), value.value())?;
            gathering.add(key.value(), vector, &mut put)?;
        }
        gathering.finish(&mut put)?;
    }
    transaction.delete_table(VECTORS).map_err(failed)?;
    Ok(())
}

/// From 2 to 3: small commits go to a write-ahead log, whose records bear the main file's mark.
pub(super) fn mark_for_the_log(transaction: &WriteTransaction) -> Result<(), Error> {
    if has_table(transaction, Table::Namespaces.name())? { wal::mark(transaction) } else { Ok(()) }
}

fn has_table(transaction: &WriteTransaction, name: &str) -> Result<bool, Error> {
    Ok(transaction.list_tables().map_err(failed)?.any(|table| redb::TableHandle::name(&table) == name))
}

#[cfg(test)]
mod tests {
    use redb::{Database, ReadableDatabase as _};

    use super::*;
    use crate::{Hash, RedbOptions, RedbStore, Scope, Store as _, keys};

    #[test]
    fn a_folder_of_version_1_keeps_its_vectors() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        drop(RedbStore::open(folder.path(), &RedbOptions::default()).expect("it is made"));
        let scope = Scope::new("org", "notes");
        let vector = |number: u16| vec![f32::from(number), 1.0];
        let input = |number: u16| Hash::of(&number.to_be_bytes());
        let models: [(&str, std::ops::Range<u16>); 2] = [("a", 0..1000), ("b", 500..501)];
        {
            let file = Database::open(folder.path().join("loom.redb")).expect("the file");
            let transaction = file.begin_write().expect("a transaction");
            for table in [Table::VectorBlocks, Table::VectorPlaces] {
                transaction.delete_table(table.definition()).expect("it was there");
            }
            {
                let mut meta = transaction.open_table(Table::Meta.definition()).expect("a table");
                meta.insert(b"format".as_slice(), 1_u32.to_be_bytes().as_slice()).expect("it is written");
                let mut vectors = transaction.open_table(VECTORS).expect("a table");
                for (model, numbers) in &models {
                    for number in numbers.clone() {
                        let key = keys::vector(&scope, model, &input(number));
                        let value = codec::encode(&key, &Vector(vector(number))).expect("it encodes");
                        vectors.insert(key.as_slice(), value.as_slice()).expect("it is written");
                    }
                }
            }
            transaction.commit().expect("it commits");
        }
        let store = RedbStore::open(folder.path(), &RedbOptions::default()).expect("it is upgraded");
        let snapshot = store.snapshot().expect("a snapshot");
        for (model, numbers) in &models {
            for number in 0..1000 {
                let expected = numbers.contains(&number).then(|| vector(number));
                assert_eq!(snapshot.vector(&scope, model, &input(number)).expect("it is read"), expected);
            }
        }
        drop(snapshot);
        let mut faults = Vec::new();
        store.verify(true, &mut |fault| faults.push(fault)).expect("it is verified");
        assert_eq!(faults, Vec::<String>::new());
        drop(store);
        let file = Database::open(folder.path().join("loom.redb")).expect("the file");
        let transaction = file.begin_read().expect("a transaction");
        let mut tables = transaction.list_tables().expect("tables");
        assert!(!tables.any(|table| redb::TableHandle::name(&table) == "vectors"));
    }
}
