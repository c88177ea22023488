//! `loom doctor` names every way in which what is searched can differ from what is stored.

use std::fs;
use std::path::PathBuf;

use loom::{DoctorOptions, Report, Severity};
use loom_index::ChunkRange;
use loom_index::text::{LexicalChunk, LexicalIndex};
use loom_index::vector::VectorIndex;
use loom_storage::{Chunk, RedbOptions, RedbStore, Scope, Store as _, Version, VersionId};
use serde_json::json;

use crate::harness::{Folder, ok};

const MODEL: &str = "loom-static-256";
const DIM: usize = 256;

/// A folder with documents of two chunks and of one, and a deleted one, that nobody has open.
struct Planted {
    folder: Folder,
    two: (Version, Vec<Chunk>),
    one: (Version, Vec<Chunk>),
    deleted: (Version, Vec<Chunk>),
}

impl Planted {
    fn new() -> Self {
        let folder = Folder::new();
        let engine = folder.open();
        let add = |uri: &str, content: &str| {
            ok(&engine, "knowledge.add", json!({ "source_uri": uri, "content": content }));
        };
        add("two", "# Quokka\n\nA quokka sleeps by day.\n\n# Wombat\n\nA wombat digs at night.\n");
        add("one", "The heron stands in the reeds.\n");
        add("deleted", "The otter left its river.\n");
        ok(&engine, "knowledge.delete", json!({ "source_uri": "deleted" }));
        let served = [("heron", "one"), ("wombat", "two")];
        for (word, uri) in served {
            let found = ok(&engine, "knowledge.search", json!({ "query": word, "search_mode": "lexical" }));
            assert_eq!(found["results"][0]["source_uri"], uri);
        }
        drop(engine);
        let store = RedbStore::open(folder.path(), &RedbOptions::default()).unwrap();
        let snapshot = store.snapshot().unwrap();
        let version = |uri: &str| {
            let head = snapshot.head(&scope(), uri).unwrap().unwrap();
            let version = snapshot.version(&scope(), head.version).unwrap().unwrap();
            let chunks = snapshot.chunks(&scope(), version.first_chunk, version.chunk_count).unwrap();
            (version, chunks)
        };
        let (two, one, deleted) = (version("two"), version("one"), version("deleted"));
        assert_eq!((two.1.len(), one.1.len(), deleted.1.len()), (2, 1, 1));
        drop((snapshot, store));
        Self { folder, two, one, deleted }
    }

    fn index(&self, part: &str) -> PathBuf {
        let mut namespaces = fs::read_dir(self.folder.path().join("index")).unwrap();
        let namespace = namespaces.next().unwrap().unwrap().path();
        assert!(namespaces.next().is_none());
        namespace.join(part)
    }

    /// Changes the lexical index in `steps`, each of which is written out.
    fn lexical(&self, steps: &[&dyn Fn(&mut LexicalIndex)]) {
        let (mut index, watermark) = LexicalIndex::open(&self.index("lexical")).unwrap();
        for step in steps {
            step(&mut index);
            let job = index.freeze(watermark).expect("the step changes something");
            let flushed = job.run().unwrap();
            index.install(flushed);
        }
    }

    fn vectors(&self, change: impl FnOnce(&mut VectorIndex)) {
        let mut folders = fs::read_dir(self.index("vectors")).unwrap();
        let folder = folders.next().unwrap().unwrap().path();
        let (mut index, watermark) = VectorIndex::open(&folder, MODEL, DIM).unwrap();
        change(&mut index);
        index.freeze(watermark).expect("it changes something").run().unwrap();
    }

    fn doctor(&self, deep: bool, repair: bool) -> Report {
        self.folder.open().doctor(DoctorOptions { repair, deep }).unwrap()
    }

