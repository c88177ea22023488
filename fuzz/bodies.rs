//! What the fuzz targets check of an input, each by panicking. `tests/it/corpus.rs` includes this file and replays
//! the corpora through it.

use std::fs;
use std::path::Path;

use loom::chunk::{ChunkSettings, FRONT_MATTER_BYTES_MAX, FrontMatter, cut, cut_artifact};
use loom::extraction::contract::{Artifact, ArtifactLimits, check};
use loom::ops;
use loom::{Caller, Code, Config, Engine, Error, Kind};
use loom_index::Error as IndexError;
use loom_index::text::{TERM_BYTES_MAX, analyze as terms_of};
use loom_index::vector::VectorIndex;
use loom_storage::{ChunkId, Hash, Seq};
use serde_json::{Map, Value, json};

/// The most hits a search is asked for.
const TOP_K: usize = 7;

/// The pieces of a text hold all of it that is not blank, in order, and none is too long.
pub fn chunk(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for settings in [ChunkSettings::default(), ChunkSettings::new(32, 20).expect("within the bounds")] {
        let whole = cut(&text, settings);
        let front = whole.front_matter.as_ref().map_or(0, |front| front.byte_end);
        let mut covered = front.max(text.len() - text.strip_prefix('\u{feff}').unwrap_or(&text).len());
        for piece in &whole.pieces {
            let [start, end] =
                [piece.place.byte_start, piece.place.byte_end].map(|byte| usize::try_from(byte).expect("a place"));
            assert!(front <= start && covered < end, "a piece moves on");
            assert!(text[covered.min(start)..start].trim().is_empty(), "nothing is left out before {start}");
            let passage = &text[start..end];
            assert!(passage.trim_end() == passage && !passage.is_empty(), "{passage:?} is trimmed");
            assert!(passage.chars().count() <= settings.size(), "{passage:?} fits");
            assert_eq!(piece.place.char_end - piece.place.char_start, passage.chars().count() as u64);
            covered = end;
        }
        assert!(text[covered..].trim().is_empty(), "nothing is left out after {covered}");
        assert_eq!(whole.chars, text.chars().count() as u64);
        let pieces = u32::try_from(whole.pieces.len()).expect("fewer than bytes");
        assert!(whole.sections.iter().all(|section| section.chunks.0 < section.chunks.1 && section.chunks.1 <= pieces));
    }
}

/// A metadata block ends where it closes, and whatever it holds, the rest is cut as ever.
pub fn front_matter(data: &[u8]) {
    let text = format!("---\n{}\n---\n\nAfter.\n", String::from_utf8_lossy(data));
    if let Some(FrontMatter { byte_end, tags, .. }) = cut(&text, ChunkSettings::default()).front_matter {
        assert!(byte_end <= FRONT_MATTER_BYTES_MAX);
        let last = text[..byte_end].trim_end().rsplit(['\n', '\r']).next();
        assert!(last.is_some_and(|line| matches!(line, "---" | "...")), "{last:?} closes the block");
        assert!(tags.iter().all(|tag| !tag.is_empty()));
    }
    chunk(text.as_bytes());
}

/// An artifact as somebody else's extractor may send it. What passes the checks passes them again and comes back from JSON as it
/// is; the engine cuts it into passages of its text, each with a mark.
pub fn artifact(data: &[u8]) {
    let Ok(mut artifact) = serde_json::from_slice::<Artifact>(data) else { return };
    let (format, limits) = (artifact.format.clone(), ArtifactLimits::default());
    if check(&mut artifact, &format, &limits).is_err() {
        return;
    }
    let again = serde_json::to_vec(&artifact).expect("an artifact is plain data");
    assert!(!again.contains(&0) && !String::from_utf8_lossy(&again).contains("\\u0000"), "no NUL is left");
    let mut back: Artifact = serde_json::from_slice(&again).expect("what was written is read");
    assert_eq!(check(&mut back, &format, &limits), Ok(()));
    assert_eq!(back, artifact);
    let settings = ChunkSettings::new(200, 150).expect("within the bounds");
    let tables = std::mem::take(&mut artifact.tables);
    let extracted = cut_artifact(artifact, &tables, settings);
    assert_eq!(extracted.marks.len(), extracted.cut.pieces.len());
    let mut last = 0;
    for piece in &extracted.cut.pieces {
        let [start, end] =
            [piece.place.byte_start, piece.place.byte_end].map(|byte| usize::try_from(byte).expect("a place"));
        let passage = &extracted.text[start..end];
        assert!(!passage.trim().is_empty() && last < end, "{passage:?} moves on");
        assert!(passage.chars().count() <= settings.size(), "{passage:?} fits");
        last = end;
    }
    assert_eq!(extracted.text.trim().is_empty(), extracted.cut.pieces.is_empty());
}

