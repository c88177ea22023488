//! The body of each kind of record.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::header::{BODY_BYTES_MAX, Kind, Stored};
use crate::change::ChangeEntry;
use crate::error::Error;
use crate::id::{Hash, Seq};
use crate::lease::LeaseValue;
use crate::record::{BlobRow, Chunk, Head, NamespaceRow, Section, Supersession, Version};

/// A record whose only version so far is its own fields in bincode's standard configuration.
trait Plain: Serialize + DeserializeOwned {
    const KIND: Kind;
}

impl<T: Plain> Stored for T {
    const KIND: Kind = <T as Plain>::KIND;

    fn pack(&self) -> Result<Cow<'_, [u8]>, Error> {
        bincode::serde::encode_to_vec(self, bincode::config::standard())
            .map(Cow::Owned)
            .map_err(|error| Error::Invalid(format!("a {} does not encode: {error}", <T as Plain>::KIND.name())))
    }

    fn unpack(_: u8, body: Cow<'_, [u8]>) -> Result<Self, String> {
        let config = bincode::config::standard().with_limit::<BODY_BYTES_MAX>();
        let (value, read) =
            bincode::serde::decode_from_slice(&body, config).map_err(|error| format!("it does not decode: {error}"))?;
        if read == body.len() { Ok(value) } else { Err(format!("{} bytes follow its end", body.len() - read)) }
    }
}

impl Plain for Seq {
    const KIND: Kind = Kind::Seq;
}
impl Plain for NamespaceRow {
    const KIND: Kind = Kind::Namespace;
}
impl Plain for Head {
    const KIND: Kind = Kind::Head;
}
impl Plain for Version {
    const KIND: Kind = Kind::Version;
}
impl Plain for Chunk {
    const KIND: Kind = Kind::Chunk;
}
impl Plain for Supersession {
    const KIND: Kind = Kind::Supersession;
}
impl Plain for ChangeEntry {
    const KIND: Kind = Kind::Changes;
}
impl Plain for BlobRow {
    const KIND: Kind = Kind::BlobRow;
}
impl Plain for StoredBlob {
    const KIND: Kind = Kind::StoredBlob;
}
impl Plain for LeaseValue {
    const KIND: Kind = Kind::Lease;
}
impl Plain for VectorPlace {
    const KIND: Kind = Kind::VectorPlace;
}
impl Plain for Outline {
    const KIND: Kind = Kind::Outline;
}

/// The sections of a version, in document order; never stored empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outline(pub(crate) Vec<Section>);

/// Where the bytes of a blob are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredBlob {
    /// The upload that brought its pieces.
    pub(crate) upload: u64,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The size of every piece but the last.
    pub(crate) piece_bytes: u32,
}

/// The text of a version: UTF-8.
impl Stored for String {
    const KIND: Kind = Kind::Text;

    fn pack(&self) -> Result<Cow<'_, [u8]>, Error> {
        Ok(Cow::Borrowed(self.as_bytes()))
    }

    fn unpack(_: u8, body: Cow<'_, [u8]>) -> Result<Self, String> {
        Self::from_utf8(body.into_owned()).map_err(|error| format!("it is not UTF-8: {error}"))
    }
}

/// A vector as it was stored before there were blocks: its numbers as little-endian `f32`, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vector(pub(crate) Vec<f32>);

impl Stored for Vector {
    const KIND: Kind = Kind::Vector;
    const COMPRESS: bool = false;

    fn pack(&self) -> Result<Cow<'_, [u8]>, Error> {
        Ok(Cow::Owned(self.0.iter().flat_map(|x| x.to_le_bytes()).collect()))
    }

    fn unpack(_: u8, body: Cow<'_, [u8]>) -> Result<Self, String> {
        let (numbers, rest) = body.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(format!("{} bytes are no whole numbers", body.len()));
        }
        Ok(Self(numbers.iter().map(|x| f32::from_le_bytes(*x)).collect()))
    }
}

/// Vectors of one model that one commit brought, in the order it named them.
///
/// Stored as the dimension (4 bytes, little endian), then for each vector the hash of its input (32 bytes) and its
/// numbers as little-endian `f32`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VectorBlock {
    dim: usize,
    /// As it is stored.
    body: Vec<u8>,
}

/// Where the vector of an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VectorPlace {
    /// The block's number.
    pub(crate) block: u64,
    /// The vector's place in it, from 0.
    pub(crate) at: u32,
}

