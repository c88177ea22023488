//! Nothing can be taken from a store, added to it or changed in it that verifying does not notice.

use redb::{Durability, ReadableTable as _, TableDefinition};

use super::Table;
use crate::codec::{self, Outline};
use crate::redb::RedbStore;
use crate::redb::file::RedbFile;
use crate::redb::tables::{Bytes, Definition};
use crate::store::Store as _;
use crate::{
    BlobRow, ChunkId, Error, Hash, RedbOptions, Revision, Scope, Section, Seq, Timestamp, Version, VersionId, Write,
    keys,
};

type Row = (Vec<u8>, Vec<u8>);

fn scope() -> Scope {
    Scope::new("org", "notes")
}

fn section(chunks: (u32, u32)) -> Section {
    Section { path: vec!["Top".into()], depth: 1, chunks, chars: 4 }
}

fn new_version(source_uri: &str, text: &str) -> Write {
    use crate::{Chunk, DocId, Document, NewChunk, NewVersion, Place};
    let line = |start: usize, line: &str| {
        let (start, len) = (start as u64, line.len() as u64);
        NewChunk(Chunk {
            id: ChunkId(0),
            version: VersionId(0),
            idx: 0,
            text: line.into(),
            context: String::new(),
            section_path: Vec::new(),
            place: Place {
                byte_start: start,
                byte_end: start + len,
                char_start: start,
                char_end: start + len,
                line_start: 1,
                line_end: 1,
            },
            content_hash: Hash::of(line.as_bytes()),
            input_hash: Hash::of(line.as_bytes()),
            noise: false,
            block_type: String::new(),
            keys: Vec::new(),
            locator: String::new(),
        })
    };
    let offset = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
    Write::PutVersion(Box::new(NewVersion {
        scope: scope(),
        doc_id: DocId(uuid::Uuid::nil()),
        source_uri: source_uri.into(),
        ingested_at: Timestamp(1),
        document: Document::default(),
        text: text.into(),
        sections: if text.is_empty() { Vec::new() } else { vec![section((0, 1))] },
        chunks: text.split_inclusive('\n').map(|part| line(offset(part), part)).collect(),
    }))
}

/// A store with rows in every table.
fn filled(folder: &std::path::Path) -> RedbStore {
    let store = RedbStore::open(folder, &RedbOptions::default()).expect("it opens");
    let mut writer = store.write_blob(&scope()).expect("a writer");
    writer.write(&vec![7; 3 << 19]).expect("it is written");
    let (hash, size) = writer.finish().expect("it is finished");
    let retire = |cause| Write::Retire { scope: scope(), source_uri: "b".into(), cause, at: Timestamp(3) };
    let batches = [
        vec![new_version("a", "one\ntwo\n"), new_version("b", "one\n")],
        vec![new_version("a", "three\nthree\n"), retire(crate::Cause::Delete)],
        vec![
            new_version("c", ""),
            Write::PutBlob { scope: scope(), row: BlobRow { hash, size, stored_at: Timestamp(1) } },
        ],
        vec![
            Write::PutVectors {
                scope: scope(),
                model: "m".into(),
                vectors: vec![(Hash::of(b"1"), vec![1.0]), (Hash::of(b"2"), vec![2.0])],
            },
            Write::Record(crate::RecordWrite { key: "k".into(), value: Some(b"v".to_vec()) }),
        ],
        // Versions of one content, the last of them live, and one of another.
        vec![new_version("b", "one\n"), new_version("d", "four\nfive\n")],
        vec![new_version("b", "one\n"), new_version("d", "four\nfive\n")],
        vec![new_version("d", "six\n")],
    ];
    for writes in batches {
        store.commit(crate::Batch { preconditions: Vec::new(), writes }).expect("it commits");
    }
    store
}

fn faults(store: &RedbStore) -> Vec<String> {
    let mut faults = Vec::new();
    store.verify(true, &mut |fault| faults.push(fault)).expect("it is verified");
    faults
}

fn rows(file: &RedbFile, table: Definition) -> Vec<Row> {
    let transaction = file.begin_read().expect("a transaction");
    let open = transaction.open_table(table).expect("a table");
    let rows = open.iter().expect("rows").map(|row| row.expect("a row"));
    rows.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())).collect()
}

