//! A file written anew: the rows that it has, and no byte of what it had.
//!
//! A compaction moves pages within a file, and pages that nobody uses keep what was in them.

use std::fs;
use std::path::Path;

use redb::{Database, ReadableDatabase as _, ReadableTable as _};

use super::failed;
use super::open::{begin_durable, create_fresh, fresh_name};
use super::tables::Definition;
use crate::error::Error;

/// How much is copied in one transaction, in bytes.
const COPIED_MAX: usize = 64 << 20;

/// Copies the rows of `tables` that `keep` lets through into a new file beside the one of that name, which takes its place
/// once it is published. Nothing is left of it on an error.
pub(super) fn beside(
    database: &Database,
    folder: &Path,
    name: &str,
    tables: &[Definition],
    keep: &dyn Fn(&[u8]) -> bool,
) -> Result<(), Error> {
    let copied = create_fresh(folder, name).and_then(|mut fresh| {
        for table in tables {
            copy(database, &fresh, *table, keep)?;
        }
        fresh.compact().map_err(failed)?;
        fresh.close().map_err(failed)
    });
    if copied.is_err()
        && let Err(error) = fs::remove_file(fresh_name(folder, name))
    {
        tracing::debug!(%error, name, "what was copied is removed by the next compaction");
    }
    copied
}

fn copy(from: &Database, to: &Database, table: Definition, keep: &dyn Fn(&[u8]) -> bool) -> Result<(), Error> {
    let reading = from.begin_read().map_err(failed)?;
    let rows = reading.open_table(table).map_err(failed)?;
    let mut rows = rows.iter().map_err(failed)?.peekable();
    loop {
        let writing = begin_durable(to, false)?;
        let mut copied = 0;
        {
            let mut target = writing.open_table(table).map_err(failed)?;
            while copied < COPIED_MAX
                && let Some(row) = rows.next()
            {
                let (key, value) = row.map_err(failed)?;
                if keep(key.value()) {
                    target.insert(key.value(), value.value()).map_err(failed)?;
                    copied += key.value().len() + value.value().len();
                }
            }
        }
        writing.commit().map_err(failed)?;
        if rows.peek().is_none() {
            return Ok(());
        }
    }
}
