//! Bytes once written decode for ever: a committed file for each kind of record and version of it.
//!
//! `LOOM_GOLDEN=write` writes the files that are missing; those that are there are never written again.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use uuid::Uuid;

use super::{Outline, Piece, Stored, StoredBlob, StoredRecord, Vector, VectorBlock, VectorPlace, decode, encode};
use crate::change::{Change, ChangeEntry};
use crate::error::Error;
use crate::id::{ChunkId, DocId, Hash, Revision, Scope, Seq, VersionId};
use crate::lease::LeaseValue;
use crate::record::{
    BlobRow, Cause, Chunk, Document, Head, NamespaceRow, Original, Place, Section, Supersession, Timestamp, Version,
    VersionState,
};

const KEY: &[u8] = b"org\0notes\0key";

/// The file `name` decodes to `value`, and `value` encodes to it (unless zstd's next release packs it differently).
fn check<T: Stored + PartialEq + Debug>(name: &str, value: &T) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.bin"));
    let encoded = encode(KEY, value).expect("it encodes");
    if !path.exists() && std::env::var_os("LOOM_GOLDEN").is_some() {
        fs::write(&path, &encoded).expect("the golden file is written");
    }
    let golden = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(&decode::<T>(KEY, &golden).expect("it decodes"), value, "{name}");
    let compressed = golden[2] != 0;
    assert!(compressed || golden == encoded, "{name} is encoded differently now: that needs a new version");
    let another = decode::<T>(b"org\0notes\0other", &golden);
    assert!(matches!(another, Err(Error::Corrupt { .. })), "{name} under another key: {another:?}");
    if encoded.len() < 2000 {
        damage::<T>(name, &encoded);
    }
}

/// No bit can flip and no byte go missing unnoticed.
fn damage<T: Stored + PartialEq + Debug>(name: &str, encoded: &[u8]) {
    for bit in 0..encoded.len() * 8 {
        let mut flipped = encoded.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let decoded = decode::<T>(KEY, &flipped);
        assert!(matches!(decoded, Err(Error::Corrupt { .. })), "{name} with bit {bit} flipped: {decoded:?}");
    }
    for len in 0..encoded.len() {
        let decoded = decode::<T>(KEY, &encoded[..len]);
        assert!(matches!(decoded, Err(Error::Corrupt { .. })), "{name} cut to {len} bytes: {decoded:?}");
    }
}

fn document() -> Document {
    Document {
        title: "Title é".into(),
        description: "What it is about".into(),
        tags: vec!["one".into(), "two".into()],
        metadata: r#"{"k":[1,null]}"#.into(),
        agent: "agent".into(),
        session_id: "session".into(),
        source_class: "asserted".into(),
        actor: "user:local".into(),
        format: "pdf".into(),
        parser: "parser 1".into(),
        coverage: r#"{"unit":"pages"}"#.into(),
        original: Some(Original {
            blob: Hash::of(b"original"),
            size: 70_000,
            filename: "a.pdf".into(),
            content_type: "application/pdf".into(),
        }),
    }
}

fn version(state: VersionState) -> Version {
    Version {
        id: VersionId::new(Seq(300), 2),
        doc_id: DocId(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0001)),
        source_uri: "file:///a.pdf".into(),
        revision: Revision(3),
        ingested_at: Timestamp(-1_700_000_000_123),
        state,
        document: document(),
        content_hash: Hash::of(b"content"),
        chars: 7,
        first_chunk: ChunkId::new(Seq(300), 5),
        chunk_count: 2,
        section_count: 1,
    }
}

fn chunk(text: &str) -> Chunk {
    Chunk {
        id: ChunkId::new(Seq(300), 5),
        version: VersionId::new(Seq(300), 2),
        idx: 1,
        text: text.into(),
        context: "Title é > A > B".into(),
        section_path: vec!["A".into(), "B".into()],
        place: Place { byte_start: 1, byte_end: 260, char_start: 2, char_end: 70_000, line_start: 3, line_end: 4 },
        content_hash: Hash::of(b"passage"),
        input_hash: Hash::of(b"input"),
        noise: true,
        block_type: "table".into(),
        keys: vec!["orders_daily".into()],
        locator: r#"{"page":1}"#.into(),
    }
}

#[test]
fn golden_documents_decode() {
    check(
        "namespace-v1",
        &NamespaceRow {
            scope: Scope::new("org", "notes"),
            created_at: Timestamp(1_700_000_000_000),
            last_seq: Seq(300),
            documents: 250,
            chunks: 70_000,
            versions: 260,
        },
    );
    check(
        "head-v1",
        &Head { version: VersionId::new(Seq(300), 2), revision: Revision(3), live: true, changed: Seq(301) },
    );
    check("version-live-v1", &version(VersionState::Live));
    for cause in [Cause::Replace, Cause::Delete, Cause::Duplicate, Cause::Erasure] {
        let supersession = Supersession { at: Timestamp(1_700_000_000_001), cause, chunks: 300 };
        let name = format!("{cause:?}").to_lowercase();
        check(&format!("supersession-{name}-v1"), &supersession);
        check(&format!("version-{name}-v1"), &version(VersionState::Superseded(supersession)));
    }
    check("text-v1", &"A short text é".to_owned());
    check("text-compressed-v1", &"A long text é. ".repeat(1000));
    let section = Section { path: vec!["A".into(), "B é".into()], depth: 2, chunks: (1, 300), chars: 70_000 };
    check(
        "outline-v1",
        &Outline(vec![section.clone(), Section { path: vec!["C".into()], depth: 1, ..section.clone() }]),
    );
    check("outline-compressed-v1", &Outline(vec![section; 1000]));
    check("chunk-v1", &chunk("The passage é"));
    check("chunk-compressed-v1", &chunk(&"A long passage. ".repeat(1000)));
}

#[test]
fn golden_others_decode() {
    check("seq-v1", &Seq(70_000));
    check("vector-v1", &Vector(vec![0.0, -1.5, f32::MIN_POSITIVE, f32::MAX]));
    let vectors = [(Hash::of(b"1"), vec![0.0, -1.5]), (Hash::of(b"2"), vec![f32::MIN_POSITIVE, f32::MAX])];
    let entries = vectors.iter().map(|(input, vector)| (input, vector.as_slice()));
    check("vector-block-v1", &VectorBlock::of(2, entries).expect("two is a dimension"));
    check("vector-place-v1", &VectorPlace { block: (300 << 24) + 1, at: 300 });
    check(
        "changes-v1",
        &ChangeEntry {
            seq: Seq(300),
            changes: vec![
                Change::Added(VersionId(1)),
                Change::Retired(VersionId(300)),
                Change::Restored(VersionId(70_000)),
                Change::Edited(VersionId(1 << 40)),
                Change::ModelSwitched("model".into()),
            ],
        },
    );
    check("blob-row-v1", &BlobRow { hash: Hash::of(b"blob"), size: 70_000, stored_at: Timestamp(-1) });
    check("record-v1", &StoredRecord { changed: Seq(300), value: b"value".to_vec() });
    check("stored-blob-v1", &StoredBlob { upload: 300, size: 1 << 40, piece_bytes: 1_044_480 });
    check("piece-v1", &Piece(b"some bytes".to_vec()));
    check("lease-v1", &LeaseValue { owner: "worker 1".into(), expires_at: Timestamp(1_700_000_000_000) });
}
