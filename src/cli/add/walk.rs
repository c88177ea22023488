//! Finds the files to add.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::cli::failure::Failure;
use crate::cli::source::{absolute, encoded, file_uri};

/// A file or folder that the command line names, or standard input.
pub struct Root {
    from: Origin,
    /// What a document's source URI starts with: all of it, or all but the path below the folder.
    pub source_uri: String,
}

enum Origin {
    StandardInput,
    File(PathBuf),
    Folder {
        absolute: PathBuf,
        shown: PathBuf,
    },
    /// Named, and not there.
    Unreadable(PathBuf, String),
}

/// Something found.
pub struct Found {
    /// Its path, as messages show it.
    pub shown: String,
    /// Whether the command line names it itself, rather than a folder it is in.
    pub named: bool,
    /// What it is.
    pub what: What,
}

/// What was found.
pub enum What {
    /// A file to read, and its source URI.
    File(PathBuf, String),
    /// Standard input, and its source URI.
    StandardInput(String),
    /// Not followed.
    Link,
    /// A socket, a pipe or a device.
    Special,
    /// Could not be looked at.
    Unreadable(String),
}

/// What the arguments name. Nothing is read yet but whether each is a file or a folder.
pub fn roots(paths: &[PathBuf], source_uri: Option<&str>, prefix: Option<&str>) -> Result<Vec<Root>, Failure> {
    paths.iter().map(|path| root(path, source_uri, prefix)).collect()
}

fn root(path: &Path, source_uri: Option<&str>, prefix: Option<&str>) -> Result<Root, Failure> {
    if path == Path::new("-") {
        let message = "standard input has no name: say what to store it under with --source-uri URI";
        let source_uri = source_uri.ok_or_else(|| Failure::Usage(message.into()))?.to_owned();
        return Ok(Root { from: Origin::StandardInput, source_uri });
    }
    let looked_at = absolute(path).and_then(|absolute| fs::metadata(&absolute).map(|metadata| (absolute, metadata)));
    let (absolute, metadata) = match looked_at {
        Ok(looked_at) => looked_at,
        Err(error) => {
            let from = Origin::Unreadable(path.to_owned(), error.to_string());
            return Ok(Root { from, source_uri: String::new() });
        }
    };
    if metadata.is_dir() {
        if source_uri.is_some() {
            return Err(Failure::Usage(format!(
                "--source-uri names one document and {} is a folder: use --prefix",
                path.display()
            )));
        }
        let mut source_uri = prefix.map_or_else(|| file_uri(&absolute), str::to_owned);
        if prefix.is_none() && !source_uri.ends_with('/') {
            source_uri.push('/');
        }
        return Ok(Root { from: Origin::Folder { absolute, shown: path.to_owned() }, source_uri });
    }
    let source_uri = match (source_uri, prefix) {
        (Some(source_uri), _) => source_uri.to_owned(),
        (None, Some(prefix)) => prefix.to_owned() + &encoded(Path::new(absolute.file_name().unwrap_or_default())),
        (None, None) => file_uri(&absolute),
    };
    Ok(Root { from: Origin::File(path.to_owned()), source_uri })
}

/// The files below the roots, in the order of the roots and of their names; each source URI once.
pub struct Walk {
    roots: VecDeque<Root>,
    folder: Option<(ignore::Walk, PathBuf, PathBuf, String)>,
    own_folder: Option<PathBuf>,
    seen: HashSet<String>,
}

impl Walk {
    /// Walks `roots`; what is in `own_folder` (the data folder) is left out.
    pub fn new(roots: Vec<Root>, own_folder: Option<PathBuf>) -> Self {
        let own_folder = own_folder.and_then(|folder| folder.canonicalize().ok());
        Self { roots: roots.into(), folder: None, own_folder, seen: HashSet::new() }
    }

    fn enter(&mut self, absolute: PathBuf, shown: PathBuf, source_uri: String) {
        let own_folder = self.own_folder.clone();
        let walk = WalkBuilder::new(&absolute)
            .require_git(false)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| {
                let is_own = |own: &PathBuf| entry.path().canonicalize().is_ok_and(|path| path == *own);
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                !(is_folder && own_folder.as_ref().is_some_and(is_own))
            })
            .build();
        self.folder = Some((walk, absolute, shown, source_uri));
    }

    /// The next entry of the folder being walked that is no folder itself.
    fn next_inside(&mut self) -> Option<Found> {
        let (walk, absolute, shown_root, source_uri) = self.folder.as_mut()?;
        loop {
            let entry = match walk.next()? {
                Ok(entry) => entry,
                Err(error) => {
                    let what = What::Unreadable(reason(&error));
                    return Some(Found { shown: shown_root.display().to_string(), named: false, what });
                }
            };
            let Some(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                continue;
            }
            let below = entry.path().strip_prefix(&*absolute).unwrap_or(entry.path());
            let shown = shown_root.join(below).display().to_string();
            let what = if kind.is_file() {
                What::File(entry.path().to_owned(), source_uri.clone() + &encoded(below))
            } else if kind.is_symlink() {
                What::Link
            } else {
                What::Special
            };
            return Some(Found { shown, named: false, what });
        }
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let found = match self.next_inside() {
                Some(found) => found,
                None => {
                    self.folder = None;
                    let root = self.roots.pop_front()?;
                    let (shown, what) = match root.from {
                        Origin::StandardInput => ("-".to_owned(), What::StandardInput(root.source_uri)),
                        Origin::File(path) => match fs::metadata(&path) {
                            Ok(metadata) if !metadata.is_file() => (path.display().to_string(), What::Special),
                            _ => (path.display().to_string(), What::File(path, root.source_uri)),
                        },
                        Origin::Unreadable(path, reason) => (path.display().to_string(), What::Unreadable(reason)),
                        Origin::Folder { absolute, shown } => {
                            self.enter(absolute, shown, root.source_uri);
                            continue;
                        }
                    };
                    Found { shown, named: true, what }
                }
            };
            let repeated = match &found.what {
                What::File(_, source_uri) | What::StandardInput(source_uri) => !self.seen.insert(source_uri.clone()),
                What::Link | What::Special | What::Unreadable(_) => false,
            };
            if !repeated {
                return Some(found);
            }
        }
    }
}

/// An error of the walk in one line.
fn reason(error: &ignore::Error) -> String {
    error.io_error().map_or_else(|| error.to_string(), ToString::to_string)
}
