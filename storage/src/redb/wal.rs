//! The write-ahead log: small commits are made durable by one sequential write, long before the pages that they change.
//!
//! A commit goes to the log, is synced there, and only then becomes visible in the main file's memory; the next commit
//! that is durable in the main file covers it. Opening applies what the main file does not have. A record starts on a
//! block of its own, so that no write touches a block that holds an acknowledged commit, and names the commit that it
//! follows: records of earlier rounds and of other stores are passed over, and a gap is damage.

use std::io;

use parking_lot::Mutex;
use redb::{Database, ReadableDatabase as _, StorageBackend, WriteTransaction};

use super::backend::{Source, Watched};
use super::commit::{apply, no_seq};
use super::failed;
use super::file::Access;
use super::open::{SEQ_KEY, begin_durable};
use super::plan::Op;
use super::tables::{Table, WriteTables};
use crate::codec;
use crate::error::Error;
use crate::id::Seq;

/// A record begins at a multiple of this.
const BLOCK: u64 = 4096;
/// The log's file grows by this much at a time, of zeros: a write inside the file needs no new size on the disk.
const GROWTH: u64 = 256 << 10;
/// The largest body of a record; what is larger goes to the main file at once.
const BODY_BYTES_MAX: usize = 512 << 10;
const MAGIC: [u8; 8] = *b"LOOMWAL1";
const HEADER: usize = 48;

/// Tells the records of one store from those of all others.
type StoreMark = [u8; 16];

/// The key of the store's mark in the main file's `meta` table.
const MARK_KEY: &[u8] = b"wal";

/// The rows of commits, as they go to the log.
pub(super) struct Body {
    bytes: Vec<u8>,
    fits: bool,
}

impl Body {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; HEADER], fits: true }
    }

    pub(super) fn add(&mut self, ops: &[Op]) {
        for op in ops {
            if !self.fits {
                return;
            }
            match op {
                Op::Put(table, key, value) => {
                    self.row(0, *table, key);
                    self.part(value);
                }
                Op::Remove(table, key) => self.row(1, *table, key),
                Op::RemovePrefix(table, prefix) => self.row(2, *table, prefix),
            }
            if self.bytes.len() - HEADER > BODY_BYTES_MAX {
                *self = Self { bytes: Vec::new(), fits: false };
            }
        }
    }

    fn row(&mut self, kind: u8, table: Table, key: &[u8]) {
        let name = table.name().as_bytes();
        self.bytes.push(kind);
        self.bytes.push(u8::try_from(name.len()).expect("the names of tables are short"));
        self.bytes.extend_from_slice(name);
        self.part(key);
    }

    fn part(&mut self, part: &[u8]) {
        // What does not fit in a record is thrown away whole, so this length is never read.
        let len = u32::try_from(part.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(part);
    }
}

/// The rows of a record's body; `None` when it is not what [`Body`] writes.
fn ops(mut body: &[u8]) -> Option<Vec<Op>> {
    fn take<'a>(body: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = body.split_at_checked(len)?;
        *body = rest;
        Some(taken)
    }
    fn part<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
        let len = u32::from_le_bytes(*take(body, 4)?.first_chunk()?);
        take(body, len as usize)
    }
    let mut ops = Vec::new();
    while let [kind, name_len, rest @ ..] = body {
        body = rest;
        let name = take(&mut body, usize::from(*name_len))?;
        let table = Table::ALL.into_iter().find(|table| table.name().as_bytes() == name)?;
        let key = part(&mut body)?.to_vec();
        ops.push(match kind {
            0 => Op::Put(table, key, part(&mut body)?.to_vec()),
            1 => Op::Remove(table, key),
            2 => Op::RemovePrefix(table, key),
            _ => return None,
        });
    }
    body.is_empty().then_some(ops)
}

/// The log of a main file.
pub(super) struct Wal {
    source: Source,
    /// The log is not written to past this size; the next commit is durable in the main file.
    bytes_max: u64,
    /// `None` until the main file is open for writing.
    open: Mutex<Option<Open>>,
}

struct Open {
    storage: Watched,
    mark: StoreMark,
    /// Where the next record goes.
    end: u64,
    /// The size of the file.
    len: u64,
}

