//! Group commit: batches that wait at the same time share one transaction and one sync, of the write-ahead log where
//! they are small.
//!
//! Whoever finds nobody leading takes what waits, oldest first, and commits it for all.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use redb::Durability;

use super::Inner;
use super::file::guarded;
use super::open::SEQ_KEY;
use super::plan::{self, Op, Prepared};
use super::tables::{ReadTables, Table, WriteTables};
use super::wal;
use crate::batch::{Batch, Committed};
use crate::codec;
use crate::error::Error;
use crate::id::Seq;

/// The most batches in one group.
const GROUP_BATCHES_MAX: usize = 256;
/// A group takes no further batch once it holds this much.
const GROUP_BYTES_MAX: usize = 32 << 20;

/// The batches that wait for a leader. Bounded by the number of threads that call.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Pending>,
    led: bool,
}

type Outcome = Arc<Mutex<Option<Result<Committed, Error>>>>;

/// A batch on its way; dropped without an outcome it fails, so that nobody waits for ever.
struct Pending {
    prepared: Prepared,
    outcome: Outcome,
}

impl Pending {
    fn settle(&self, outcome: Result<Committed, Error>) {
        self.outcome.lock().get_or_insert(outcome);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.settle(Err(Error::Backend { message: "the commit was given up".into(), disk_full: false }));
    }
}

/// Ends the leader's turn however it ends.
struct Turn<'a>(&'a Queue);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().led = false;
        self.0.settled.notify_all();
    }
}

impl Inner {
    pub(super) fn commit(&self, batch: Batch) -> Result<Committed, Error> {
        let outcome = Outcome::default();
        let pending = Pending { prepared: Prepared::new(batch)?, outcome: Arc::clone(&outcome) };
        let mut state = self.queue.state.lock();
        state.waiting.push_back(pending);
        loop {
            if let Some(outcome) = outcome.lock().take() {
                return outcome;
            }
            if state.led {
                self.queue.settled.wait(&mut state);
                continue;
            }
            state.led = true;
            let group = take_group(&mut state.waiting);
            drop(state);
            {
                let _turn = Turn(&self.queue);
                self.commit_group(&group);
            }
            state = self.queue.state.lock();
        }
    }

    /// Commits a group and settles every batch of it.
    fn commit_group(&self, group: &[Pending]) {
        let mut progress = Progress::default();
        let committed = guarded(|| self.try_group(group, &mut progress));
        match committed.or_else(|error| self.settle(error, &progress)) {
            Ok(()) => {
                for (pending, committed) in progress.accepted {
                    pending.settle(Ok(committed));
                }
            }
            Err(error) => {
                // Batches that were refused have their outcome already and keep it.
                for pending in group {
                    pending.settle(Err(again(&error)));
                }
            }
        }
    }

    fn try_group<'a>(&self, group: &'a [Pending], progress: &mut Progress<'a>) -> Result<(), Error> {
        let writing = self.main.begin_write(Durability::Immediate, self.main.reaches(self.quick_repair_from_bytes))?;
        let mut tables = WriteTables::new(&writing.transaction);
        let mut logged = wal::Body::new();
        let before: Seq = tables.get(Table::Meta, SEQ_KEY)?.ok_or_else(no_seq)?;
        let mut seq = before;
        for pending in group {
            let next = Seq(seq.0 + 1);
            match plan::plan(&mut tables, &self.blobs, &pending.prepared, next) {
                Ok((ops, committed)) => {
                    logged.add(&ops);
                    apply(&mut tables, ops)?;
                    seq = next;
                    progress.accepted.push((pending, committed));
                }
                Err(refused) => pending.settle(Err(refused)),
            }
        }
        if progress.accepted.is_empty() {
            drop(tables);
            return writing.abort();
        }
        tables.put(Table::Meta, SEQ_KEY, &codec::encode(SEQ_KEY, &seq)?)?;
        drop(tables);
        progress.before = Some(before);
        if self.wal.append(before, seq, logged)? {
            return writing.commit_in_memory();
        }
        writing.commit()?;
        self.wal.covered();
        Ok(())
    }

    /// What became of a group that failed with `error`: `Ok` when it is stored after all.
    fn settle(&self, error: Error, progress: &Progress<'_>) -> Result<(), Error> {
        let (Some(before), Some((_, last))) = (progress.before, progress.accepted.last()) else {
            return Err(error);
        };
        // A commit that failed half way leaves redb's own picture of the file behind the file.
        self.main.distrust();
        self.main.reopen();
        match guarded(|| self.last_commit()) {
            Ok(seq) if seq == before => Err(error),
            // Opening for writing has synced what is there.
            Ok(seq) if seq == last.seq && self.main.takes_writes() => Ok(()),
            Ok(_) | Err(_) => {
                let disk_full = matches!(error, Error::Backend { disk_full: true, .. });
                Err(Error::Unsettled { message: error.to_string(), disk_full })
            }
        }
    }

    fn last_commit(&self) -> Result<Seq, Error> {
        ReadTables::new(self.main.begin_read()?).get(Table::Meta, SEQ_KEY)?.ok_or_else(no_seq)
    }
}

