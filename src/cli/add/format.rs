//! Which files are read, by their names.

use std::path::Path;

use loom_extract::formats;

/// What a file's name says it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Markdown, which may start with front matter.
    Markdown,
    /// Text of another kind.
    Text,
    /// Something whose text an extractor finds.
    Extracted,
    /// A picture that an extractor can look for text in.
    Picture,
    /// Something that is not read; what to call files of the kind.
    Other(&'static str),
    /// A name that says nothing known.
    Unknown,
    /// Left behind by an editor or an operating system.
    Leftover,
}

/// Extensions and what they stand for.
const EXTENSIONS: &[(&[&str], Format)] = &[
    (&["md", "markdown", "mdown", "mkd", "mdx"], Format::Markdown),
    (&["txt", "text", "rst", "adoc", "asciidoc", "org"], Format::Text),
    (&["doc", "rtf", "pages"], Format::Other("word processor")),
    (&["xls", "xlsb", "ods", "numbers"], Format::Other("spreadsheet")),
    (&["ppt", "odp", "key"], Format::Other("presentation")),
    (&["xml"], Format::Other("XML")),
    (&["mobi"], Format::Other("e-book")),
    (&["mbox", "msg"], Format::Other("mailbox")),
    (&["gif", "svg", "ico", "heic", "avif"], Format::Other("image")),
    (&["mp3", "wav", "flac", "ogg", "m4a", "mp4", "mov", "mkv", "webm", "avi"], Format::Other("audio and video")),
    (&["zip", "gz", "tgz", "bz2", "xz", "zst", "tar", "7z", "rar", "jar"], Format::Other("archive")),
    (&["tmp", "temp", "swp", "swo", "bak", "orig", "crdownload", "part"], Format::Leftover),
];

/// File names that an operating system makes.
const SYSTEM_FILES: &[&str] = &["thumbs.db", "ehthumbs.db", "desktop.ini", ".ds_store", "icon\r"];

impl Format {
    /// What the name of the file says. A name without an extension (`README`, `LICENSE`) is taken for text.
    pub fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_lock = name.starts_with("~$") || name.starts_with(".~lock.") || name.starts_with(".#");
        let is_copy = name.ends_with('~') || (name.len() > 1 && name.starts_with('#') && name.ends_with('#'));
        if is_lock || is_copy || SYSTEM_FILES.contains(&name.as_str()) {
            return Self::Leftover;
        }
        let Some(extension) = path.extension() else { return Self::Text };
        let extension = extension.to_string_lossy().to_lowercase();
        let known = EXTENSIONS.iter().find(|(extensions, _)| extensions.contains(&extension.as_str()));
        let extracted = || match formats::by_extension(&name)?.name {
            "image" => Some(Self::Picture),
            _ => Some(Self::Extracted),
        };
        known.map(|(_, format)| *format).or_else(extracted).unwrap_or(Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_read() {
        for (name, format) in [
            ("a/README.md", Format::Markdown),
            ("NOTES.TXT", Format::Text),
            ("LICENSE", Format::Text),
            ("spec.PDF", Format::Extracted),
            ("scan.png", Format::Picture),
            ("old.xls", Format::Other("spreadsheet")),
            ("main.rs", Format::Unknown),
            ("Thumbs.db", Format::Leftover),
            ("~$plan.docx", Format::Leftover),
            ("notes.md~", Format::Leftover),
            ("#notes.md#", Format::Leftover),
        ] {
            assert_eq!(Format::of(Path::new(name)), format, "{name}");
        }
    }
}
