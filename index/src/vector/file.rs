//! The envelope of every file here: written once, checked before a byte of it is used.
//!
//! A file is a header, its parts, a table of the parts' lengths and CRC-32s, and the SHA-256 of header and table. A
//! part is checked when it is read, so that the parts of a large file are read and checked in parallel. The last hash
//! is the identity of the file: the manifest names it. A CRC finds accidents; what a reader makes of a part must be
//! safe for any bytes.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use loom_storage::Hash;
use sha2::{Digest, Sha256};

use super::{damaged, io_failed};
use crate::Error;

const MAGIC: &[u8; 8] = b"loomvec\n";
/// Changes with every change of a byte's meaning in any of the files.
const VERSION: u32 = 2;
/// Length and checksum of a part.
const ENTRY_BYTES: u64 = 8 + 4;
/// The number of parts and the hash of the file.
const TAIL_BYTES: u64 = 4 + 32;
/// What a file is called until it is whole.
const UNFINISHED: &str = ".new";

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Which files count, up to which commit, and which rows are removed.
    Manifest = 1,
    /// Consecutive rows.
    Rows = 2,
    /// A graph.
    Graph = 3,
}

/// The folder of an index and what its files must be about.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub path: PathBuf,
    pub model: String,
    pub dim: usize,
}

impl Folder {
    /// Where the file `number` of `kind` is. There is one manifest.
    pub fn file(&self, kind: Kind, number: u64) -> PathBuf {
        match kind {
            Kind::Manifest => self.path.join("manifest"),
            Kind::Rows => self.path.join(format!("rows-{number}")),
            Kind::Graph => self.path.join(format!("graph-{number}")),
        }
    }

    /// Writes a file so that it is there whole and durable, or not at all, and returns its identity.
    pub fn write(&self, kind: Kind, number: u64, parts: impl Iterator<Item = Vec<u8>>) -> Result<Hash, Error> {
        let path = self.file(kind, number);
        let unfinished = path.with_added_extension(&UNFINISHED[1..]);
        let written = self.write_unfinished(kind, &unfinished, parts).and_then(|identity| {
            fs::rename(&unfinished, &path)?;
            sync_folder(&self.path)?;
            Ok(identity)
        });
        written.map_err(|error| io_failed(&path, &error))
    }

    /// Deletes the files of earlier states: all of this index that `keep` does not want. What cannot be deleted is
    /// only reported: it costs space, and the next flush tries again.
    pub fn sweep(&self, keep: impl Fn(Kind, u64) -> bool) {
        let swept = fs::read_dir(&self.path).and_then(|entries| {
            for entry in entries {
                let name = entry?.file_name();
                let Some(name) = name.to_str() else { continue };
                let unwanted = match parse_name(name) {
                    Some((kind, number)) => !keep(kind, number),
                    None => name.strip_suffix(UNFINISHED).and_then(parse_name).is_some(),
                };
                if unwanted {
                    fs::remove_file(self.path.join(name))?;
                }
            }
            Ok(())
        });
        if let Err(error) = swept {
            tracing::warn!(folder = %self.path.display(), %error, "cannot delete an old file of the vector index");
        }
    }

    fn write_unfinished(&self, kind: Kind, path: &Path, parts: impl Iterator<Item = Vec<u8>>) -> io::Result<Hash> {
        let mut file = File::create(path)?;
        let header = self.header(kind);
        file.write_all(&header)?;
        let mut table = Vec::new();
        let mut count = 0_u32;
        for part in parts {
            file.write_all(&part)?;
            table.extend_from_slice(&(part.len() as u64).to_le_bytes());
            table.extend_from_slice(&crc32fast::hash(&part).to_le_bytes());
            count += 1;
        }
        table.extend_from_slice(&count.to_le_bytes());
        let identity = identity(&header, &table);
        file.write_all(&table)?;
        file.write_all(&identity.0)?;
        file.sync_all()?;
        Ok(identity)
    }

    /// Magic, kind, version, dimensions, and the model behind its length; numbers are little endian.
    fn header(&self, kind: Kind) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        for number in [kind as u64, u64::from(VERSION), self.dim as u64, self.model.len() as u64] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        header.extend_from_slice(self.model.as_bytes());
        header
    }
}

