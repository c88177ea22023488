//! Reads one file and decides what becomes of it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Label;
use super::format::Format;
use super::stored::Stored;
use super::walk::{Found, What};
use crate::chunk::{ChunkSettings, FRONT_MATTER_BYTES_MAX, cut};

/// The metadata field that holds the hash of the file a document was read from.
pub const FILE_HASH: &str = "file_sha256";

/// The bytes of a file that is extracted are hashed in pieces of this size.
const HASH_PIECE_BYTES: usize = 256 << 10;

/// What became of a file.
pub struct Outcome {
    /// Its path, as messages show it.
    pub shown: String,
    /// Whether the command line names it itself.
    pub named: bool,
    /// What became of it.
    pub result: Result<Ready, Left>,
}

/// What is ready to be stored.
pub enum Ready {
    /// Text, as it is.
    Document(Document),
    /// A file whose text an extractor has to find.
    File(ToExtract),
}

/// A file for an extractor.
pub struct ToExtract {
    /// Where it is.
    pub path: PathBuf,
    /// The source URI of its document.
    pub source_uri: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub hash: String,
}

/// A document to be stored.
pub struct Document {
    /// Its source URI.
    pub source_uri: String,
    /// The entry of `knowledge.bulk_add`.
    pub entry: Value,
    /// The bytes of its text.
    pub bytes: usize,
}

/// Why a file is left alone.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    /// Its bytes are those that are stored.
    Unchanged,
    /// Its format is not read.
    Format(&'static str),
    /// A picture in a folder: most hold no text, and recognising it takes seconds.
    Picture,
    /// Its extension is not known.
    Extension(String),
    /// An editor or an operating system left it behind.
    Leftover,
    /// A symbolic link in a folder.
    Link,
    /// Neither a file nor a folder.
    Special,
    /// Bytes that are no text.
    Binary,
    /// Text in an encoding that is not read.
    Encoding,
    /// Over the bound on a document's text, in bytes.
    TooLarge(usize),
    /// The operating system did not give it.
    Unreadable(String),
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => f.write_str("unchanged"),
            Self::Format(name) => write!(f, "{name} files are not read"),
            Self::Extension(extension) => write!(f, ".{extension} files are not read"),
            Self::Picture => f.write_str("pictures are read only where the command names them"),
            Self::Leftover => f.write_str("left behind by an editor or the operating system"),
            Self::Link => f.write_str("symbolic links are not followed"),
            Self::Special => f.write_str("neither a file nor a folder"),
            Self::Binary => f.write_str("binary, not text"),
            Self::Encoding => f.write_str("not UTF-8 (nor UTF-16 with a byte order mark)"),
            Self::TooLarge(max) => write!(f, "over the {max} bytes that LOOM_KNOWLEDGE_MAX_CONTENT_BYTES allows"),
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
        }
    }
}

/// Turns files into documents.
pub struct Reader<'a> {
    /// What is stored already.
    pub known: &'a Stored,
    /// What is said of every document.
    pub label: &'a Label,
    /// The longest text of a document.
    pub content_bytes_max: usize,
    /// Whether unchanged files are stored again.
    pub force: bool,
}

