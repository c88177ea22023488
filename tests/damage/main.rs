//! Projection files that are deleted, cut short, or have a flipped bit: healed when they are opened or first used, with
//! the same answers, and nothing panics.
//!
//! `LOOM_DAMAGE_FLIPS` sets how many places are flipped (default 1,000), `LOOM_DAMAGE_SEED` which.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../it/calls.rs"]
#[allow(dead_code, reason = "the other tests also call what must be refused")]
mod calls;
#[path = "../crash/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loom::{Config, DoctorOptions, Engine};
use serde_json::{Value, json};

use calls::{ok, search};
use random::Random;

const DOCS: usize = 60;
const QUERIES: [&str; 3] = ["the anchor of berth 7", "mooring rope", "harbour pilot"];

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

/// The files below a folder, by their path in it.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A data folder whose projections have several lexical segments, removed chunks, and several files of vectors.
struct Damaged {
    folder: tempfile::TempDir,
    /// The projections as they were written.
    files: Files,
    right: Vec<Vec<Value>>,
}

impl Damaged {
    fn new() -> Self {
        let folder = fast_folder();
        for part in 0..3 {
            let engine = open(folder.path());
            let entries: Vec<Value> = (0..DOCS >> part)
                .map(|doc| {
                    let text =
                        format!("# Anchor\n\nThe anchor of berth {doc}.\n\n# Rope\n\nA mooring rope, {doc} fathoms.");
                    json!({ "source_uri": format!("{part}/{doc}"), "content": text, "title": "Harbour pilot" })
                })
                .collect();
            ok(&engine, "knowledge.bulk_add", json!({ "entries": entries }));
            if part > 0 {
                ok(&engine, "knowledge.delete", json!({ "source_uri": format!("{}/3", part - 1) }));
                ok(&engine, "knowledge.upsert", json!({ "source_uri": "0/5", "content": "The anchor is gone." }));
            }
        }
        let right = answers(&open(folder.path()));
        assert!(right.iter().all(|hits| !hits.is_empty()), "everything asked for is found");
        let mut files = Files::new();
        read(&folder.path().join("index"), &mut files);
        let named = |part: &str| files.keys().filter(|path| path.to_string_lossy().contains(part)).count();
        assert!(named(".idx") >= 2 && named("rows-") >= 2 && named("manifest") == 1, "{:?}", files.keys());
        assert!(named(".del") >= 1, "removed chunks: {:?}", files.keys());
        Self { folder, files, right }
    }

    /// Puts every file back but those that `damage` leaves out or changes, and holds what is then found against what
    /// was found before.
    fn check(&self, what: &str, damage: impl FnOnce(&mut Files)) {
        let index = self.folder.path().join("index");
        fs::remove_dir_all(&index).unwrap();
        let mut files = self.files.clone();
        damage(&mut files);
        for (path, bytes) in &files {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let engine = open(self.folder.path());
        let found = answers(&engine);
        if found != self.right {
            let differs = found.iter().zip(&self.right).filter(|(found, right)| found != right);
            panic!("{what}: {:#?}", differs.collect::<Vec<_>>());
        }
    }
}

/// A folder in memory where the system has one: what is damaged here is bytes, and syncing them a thousand times over
/// proves nothing.
fn fast_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(folder: &Path) -> Engine {
    Engine::open(folder, Config::default()).unwrap()
}

fn answers(engine: &Engine) -> Vec<Vec<Value>> {
    let modes = ["lexical", "semantic", "hybrid"];
    QUERIES.iter().flat_map(|query| modes.map(|mode| search(engine, mode, query, 20))).collect()
}

fn read(folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, files);
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
}

#[test]
fn a_bit_flipped_anywhere_is_healed() {
    let damaged = Damaged::new();
    let mut random = Random(setting("LOOM_DAMAGE_SEED", 1));
    let paths: Vec<&PathBuf> =
        damaged.files.iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(path, _)| path).collect();
    for _ in 0..setting("LOOM_DAMAGE_FLIPS", 1_000) {
        // Each file as often as any other: most bytes are in few files.
        let path = paths[usize::try_from(random.below(paths.len() as u64)).unwrap()];
        let bit = usize::try_from(random.below(damaged.files[path].len() as u64 * 8)).unwrap();
        damaged.check(&format!("bit {bit} of {}", path.display()), |files| {
            files.get_mut(path).unwrap()[bit / 8] ^= 1 << (bit % 8);
        });
    }
    sound(&damaged);
}

#[test]
fn a_file_cut_anywhere_or_deleted_is_healed() {
    let damaged = Damaged::new();
    let mut random = Random(setting("LOOM_DAMAGE_SEED", 1));
    for (path, bytes) in &damaged.files {
        damaged.check(&format!("{} is deleted", path.display()), |files| {
            files.remove(path);
        });
        for _ in 0..if bytes.is_empty() { 0 } else { 4 } {
            let length = usize::try_from(random.below(bytes.len() as u64)).unwrap();
            damaged.check(&format!("{} has {length} bytes", path.display()), |files| {
                files.get_mut(path).unwrap().truncate(length);
            });
        }
    }
    for folder in damaged.files.keys().filter_map(|path| path.parent()) {
        damaged.check(&format!("{} is deleted", folder.display()), |files| {
            files.retain(|path, _| !path.starts_with(folder));
        });
    }
    damaged.check("everything is deleted", Files::clear);
    sound(&damaged);
}

/// What the last damage left is whole again.
fn sound(damaged: &Damaged) {
    let report = open(damaged.folder.path()).doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
}