    /// The findings are `expected`, each by all its words, and a repair mends them.
    fn check(&self, deep: bool, expected: &[&[&str]]) {
        let report = self.doctor(deep, false);
        assert!(!report.sound, "{report:?}");
        assert_eq!(report.findings.len(), expected.len(), "{report:?}");
        for words in expected {
            let named = |what: &str| words.iter().all(|word| what.contains(word)) && what.contains("dev/local: ");
            assert!(report.findings.iter().any(|finding| named(&finding.what)), "{words:?}: {report:?}");
        }
        let mended = self.doctor(true, true);
        assert_eq!((mended.sound, mended.repaired.as_slice()), (true, &["dev/local".to_owned()][..]), "{mended:?}");
        let after = self.doctor(true, false);
        assert!(after.sound && after.findings.is_empty() && after.repaired.is_empty(), "{after:?}");
        assert_eq!((after.documents, after.chunks), (2, 3));
    }
}

fn scope() -> Scope {
    Scope::new("dev", "local")
}

fn lexical(chunks: &[Chunk]) -> Vec<LexicalChunk<'_>> {
    chunks.iter().map(|chunk| LexicalChunk { id: chunk.id, context: &chunk.context, text: &chunk.text }).collect()
}

const LEXICAL: &str = "the lexical index";
const VECTOR: &str = "the vector index";

#[test]
fn what_is_right_has_no_finding() {
    let planted = Planted::new();
    for deep in [false, true] {
        let report = planted.doctor(deep, false);
        assert!(report.sound && report.findings.is_empty(), "{report:?}");
        assert_eq!((report.namespaces, report.documents, report.chunks), (1, 2, 3));
    }
    // The same while it is all in memory, beside removals of what is on disk and versions that share chunks.
    let engine = planted.folder.open();
    let two = "# Quokka\n\nA quokka sleeps by day.\n\n# Wombat\n\nA wombat digs at night.\n";
    ok(&engine, "knowledge.upsert", json!({ "source_uri": "two", "content": two, "title": "Night" }));
    ok(&engine, "knowledge.upsert", json!({ "source_uri": "one", "content": "The heron flew away." }));
    ok(&engine, "knowledge.restore", json!({ "source_uri": "deleted" }));
    ok(&engine, "knowledge.delete", json!({ "source_uri": "one" }));
    let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound && report.findings.is_empty(), "{report:?}");
}

#[test]
fn chunks_that_the_lexical_index_lacks_are_named() {
    let planted = Planted::new();
    let (version, chunks) = &planted.two;
    planted.lexical(&[&|index| index.remove(version.id, &lexical(chunks))]);
    let gone = ["\"two\"", "is not in", LEXICAL, "--repair"];
    let [first, second] = ["chunk 0 of", "chunk 1 of"].map(|chunk| [&gone[..], &[chunk]].concat());
    planted.check(false, &[&first, &second]);
    planted.lexical(&[&|index| index.remove(version.id, &lexical(chunks)), &|index| {
        index.add(version.id, &lexical(&chunks[1..]));
    }]);
    planted.check(false, &[&first]);
}

#[test]
fn chunks_that_the_lexical_index_has_with_other_words_are_named() {
    let planted = Planted::new();
    let (version, chunks) = &planted.two;
    let replace = |from: &'static str, to: &'static str| {
        let changed = chunks[1].text.replace(from, to);
        assert_ne!(changed, chunks[1].text);
        planted.lexical(&[&|index| index.remove(version.id, &lexical(chunks)), &|index| {
            let mut other = lexical(chunks);
            other[1].text = &changed;
            index.add(version.id, &other);
        }]);
    };
    let expected = ["chunk 1 of \"two\"", "is another in", LEXICAL];
    replace("wombat", "badger");
    // It takes the words to see it.
    assert!(planted.doctor(false, false).sound);
    planted.check(true, &[&expected]);
    replace("at night", "night night");
    planted.check(true, &[&expected]);
    replace("digs", "digs and digs");
    planted.check(true, &[&expected]);
}

