//! A way into the decoders for bytes that no encoder made, for the fuzzer and the replay of its corpus.

use super::header::{Body, Kind, Stored};
use super::{Outline, Piece, StoredBlob, StoredRecord, Vector, decode, encode};
use crate::change::ChangeEntry;
use crate::error::Error;
use crate::id::Seq;
use crate::lease::LeaseValue;
use crate::record::{BlobRow, Chunk, Head, NamespaceRow, Supersession, Version};

/// The key that the bytes are taken to be stored under.
const KEY: &[u8] = b"org\0notes\0key";

/// Whether bytes are a record of one kind.
type Decodes = fn(&[u8]) -> bool;

/// Decodes a value that has the right checksum and nothing else to be trusted: `data` is a header of three bytes (kind,
/// version, flags) and a body. Returns whether it is a record of its kind.
///
/// # Panics
///
/// When it is one, and does not come back as it is once it is encoded again.
pub fn decode_hostile(data: &[u8]) -> bool {
    let Some((header, body)) = data.split_first_chunk::<3>() else { return false };
    let value = Body { header: *header, bytes: body.to_vec() }.seal(KEY);
    let decoders: [(Kind, Decodes); 15] = [
        (Kind::Seq, decodes::<Seq>),
        (Kind::Namespace, decodes::<NamespaceRow>),
        (Kind::Head, decodes::<Head>),
        (Kind::Version, decodes::<Version>),
        (Kind::Text, decodes::<String>),
        (Kind::Chunk, decodes::<Chunk>),
        (Kind::Vector, decodes::<Vector>),
        (Kind::Supersession, decodes::<Supersession>),
        (Kind::Changes, decodes::<ChangeEntry>),
        (Kind::BlobRow, decodes::<BlobRow>),
        (Kind::Record, decodes::<StoredRecord>),
        (Kind::StoredBlob, decodes::<StoredBlob>),
        (Kind::Piece, decodes::<Piece>),
        (Kind::Lease, decodes::<LeaseValue>),
        (Kind::Outline, decodes::<Outline>),
    ];
    let records = decoders.into_iter().filter(|(_, decodes)| decodes(&value)).map(|(kind, _)| kind as u8);
    let records: Vec<u8> = records.collect();
    assert!(records.is_empty() || records == [header[0]], "kind {} decodes as {records:?}", header[0]);
    !records.is_empty()
}

fn decodes<T: Stored>(value: &[u8]) -> bool {
    let record: T = match decode(KEY, value) {
        Ok(record) => record,
        Err(Error::Corrupt { .. }) => return false,
        Err(other) => panic!("{other}"),
    };
    let encoded = encode(KEY, &record).expect("what was decoded is within the bounds");
    let again: T = decode(KEY, &encoded).expect("what was encoded decodes");
    assert_eq!(encode(KEY, &again).expect("it was encoded before"), encoded, "it comes back as it is");
    true
}