/// Terms keep their bounds, and a text that is said twice has its terms twice.
pub fn analyze(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (terms, words) = analyzed(&text);
    for term in &terms {
        assert!((1..=TERM_BYTES_MAX).contains(&term.len()));
        assert!(std::str::from_utf8(term).is_ok(), "{term:?} is text");
    }
    let (mut twice, words_twice) = analyzed(&format!("{text}\n{text}"));
    assert!(twice.len() == 2 * terms.len() && words_twice == 2 * words, "{text:?} twice has twice the words");
    // The stems of its language come after all others.
    let mut doubled = [&terms[..], &terms].concat();
    twice.sort_unstable();
    doubled.sort_unstable();
    assert!(twice == doubled, "{text:?} twice has its terms twice");
}

fn analyzed(text: &str) -> (Vec<Vec<u8>>, u32) {
    let mut terms = Vec::new();
    let words = terms_of(text, |term, _| terms.push(term.to_vec()));
    (terms, words)
}

/// A stored record whose checksum is right: it is one of its kind and comes back, or it is refused.
pub fn record(data: &[u8]) {
    loom_storage::decode_hostile(data);
}

/// The dimensions and the model of [`vectors`].
const DIM: usize = 32;
const MODEL: &str = "m";

/// The files of a vector index: an index is opened and answers, or a rebuild is asked for.
///
/// The first byte says what is hostile; each hash around it is right, so that it is read. 0: the parts of the manifest,
/// its JSON up to the first NUL, in which `"R"` stands for the identity of a good file of rows. 1: the parts of the file
/// of rows, each behind its length in two bytes; the byte before says how many rows the manifest claims. 2: the file of
/// rows itself, 3: the manifest itself.
pub fn vectors(folder: &Path, data: &[u8]) {
    let Some((&what, data)) = data.split_first() else { return };
    let good: Vec<u8> = (0..3_u64)
        .flat_map(u64::to_le_bytes)
        .chain((0..3 * DIM).flat_map(|at| if at % DIM < 3 { 1_f32 } else { 0.0 }.to_le_bytes()))
        .collect();
    let (mut rows, mut claimed) = (sealed(2, &[&good]), 3);
    if what % 4 == 1 {
        let (&first, mut rest) = data.split_first().unwrap_or((&0, &[]));
        let mut parts = Vec::new();
        while let Some((length, bytes)) = rest.split_first_chunk() {
            let (part, after) = bytes.split_at(bytes.len().min(u16::from_le_bytes(*length).into()));
            parts.push(part);
            rest = after;
        }
        (rows, claimed) = (sealed(2, &parts), first);
    }
    let identity = json!(rows.last_chunk::<32>().expect("a hash ends it"));
    let segment = json!({ "number": 1, "rows": claimed, "identity": identity });
    let description = json!({ "watermark": 7, "next": 3, "segments": [segment], "graph": null }).to_string();
    let empty = [0x3a, 0x30, 0, 0, 0, 0, 0, 0];
    let manifest = match what % 4 {
        0 => {
            let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
            let description = String::from_utf8_lossy(&data[..end]).replace("\"R\"", &identity.to_string());
            sealed(1, &[description.as_bytes(), data.get(end + 1..).unwrap_or_default()])
        }
        3 => data.to_vec(),
        _ => sealed(1, &[description.as_bytes(), &empty]),
    };
    if what % 4 == 2 {
        rows = data.to_vec();
    }
    fs::write(folder.join("rows-1"), rows).expect("a file is written");
    fs::write(folder.join("manifest"), manifest).expect("a file is written");
    match VectorIndex::open(folder, MODEL, DIM) {
        Ok((mut index, _)) => {
            let query = [1.0; DIM];
            for hit in index.search(&query, TOP_K, None).expect("an open index is searched") {
                assert!(index.contains(hit.chunk));
            }
            index.add(ChunkId(1), &query).expect("a vector is added");
            assert!(index.contains(ChunkId(1)));
            assert!(index.freeze(Seq(8)).is_some(), "there is something to write");
        }
        Err(IndexError::Rebuild { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

/// A file of a vector index around its parts, as `docs/formats.md` describes it.
fn sealed(kind: u64, parts: &[&[u8]]) -> Vec<u8> {
    let mut file = b"loomvec\n".to_vec();
    for number in [kind, 1, DIM as u64, MODEL.len() as u64] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend_from_slice(MODEL.as_bytes());
    let mut checked = file.clone();
    let mut table = Vec::new();
    for part in parts {
        file.extend_from_slice(part);
        table.extend_from_slice(&(part.len() as u64).to_le_bytes());
        table.extend_from_slice(&Hash::of(part).0);
    }
    table.extend_from_slice(&u32::try_from(parts.len()).expect("few parts").to_le_bytes());
    file.extend_from_slice(&table);
    checked.extend_from_slice(&table);
    file.extend_from_slice(&Hash::of(&checked).0);
    file
}

/// An engine on an empty folder, with the few documents that [`request`] and [`search_query`] ask for.
pub fn library(folder: &Path) -> Engine {
    let engine = Engine::open(folder, Config::default()).expect("an empty folder opens");
    let documents = [
        ("note://deploy", "# Deploying\n\nRun `make deploy`.\n\n## Rollback\n\nRun `make undo`, then tell the team.\n"),
        ("note://orders", "# Orders\n\n| table | holds |\n|---|---|\n| orders_daily | one row for each day |\n"),
        ("note://multi", "# Überblick\n\nStraße, naïve café.\n\n# 設定\n\n環境変数を設定する。\n"),
    ];
    let entries: Vec<Value> =
        documents.iter().map(|(uri, text)| json!({ "source_uri": uri, "content": text })).collect();
    let stored = engine.call(&Caller::local(), "knowledge.bulk_add", object(json!({ "entries": entries })));
    stored.expect("small documents are stored");
    engine
}

/// `operation {json}`: a read is answered, or refused for what the request says, and alike when repeated.
pub fn request(engine: &Engine, data: &[u8]) {
    let Some((op, input)) = std::str::from_utf8(data).ok().and_then(|text| text.trim().split_once(' ')) else { return };
    let Ok(input) = serde_json::from_str::<Map<String, Value>>(input) else { return };
    if ops::find(op).is_some_and(|spec| spec.facts.kind != Kind::Read) {
        return;
    }
    let answer = answered(engine, op, input.clone());
    if let Err(error) = &answer {
        let named = [Code::UnknownOp, Code::ValidationFailed, Code::NotFound, Code::PreconditionFailed];
        assert!(named.contains(&error.code), "{op} {}: {}", error.code, error.message);
    }
    assert_eq!(outcome(answer), outcome(answered(engine, op, input)));
}

/// Any text is a query: it is answered in every mode, or refused for its length or a NUL.
pub fn search_query(engine: &Engine, data: &[u8]) {
    let query = String::from_utf8_lossy(data);
    for mode in ["hybrid", "semantic", "lexical"] {
        let input = object(json!({ "query": query, "search_mode": mode, "top_k": TOP_K, "narrow_spans": true }));
        match answered(engine, "knowledge.search", input) {
            Ok(answer) => {
                let hits = answer["results"].as_array().expect("a list");
                assert!(hits.len() <= TOP_K);
                assert!(hits.iter().all(|hit| hit["content"].as_str().is_some_and(|text| !text.is_empty())));
                assert!(hits.iter().all(|hit| hit["score"].as_f64().is_some_and(f64::is_finite)));
            }
            Err(error) => assert_eq!((error.code, error.field.as_deref()), (Code::ValidationFailed, Some("query"))),
        }
    }
}

fn answered(engine: &Engine, op: &str, input: Map<String, Value>) -> Result<Value, Error> {
    engine.call(&Caller::local(), op, input).map(|answer| answer.output)
}

fn outcome(answer: Result<Value, Error>) -> Value {
    answer.unwrap_or_else(|error| error.to_json())
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("an object is asked for") };
    fields
}
