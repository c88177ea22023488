//! Reading a backup: nothing of a block is handed on before its checksum holds.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::{
    About, BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, BackupSummary, DIGEST_BYTES, End, Kind, MAGIC, Part, VERSION, checksum,
    damaged,
};
use crate::codec;
use crate::error::Error;
use crate::id::Seq;

/// What is called with every row of a backup.
pub(crate) type Row<'a> = dyn FnMut(Part, &[u8], &[u8]) -> Result<(), Error> + 'a;

/// Calls `each` with every row, in the order of sections and keys, and checks the whole.
///
/// Only an `Ok` says that nothing is missing: rows were handed on before the hash at the end was seen.
pub(crate) fn read(from: &mut dyn Read, each: &mut Row<'_>) -> Result<BackupSummary, Error> {
    let mut reader = Reader { from, hasher: Sha256::new(), blocks: 0, bytes: 0 };
    let magic: [u8; MAGIC.len()] = reader.exactly("its first bytes")?;
    if magic != MAGIC {
        return Err(damaged("the file", "it is no backup of Loom"));
    }
    let version = u32::from_le_bytes(reader.exactly("its version")?);
    if version != VERSION {
        return Err(newer(version, VERSION));
    }
    let (Kind::About, about) = reader.block()? else {
        return Err(damaged("its first block", "it does not say what the backup is of"));
    };
    let about: About = serde_json::from_slice(&about).map_err(|error| damaged("its first block", error.to_string()))?;
    if about.records != codec::ROWS_VERSION {
        return Err(newer(about.records, codec::ROWS_VERSION));
    }
    let mut rows = Rows { summary: BackupSummary { seq: Seq(about.seq), ..BackupSummary::default() }, ..Rows::new() };
    loop {
        match reader.block()? {
            (Kind::Rows, block) => {
                let place = format!("block {}", reader.blocks);
                rows.take(&block, &place, each)?;
            }
            (Kind::End, end) => {
                let end: End =
                    serde_json::from_slice(&end).map_err(|error| damaged("its last block", error.to_string()))?;
                if end != rows.end {
                    return Err(damaged("its last block", "it counts other rows than there are"));
                }
                break;
            }
            (Kind::About, _) => return Err(damaged(format!("block {}", reader.blocks), "it stands out of order")),
        }
    }
    reader.end()?;
    Ok(BackupSummary { bytes: reader.bytes, ..rows.summary })
}

struct Reader<'r> {
    from: &'r mut dyn Read,
    hasher: Sha256,
    blocks: u64,
    bytes: u64,
}

impl Reader<'_> {
    fn exactly<const N: usize>(&mut self, place: &str) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(|error| unread(&error, place))?;
        self.hasher.update(bytes);
        self.bytes += N as u64;
        Ok(bytes)
    }

    /// The next block, decompressed.
    fn block(&mut self) -> Result<(Kind, Vec<u8>), Error> {
        self.blocks += 1;
        let place = format!("block {}", self.blocks);
        let header: [u8; BLOCK_HEADER_BYTES] = self.exactly(&place)?;
        let (checked, sum) = header.split_at(BLOCK_HEADER_BYTES - 4);
        let (raw_len, stored_len) = (number(&checked[1..5]), number(&checked[5..9]));
        let most = zstd::zstd_safe::compress_bound(BLOCK_BYTES_MAX);
        if raw_len as usize > BLOCK_BYTES_MAX || stored_len as usize > most {
            return Err(damaged(place, format!("it claims {raw_len} bytes")));
        }
        // Grows with what there is, not with what is claimed.
        let mut stored = Vec::new();
        let taken = (&mut *self.from).take(u64::from(stored_len)).read_to_end(&mut stored);
        taken.map_err(|error| unread(&error, &place))?;
        if stored.len() != stored_len as usize {
            return Err(damaged(place, "it is cut short"));
        }
        if checksum(checked, &stored) != number(sum) {
            return Err(damaged(place, "its checksum does not match"));
        }
        self.hasher.update(&stored);
        self.bytes += u64::from(stored_len);
        let kind = [Kind::About, Kind::Rows, Kind::End].into_iter().find(|kind| *kind as u8 == checked[0]);
        let kind = kind.ok_or_else(|| damaged(place.clone(), format!("its kind {} is not known", checked[0])))?;
        let raw = zstd::bulk::decompress(&stored, raw_len as usize)
            .map_err(|error| damaged(place.clone(), format!("it does not decompress: {error}")))?;
        if raw.len() == raw_len as usize { Ok((kind, raw)) } else { Err(damaged(place, "its length is another")) }
    }

    /// Checks the hash of everything, after which nothing may follow.
    fn end(&mut self) -> Result<(), Error> {
        let found: [u8; DIGEST_BYTES] = std::mem::take(&mut self.hasher).finalize().into();
        if self.exactly::<DIGEST_BYTES>("its hash")? != found {
            return Err(damaged("the file", "it does not hash to what was written"));
        }
        match self.from.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(damaged("the file", "bytes follow its end")),
            Err(error) => Err(unread(&error, "its end")),
        }
    }
}

/// The rows so far.
struct Rows {
    last: Option<(Part, Vec<u8>)>,
    end: End,
    summary: BackupSummary,
}

impl Rows {
    fn new() -> Self {
        Self { last: None, end: End::default(), summary: BackupSummary::default() }
    }

    fn take(&mut self, block: &[u8], place: &str, each: &mut Row<'_>) -> Result<(), Error> {
        let unsound = || damaged(place, "its rows make no sense");
        let (number_of, mut rest) = block.split_first().ok_or_else(unsound)?;
        let part = Part::ALL.into_iter().find(|part| *part as u8 == *number_of).ok_or_else(unsound)?;
        while !rest.is_empty() {
            let (lengths, after) = rest.split_at_checked(8).ok_or_else(unsound)?;
            let (key_len, value_len) = (number(&lengths[..4]) as usize, number(&lengths[4..]) as usize);
            let (key, after) = after.split_at_checked(key_len).ok_or_else(unsound)?;
            let (value, after) = after.split_at_checked(value_len).ok_or_else(unsound)?;
            rest = after;
            if self.last.as_ref().is_some_and(|(of, last)| (*of, last.as_slice()) >= (part, key)) {
                return Err(damaged(place, "its rows stand out of order"));
            }
            each(part, key, value)?;
            self.last = Some((part, key.to_vec()));
            *self.end.rows.entry(part as u8).or_default() += 1;
            self.summary.count(part);
        }
        Ok(())
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn unread(error: &io::Error, place: &str) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return damaged(place, "it is cut short");
    }
    Error::Transfer { message: format!("the backup could not be read: {error}") }
}

fn newer(found: u32, newest: u32) -> Error {
    let advice = "the backup was made by another build; restore it with that one or a later one";
    Error::Format { found, oldest: newest, newest, advice }
}
