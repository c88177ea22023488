//! Stored rows that are damaged: an error, or values; never a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom_datasets::{Calculator, Error, Limits, Snapshot, sample};
use loom_extract::contract::CellType;
use serde_json::{Value, json};

use crate::harness::{Held, calculator, limits, plan, run, table};

fn small() -> Held {
    let columns = [
        ("t", CellType::String),
        ("n", CellType::Number),
        ("w", CellType::Number),
        ("d", CellType::Date),
        ("m", CellType::Datetime),
        ("b", CellType::Bool),
        ("c", CellType::Time),
    ];
    let day = "2026-01-31";
    let rows: [&[&str]; 4] = [
        &["a", "1.5", "99999999999999999999999999999999999999", day, "2026-01-31T12:00:00Z", "true", "12:30:00"],
        &["b", "", "-1", "", "", "", ""],
        &["", "7", "", "1969-12-31", "1812-06-24T00:00:00Z", "false", "00:00:00.25"],
        &["a", "2", "3", day, "2026-01-31T12:00:00Z", "true", "23:59:59"],
    ];
    Held::of(&table(&columns, &rows))
}

/// One that keeps no column.
fn forgetful() -> Calculator {
    Calculator::new(Limits { cache_bytes: 0, ..limits() })
}

/// What reading the rows in both ways comes to; `None` where damage is told.
fn read(calculator: &Calculator, held: &Held, what: &str) -> Option<Vec<Vec<Value>>> {
    let read = || {
        let answer = run(calculator, &plan(json!({})), std::slice::from_ref(held))?;
        let snapshot = Snapshot::open(held.file.clone())?;
        Ok([answer.rows, sample(&held.dataset.description, &snapshot, 10)?].concat())
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Err(Error::Damaged(_) | Error::Limit(_))) => None,
        Ok(Ok(rows)) => Some(rows),
        Ok(Err(other)) => panic!("{what}: {other:?}"),
        Err(panic) => panic!("{what}: reading panicked: {panic:?}"),
    }
}

#[test]
fn a_byte_that_is_flipped_is_told_or_read_without_harm() {
    let (mut held, forgetful) = (small(), forgetful());
    let whole = read(&forgetful, &held, "the file as it was").unwrap();
    assert_eq!(whole.len(), 8);
    let (mut told, mut same, mut other) = (0, 0, 0);
    for at in 0..held.file.len() {
        for flip in [0xff, 0x01] {
            held.file[at] ^= flip;
            match read(&forgetful, &held, &format!("byte {at} of {} ^ {flip:#x}", held.file.len())) {
                None => told += 1,
                Some(rows) if rows == whole => same += 1,
                Some(_) => other += 1,
            }
            held.file[at] ^= flip;
        }
    }
    // A file has no checksum of its own: what keeps it knows its hash.
    assert!(told > held.file.len(), "{told} flips were told, {same} changed nothing, {other} changed values");
}

#[test]
fn a_file_that_was_cut_off_is_told() {
    let (mut held, forgetful) = (small(), forgetful());
    let whole = held.file.clone();
    for length in (0..whole.len()).step_by(64) {
        held.file = whole[..length].to_vec();
        assert_eq!(None, read(&forgetful, &held, &format!("cut to {length}")));
        // And the other end.
        held.file = whole[whole.len() - length..].to_vec();
        assert_eq!(None, read(&forgetful, &held, &format!("the last {length}")));
    }
}

#[test]
fn rows_of_another_dataset_are_told() {
    let (mut held, forgetful) = (small(), forgetful());
    let other = table(&[("t", CellType::Number)], &[&["1"]]);
    held.file = Held::of(&other).file;
    assert_eq!(None, read(&forgetful, &held, "another dataset's file"));
}

#[test]
fn a_source_that_cannot_be_loaded_is_told() {
    let held = small();
    let load = || Err("gone".into());
    let source = loom_datasets::Source { snapshot_id: "gone", description: &held.dataset.description, load: &load };
    let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let error = calculator().run(&plan(json!({})), &[source], until).unwrap_err();
    assert!(matches!(&error, Error::Load(cause) if cause.to_string() == "gone"), "{error:?}");
}