impl VectorBlock {
    /// Blocks are made this large at most, so that one fills its page in the file.
    const BYTES_MAX: usize = 32 * 1024 - 256;
    /// What the dimension takes in front of the vectors.
    const DIM_BYTES: usize = size_of::<u32>();

    /// How many vectors of `dim` numbers a block takes, at least one.
    pub(crate) fn capacity(dim: usize) -> usize {
        (Self::BYTES_MAX / Self::entry_bytes(dim)).max(1)
    }

    /// A block of `vectors`, all of `dim` numbers. [`Error::Invalid`] when that is no 32-bit number.
    pub(crate) fn of<'a>(
        dim: usize,
        vectors: impl ExactSizeIterator<Item = (&'a Hash, &'a [f32])>,
    ) -> Result<Self, Error> {
        let stored_dim = u32::try_from(dim).map_err(|_| Error::Invalid(format!("vectors of {dim} numbers")))?;
        let mut body = Vec::with_capacity(Self::DIM_BYTES + vectors.len() * Self::entry_bytes(dim));
        body.extend_from_slice(&stored_dim.to_le_bytes());
        for (input, vector) in vectors {
            body.extend_from_slice(&input.0);
            let start = body.len();
            body.resize(start + size_of_val(vector), 0);
            for (bytes, number) in body[start..].as_chunks_mut().0.iter_mut().zip(vector) {
                *bytes = number.to_le_bytes();
            }
        }
        Ok(Self { dim, body })
    }

    fn entries(&self) -> &[u8] {
        &self.body[Self::DIM_BYTES..]
    }

    fn entry_bytes(dim: usize) -> usize {
        size_of::<Hash>() + dim * size_of::<f32>()
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// How many vectors it holds.
    pub(crate) fn len(&self) -> usize {
        self.entries().len() / Self::entry_bytes(self.dim)
    }

    /// The inputs whose vectors it holds, in their places.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Hash> {
        (0..).map_while(|at| self.get(at)).map(|(input, _)| input)
    }

    /// The input and the vector at a place.
    pub(crate) fn get(&self, at: u32) -> Option<(Hash, Vec<f32>)> {
        let size = Self::entry_bytes(self.dim);
        let start = (at as usize).checked_mul(size)?;
        let (input, numbers) = self.entries().get(start..start.checked_add(size)?)?.split_first_chunk()?;
        let numbers = numbers.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Some((Hash(*input), numbers))
    }
}

impl Stored for VectorBlock {
    const KIND: Kind = Kind::VectorBlock;
    const COMPRESS: bool = false;

    fn pack(&self) -> Result<Cow<'_, [u8]>, Error> {
        Ok(Cow::Borrowed(&self.body))
    }

    fn unpack(_: u8, body: Cow<'_, [u8]>) -> Result<Self, String> {
        let (dim, entries) = body.split_first_chunk::<{ Self::DIM_BYTES }>().ok_or("its body is cut short")?;
        let dim = u32::from_le_bytes(*dim) as usize;
        if !entries.len().is_multiple_of(Self::entry_bytes(dim)) {
            return Err(format!("{} bytes are no vectors of {dim} numbers", entries.len()));
        }
        Ok(Self { dim, body: body.into_owned() })
    }
}

/// A control record under its key: the commit that wrote it (8 bytes, little endian), then its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub(crate) changed: Seq,
    pub(crate) value: Vec<u8>,
}

impl Stored for StoredRecord {
    const KIND: Kind = Kind::Record;

    fn pack(&self) -> Result<Cow<'_, [u8]>, Error> {
        Ok(Cow::Owned([&self.changed.0.to_le_bytes()[..], &self.value].concat()))
    }

    fn unpack(_: u8, body: Cow<'_, [u8]>) -> Result<Self, String> {
        let (changed, value) = body.split_first_chunk::<8>().ok_or("its body is cut short")?;
        Ok(Self { changed: Seq(u64::from_le_bytes(*changed)), value: value.to_vec() })
    }
}

/// A piece of a blob, as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece(pub(crate) Vec<u8>);

impl Stored for Piece {
    const KIND: Kind = Kind::Piece;
    // Originals are mostly compressed formats already.
    const COMPRESS: bool = false;

    fn pack(&self) -> Result<Cow<'_, [u8]>, Error> {
        Ok(Cow::Borrowed(&self.0))
    }

    fn unpack(_: u8, body: Cow<'_, [u8]>) -> Result<Self, String> {
        Ok(Self(body.into_owned()))
    }
}