/// Puts `value` under `key`, or removes what is there.
fn set(file: &RedbFile, table: Definition, key: &[u8], value: Option<&[u8]>) {
    let writing = file.begin_write(Durability::None, false).expect("a transaction");
    {
        let mut open = writing.transaction.open_table(table).expect("a table");
        match value {
            Some(value) => open.insert(key, value).expect("it is written"),
            None => open.remove(key).expect("it is removed"),
        };
    }
    writing.commit().expect("it commits");
}

/// Every row removed, changed and doubled in turn; `may_go`: rows of this table may be missing.
fn damage_each_row(store: &RedbStore, file: &RedbFile, table: TableDefinition<'static, Bytes, Bytes>, may_go: bool) {
    let all = rows(file, table);
    assert!(!all.is_empty(), "{table} is empty");
    let noticed = |key: &[u8], what: &str| {
        let faults = faults(store);
        assert!(!faults.is_empty(), "nobody noticed that {} of {table} was {what}", key.escape_ascii());
        assert!(faults.len() < 20, "{faults:#?}");
    };
    for (key, value) in &all {
        if !may_go {
            set(file, table, key, None);
            noticed(key, "removed");
        }
        if let Some(last) = value.len().checked_sub(1) {
            let mut flipped = value.clone();
            flipped[last] ^= 1;
            set(file, table, key, Some(&flipped));
            noticed(key, "changed");
        }
        set(file, table, key, Some(value));
        let mut other = key.clone();
        *other.last_mut().expect("a key") ^= 0x55;
        set(file, table, &other, Some(value));
        noticed(key, "doubled");
        set(file, table, &other, None);
    }
    assert_eq!(faults(store), Vec::<String>::new(), "{table} is as it was");
}

#[test]
fn every_damaged_row_is_noticed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = filled(folder.path());
    assert_eq!(faults(&store), Vec::<String>::new());
    for table in Table::ALL {
        if table != Table::Meta {
            let may_go = matches!(table, Table::Records | Table::Changes | Table::Blobs);
            damage_each_row(&store, &store.inner.main, table.definition(), may_go);
        }
    }
}

#[test]
fn an_outline_that_fits_no_version_is_noticed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = filled(folder.path());
    let (first, without) = (VersionId::new(Seq(1), 0), VersionId::new(Seq(3), 0));
    for (version, sections, expected) in [
        (first, vec![section((0, 2))], None),
        (first, vec![section((0, 2)), section((2, 2))], Some("has 1 sections, and its outline others")),
        (first, vec![section((1, 3))], Some("a section of version")),
        (first, vec![section((1, 0))], Some("a section of version")),
        (without, vec![section((0, 1))], Some("a section of version")),
        (without, Vec::new(), Some("outlines has 6 rows where 5 belong")),
        (VersionId::new(Seq(9), 0), vec![section((0, 0))], Some("outlines has 6 rows where 5 belong")),
    ] {
        let key = keys::version(&scope(), version);
        let table = Table::Outlines.definition();
        let before = rows(&store.inner.main, table).into_iter().find(|(at, _)| *at == key).map(|(_, value)| value);
        let value = codec::encode(&key, &Outline(sections.clone())).expect("it encodes");
        set(&store.inner.main, table, &key, Some(&value));
        let found = faults(&store);
        assert_eq!(found.is_empty(), expected.is_none(), "{sections:?}: {found:?}");
        let noticed = |expected: &str| found.iter().any(|fault| fault.contains(expected));
        assert!(expected.is_none_or(noticed), "{sections:?}: {found:?}");
        set(&store.inner.main, table, &key, before.as_deref());
    }
    assert_eq!(faults(&store), Vec::<String>::new());
}