impl Reader<'_> {
    /// Reads what was found.
    pub fn read(&self, found: Found) -> Outcome {
        let result = match found.what {
            What::File(path, source_uri) => self.file(path, source_uri, found.named),
            What::StandardInput(source_uri) => {
                self.document(io::stdin(), Path::new(&source_uri), source_uri.clone()).map(Ready::Document)
            }
            What::Link => Err(Left::Link),
            What::Special => Err(Left::Special),
            What::Unreadable(reason) => Err(Left::Unreadable(reason)),
        };
        Outcome { shown: found.shown, named: found.named, result }
    }

    fn file(&self, path: PathBuf, source_uri: String, named: bool) -> Result<Ready, Left> {
        match Format::of(&path) {
            Format::Markdown | Format::Text => {
                let document = self.document(open(&path)?, &path, source_uri)?;
                Ok(Ready::Document(document))
            }
            Format::Extracted => self.to_extract(path, source_uri),
            Format::Picture if named => self.to_extract(path, source_uri),
            Format::Picture => Err(Left::Picture),
            Format::Other(name) => Err(Left::Format(name)),
            Format::Leftover => Err(Left::Leftover),
            Format::Unknown => {
                let extension = path.extension().unwrap_or_default().to_string_lossy();
                Err(Left::Extension(extension.into_owned()))
            }
        }
    }

    fn to_extract(&self, path: PathBuf, source_uri: String) -> Result<Ready, Left> {
        let hash = hash_of(&mut open(&path)?).map_err(|error| Left::Unreadable(error.to_string()))?;
        if !self.force && self.known.is_unchanged(&source_uri, &hash, self.label) {
            return Err(Left::Unchanged);
        }
        Ok(Ready::File(ToExtract { path, source_uri, hash }))
    }

    fn document(&self, from: impl Read, name: &Path, source_uri: String) -> Result<Document, Left> {
        // UTF-16 takes two bytes where UTF-8 takes one, so more than the bound is read before the text is measured.
        let bytes_max = 2 * self.content_bytes_max + 2;
        let mut bytes = Vec::new();
        let read = from.take(bytes_max as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| Left::Unreadable(error.to_string()))?;
        if bytes.len() > bytes_max {
            return Err(Left::TooLarge(self.content_bytes_max));
        }
        let hash = hex(&Sha256::digest(&bytes));
        if !self.force && self.known.is_unchanged(&source_uri, &hash, self.label) {
            return Err(Left::Unchanged);
        }
        let content = decode(bytes)?;
        if content.len() > self.content_bytes_max {
            return Err(Left::TooLarge(self.content_bytes_max));
        }
        let bytes = content.len();
        let title = self.label.title.clone().unwrap_or_else(|| title(&content, name));
        let metadata = Map::from_iter([(FILE_HASH.to_owned(), Value::from(hash))]);
        let entry = json!({
            "source_uri": source_uri, "content": content, "title": title, "metadata": metadata,
            "description": self.label.description.as_deref().unwrap_or_default(), "tags": self.label.tags,
        });
        Ok(Document { source_uri, entry, bytes })
    }
}

fn open(path: &Path) -> Result<File, Left> {
    File::open(path).map_err(|error| Left::Unreadable(error.to_string()))
}

fn hash_of(file: &mut File) -> io::Result<String> {
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; HASH_PIECE_BYTES]);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&piece[..count]);
    }
}

/// The file's name without its extension, and nothing when its front matter has a title: the engine takes that one.
fn title(content: &str, name: &Path) -> String {
    if front_matter_has_title(content) {
        return String::new();
    }
    name.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether the document names itself. Only as much is cut as front matter may have.
fn front_matter_has_title(content: &str) -> bool {
    content.starts_with("---") && {
        let start = &content[..content.floor_char_boundary(FRONT_MATTER_BYTES_MAX + 1)];
        cut(start, ChunkSettings::default()).front_matter.is_some_and(|front_matter| front_matter.title.is_some())
    }
}

/// The text of a file. A byte order mark names the encoding and is no part of the text; without one it is UTF-8, and
/// the whole file decides.
fn decode(mut bytes: Vec<u8>) -> Result<String, Left> {
    let text = match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        _ => {
            if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) {
                bytes.drain(..3);
            }
            // A NUL says more than the encoding it breaks.
            if bytes.contains(&0) {
                return Err(Left::Binary);
            }
            String::from_utf8(bytes).map_err(|_| Left::Encoding)?
        }
    };
    if text.contains('\0') { Err(Left::Binary) } else { Ok(text) }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Left> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Left::Encoding);
    }
    char::decode_utf16(units.iter().copied().map(unit)).collect::<Result<_, _>>().map_err(|_| Left::Encoding)
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes every write");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_names_the_encoding() {
        assert_eq!(decode(b"\xEF\xBB\xBFName,Qty".to_vec()), Ok("Name,Qty".into()));
        assert_eq!(decode(b"\xFF\xFEa\0\xE9\0".to_vec()), Ok("aé".into()));
        assert_eq!(decode(b"\xFE\xFF\0a\xD8\x3D\xDE\x00".to_vec()), Ok("a😀".into()));
        assert_eq!(decode(b"\xFF\xFEa".to_vec()), Err(Left::Encoding));
        assert_eq!(decode(b"\xFF\xFE\x3D\xD8".to_vec()), Err(Left::Encoding));
    }

    #[test]
    fn the_whole_file_decides() {
        let mut late = vec![b'a'; 5_000];
        late.extend("café".bytes());
        assert!(decode(late.clone()).is_ok_and(|text| text.ends_with("café")));
        late.push(0xE9);
        assert_eq!(decode(late), Err(Left::Encoding));
        assert_eq!(decode(b"a\0b".to_vec()), Err(Left::Binary));
        assert_eq!(decode(Vec::new()), Ok(String::new()));
    }
}