impl Wal {
    pub(super) fn new(source: Source, bytes_max: u64) -> Self {
        Self { source, bytes_max, open: Mutex::default() }
    }

    /// The size of its file in bytes.
    pub(super) fn len(&self) -> io::Result<u64> {
        self.source.len()
    }

    /// Brings a main file that was just opened up to the last commit in the log.
    ///
    /// [`Error::Corrupt`] when a commit is missing between the main file and a later one in the log.
    pub(super) fn recover(&self, database: &Database, access: &Access<'_>) -> Result<(), Error> {
        let storage = match access {
            Access::Write(failed) => {
                if self.open.lock().take().is_some() {
                    self.source.forget_cached();
                }
                self.source.watched(failed)
            }
            Access::Read => self.source.read_only(),
        };
        let storage = storage.map_err(|error| Error::from_io(&error, "opening the write-ahead log"))?;
        let Some((mark, durable)) = position(database)? else {
            return match access {
                Access::Read => Ok(()),
                Access::Write(_) => Err(Error::Corrupt {
                    what: "file",
                    key: "mark of the write-ahead log".into(),
                    detail: "it is missing".into(),
                }),
            };
        };
        let len = self.replay(database, &storage, &mark, durable)?;
        if let Access::Write(_) = access {
            *self.open.lock() = Some(Open { storage, mark, end: 0, len });
        }
        Ok(())
    }

    /// Applies the commits after `durable`, in one durable transaction; answers the size of the log.
    fn replay(&self, database: &Database, storage: &Watched, mark: &StoreMark, durable: Seq) -> Result<u64, Error> {
        let reading = |error: io::Error| Error::from_io(&error, "reading the write-ahead log");
        let len = storage.len().map_err(reading)?;
        let mut transaction = None;
        let mut last = durable;
        let mut at = 0;
        while at + HEADER as u64 <= len {
            let Some(record) = Record::read(storage, at, len, mark).map_err(reading)? else {
                at += BLOCK;
                continue;
            };
            at += record.size();
            if record.last <= last {
                continue;
            }
            if record.after != last {
                return Err(self.damaged(&format!(
                    "commits {} to {} are missing or damaged, and later ones follow",
                    last.0 + 1,
                    record.last.0
                )));
            }
            let ops = ops(&record.body).ok_or_else(|| self.damaged("a record makes no sense"))?;
            let transaction = match &mut transaction {
                Some(begun) => begun,
                none => none.insert(begin_durable(database, false)?),
            };
            let mut tables = WriteTables::new(transaction);
            apply(&mut tables, ops)?;
            last = record.last;
            tables.put(Table::Meta, SEQ_KEY, &codec::encode(SEQ_KEY, &last)?)?;
        }
        if let Some(transaction) = transaction {
            transaction.commit().map_err(failed)?;
            tracing::info!(commits = last.0 - durable.0, "commits were taken from the write-ahead log");
        }
        Ok(len)
    }

    fn damaged(&self, detail: &str) -> Error {
        let key = self.source.path().map_or_else(String::new, |path| path.display().to_string());
        Error::Corrupt { what: "write-ahead log", key, detail: detail.into() }
    }

    /// Makes a group of commits durable; `false`, and nothing was written, when it does not fit: then it must become
    /// durable in the main file, and [`Wal::covered`] is called.
    pub(super) fn append(&self, after: Seq, last: Seq, body: Body) -> Result<bool, Error> {
        let mut open = self.open.lock();
        let Some(open) = open.as_mut() else { return Ok(false) };
        if !body.fits || open.end + size_of_record(body.bytes.len()) > self.bytes_max {
            return Ok(false);
        }
        let (at, record) = (open.end, seal(body.bytes, &open.mark, after, last));
        let end = at + record.len() as u64;
        open.write(at, record).map_err(|error| Error::from_io(&error, "writing the write-ahead log"))?;
        open.end = end;
        Ok(true)
    }

    /// The main file holds every commit durably: the log begins anew.
    pub(super) fn covered(&self) {
        if let Some(open) = self.open.lock().as_mut() {
            open.end = 0;
        }
    }

    /// Gives back the log's disk space, once the main file is closed and has every commit.
    pub(super) fn empty(&self) {
        if let Some(open) = self.open.lock().take()
            && let Err(error) = open.storage.set_len(0)
        {
            tracing::debug!(%error, "the write-ahead log keeps its size");
        }
    }
}

