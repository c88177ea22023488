//! The one place where records become bytes and come back.
//!
//! A stored value is a header of seven bytes and a body:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0 | kind of record ([`Kind`]) |
//! | 1 | version of the body's layout, from 1 |
//! | 2 | flags: bit 0, the body is a `u32` raw length (little endian) and a zstd frame |
//! | 3..7 | CRC-32 (little endian) of bytes 0..3, the key that the value is stored under, and the body |
//!
//! The key is part of the checksum, so that a value read under another key than its own is damage too.
//!
//! # Changing what is stored
//!
//! Bytes written once must decode for ever. A record's fields are encoded by position, so any change of a stored
//! type (a field more, less, of another type or in another place; a variant other than at the end) is a new
//! version: copy the old type into a module `v1` beside `records`, raise the record's `VERSION`, decode version 1
//! through the copy into today's type, and add a golden file for version 2. The golden file of version 1 stays and
//! its test must still pass.

mod header;
#[cfg(feature = "testing")]
mod hostile;
mod records;

#[cfg(test)]
mod golden;

pub(crate) use header::{BODY_BYTES_MAX, Body, Stored, decode, encode};
#[cfg(feature = "testing")]
pub use hostile::decode_hostile;
pub(crate) use records::{Outline, Piece, StoredBlob, StoredRecord, Vector, VectorBlock, VectorPlace};

/// The version of the rows as a whole, which a backup bears: raised with a new kind of row, a new key or an index that
/// can no longer be derived; a new version of one kind's body needs nothing, since the record says it.
pub(crate) const ROWS_VERSION: u32 = 1;