#[test]
fn a_version_that_shares_what_is_another_content_is_noticed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = filled(folder.path());
    let snapshot = store.snapshot().expect("a snapshot");
    let sharing = snapshot.revision(&scope(), "b", Revision(1)).expect("a version").expect("it is there");
    let other = snapshot.revision(&scope(), "d", Revision(2)).expect("a version").expect("it is there");
    drop(snapshot);
    let table = Table::Versions.definition();
    let key = keys::version(&scope(), sharing.id);
    for wrong in [
        Version { content_hash: other.content_hash, ..sharing.clone() },
        Version { chars: sharing.chars + 1, ..sharing.clone() },
        Version { section_count: sharing.section_count + 1, ..sharing.clone() },
        Version { first_chunk: other.first_chunk, ..sharing.clone() },
        Version { first_chunk: ChunkId(u64::MAX), ..sharing.clone() },
        Version { chunk_count: 0, ..sharing.clone() },
    ] {
        set(&store.inner.main, table, &key, Some(&codec::encode(&key, &wrong).expect("it encodes")));
        let found = faults(&store);
        assert!(found.iter().any(|fault| fault.contains("has no text")), "{wrong:?}: {found:?}");
        let snapshot = store.snapshot().expect("a snapshot");
        assert_eq!(snapshot.text(&scope(), sharing.id).expect("no text"), None);
    }
    set(&store.inner.main, table, &key, Some(&codec::encode(&key, &sharing).expect("it encodes")));
    assert_eq!(faults(&store), Vec::<String>::new());
}

#[test]
fn an_original_without_its_blob_is_noticed_where_it_is_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = filled(folder.path());
    let original = |blob| {
        let Write::PutVersion(mut new) = new_version("e", "seven\n") else { unreachable!("it writes a version") };
        let (filename, content_type) = ("e.txt".into(), "text/plain".into());
        new.document.original = Some(crate::Original { blob, size: 3 << 19, filename, content_type });
        store.commit(crate::Batch { preconditions: Vec::new(), writes: vec![Write::PutVersion(new)] })
    };
    original(Hash::of(&vec![7; 3 << 19])).expect("it commits");
    assert_eq!(faults(&store), Vec::<String>::new());
    let gone = Hash::of(b"gone");
    original(gone).expect("it commits");
    let found = faults(&store);
    assert!(found.len() == 1 && found[0].contains(&gone.hex()) && found[0].contains("\"e\""), "{found:?}");
    let cause = crate::Cause::Delete;
    let retire = Write::Retire { scope: scope(), source_uri: "e".into(), cause, at: Timestamp(9) };
    store.commit(crate::Batch { preconditions: Vec::new(), writes: vec![retire] }).expect("it commits");
    assert_eq!(faults(&store), Vec::<String>::new());
}

#[test]
fn damaged_blobs_are_noticed_and_not_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = filled(folder.path());
    let file = &store.inner.blobs.file;
    let (blobs, pieces) = (Definition::new("blobs"), Definition::new("pieces"));
    let hash = Hash::of(&vec![7; 3 << 19]);
    let read = || {
        let mut reader = store.read_blob(&scope(), &hash).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut bytes).map_err(|error| error.to_string())
    };
    for table in [blobs, pieces] {
        for (key, value) in rows(file, table) {
            set(file, table, &key, None);
            assert!(!faults(&store).is_empty(), "a missing row of {table}");
            let error = read().expect_err("it is not whole");
            assert!(error.contains("missing") || error.contains("not stored"), "{error}");
            let mut flipped = value.clone();
            flipped[value.len() / 2] ^= 1;
            set(file, table, &key, Some(&flipped));
            assert!(!faults(&store).is_empty(), "a changed row of {table}");
            let error = read().expect_err("it is damaged");
            assert!(error.contains("checksum"), "{error}");
            set(file, table, &key, Some(&value));
        }
    }
    assert_eq!(read(), Ok(3 << 19));
}

#[test]
fn a_damaged_record_is_an_error_and_never_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = filled(folder.path());
    let table = Table::Heads.definition();
    for (key, value) in rows(&store.inner.main, table) {
        let mut flipped = value.clone();
        *flipped.last_mut().expect("a value") ^= 1;
        set(&store.inner.main, table, &key, Some(&flipped));
    }
    let snapshot = store.snapshot().expect("a snapshot");
    assert!(matches!(snapshot.head(&scope(), "a"), Err(Error::Corrupt { what: "head", .. })));
    assert!(matches!(snapshot.heads(&scope(), "", None, 9), Err(Error::Corrupt { what: "head", .. })));
    let refused = store.commit(crate::Batch { preconditions: Vec::new(), writes: vec![new_version("a", "x")] });
    assert!(matches!(refused, Err(Error::Corrupt { what: "head", .. })), "{refused:?}");
}
