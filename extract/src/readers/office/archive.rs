//! A zip archive whose directory and sizes are not believed.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Read;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use crate::contract::{Refusal, RefusalCode};
use crate::readers::Bounds;

/// A part may unpack to this many times its packed size, once it is longer than [`RATIO_FREE_BYTES`].
const RATIO_MAX: u64 = 200;
/// How much a part may unpack to whatever its ratio.
const RATIO_FREE_BYTES: u64 = 8 * 1024 * 1024;
/// How far from the end of the file the end of the directory may stand: its own length and a comment.
const TAIL_BYTES: usize = 22 + 65_535;
const DIRECTORY_END: &[u8] = b"PK\x05\x06";
const DIRECTORY_END_64: &[u8] = b"PK\x06\x06";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL_ENTRY: &[u8] = b"PK\x03\x04";

/// A zip archive, its directory read and nothing unpacked.
///
/// Names are compared without regard to ASCII case, `\` being `/`, as office programs do. Of two entries of one name the
/// later is read, as most readers do. Nothing is ever written or opened by an entry's name.
pub struct Archive<'a> {
    bytes: &'a [u8],
    bounds: &'a Bounds,
    entries: HashMap<String, Entry>,
    /// The bytes unpacked so far, all parts together.
    inflated: Cell<u64>,
    /// How many entries have a name that a later one has too.
    pub duplicates: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    is_encrypted: bool,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    offset: u64,
}

impl<'a> Archive<'a> {
    /// Reads the directory.
    ///
    /// # Errors
    /// [`RefusalCode::Corrupt`] where there is none, and [`RefusalCode::ResourceLimit`] where it has more entries than
    /// the bounds allow.
    pub fn open(bytes: &'a [u8], bounds: &'a Bounds) -> Result<Self, Refusal> {
        let directory = Directory::find(bytes).ok_or_else(|| corrupt("the archive has no directory: it is cut off"))?;
        let mut archive = Self { bytes, bounds, entries: HashMap::new(), inflated: Cell::new(0), duplicates: 0 };
        let mut at = directory.start;
        let mut count = 0_usize;
        while bytes.get(at..at + 4) == Some(DIRECTORY_ENTRY) {
            count += 1;
            if count > bounds.archive_entries {
                let message = format!("the archive has more than {} entries", bounds.archive_entries);
                return Err(Refusal::new(RefusalCode::ResourceLimit, message));
            }
            let damaged = || corrupt("the archive's directory is damaged");
            let (name, entry, next) = directory_entry(bytes, at, directory.shift).ok_or_else(damaged)?;
            archive.duplicates += usize::from(archive.entries.insert(folded(&name), entry).is_some());
            at = next;
        }
        if (count as u64) < directory.count {
            return Err(corrupt("the archive's directory is damaged"));
        }
        Ok(archive)
    }

    /// Whether there is an entry of that name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(&folded(name))
    }

    /// An entry unpacked, or `None` where there is none of that name.
    ///
    /// # Errors
    /// [`RefusalCode::Corrupt`] where it is damaged or encrypted, and [`RefusalCode::ResourceLimit`] where it unpacks to
    /// more than its directory entry says, its packed size suggests, or the bounds allow.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Refusal> {
        let Some(entry) = self.entries.get(&folded(name)).copied() else { return Ok(None) };
        if entry.is_encrypted {
            return Err(encrypted());
        }
        let packed = self.packed(&entry).ok_or_else(|| corrupt("a part of the archive is cut off"))?;
        let bytes = match entry.method {
            0 => packed.to_vec(),
            8 => self.inflate(&entry, packed)?,
            _ => return Err(corrupt("a part of the archive is packed in a way that this reader does not know")),
        };
        self.count(bytes.len() as u64)?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        if bytes.len() as u64 != entry.size || crc.sum() != entry.crc {
            return Err(corrupt("a part of the archive is damaged: its checksum is not what the directory says"));
        }
        Ok(Some(bytes))
    }

    /// The bytes of an entry as they stand in the file.
    fn packed(&self, entry: &Entry) -> Option<&'a [u8]> {
        let at = usize::try_from(entry.offset).ok()?;
        let header = self.bytes.get(at..at.checked_add(30)?)?;
        if !header.starts_with(LOCAL_ENTRY) {
            return None;
        }
        let start = at + 30 + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        let length = usize::try_from(entry.packed).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    /// Unpacks while the bytes are as many as they may be.
    fn inflate(&self, entry: &Entry, packed: &[u8]) -> Result<Vec<u8>, Refusal> {
        let by_ratio = (packed.len() as u64).saturating_mul(RATIO_MAX).max(RATIO_FREE_BYTES);
        let by_total = self.bounds.inflated_bytes.saturating_sub(self.inflated.get());
        if entry.size > by_ratio.min(by_total) {
            return Err(bomb());
        }
        let mut decoder = DeflateDecoder::new(packed).take(entry.size.saturating_add(1));
        let mut bytes = Vec::with_capacity(usize::try_from(entry.size.min(RATIO_FREE_BYTES)).unwrap_or(0));
        decoder.read_to_end(&mut bytes).map_err(|_| corrupt("a packed part of the archive is damaged"))?;
        if bytes.len() as u64 > entry.size { Err(bomb()) } else { Ok(bytes) }
    }

    fn count(&self, bytes: u64) -> Result<(), Refusal> {
        self.bounds.check_time()?;
        self.inflated.set(self.inflated.get().saturating_add(bytes));
        if self.inflated.get() > self.bounds.inflated_bytes { Err(bomb()) } else { Ok(()) }
    }
}

