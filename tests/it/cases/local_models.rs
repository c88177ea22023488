//! A transformer in a folder as embedding model: small ones of random weights, since what is looked at is the way of their
//! vectors, not their worth.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use loom::{Engine, ModelRow, OpenError};
use loom_transformer::testing::{Head, Pieces, write};
use loom_transformer::{Limits, SentenceEncoder};
use serde_json::{Value, json};

use crate::cli::Loom;
use crate::harness::{Folder, add, hits, ok, search, uris};

const BUILT_IN: &str = "loom-static-256";
const DOCUMENTS: usize = 40;

/// Writes a model into a folder of the name, anew if it is there.
fn model(outer: &Path, name: &str, seed: u64) -> PathBuf {
    let folder = outer.join(name);
    fs::create_dir_all(&folder).unwrap();
    write(&folder, Pieces::Word, Head::Sentence, seed).unwrap();
    folder
}

/// The name under which a folder's model is stored.
fn stored_name(folder: &Path) -> String {
    let encoder = SentenceEncoder::open(folder, &Limits::default()).unwrap();
    format!("local:{}@{}", encoder.name(), encoder.fingerprint())
}

fn open(folder: &Folder, model: Option<&Path>) -> Engine {
    folder.open_with(|config| {
        if let Some(model) = model {
            config.embedding.model = format!("local:{}", model.display());
        }
    })
}

fn row(engine: &Engine) -> ModelRow {
    engine.models().unwrap().remove(0)
}

/// Searches while the namespace moves, until it is served by the model: each answer is full and of one of the models.
fn move_to(engine: &Engine, model: &str, from: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    thread::scope(|scope| {
        let moved = scope.spawn(|| engine.finish_moves().unwrap());
        loop {
            let last = moved.is_finished();
            for mode in ["semantic", "hybrid"] {
                let input = json!({ "query": "marmalade jar", "search_mode": mode, "top_k": 10 });
                let answer = ok(engine, "knowledge.search", input);
                assert_eq!(hits(&answer).len(), 10, "{mode}: {answer}");
                let of = answer["embedding_model"].as_str().unwrap();
                assert!(of == model || (!last && of == from), "{answer}");
            }
            if last {
                break;
            }
            assert!(Instant::now() < deadline, "it does not end");
        }
    });
    let row = row(engine);
    assert_eq!((row.serving.as_str(), row.building), (model, None));
    assert_eq!(row.vectors[model], row.chunks);
}

#[test]
fn a_namespace_moves_to_local_models_and_back_and_each_embeds_once() {
    let (folder, models) = (Folder::new(), tempfile::tempdir().unwrap());
    let engine = open(&folder, None);
    for n in 0..DOCUMENTS {
        add(&engine, &format!("doc/{n}"), &format!("# Shelf {n}\n\nThe marmalade jar number {n} stands here."));
    }
    drop(engine);
    let (first, second) = (model(models.path(), "first", 1), model(models.path(), "second", 2));
    let (first_name, second_name) = (stored_name(&first), stored_name(&second));

    let engine = open(&folder, Some(&first));
    assert_eq!(engine.configured_model(), first_name);
    move_to(&engine, &first_name, BUILT_IN);
    let passage = "Shelf 17\nThe marmalade jar number 17 stands here.";
    assert_eq!(uris(&search(&engine, "semantic", passage, 1)), ["doc/17"]);
    add(&engine, "new", "# Cellar\n\nThe pickled walnuts.");
    drop(engine);

    // The first serves from its own folder until the second is complete.
    let engine = open(&folder, Some(&second));
    move_to(&engine, &second_name, &first_name);
    drop(engine);

    // The vectors of the first are still there: all but those of what it never saw.
    let engine = open(&folder, Some(&first));
    assert_eq!(row(&engine).vectors[&first_name], DOCUMENTS as u64 + 1);
    move_to(&engine, &first_name, &second_name);
    assert_eq!(uris(&search(&engine, "semantic", "Cellar\nThe pickled walnuts.", 1)), ["new"]);
    drop(engine);

    let engine = open(&folder, None);
    move_to(&engine, BUILT_IN, &first_name);
    assert_eq!(uris(&search(&engine, "semantic", "pickled walnuts", 1)), ["new"]);
}