/// A file whose header and table were checked; its parts are checked as they are read.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    parts: Vec<Part>,
    identity: Hash,
}

#[derive(Debug)]
struct Part {
    /// Where in the file it starts.
    start: u64,
    bytes: usize,
    crc: u32,
}

impl Reader {
    /// Opens the file `number` of `kind`; `None` when there is none. [`Error::Rebuild`] when it is not what it should
    /// be.
    pub fn open(folder: &Folder, kind: Kind, number: u64) -> Result<Option<Self>, Error> {
        let path = folder.file(kind, number);
        match Self::read_table(folder, kind, &path) {
            Ok(Some((parts, identity))) => Ok(Some(Self { path, parts, identity })),
            Ok(None) => Err(damaged(format!("{} is damaged, or of another version or model", path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(read_failed(&path, &error)),
        }
    }

    pub fn identity(&self) -> Hash {
        self.identity
    }

    /// How many bytes each part has.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.parts.iter().map(|part| part.bytes)
    }

    /// Reads part `number` into `buffer`, in place of what that holds.
    pub fn part(&self, number: usize, buffer: &mut Vec<u8>) -> Result<(), Error> {
        let Some(part) = self.parts.get(number) else {
            return Err(damaged(format!("{} has no part {number}", self.path.display())));
        };
        buffer.resize(part.bytes, 0);
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(part.start))?;
            file.read_exact(buffer)
        });
        read.map_err(|error| read_failed(&self.path, &error))?;
        if crc32fast::hash(buffer) != part.crc {
            return Err(damaged(format!("part {number} of {} is damaged", self.path.display())));
        }
        Ok(())
    }

    fn read_table(folder: &Folder, kind: Kind, path: &Path) -> io::Result<Option<(Vec<Part>, Hash)>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let expected = folder.header(kind);
        let start = expected.len() as u64;
        if length < start + TAIL_BYTES {
            return Ok(None);
        }
        let mut header = vec![0; expected.len()];
        file.read_exact(&mut header)?;
        file.seek(SeekFrom::Start(length - TAIL_BYTES))?;
        let count = u64::from(u32::from_le_bytes(read_array(&mut file)?));
        let identity_found = Hash(read_array(&mut file)?);
        let Some(table_at) = (length - TAIL_BYTES).checked_sub(count * ENTRY_BYTES).filter(|&at| at >= start) else {
            return Ok(None);
        };
        let mut table = Vec::new();
        file.seek(SeekFrom::Start(table_at))?;
        file.take(count * ENTRY_BYTES + 4).read_to_end(&mut table)?;
        if header != expected || identity(&header, &table) != identity_found {
            return Ok(None);
        }
        let mut parts = Vec::new();
        let mut at = start;
        let mut entries = table.as_slice();
        for _ in 0..count {
            let length = u64::from_le_bytes(read_array(&mut entries)?);
            let crc = u32::from_le_bytes(read_array(&mut entries)?);
            let Ok(bytes) = usize::try_from(length) else { return Ok(None) };
            parts.push(Part { start: at, bytes, crc });
            at = at.saturating_add(length);
        }
        Ok((at == table_at).then_some((parts, identity_found)))
    }
}

/// The kind and number of a file of an index, by its name.
fn parse_name(name: &str) -> Option<(Kind, u64)> {
    if name == "manifest" {
        return Some((Kind::Manifest, 0));
    }
    let (kind, number) = name.split_once('-')?;
    let kind = match kind {
        "rows" => Kind::Rows,
        "graph" => Kind::Graph,
        _ => return None,
    };
    Some((kind, number.parse().ok()?))
}

fn identity(header: &[u8], table: &[u8]) -> Hash {
    Hash(Sha256::new().chain_update(header).chain_update(table).finalize().into())
}

/// A file that ends early is damaged; anything else is the system's failure.
fn read_failed(path: &Path, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        damaged(format!("{} is truncated", path.display()))
    } else if error.kind() == io::ErrorKind::NotFound {
        damaged(format!("{} is missing", path.display()))
    } else {
        io_failed(path, error)
    }
}

fn read_array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Makes renames in the folder durable; where a folder cannot be opened as a file, the system does it alone.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
