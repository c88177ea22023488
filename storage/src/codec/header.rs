//! The header, the checksum and the compression around a record's body.

use std::borrow::Cow;
use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use crate::error::Error;
use crate::keys;

/// The largest body, before compression: 256 MiB.
pub(crate) const BODY_BYTES_MAX: usize = 256 << 20;

const HEADER_BYTES: usize = 7;
const CHECKED_HEADER_BYTES: usize = 3;
const FLAG_ZSTD: u8 = 1;
/// Bodies from this size on are compressed, where that makes them smaller.
const COMPRESS_FROM_BYTES: usize = 4096;
const ZSTD_LEVEL: i32 = 3;

/// The kinds of records; the numbers are stored and never used again for another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Seq = 1,
    Namespace = 2,
    Head = 3,
    Version = 4,
    Text = 5,
    Chunk = 6,
    Vector = 7,
    Supersession = 8,
    Changes = 9,
    BlobRow = 10,
    Record = 11,
    StoredBlob = 12,
    Piece = 13,
    Lease = 14,
    Outline = 15,
    VectorBlock = 16,
    VectorPlace = 17,
}

impl Kind {
    /// What an error calls a record of this kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seq => "sequence number",
            Self::Namespace => "namespace",
            Self::Head => "head",
            Self::Version => "version",
            Self::Text => "text",
            Self::Chunk => "chunk",
            Self::Vector => "vector",
            Self::Supersession => "supersession",
            Self::Changes => "change entry",
            Self::BlobRow => "blob row",
            Self::Record => "record",
            Self::StoredBlob => "stored blob",
            Self::Piece => "blob piece",
            Self::Lease => "lease",
            Self::Outline => "outline",
            Self::VectorBlock => "vector block",
            Self::VectorPlace => "vector place",
        }
    }
}

/// A type with a stored form.
pub(crate) trait Stored: Sized {
    /// Its kind in the header.
    const KIND: Kind;
    /// The version of the body that [`Stored::pack`] writes.
    const VERSION: u8 = 1;
    /// Whether large bodies are worth compressing.
    const COMPRESS: bool = true;

    /// The body.
    fn pack(&self) -> Result<Cow<'_, [u8]>, Error>;

    /// The value of a body of `version`, which is 1 to [`Stored::VERSION`]; an error says what is wrong with it.
    fn unpack(version: u8, body: Cow<'_, [u8]>) -> Result<Self, String>;
}

/// A packed and compressed body that only lacks its key: made ahead of the commit that gives the key.
#[derive(Debug)]
pub(crate) struct Body {
    pub(super) header: [u8; CHECKED_HEADER_BYTES],
    pub(super) bytes: Vec<u8>,
}

impl Body {
    /// Packs `value`. [`Error::Invalid`] when it is larger than [`BODY_BYTES_MAX`].
    pub(crate) fn of<T: Stored>(value: &T) -> Result<Self, Error> {
        let (header, bytes) = packed(value)?;
        Ok(Self { header, bytes: bytes.into_owned() })
    }

    /// Its size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The value to store under `key`.
    pub(crate) fn seal(&self, key: &[u8]) -> Vec<u8> {
        seal(self.header, key, &self.bytes)
    }
}

/// A value's header but for the checksum, and its body, compressed where that pays.
fn packed<T: Stored>(value: &T) -> Result<([u8; CHECKED_HEADER_BYTES], Cow<'_, [u8]>), Error> {
    let raw = value.pack()?;
    let raw_len = u32::try_from(raw.len()).ok().filter(|_| raw.len() <= BODY_BYTES_MAX).ok_or_else(|| {
        Error::Invalid(format!("a {} of {} bytes; at most {BODY_BYTES_MAX}", T::KIND.name(), raw.len()))
    })?;
    let compressed = if T::COMPRESS && raw.len() >= COMPRESS_FROM_BYTES { compress(&raw, raw_len)? } else { None };
    let flags = if compressed.is_some() { FLAG_ZSTD } else { 0 };
    Ok(([T::KIND as u8, T::VERSION, flags], compressed.map_or(raw, Cow::Owned)))
}

fn seal(header: [u8; CHECKED_HEADER_BYTES], key: &[u8], body: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(HEADER_BYTES + body.len());
    value.extend_from_slice(&header);
    value.extend_from_slice(&checksum(header, key, body).to_le_bytes());
    value.extend_from_slice(body);
    value
}

/// The bytes to store for `value` under `key`.
pub(crate) fn encode<T: Stored>(key: &[u8], value: &T) -> Result<Vec<u8>, Error> {
    let (header, body) = packed(value)?;
    Ok(seal(header, key, &body))
}

/// The value stored under `key` as `bytes`. [`Error::Corrupt`] when any bit of either is not what was written.
pub(crate) fn decode<T: Stored>(key: &[u8], bytes: &[u8]) -> Result<T, Error> {
    open(key, bytes).map_err(|detail| Error::Corrupt { what: T::KIND.name(), key: keys::printable(key), detail })
}

fn open<T: Stored>(key: &[u8], bytes: &[u8]) -> Result<T, String> {
    let (header, rest) = bytes.split_first_chunk::<CHECKED_HEADER_BYTES>().ok_or("it is cut short")?;
    let (stored, body) = rest.split_first_chunk::<4>().ok_or("it is cut short")?;
    if checksum(*header, key, body) != u32::from_le_bytes(*stored) {
        return Err("its checksum does not match".into());
    }
    let [kind, version, flags] = *header;
    if kind != T::KIND as u8 {
        return Err(format!("it is of kind {kind}"));
    }
    if version == 0 || version > T::VERSION {
        return Err(format!("its version {version} is not known to this build"));
    }
    match flags {
        0 => T::unpack(version, Cow::Borrowed(body)),
        FLAG_ZSTD => T::unpack(version, Cow::Owned(decompress(body)?)),
        _ => Err(format!("its flags {flags} are not known to this build")),
    }
}

fn checksum(header: [u8; CHECKED_HEADER_BYTES], key: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header);
    hasher.update(key);
    hasher.update(body);
    hasher.finalize()
}