#[test]
fn other_weights_in_the_same_folder_are_another_model() {
    let (folder, models) = (Folder::new(), tempfile::tempdir().unwrap());
    let path = model(models.path(), "model", 1);
    let earlier = stored_name(&path);
    let engine = open(&folder, Some(&path));
    add(&engine, "a", "# Shelf\n\nThe marmalade jar.");
    drop(engine);
    model(models.path(), "model", 2);
    let later = stored_name(&path);
    assert_ne!(earlier, later);
    let engine = open(&folder, Some(&path));
    engine.finish_moves().unwrap();
    assert_eq!(row(&engine).serving, later);
    assert_eq!(uris(&search(&engine, "semantic", "Shelf\nThe marmalade jar.", 1)), ["a"]);
}

#[test]
fn a_folder_without_a_usable_model_is_refused_at_the_start() {
    let (folder, models) = (Folder::new(), tempfile::tempdir().unwrap());
    let path = model(models.path(), "model", 1);
    fs::write(path.join("model.safetensors"), "damaged").unwrap();
    for (path, said) in [(path.as_path(), "model.safetensors"), (Path::new("nowhere"), "nowhere/config.json")] {
        let mut config = folder.config();
        config.embedding.model = format!("local:{}", path.display());
        let Err(OpenError::Other(error)) = Engine::open(folder.path(), config) else { panic!("it was opened") };
        assert!(error.message.contains(said) && error.field.is_none(), "{}", error.message);
    }
}

#[test]
fn the_command_line_lists_checks_and_switches_models() {
    let (loom, models) = (Loom::new(), tempfile::tempdir().unwrap());
    let path = model(models.path(), "small", 1);
    let name = stored_name(&path);
    fs::write(loom.work().join("a.md"), "# Shelf\n\nThe marmalade jar.\n").unwrap();
    assert_eq!(loom.run(["add", "a.md"]).status, 0);
    let json = |ran: crate::cli::Ran| -> Value { serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}")) };

    let listed = json(loom.run(["model", "list", "--json"]));
    assert_eq!(listed["configured"], BUILT_IN);
    assert_eq!(listed["namespaces"][0]["vectors"], json!({ BUILT_IN: 1 }));

    let checked = json(loom.run(["model", "check", path.to_str().unwrap(), "--json"]));
    assert_eq!((&checked["model"], &checked["dimensions"]), (&json!(name), &json!(32)));
    assert!(checked["chunks_per_second"].as_f64() > Some(0.0) && checked["query_ms"].as_f64() > Some(0.0), "{checked}");
    let checked = loom.run(["model", "check", BUILT_IN]);
    assert_eq!(checked.status, 0, "{checked:?}");
    assert!(checked.out.contains("256 dimensions") && checked.out.ends_with("it works\n"), "{checked:?}");
    let refused = loom.run(["model", "check", "nowhere"]);
    assert!(refused.status == 1 && refused.err.contains("there is no embedding model \"nowhere\""), "{refused:?}");

    let switched = json(loom.run(["model", "switch", path.to_str().unwrap(), "--json"]));
    let setting = format!("local:{}", path.display());
    assert_eq!((&switched["model"], &switched["set"]["LOOM_EMBEDDING_MODEL"]), (&json!(name), &json!(setting)));
    assert_eq!(switched["namespaces"][0]["vectors"], json!({ BUILT_IN: 1, &name: 1 }));

    let mut listing = loom.command();
    let listed = listing.env("LOOM_EMBEDDING_MODEL", &setting).args(["model", "list"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains(&format!("dev/local: 1 chunk, served by {name} of 32 dimensions")), "{listed}");

    // A server moves by its own setting.
    let serving = loom.serve();
    let refused = loom.run(["model", "switch", BUILT_IN]);
    let told = format!("start it anew with LOOM_EMBEDDING_MODEL={BUILT_IN}");
    assert!(refused.status == 2 && refused.err.contains(&told) && refused.err.contains(&serving.base), "{refused:?}");
    let listed = loom.run(["model", "list"]);
    assert!(listed.status == 0 && listed.out.contains("local: 1 chunk, served by "), "{listed:?}");
}
