//! A folder of Markdown, as both benchmarks of the engine read it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// What a folder holds.
#[derive(Default)]
pub struct Tree {
    /// Path below the folder and text, in the order of the paths.
    pub documents: Vec<(String, String)>,
    /// Files that are not UTF-8 or blank, and those past the bounds.
    pub left_out: usize,
}

impl Tree {
    /// Reads the Markdown below `root`, at most `files_max` files and, but for the last file, `bytes_max` bytes. Links
    /// are not followed.
    pub fn read(root: &Path, files_max: usize, bytes_max: usize) -> io::Result<Self> {
        let mut folders = vec![root.to_owned()];
        let mut files = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            let of_folder = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
            for entry in fs::read_dir(&folder).map_err(of_folder)? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() && path.extension().is_some_and(|end| end == "md" || end == "markdown") {
                    files.insert(path);
                }
            }
        }
        let (mut tree, mut bytes) = (Self::default(), 0);
        for path in &files {
            let text = String::from_utf8(fs::read(path)?);
            let full = tree.documents.len() == files_max || bytes >= bytes_max;
            let Some(text) = text.ok().filter(|text| !full && !text.trim().is_empty()) else {
                tree.left_out += 1;
                continue;
            };
            bytes += text.len();
            let below = path.strip_prefix(root).map_err(io::Error::other)?;
            tree.documents.push((below.to_string_lossy().into_owned(), text));
        }
        Ok(tree)
    }
}