impl Open {
    fn write(&mut self, at: u64, mut record: Vec<u8>) -> io::Result<()> {
        let end = at + record.len() as u64;
        if end > self.len {
            let grown = end.next_multiple_of(GROWTH);
            self.storage.set_len(grown)?;
            self.len = grown;
            record.resize(usize::try_from(grown - at).map_err(io::Error::other)?, 0);
        }
        self.storage.write(at, &record)?;
        self.storage.sync_data()
    }
}

/// A whole record.
struct Record {
    after: Seq,
    last: Seq,
    body: Vec<u8>,
}

impl Record {
    /// The record of the store at `at`; `None` when there is none that is whole.
    fn read(storage: &Watched, at: u64, len: u64, mark: &StoreMark) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER];
        storage.read(at, &mut header)?;
        let Some((after, last, body_len, checksum)) = fields(&header, mark) else { return Ok(None) };
        let body_len = body_len as usize;
        if body_len > BODY_BYTES_MAX || at + (HEADER + body_len) as u64 > len {
            return Ok(None);
        }
        let mut body = vec![0; body_len];
        storage.read(at + HEADER as u64, &mut body)?;
        Ok((self::checksum(&header, &body) == checksum).then_some(Self { after, last, body }))
    }

    fn size(&self) -> u64 {
        size_of_record(HEADER + self.body.len())
    }
}

fn size_of_record(bytes: usize) -> u64 {
    (bytes as u64).next_multiple_of(BLOCK)
}

/// Fills in the header of a record and pads it to whole blocks.
fn seal(mut record: Vec<u8>, mark: &StoreMark, after: Seq, last: Seq) -> Vec<u8> {
    let body_len = u32::try_from(record.len() - HEADER).expect("a body that fits is at most BODY_BYTES_MAX");
    let (header, body) = record.split_at_mut(HEADER);
    header[..8].copy_from_slice(&MAGIC);
    header[8..24].copy_from_slice(mark);
    header[24..32].copy_from_slice(&after.0.to_le_bytes());
    header[32..40].copy_from_slice(&last.0.to_le_bytes());
    header[40..44].copy_from_slice(&body_len.to_le_bytes());
    let checksum = checksum(header, body);
    header[44..].copy_from_slice(&checksum.to_le_bytes());
    record.resize(record.len().next_multiple_of(usize::try_from(BLOCK).expect("a block is small")), 0);
    record
}

/// What the header of a record of the store says: the commit it follows, its last, the size of its body, its checksum.
fn fields(header: &[u8; HEADER], mark: &StoreMark) -> Option<(Seq, Seq, u32, u32)> {
    let (start, rest) = header.split_at(24);
    if start[..8] != MAGIC || start[8..] != *mark {
        return None;
    }
    let number = |at: usize| rest[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let small = |at: usize| rest[at..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    Some((Seq(number(0)?), Seq(number(8)?), small(16)?, small(20)?))
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..HEADER - 4]);
    hasher.update(body);
    hasher.finalize()
}

/// The store's mark and its last commit, as the main file has them; `None` for a file of a version before the log.
fn position(database: &Database) -> Result<Option<(StoreMark, Seq)>, Error> {
    let transaction = database.begin_read().map_err(failed)?;
    let meta = transaction.open_table(Table::Meta.definition()).map_err(failed)?;
    let mark = meta.get(MARK_KEY).map_err(failed)?.and_then(|value| StoreMark::try_from(value.value()).ok());
    let Some(mark) = mark else { return Ok(None) };
    let seq = meta.get(SEQ_KEY).map_err(failed)?.map(|value| codec::decode(SEQ_KEY, value.value())).transpose()?;
    Ok(Some((mark, seq.ok_or_else(no_seq)?)))
}

/// Gives a main file the mark of its log.
pub(super) fn mark(transaction: &WriteTransaction) -> Result<(), Error> {
    let mut meta = transaction.open_table(Table::Meta.definition()).map_err(failed)?;
    meta.insert(MARK_KEY, uuid::Uuid::new_v4().as_bytes().as_slice()).map_err(failed)?;
    Ok(())
}
