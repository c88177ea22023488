//! The files of a model folder: read once each, within bounds, and hashed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::error::Error;

/// A configuration file is longer than this only in a hostile folder.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// That of multilingual-e5-small has 17 MB.
const TOKENIZER_BYTES_MAX: u64 = 64 << 20;
/// Changes when the same folder gives other vectors than it did with an earlier version of this crate.
const COMPUTATION: &str = "loom-transformer 1";

/// The bounds of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest `model.safetensors` in bytes. Its tensors stay in memory as 32-bit floats.
    pub weights_bytes_max: u64,
    /// The most tokens of one text; the rest of a longer text is not read. What the model itself takes is the bound
    /// when that is less. At least 8.
    pub tokens_max: usize,
    /// How many threads compute; 0 for one a core.
    pub threads: usize,
}

impl Limits {
    /// Default of `weights_bytes_max`.
    pub const WEIGHTS_BYTES_MAX: u64 = 2 << 30;
    /// Default of `tokens_max`.
    pub const TOKENS_MAX: usize = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self { weights_bytes_max: Self::WEIGHTS_BYTES_MAX, tokens_max: Self::TOKENS_MAX, threads: 0 }
    }
}

/// A folder and the fingerprint of what was read from it.
pub(crate) struct Folder {
    path: PathBuf,
    fingerprint: Sha256,
}

impl Folder {
    /// A folder of which nothing was read yet.
    pub(crate) fn new(path: &Path) -> Self {
        let mut fingerprint = Sha256::new();
        fingerprint.update(COMPUTATION);
        Self { path: path.to_path_buf(), fingerprint }
    }

    /// The path of one of its files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The folder's own name, by which people know the model: letters and digits of ASCII, `.`, `_` and `-`. A link has
    /// its own name, not that of what it leads to.
    pub(crate) fn name(&self) -> String {
        const NAME_CHARS_MAX: usize = 64;
        let resolved = if self.path.file_name().is_some() { None } else { self.path.canonicalize().ok() };
        let name = resolved.as_ref().unwrap_or(&self.path).file_name().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let name: String = name.chars().take(NAME_CHARS_MAX).map(plain).collect();
        if name.is_empty() { "model".to_owned() } else { name }
    }

    /// Reads a JSON file that must be there.
    pub(crate) fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Error> {
        let bytes = self.bytes(name, CONFIG_BYTES_MAX)?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Invalid {
            file: self.file(name),
            what: format!("it cannot be understood: {error}"),
        })
    }

    /// Reads a JSON file if it is there.
    pub(crate) fn json_if_present<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Error> {
        match self.json(name) {
            Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Reads `tokenizer.json`.
    pub(crate) fn tokenizer(&mut self) -> Result<Vec<u8>, Error> {
        self.bytes("tokenizer.json", TOKENIZER_BYTES_MAX)
    }

    /// Takes a hash or a choice that decides about vectors into the fingerprint.
    pub(crate) fn note(&mut self, what: &str, bytes: &[u8]) {
        for part in [what.as_bytes(), bytes] {
            self.fingerprint.update((part.len() as u64).to_le_bytes());
            self.fingerprint.update(part);
        }
    }

    /// The first 12 hexadecimal digits of the SHA-256 of all that was read and noted, in that order.
    pub(crate) fn fingerprint(&self) -> String {
        let digest = self.fingerprint.clone().finalize();
        let first = digest.iter().take(6).fold(0, |number: u64, &byte| number << 8 | u64::from(byte));
        format!("{first:012x}")
    }

    fn bytes(&mut self, name: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let file = self.file(name);
        let mut bytes = Vec::new();
        let opened = open(&file)?;
        // The size that the system names may change while the file is read.
        opened
            .take(bytes_max + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| Error::Read { file: file.clone(), source })?;
        let read = bytes.len() as u64;
        if read > bytes_max {
            return Err(Error::TooLarge { file, bytes: read, bytes_max, limit: "the bound of such files" });
        }
        self.note(name, &Sha256::digest(&bytes));
        Ok(bytes)
    }
}

/// Opens a regular file: a pipe or a device in its place could be waited for without end.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let failed = |source| Error::Read { file: path.to_path_buf(), source };
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(Error::Invalid { file: path.to_path_buf(), what: "it is not a file".to_owned() });
    }
    File::open(path).map_err(failed)
}
