//! Finds the files to add.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::cli::failure::Failure;
use crate::cli::source::{absolute, encoded, file_uri};

/// What the command line names.
pub enum Root {
    /// Standard input.
    StandardInput { source_uri: String },
    /// A file.
    File { path: PathBuf, source_uri: String },
    /// A folder: its absolute path, as it was named, and what the source URIs of its files start with.
    Folder { absolute: PathBuf, shown: PathBuf, source_uri: String },
    /// Something that is not there, or cannot be looked at.
    Unreadable { path: PathBuf, reason: String },
}

impl Root {
    /// What the source URIs of its documents start with; none when it has no documents.
    pub fn prefix(&self) -> Option<&str> {
        match self {
            Self::StandardInput { source_uri } | Self::File { source_uri, .. } | Self::Folder { source_uri, .. } => {
                Some(source_uri)
            }
            Self::Unreadable { .. } => None,
        }
    }
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
        return Ok(Root::StandardInput { source_uri });
    }
    let looked_at = absolute(path).and_then(|absolute| fs::metadata(&absolute).map(|metadata| (absolute, metadata)));
    let (absolute, metadata) = match looked_at {
        Ok(looked_at) => looked_at,
        Err(error) => return Ok(Root::Unreadable { path: path.to_owned(), reason: error.to_string() }),
    };
    if !metadata.is_dir() {
        let name = Path::new(absolute.file_name().unwrap_or_default());
        let below_prefix = |prefix: &str| prefix.to_owned() + &encoded(name);
        let source_uri = source_uri.map(str::to_owned).or_else(|| prefix.map(below_prefix));
        return Ok(Root::File { path: path.to_owned(), source_uri: source_uri.unwrap_or_else(|| file_uri(&absolute)) });
    }
    if source_uri.is_some() {
        let path = path.display();
        return Err(Failure::Usage(format!("--source-uri names one document and {path} is a folder: use --prefix")));
    }
    let in_folder = || {
        let folder = file_uri(&absolute);
        if folder.ends_with('/') { folder } else { folder + "/" }
    };
    let source_uri = prefix.map_or_else(in_folder, str::to_owned);
    let shown = if path == Path::new(".") { PathBuf::new() } else { path.to_owned() };
    Ok(Root::Folder { absolute, shown, source_uri })
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
                    let below = place(&error).and_then(|path| path.strip_prefix(&*absolute).ok());
                    let shown = below.map_or_else(|| shown_root.clone(), |below| shown_root.join(below));
                    let what = What::Unreadable(reason(&error));
                    return Some(Found { shown: shown.display().to_string(), named: false, what });
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
            let found = if let Some(found) = self.next_inside() {
                found
            } else {
                self.folder = None;
                match self.roots.pop_front()? {
                    Root::Folder { absolute, shown, source_uri } => {
                        self.enter(absolute, shown, source_uri);
                        continue;
                    }
                    Root::File { path, source_uri } => named(&path.clone(), file(path, source_uri)),
                    Root::StandardInput { source_uri } => named(Path::new("-"), What::StandardInput(source_uri)),
                    Root::Unreadable { path, reason } => named(&path, What::Unreadable(reason)),
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

fn named(path: &Path, what: What) -> Found {
    Found { shown: path.display().to_string(), named: true, what }
}

/// A file that the command line names. A pipe is told apart, since opening one waits for whoever writes it.
fn file(path: PathBuf, source_uri: String) -> What {
    let is_special = fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file());
    if is_special { What::Special } else { What::File(path, source_uri) }
}

/// The path that an error of the walk is about.
fn place(error: &ignore::Error) -> Option<&Path> {
    if let ignore::Error::WithPath { path, .. } = error {
        Some(path)
    } else if let ignore::Error::WithDepth { err, .. } = error {
        place(err)
    } else {
        None
    }
}

/// An error of the walk in one line.
fn reason(error: &ignore::Error) -> String {
    error.io_error().map_or_else(|| error.to_string(), ToString::to_string)
}
