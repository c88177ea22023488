//! Random scripts of operations against a plain model, with reopening and rebuilding among the steps.

use std::collections::BTreeMap;
use std::fs;

use loom::{Code, Engine};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Folder, call, ok, search, uris};

/// One step of a script.
#[derive(Clone, Debug)]
enum Step {
    Write {
        op: &'static str,
        doc: u8,
        body: u8,
        title: u8,
    },
    Bulk(Vec<(u8, u8)>),
    Edit {
        doc: u8,
        title: u8,
        reindex: bool,
    },
    Delete(u8),
    BulkDelete(Vec<u8>),
    Restore {
        doc: u8,
        if_revision: Option<u64>,
    },
    Advance(u32),
    /// Close and open again; with `rebuild`, delete every projection in between.
    Reopen {
        rebuild: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let doc = 0..6_u8;
    let step = prop_oneof![
        4 => (prop_oneof![Just("knowledge.add"), Just("knowledge.upsert")], doc.clone(), any::<u8>(), 0..4_u8)
            .prop_map(|(op, doc, body, title)| Step::Write { op, doc, body, title }),
        1 => prop::collection::btree_map(doc.clone(), any::<u8>(), 1..4)
            .prop_map(|entries| Step::Bulk(entries.into_iter().collect())),
        2 => (doc.clone(), 0..4_u8, any::<bool>()).prop_map(|(doc, title, reindex)| Step::Edit { doc, title, reindex }),
        3 => doc.clone().prop_map(Step::Delete),
        1 => prop::collection::vec(doc.clone(), 1..4).prop_map(Step::BulkDelete),
        3 => (doc, prop::option::of(1..4_u64)).prop_map(|(doc, if_revision)| Step::Restore { doc, if_revision }),
        1 => any::<u32>().prop_map(|ms| Step::Advance(ms % 100_000)),
        2 => any::<bool>().prop_map(|rebuild| Step::Reopen { rebuild }),
    ];
    prop::collection::vec(step, 1..30)
}

/// What a source address holds.
#[derive(Clone, Debug)]
struct Held {
    revision: u64,
    body: u8,
    title: u8,
    /// The title that the chunks' context was made with.
    indexed_title: u8,
    live: bool,
}

#[derive(Default)]
struct Model(BTreeMap<u8, Held>);

fn uri(doc: u8) -> String {
    format!("doc/{doc}")
}

/// A word that stands in the text of this body alone, and has no parts.
fn marker(body: u8) -> String {
    let letter = |nibble: u8| char::from(b"bcfhjkmnpqrtvwxz"[usize::from(nibble)]);
    format!("mar{}{}", letter(body >> 4), letter(body & 15))
}

fn title(title: u8) -> &'static str {
    ["alpha", "bravo", "carbon", "delta"][usize::from(title)]
}

/// A text of several sections, some longer than a chunk, that holds the body's marker.
fn text(body: u8) -> String {
    let filler = "Plain words that stand in every text. ".repeat(usize::from(body % 5) * 15);
    format!("# First {body}\n\n{filler}\n\n## Second\n\nHere stands {} alone.\n", marker(body))
}

impl Model {
    fn write(&mut self, doc: u8, body: u8, title: u8) {
        let revision = self.0.get(&doc).map_or(0, |held| held.revision) + 1;
        self.0.insert(doc, Held { revision, body, title, indexed_title: title, live: true });
    }

    fn live(&self) -> impl Iterator<Item = (u8, &Held)> {
        self.0.iter().filter(|(_, held)| held.live).map(|(doc, held)| (*doc, held))
    }
}

fn run(engine: &Engine, model: &mut Model, folder: &Folder, step: &Step) {
    match step {
        Step::Write { op, doc, body, title: named } => {
            ok(engine, op, json!({ "source_uri": uri(*doc), "content": text(*body), "title": title(*named) }));
            model.write(*doc, *body, *named);
        }
        Step::Bulk(entries) => {
            let given: Vec<Value> = entries
                .iter()
                .map(|(doc, body)| json!({ "source_uri": uri(*doc), "content": text(*body), "title": title(0) }))
                .collect();
            ok(engine, "knowledge.bulk_add", json!({ "entries": given }));
            for (doc, body) in entries {
                model.write(*doc, *body, 0);
            }
        }
        Step::Edit { doc, title: named, reindex } => {
            let input = json!({ "source_uri": uri(*doc), "title": title(*named), "reindex": reindex });
            let answer = call(engine, "knowledge.update_metadata", input);
            match model.0.get_mut(doc).filter(|held| held.live) {
                None => assert_eq!(answer.expect_err("nothing to edit").code, Code::NotFound),
                Some(held) => {
                    assert_eq!(answer.expect("an edit")["updated"], held.title != *named);
                    held.title = *named;
                    if *reindex {
                        held.indexed_title = *named;
                        held.revision += 1;
                    }
                }
            }
        }
        Step::Delete(doc) => {
            let answer = ok(engine, "knowledge.delete", json!({ "source_uri": uri(*doc) }));
            let held = model.0.get_mut(doc).filter(|held| held.live);
            assert_eq!(answer["deleted"], held.is_some());
            if let Some(held) = held {
                held.live = false;
            }
        }
        Step::BulkDelete(docs) => {
            let source_uris: Vec<String> = docs.iter().map(|doc| uri(*doc)).collect();
            let answer = ok(engine, "knowledge.bulk_delete", json!({ "source_uris": source_uris }));
            for (at, doc) in docs.iter().enumerate() {
                let was_live = model.0.get(doc).is_some_and(|held| held.live);
                assert_eq!(answer["deleted"][at]["deleted"], was_live);
            }
            for doc in docs {
                if let Some(held) = model.0.get_mut(doc) {
                    held.live = false;
                }
            }
        }
        Step::Restore { doc, if_revision } => {
            let answer =
                ok(engine, "knowledge.restore", json!({ "source_uri": uri(*doc), "if_revision": if_revision }));
            let expected = match model.0.get_mut(doc) {
                None => "not_found",
                Some(held) if held.live => "live",
                Some(held) if if_revision.is_some_and(|wanted| wanted != held.revision) => "revision_mismatch",
                Some(held) => {
                    held.live = true;
                    ""
                }
            };
            assert_eq!(answer["reason"], expected);
        }
        Step::Advance(ms) => folder.clock.advance_ms(i64::from(*ms)),
        Step::Reopen { .. } => unreachable!("done by the script"),
    }
}