/// How far a group came.
#[derive(Default)]
struct Progress<'a> {
    accepted: Vec<(&'a Pending, Committed)>,
    /// The commit that the group follows, once it is about to be committed.
    before: Option<Seq>,
}

/// The failure of a group, for one more of its batches.
fn again(error: &Error) -> Error {
    if let Error::Corrupt { what, key, detail } = error {
        return Error::Corrupt { what, key: key.clone(), detail: detail.clone() };
    }
    if let Error::Halted = error {
        return Error::Halted;
    }
    if let Error::Unsettled { message, disk_full } = error {
        return Error::Unsettled { message: message.clone(), disk_full: *disk_full };
    }
    if let Error::Backend { message, disk_full } = error {
        return Error::Backend { message: message.clone(), disk_full: *disk_full };
    }
    Error::Backend { message: error.to_string(), disk_full: false }
}

fn take_group(waiting: &mut VecDeque<Pending>) -> Vec<Pending> {
    let mut group = Vec::new();
    let mut bytes = 0;
    while group.len() < GROUP_BATCHES_MAX && bytes < GROUP_BYTES_MAX {
        let Some(pending) = waiting.pop_front() else { break };
        bytes += pending.prepared.bytes();
        group.push(pending);
    }
    group
}

pub(super) fn apply(tables: &mut WriteTables<'_>, ops: Vec<Op>) -> Result<(), Error> {
    for op in ops {
        match op {
            Op::Put(table, key, value) => tables.put(table, &key, &value)?,
            Op::Remove(table, key) => tables.remove(table, &key)?,
            Op::RemovePrefix(table, prefix) => tables.remove_prefix(table, &prefix)?,
        }
    }
    Ok(())
}

pub(super) fn no_seq() -> Error {
    Error::Corrupt { what: "file", key: "last commit's number".into(), detail: "it is missing".into() }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use redb::StorageBackend;
    use redb::backends::InMemoryBackend;

    use super::*;
    use crate::batch::{RecordWrite, Write};
    use crate::redb::{RedbOptions, RedbStore};
    use crate::store::Store as _;

    #[derive(Debug)]
    struct Counted(InMemoryBackend, Arc<AtomicU64>);

    impl StorageBackend for Counted {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.set_len(len)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.0.write(offset, data)
        }
    }

    #[test]
    fn batches_that_wait_share_one_sync() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let syncs = Arc::new(AtomicU64::new(0));
        let counted = || {
            let counter = Arc::clone(&syncs);
            move || Ok(Counted(InMemoryBackend::new(), Arc::clone(&counter)))
        };
        let options = RedbOptions::default();
        let store = RedbStore::open_with_backends(folder.path(), &options, counted(), counted(), counted());
        let store = store.expect("it opens");
        let record = |key: &str| RecordWrite { key: key.into(), value: Some(Vec::new()) };
        let commit =
            |key: &str| store.commit(Batch { preconditions: Vec::new(), writes: vec![Write::Record(record(key))] });
        let before = syncs.load(Ordering::SeqCst);
        commit("alone").expect("it commits");
        assert_eq!(syncs.load(Ordering::SeqCst) - before, 1);

        // This thread has the lead and does not use it until all others wait.
        store.inner.queue.state.lock().led = true;
        let seqs = thread::scope(|threads| {
            let commit = &commit;
            let running: Vec<_> = (0..20).map(|thread| threads.spawn(move || commit(&format!("{thread}")))).collect();
            while store.inner.queue.state.lock().waiting.len() < running.len() {
                thread::yield_now();
            }
            drop(Turn(&store.inner.queue));
            let joined = running.into_iter().map(|thread| thread.join().expect("no panic"));
            joined.map(|committed| committed.expect("it commits").seq.0).collect::<std::collections::BTreeSet<_>>()
        });
        assert_eq!(seqs, (2..=21).collect());
        assert_eq!(syncs.load(Ordering::SeqCst) - before, 2, "20 batches sync like one");
    }

    #[test]
    fn a_batch_that_nobody_settles_fails() {
        let outcome = Outcome::default();
        let prepared = Prepared::new(Batch::default()).expect("a batch");
        drop(Pending { prepared, outcome: Arc::clone(&outcome) });
        assert!(matches!(*outcome.lock(), Some(Err(Error::Backend { .. }))));
    }
}
