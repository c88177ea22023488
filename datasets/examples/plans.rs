//! Writes random tables as Parquet files, and plans over them with their answers as lines of JSON, so that another engine can
//! be asked the same: `plans FOLDER SEED COUNT`.

#![expect(clippy::unwrap_used, reason = "an example fails by panicking")]
#![expect(clippy::wildcard_enum_match_arm, reason = "what is not expected is a failure, whatever it is")]

#[allow(dead_code, unused_imports, reason = "the tests of the crate use the rest")]
#[path = "../tests/it/reference/made/mod.rs"]
mod made;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use loom_datasets::{Calculator, Dataset, Limits, Source, type_table};
use serde_json::{Value, json};

const TAPE_LENGTH: usize = 1_500;
/// Numbers below this are stored with at most 38 digits, which is as many as the other engine holds.
const NUMBERS_BELOW: f64 = 1e16;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, seed, count] = arguments.as_slice() else { panic!("plans FOLDER SEED COUNT") };
    let mut chance = Chance(seed.parse().unwrap());
    let folder = Path::new(folder);
    fs::create_dir_all(folder).unwrap();
    let mut lines = fs::File::create(folder.join("plans.jsonl")).unwrap();
    let limits = Limits { rows: 1_000_000, memory_bytes: 256 << 20, cache_bytes: 0, threads: 2 };
    let calculator = Calculator::new(limits);
    let count: usize = count.parse().unwrap();
    let mut written = 0;
    while written < count {
        let tape: Vec<u32> = (0..TAPE_LENGTH).map(|_| chance.next()).collect();
        let case = made::case(&tape);
        if case.tables.iter().any(has_large_numbers) {
            continue;
        }
        writeln!(lines, "{}", asked(&calculator, &case, folder, written)).unwrap();
        written += 1;
    }
}

/// Numbers of chance, the same for a seed everywhere: the `SplitMix` of Steele, Lea and Flood.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) >> 32).expect("half of it is cut off")
    }
}

fn has_large_numbers(table: &made::MadeTable) -> bool {
    let mut values = table.rows.iter().flat_map(|row| &row.values);
    values.any(|value| match value {
        made::Made::Number(digits) => digits.parse::<f64>().unwrap().abs() >= NUMBERS_BELOW,
        _ => false,
    })
}

/// A case's files, its plan and the answer.
fn asked(calculator: &Calculator, case: &made::Case, folder: &Path, number: usize) -> Value {
    let datasets: Vec<Dataset> =
        case.tables.iter().map(|table| type_table(&table.table(), &BTreeMap::new()).unwrap()).collect();
    let files: Vec<Vec<u8>> = datasets.iter().map(|dataset| dataset.to_parquet().unwrap()).collect();
    let names: Vec<String> = (0..files.len()).map(|at| format!("{number}-{at}.parquet")).collect();
    for (name, file) in names.iter().zip(&files) {
        fs::write(folder.join(name), file).unwrap();
    }
    let loads: Vec<_> = files.iter().map(|file| || Ok(file.clone())).collect();
    let sources = datasets.iter().zip(&names).zip(&loads).map(|((dataset, name), load)| Source {
        snapshot_id: name,
        description: &dataset.description,
        load,
    });
    let sources: Vec<Source<'_>> = sources.collect();
    let answer = calculator.run(&case.plan, &sources, Instant::now() + Duration::from_mins(1)).unwrap();
    let columns: Vec<Vec<Value>> = datasets
        .iter()
        .map(|dataset| {
            let columns = dataset.description.columns.iter();
            columns.map(|column| json!({"name": column.name, "type": column.column_type})).collect()
        })
        .collect();
    json!({
        "files": names,
        "columns": columns,
        "plan": case.plan,
        "rows": answer.rows,
        "row_ids": answer.row_ids,
        "truncated": answer.truncated,
    })
}
