//! Replaying corpora: each input once gave trouble somewhere, or shows a corner. The tests that do it include this file.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use random::Random;

#[path = "../tests/crash/random.rs"]
mod random;

/// Runs a target's body on every file of its corpus in `corpora`, and on inputs made from them at random:
/// `LOOM_FUZZ_MUTATIONS` of each file, 20 by default.
pub fn replay(corpora: &str, target: &str, body: impl Fn(&[u8])) {
    let folder = Path::new(corpora).join(target);
    let mut files: Vec<_> =
        fs::read_dir(&folder).expect("a corpus").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{target} has a corpus");
    let inputs: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("a readable file")).collect();
    for (file, input) in files.iter().zip(&inputs) {
        // Shown when the body panics.
        eprintln!("{}", file.display());
        body(input);
    }
    let mutations = std::env::var("LOOM_FUZZ_MUTATIONS").map_or(20, |value| value.parse().expect("a number"));
    let mut random = Random(1);
    for nth in 0..mutations * inputs.len() {
        let input = mutated(&inputs[nth % inputs.len()], &inputs, &mut random);
        let held = catch_unwind(AssertUnwindSafe(|| body(&input))).is_ok();
        assert!(held, "{target} fails on {}", input.escape_ascii());
    }
}

/// An input with one to four changes: a bit, a byte, a piece left out, repeated, or taken from another input.
fn mutated(input: &[u8], others: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = input.to_vec();
    for _ in 0..=random.below(4) {
        let mut place = |end: usize| usize::try_from(random.below(end as u64 + 1)).expect("a place");
        let at = place(input.len());
        let end = (at + 1 + place(16)).min(input.len());
        let other = &others[place(others.len() - 1)];
        let from = place(other.len());
        let piece = other[from..(from + 1 + place(64)).min(other.len())].to_vec();
        match place(5) {
            0 if at < input.len() => input[at] ^= 1 << place(7),
            1 if at < input.len() => input[at] = [0, 0x7f, 0x80, 0xff, b'"', b'\n'][place(5)],
            2 => drop(input.drain(at..end)),
            3 => drop(input.splice(at..at, input[at..end].to_vec())),
            4 => drop(input.splice(at..end, piece)),
            _ => drop(input.splice(at..at, piece)),
        }
    }
    input
}