/// Everything a caller can see agrees with the model.
fn agree(engine: &Engine, model: &Model) {
    let listed = ok(engine, "knowledge.list", json!({ "limit": 500 }));
    let listed: BTreeMap<String, u64> = listed["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            (row["source_uri"].as_str().expect("an address").into(), row["revision"].as_u64().expect("a number"))
        })
        .collect();
    let live: BTreeMap<String, u64> = model.live().map(|(doc, held)| (uri(doc), held.revision)).collect();
    assert_eq!(listed, live);
    for (doc, held) in &model.0 {
        let got = ok(engine, "knowledge.get", json!({ "source_uri": uri(*doc), "include_superseded": true }));
        assert_eq!(got["content"], text(held.body));
        assert_eq!((&got["revision"], &got["superseded"]), (&json!(held.revision), &json!(!held.live)));
        assert_eq!(got["title"], title(held.title));
        let wanted = |of: &dyn Fn(&Held) -> bool| -> Vec<String> {
            model.live().filter(|(_, held)| of(held)).map(|(doc, _)| uri(doc)).collect()
        };
        let found = |query: &str| -> Vec<String> {
            let hits = search(engine, "lexical", query, 100);
            let mut found: Vec<String> = uris(&hits).into_iter().map(Into::into).collect();
            found.sort();
            found.dedup();
            found
        };
        assert_eq!(found(&marker(held.body)), wanted(&|other| other.body == held.body));
        assert_eq!(found(title(held.indexed_title)), wanted(&|other| other.indexed_title == held.indexed_title));
        let semantic = search(engine, "semantic", "plain words in every text", 100);
        for (doc, _) in model.live() {
            assert!(uris(&semantic).contains(&uri(doc).as_str()), "{doc} is missing from the vector leg");
        }
        assert!(uris(&semantic).iter().all(|found| live.contains_key(*found)));
    }
}

/// What searches in every mode answer, scores included.
fn answers(engine: &Engine, model: &Model) -> Vec<Value> {
    let mut answers = Vec::new();
    for mode in ["hybrid", "semantic", "lexical"] {
        for query in ["plain words first second", "here stands alone", "alpha"] {
            answers.extend(search(engine, mode, query, 20));
        }
        for (_, held) in model.live() {
            answers.extend(search(engine, mode, &marker(held.body), 3));
        }
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn scripts_of_operations_agree_with_a_plain_model(script in steps()) {
        let folder = Folder::new();
        let mut engine = folder.open();
        let mut model = Model::default();
        for step in &script {
            if let Step::Reopen { rebuild } = step {
                let caught_up = answers(&engine, &model);
                drop(engine);
                if *rebuild {
                    fs::remove_dir_all(folder.path().join("index")).expect("the projections");
                }
                engine = folder.open();
                prop_assert_eq!(caught_up, answers(&engine, &model));
            } else {
                run(&engine, &mut model, &folder, step);
            }
        }
        agree(&engine, &model);
        let report = engine.doctor(loom::DoctorOptions { repair: false, deep: true }).expect("a report");
        prop_assert!(report.sound, "{:?}", report.findings);
    }

    #[test]
    fn any_text_is_stored_cut_found_and_read_back(texts in prop::collection::vec("[^\\x00]{0,400}", 1..5), query in "[^\\x00]{1,60}") {
        let folder = Folder::new();
        let engine = folder.open_with(|config| {
            config.chunks = loom::chunk::ChunkSettings::new(120, 90).expect("settings");
        });
        for (at, text) in texts.iter().enumerate() {
            let source_uri = format!("t/{at}");
            ok(&engine, "knowledge.upsert", json!({ "source_uri": source_uri, "content": text, "title": query }));
            let got = ok(&engine, "knowledge.get", json!({ "source_uri": source_uri }));
            prop_assert_eq!(got["content"].as_str(), Some(text.as_str()));
            ok(&engine, "knowledge.outline", json!({ "source_uri": source_uri }));
        }
        for mode in ["hybrid", "semantic", "lexical"] {
            for hit in search(&engine, mode, &query, 100) {
                let text = &texts[hit["source_uri"].as_str().and_then(|uri| uri[2..].parse::<usize>().ok()).expect("ours")];
                let place = |name: &str| usize::try_from(hit["locator"][name].as_u64().expect("a number")).expect("small");
                let slice: String = text.chars().skip(place("char_start")).take(place("char_end") - place("char_start")).collect();
                prop_assert_eq!(hit["content"].as_str(), Some(slice.as_str()));
            }
        }
    }
}
