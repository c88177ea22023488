//! Writes the small models of the tests into a folder, for `reference/golden.py`.

use std::path::Path;
use std::{env, fs, io};

use loom_transformer::testing::{Head, Pieces, write};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or_else(|| io::Error::other("name a folder"))?;
    for (name, pieces, head, seed) in [
        ("sentence", Pieces::Word, Head::Sentence, 1),
        ("unigram", Pieces::Unigram, Head::Sentence, 2),
        ("cross", Pieces::Word, Head::Cross, 3),
    ] {
        let folder = Path::new(&folder).join(name);
        fs::create_dir_all(&folder)?;
        write(&folder, pieces, head, seed)?;
    }
    Ok(())
}