/// Where the directory stands.
struct Directory {
    start: usize,
    /// How far every offset is off, because something stands before the archive.
    shift: u64,
    count: u64,
}

impl Directory {
    fn find(bytes: &[u8]) -> Option<Self> {
        let tail = bytes.len().saturating_sub(TAIL_BYTES);
        let end = tail + bytes[tail..].windows(4).rposition(|window| window == DIRECTORY_END)?;
        let record = &bytes[end..];
        let mut count = u64::from(u16_at(record, 10)?);
        let mut size = u64::from(u32_at(record, 12)?);
        let mut offset = u64::from(u32_at(record, 16)?);
        let mut stop = end as u64;
        if count == 0xFFFF || size == 0xFFFF_FFFF || offset == 0xFFFF_FFFF {
            // The locator, 20 bytes before the record, says where the long form of it stands.
            let long = end.checked_sub(20).and_then(|at| u64_at(bytes, at + 8)).and_then(|at| usize::try_from(at).ok());
            if let Some(long) =
                long.filter(|at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(DIRECTORY_END_64)))
            {
                let record = &bytes[long..];
                (count, size, offset) = (u64_at(record, 32)?, u64_at(record, 40)?, u64_at(record, 48)?);
                stop = long as u64;
            }
        }
        let start = stop.checked_sub(size)?;
        let shift = start.checked_sub(offset)?;
        Some(Self { start: usize::try_from(start).ok()?, shift, count })
    }
}

/// An entry of the directory, and where the next one begins.
fn directory_entry(bytes: &[u8], at: usize, shift: u64) -> Option<(String, Entry, usize)> {
    let record = bytes.get(at..)?;
    let name_end = 46 + usize::from(u16_at(record, 28)?);
    let extra_end = name_end + usize::from(u16_at(record, 30)?);
    let next = extra_end + usize::from(u16_at(record, 32)?);
    let name = String::from_utf8_lossy(record.get(46..name_end)?).into_owned();
    let mut entry = Entry {
        is_encrypted: u16_at(record, 8)? & 1 == 1,
        method: u16_at(record, 10)?,
        crc: u32_at(record, 16)?,
        packed: u64::from(u32_at(record, 20)?),
        size: u64::from(u32_at(record, 24)?),
        offset: u64::from(u32_at(record, 42)?),
    };
    long_sizes(record.get(name_end..extra_end)?, &mut entry);
    entry.offset = entry.offset.checked_add(shift)?;
    Some((name, entry, at + next))
}

/// Sizes that do not fit the record stand in its extra field of kind 1, in this order and only those.
fn long_sizes(mut extra: &[u8], entry: &mut Entry) {
    while let (Some(kind), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let Some(field) = extra.get(4..4 + usize::from(length)) else { return };
        if kind == 1 {
            let mut numbers = field.chunks_exact(8).map_while(|number| u64_at(number, 0));
            for number in [&mut entry.size, &mut entry.packed, &mut entry.offset] {
                if *number == 0xFFFF_FFFF {
                    *number = numbers.next().unwrap_or(*number);
                }
            }
        }
        extra = &extra[4 + field.len()..];
    }
}

fn folded(name: &str) -> String {
    name.trim_start_matches('/').replace('\\', "/").to_ascii_lowercase()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub fn corrupt(message: &str) -> Refusal {
    Refusal::new(RefusalCode::Corrupt, message)
}

pub fn encrypted() -> Refusal {
    corrupt("the file is encrypted with a password: save it without one")
}

fn bomb() -> Refusal {
    let message = "the file unpacks to far more than its size suggests or this extractor reads";
    Refusal::new(RefusalCode::ResourceLimit, message)
}