#[test]
fn chunks_that_the_lexical_index_should_not_have_are_named() {
    let planted = Planted::new();
    let (version, chunks) = &planted.deleted;
    planted.lexical(&[&|index| index.add(version.id, &lexical(chunks))]);
    planted.check(false, &[&["chunk 0 of \"deleted\"", LEXICAL, "if it is served"]]);
    let unknown = VersionId(version.id.0 + 1000);
    planted.lexical(&[&|index| {
        index.add(unknown, &[LexicalChunk { id: loom_storage::ChunkId(7), context: "", text: "stray" }]);
    }]);
    planted.check(false, &[&["chunk id 7, which is not stored", LEXICAL]]);
}

#[test]
fn chunks_that_the_lexical_index_has_twice_or_as_anothers_are_named() {
    let planted = Planted::new();
    let (version, chunks) = &planted.one;
    let unknown = VersionId(version.id.0 + 1000);
    planted.lexical(&[&|index| index.add(unknown, &lexical(chunks))]);
    planted.check(false, &[&["chunk 0 of \"one\"", "is more than once in", LEXICAL]]);
    planted.lexical(&[&|index| index.remove(version.id, &lexical(chunks)), &|index| {
        index.add(unknown, &lexical(chunks));
    }]);
    planted.check(false, &[&["chunk 0 of \"one\"", "is another in", LEXICAL]]);
}

#[test]
fn what_the_vector_index_has_wrong_is_named() {
    let planted = Planted::new();
    let (version, _) = &planted.two;
    let second = loom_storage::ChunkId(version.first_chunk.0 + 1);
    planted.vectors(|index| index.remove(ChunkRange { first: second, count: 1 }));
    planted.check(false, &[&["chunk 1 of \"two\"", "is not in", VECTOR]]);
    let other: Vec<f32> = (0..DIM).map(|at| if at == 3 { 1.0 } else { 0.0 }).collect();
    planted.vectors(|index| index.add(second, &other).unwrap());
    planted.check(false, &[&["chunk 1 of \"two\"", "is another in", VECTOR]]);
    planted.vectors(|index| index.add(planted.deleted.0.first_chunk, &other).unwrap());
    planted.check(false, &[&["chunk 0 of \"deleted\"", VECTOR, "if it is served"]]);
}

#[test]
fn no_more_findings_are_listed_than_can_be_read() {
    let planted = Planted::new();
    let id = |at: u64| loom_storage::ChunkId(7000 + at);
    planted.lexical(&[&|index| {
        let strays: Vec<_> = (0..50).map(|at| LexicalChunk { id: id(at), context: "", text: "stray" }).collect();
        index.add(VersionId(9999), &strays);
    }]);
    let report = planted.doctor(false, false);
    assert_eq!(report.findings.len(), 21, "{report:?}");
    assert!(report.findings[20].what.contains("dev/local: 30 more"), "{report:?}");
}

#[test]
fn a_blob_that_no_document_names_is_a_note() {
    let planted = Planted::new();
    let hash = {
        let store = RedbStore::open(planted.folder.path(), &RedbOptions::default()).unwrap();
        let mut writer = store.write_blob(&scope()).unwrap();
        writer.write(b"an upload whose commit never came").unwrap();
        let (hash, _) = writer.finish().unwrap();
        let mut none = Vec::new();
        store.snapshot().unwrap().unnamed_blobs(&mut |name, _| none.push(name)).unwrap();
        assert!(none.is_empty(), "its commit may be on its way: {none:?}");
        hash.hex()
    };
    let report = planted.doctor(true, false);
    assert!(report.sound, "{report:?}");
    let [finding] = report.findings.as_slice() else { panic!("{report:?}") };
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.what.contains(&format!("{hash} of dev/local, 33 bytes")), "{report:?}");
    assert!(finding.what.contains("loom compact"), "{report:?}");
    assert_eq!(planted.folder.open().compact(&loom::Caller::local()).unwrap().blobs_removed, 1);
    assert!(planted.doctor(true, false).findings.is_empty());
}
