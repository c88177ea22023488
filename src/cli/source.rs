//! The name that a file of this machine is stored under.

use std::fmt::Write;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::failure::Failure;

/// The absolute form of `path`, which need not exist.
///
/// Symbolic links stay as they are named, so that a link that moves on (`current/`) keeps naming the same
/// documents; only a path with `..` is resolved, since a `..` behind a link means the link's target.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.components().any(|component| component == Component::ParentDir) {
        path.canonicalize()
    } else {
        std::path::absolute(path)
    }
}

/// `file://` and the absolute path, with `/` between its parts.
///
/// Letters of every script stay readable. Percent-encoded are `%` itself, what would end the path (`?`, `#`), blanks,
/// control characters, the characters no address may hold, and bytes that are not UTF-8.
pub fn file_uri(absolute: &Path) -> String {
    let path = encoded(absolute);
    if path.starts_with('/') { format!("file://{path}") } else { format!("file:///{path}") }
}

/// A path's parts, encoded as in [`file_uri`].
pub fn encoded(path: &Path) -> String {
    let mut uri = String::new();
    for component in path.components() {
        match component {
            Component::RootDir if uri.is_empty() => uri.push('/'),
            Component::RootDir | Component::CurDir => {}
            Component::Prefix(_) | Component::ParentDir | Component::Normal(_) => {
                if !uri.is_empty() && !uri.ends_with('/') {
                    uri.push('/');
                }
                encode(component.as_os_str().as_encoded_bytes(), &mut uri);
            }
        }
    }
    uri
}

fn encode(bytes: &[u8], uri: &mut String) {
    for part in bytes.utf8_chunks() {
        for character in part.valid().chars() {
            let escaped = matches!(character, '%' | '?' | '#' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
                || character.is_whitespace()
                || character.is_control();
            if escaped {
                let mut buffer = [0; 4];
                escape(character.encode_utf8(&mut buffer).as_bytes(), uri);
            } else {
                uri.push(character);
            }
        }
        escape(part.invalid(), uri);
    }
}

fn escape(bytes: &[u8], uri: &mut String) {
    for byte in bytes {
        write!(uri, "%{byte:02X}").expect("a string takes every write");
    }
}

/// The names that an argument may stand for: itself, and, when it looks like no address, the file it names.
pub fn candidates(argument: &str) -> Result<Vec<String>, Failure> {
    let mut candidates = vec![argument.to_owned()];
    if !argument.contains("://") && !argument.is_empty() {
        let path = absolute(Path::new(argument)).or_else(|_| std::path::absolute(argument));
        let path = path.map_err(Failure::io(format!("cannot tell the absolute path of {argument}")))?;
        candidates.push(file_uri(&path));
    }
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_what_an_address_may_hold() {
        assert_eq!(file_uri(Path::new("/srv/Runbök 2.md")), "file:///srv/Runbök%202.md");
        assert_eq!(file_uri(Path::new("/a%b/c?d#e.md")), "file:///a%25b/c%3Fd%23e.md");
        assert_eq!(file_uri(Path::new("/line\nbreak")), "file:///line%0Abreak");
        assert_eq!(file_uri(Path::new("/文書/一.md")), "file:///文書/一.md");
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_not_utf8_keeps_its_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/caf\xe9.md"));
        assert_eq!(file_uri(path), "file:///caf%E9.md");
    }

    #[test]
    fn an_argument_may_name_a_file() {
        assert_eq!(candidates("file:///a.md").expect("an address"), ["file:///a.md"]);
        assert_eq!(candidates("/a.md").expect("a path"), ["/a.md", "file:///a.md"]);
    }
}