thread_local! {
    // A context is hundreds of kilobytes to set up: one for each thread, not one for each record.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The compressed body with its raw length in front; `None` when it would not be smaller.
fn compress(raw: &[u8], raw_len: u32) -> Result<Option<Vec<u8>>, Error> {
    let frame = COMPRESSOR
        .with_borrow_mut(|slot| {
            let compressor = match slot {
                Some(compressor) => compressor,
                None => slot.insert(Compressor::new(ZSTD_LEVEL)?),
            };
            compressor.compress(raw)
        })
        .map_err(|error| Error::from_io(&error, "compressing a record"))?;
    if frame.len() + 4 >= raw.len() {
        return Ok(None);
    }
    let mut body = Vec::with_capacity(4 + frame.len());
    body.extend_from_slice(&raw_len.to_le_bytes());
    body.extend_from_slice(&frame);
    Ok(Some(body))
}

fn decompress(body: &[u8]) -> Result<Vec<u8>, String> {
    let (raw_len, frame) = body.split_first_chunk::<4>().ok_or("its compressed body is cut short")?;
    let raw_len = u32::from_le_bytes(*raw_len) as usize;
    if raw_len > BODY_BYTES_MAX {
        return Err(format!("it claims {raw_len} bytes"));
    }
    let raw = DECOMPRESSOR
        .with_borrow_mut(|slot| {
            let decompressor = match slot {
                Some(decompressor) => decompressor,
                None => slot.insert(Decompressor::new()?),
            };
            decompressor.decompress(frame, raw_len)
        })
        .map_err(|error| format!("its compressed body does not decode: {error}"))?;
    if raw.len() == raw_len { Ok(raw) } else { Err(format!("it claims {raw_len} bytes and has {}", raw.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::ChangeEntry;
    use crate::record::Chunk;

    /// What a value with a valid checksum but this body decodes to.
    fn hostile<T: Stored + std::fmt::Debug>(flags: u8, bytes: &[u8]) -> String {
        let value = Body { header: [T::KIND as u8, T::VERSION, flags], bytes: bytes.to_vec() }.seal(b"key");
        match decode::<T>(b"key", &value) {
            Err(Error::Corrupt { detail, .. }) => detail,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn hostile_bodies_are_refused_without_their_memory() {
        let long = [&[1, 253][..], &u64::MAX.to_le_bytes()].concat();
        assert!(hostile::<ChangeEntry>(0, &long).contains("does not decode"));
        assert!(
            hostile::<Chunk>(0, &[1, 1, 1, 253, 255, 255, 255, 255, 255, 255, 255, 127]).contains("does not decode")
        );
        assert!(hostile::<Chunk>(0, &[]).contains("does not decode"));
        assert!(hostile::<ChangeEntry>(0, &[1, 0, 9]).contains("1 bytes follow"));
        assert!(hostile::<String>(0, &[0xff]).contains("not UTF-8"));
        assert!(hostile::<String>(2, b"text").contains("flags 2"));
        assert!(hostile::<String>(FLAG_ZSTD, &[1, 2]).contains("cut short"));
        assert!(hostile::<String>(FLAG_ZSTD, &[0xff; 9]).contains("claims 4294967295 bytes"));
        assert!(hostile::<String>(FLAG_ZSTD, &[1, 0, 0, 0, 1, 2, 3]).contains("does not decode"));
        let frame = zstd::bulk::compress(b"four", 1).expect("a frame");
        assert!(hostile::<String>(FLAG_ZSTD, &[&[5, 0, 0, 0][..], &frame].concat()).contains("claims 5 bytes"));
        assert!(hostile::<String>(FLAG_ZSTD, &[&[3, 0, 0, 0][..], &frame].concat()).contains("does not decode"));
    }

    #[test]
    fn other_kinds_and_versions_are_refused() {
        let value = |kind: Kind, version| Body { header: [kind as u8, version, 0], bytes: Vec::new() }.seal(b"key");
        for (kind, version) in [(Kind::Piece, 1), (Kind::Text, 0), (Kind::Text, 2)] {
            assert!(matches!(decode::<String>(b"key", &value(kind, version)), Err(Error::Corrupt { .. })));
        }
        assert_eq!(decode::<String>(b"key", &value(Kind::Text, 1)).expect("it decodes"), "");
    }

    #[test]
    fn large_bodies_are_compressed_and_come_back() {
        let text = "word ".repeat(10_000);
        let value = encode(b"key", &text).expect("it encodes");
        assert!(value.len() < text.len() / 10, "{} bytes", value.len());
        assert_eq!(decode::<String>(b"key", &value).expect("it decodes"), text);
    }
}
