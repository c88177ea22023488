//! Checking a folder whose stored data is damaged.

use std::fs;

use loom::DoctorOptions;
use serde_json::json;

use crate::harness::{Folder, ok};

#[test]
fn damage_of_the_store_is_reported_beside_what_can_still_be_compared() {
    const MARK: &[u8] = b"quokka";
    let folder = Folder::new();
    {
        let engine = folder.open();
        ok(&engine, "knowledge.add", json!({ "namespace": "damaged", "source_uri": "a", "content": "a quokka" }));
        ok(&engine, "knowledge.add", json!({ "namespace": "whole", "source_uri": "b", "content": "a wombat" }));
    }
    let path = folder.path().join("loom.redb");
    let mut bytes = fs::read(&path).expect("the store's file");
    let marks: Vec<usize> =
        bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK).map(|(at, _)| at).collect();
    assert!(!marks.is_empty(), "short records are stored as they are");
    for at in marks {
        bytes[at] ^= 1;
    }
    fs::write(&path, bytes).expect("the damage");
    let report = folder.open().doctor(DoctorOptions { repair: true, deep: true }).expect("a report, whatever is found");
    assert!(!report.sound);
    assert!(report.findings.iter().any(|finding| finding.what.contains("damaged")), "{:?}", report.findings);
    assert_eq!((report.namespaces, report.documents), (2, 1), "the whole namespace is compared");
}
