//! What the engine and the process that reads files say to each other, over the process's standard input and output.
//!
//! A message is a byte that says what it is, the length of what follows in eight bytes, little endian, and that. The
//! engine sends `Setup`, and the process confines itself and answers `Hello`, or `Unconfined` and ends. Then, as often as
//! the engine wants, `Request` and `File` are answered by `Artifact` or `Refusal`; before that the process may ask for OCR.

use std::io::{self, Read, Write};

use loom_extract::contract::{BoundingBox, Capabilities};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The most bytes of a message that is neither a file nor an artifact.
pub const SMALL_BYTES_MAX: u64 = 1 << 20;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The engine: [`Setup`].
    Setup = b'S',
    /// The process: [`Hello`].
    Hello = b'H',
    /// The process: why it does not confine itself, as text. It ends.
    Unconfined = b'U',
    /// The engine: a request of the contract.
    Request = b'R',
    /// The engine: the file's bytes. The process, once for each file: the same bytes, for the pages of it that it asks OCR for.
    File = b'F',
    /// The process: the artifact.
    Artifact = b'A',
    /// The process: a refusal of the contract.
    Refusal = b'N',
    /// The process: the number of a page to read words off.
    Page = b'P',
    /// The process: a picture to read words off.
    Picture = b'I',
    /// The engine: [`Words`].
    Words = b'W',
    /// The engine asks what the process can still do; the process answers [`Attempt`]s.
    Probe = b'B',
}

const KINDS: [Kind; 11] = [
    Kind::Setup,
    Kind::Hello,
    Kind::Unconfined,
    Kind::Request,
    Kind::File,
    Kind::Artifact,
    Kind::Refusal,
    Kind::Page,
    Kind::Picture,
    Kind::Words,
    Kind::Probe,
];

/// What the process may use.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    /// Bytes of address space.
    pub memory_bytes: u64,
    /// Seconds of computing, over the whole life of the process.
    pub cpu_seconds: u64,
    /// Seconds of one extraction.
    pub time_seconds: u64,
    /// The largest file in bytes.
    pub file_bytes: u64,
    /// Whether it may run without the layers that must hold.
    pub degraded: bool,
    /// Whether the engine can read words off pictures.
    pub ocr: bool,
}

/// What the process says when it is confined.
#[derive(Clone, Serialize, Deserialize)]
pub struct Hello {
    /// What it reads.
    pub capabilities: Capabilities,
    /// What confines it.
    pub layers: Vec<Layer>,
}

/// One of the ways in which a process is confined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name, such as `seccomp`.
    pub name: String,
    /// Whether it holds.
    pub active: bool,
    /// What it does, or why it does not hold.
    pub detail: String,
}

/// What was read off a page or a picture.
#[derive(Serialize, Deserialize)]
pub enum Words {
    /// The words.
    Read {
        /// The paragraphs in reading order.
        paragraphs: Vec<(String, BoundingBox)>,
        /// 0 to 100.
        confidence: f32,
    },
    /// There is no program to read with.
    Unavailable,
    /// The program failed.
    Failed(String),
}

/// One thing that a confined process tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// What it tried.
    pub what: String,
    /// Whether the system let it.
    pub allowed: bool,
    /// What the system said.
    pub said: String,
}

/// Writes a message whole.
pub fn write(to: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    write_head(to, kind, payload.len() as u64)?;
    to.write_all(payload)?;
    to.flush()
}

/// Writes what comes before a message's `length` bytes.
pub fn write_head(to: &mut impl Write, kind: Kind, length: u64) -> io::Result<()> {
    let mut head = [kind as u8; 9];
    head[1..].copy_from_slice(&length.to_le_bytes());
    to.write_all(&head)
}

/// Writes a message as JSON.
pub fn write_json(to: &mut impl Write, kind: Kind, value: &impl Serialize) -> io::Result<()> {
    write(to, kind, &serde_json::to_vec(value)?)
}

/// Reads what comes before a message; `None` at the orderly end of the input. [`io::ErrorKind::InvalidData`] when it is no
/// message, [`io::ErrorKind::UnexpectedEof`] when the input ends inside it.
pub fn read_head(from: &mut impl Read) -> io::Result<Option<(Kind, u64)>> {
    let mut head = [0; 9];
    if from.read(&mut head[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut head[1..])?;
    let kind = KINDS.into_iter().find(|kind| *kind as u8 == head[0]).ok_or(io::ErrorKind::InvalidData)?;
    let mut length = [0; 8];
    length.copy_from_slice(&head[1..]);
    Ok(Some((kind, u64::from_le_bytes(length))))
}

/// Reads a message's bytes. [`io::ErrorKind::FileTooLarge`] when they are more than `limit`; they are then not read. Memory is
/// taken as they come, not as they are announced.
pub fn read_payload(from: &mut impl Read, length: u64, limit: u64) -> io::Result<Vec<u8>> {
    if length > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut payload = Vec::new();
    from.take(length).read_to_end(&mut payload)?;
    if payload.len() as u64 == length { Ok(payload) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Reads a small message that must be of a kind.
pub fn expect<T: DeserializeOwned>(from: &mut impl Read, wanted: Kind) -> io::Result<T> {
    match read_head(from)? {
        Some((kind, length)) if kind == wanted => {
            let payload = read_payload(from, length, SMALL_BYTES_MAX)?;
            serde_json::from_slice(&payload).map_err(|_| io::ErrorKind::InvalidData.into())
        }
        Some(_) => Err(io::ErrorKind::InvalidData.into()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_and_broken_ones_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, Kind::File, b"abc").expect("memory takes it");
        let mut from = &bytes[..];
        assert_eq!(read_head(&mut from).expect("a message"), Some((Kind::File, 3)));
        assert_eq!(read_payload(&mut from, 3, 3).expect("its bytes"), b"abc");
        assert_eq!(read_head(&mut from).expect("the end"), None);
        for (cut, kind) in [(1, io::ErrorKind::UnexpectedEof), (8, io::ErrorKind::UnexpectedEof)] {
            assert_eq!(read_head(&mut &bytes[..cut]).expect_err("it is cut").kind(), kind);
        }
        assert_eq!(read_head(&mut &b"?12345678"[..]).expect_err("no kind").kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_payload(&mut &b"ab"[..], 3, 9).expect_err("cut").kind(), io::ErrorKind::UnexpectedEof);
        // Nothing is set aside for what is only announced.
        assert_eq!(read_payload(&mut &b"ab"[..], u64::MAX, 9).expect_err("long").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(
            read_payload(&mut &b"ab"[..], 1 << 60, u64::MAX).expect_err("cut").kind(),
            io::ErrorKind::UnexpectedEof
        );
    }
}
