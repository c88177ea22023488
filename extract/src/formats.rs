//! The formats Loom knows, and the file names and media types that select each.

/// A format and what selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its name in options, jobs and documents.
    pub name: &'static str,
    /// File name extensions that select it, in lower case without the dot.
    pub extensions: &'static [&'static str],
    /// Media types that select it where the name has no extension of any format.
    pub media_types: &'static [&'static str],
}

/// The format of a file whose name and media type select none.
pub const DEFAULT: &str = "text";

/// Extensions that an upload refuses by name: the binary formats of old office programs.
pub const REFUSED_EXTENSIONS: [&str; 3] = ["doc", "xls", "ppt"];

/// Every format, by name.
pub const ALL: &[Format] = &[
    Format { name: "csv", extensions: &["csv"], media_types: &["text/csv", "application/csv"] },
    Format {
        name: "docx",
        extensions: &["docx", "docm", "dotx"],
        media_types: &["application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    },
    Format { name: "eml", extensions: &["eml"], media_types: &["message/rfc822"] },
    Format { name: "epub", extensions: &["epub"], media_types: &["application/epub+zip"] },
    Format {
        name: "html",
        extensions: &["html", "htm", "xhtml"],
        media_types: &["text/html", "application/xhtml+xml"],
    },
    Format {
        name: "image",
        extensions: &["png", "jpg", "jpeg", "tif", "tiff", "bmp", "webp"],
        media_types: &["image/png", "image/jpeg", "image/tiff", "image/bmp", "image/webp"],
    },
    Format { name: "ipynb", extensions: &["ipynb"], media_types: &["application/x-ipynb+json"] },
    Format { name: "json", extensions: &["json"], media_types: &["application/json"] },
    Format {
        name: "jsonl",
        extensions: &["jsonl", "ndjson"],
        media_types: &["application/jsonl", "application/x-ndjson", "application/ndjson"],
    },
    Format {
        name: "markdown",
        extensions: &["md", "markdown", "mdown", "mkd"],
        media_types: &["text/markdown", "text/x-markdown"],
    },
    Format { name: "odt", extensions: &["odt"], media_types: &["application/vnd.oasis.opendocument.text"] },
    Format {
        name: "parquet",
        extensions: &["parquet"],
        media_types: &["application/vnd.apache.parquet", "application/x-parquet"],
    },
    Format { name: "pdf", extensions: &["pdf"], media_types: &["application/pdf", "application/x-pdf"] },
    Format {
        name: "pptx",
        extensions: &["pptx", "pptm", "ppsx"],
        media_types: &["application/vnd.openxmlformats-officedocument.presentationml.presentation"],
    },
    Format { name: "sql", extensions: &["sql", "ddl"], media_types: &["application/sql", "text/x-sql"] },
    Format { name: "text", extensions: &["txt", "text", "log", "rst", "adoc"], media_types: &["text/plain"] },
    Format { name: "toml", extensions: &["toml"], media_types: &["application/toml"] },
    Format { name: "tsv", extensions: &["tsv", "tab"], media_types: &["text/tab-separated-values"] },
    Format { name: "vtt", extensions: &["vtt", "srt"], media_types: &["text/vtt", "application/x-subrip"] },
    Format {
        name: "xlsx",
        extensions: &["xlsx", "xlsm", "xltx"],
        media_types: &["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
    },
    Format {
        name: "yaml",
        extensions: &["yaml", "yml"],
        media_types: &["application/yaml", "application/x-yaml", "text/yaml"],
    },
];

/// The format of that name.
pub fn named(name: &str) -> Option<&'static Format> {
    ALL.iter().find(|format| format.name == name)
}

/// The format that a file's name selects, else its media type, else [`DEFAULT`].
pub fn of(filename: &str, media_type: &str) -> &'static str {
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let by_type = || ALL.iter().find(|format| format.media_types.contains(&media_type.as_str()));
    by_extension(filename).or_else(by_type).map_or(DEFAULT, |format| format.name)
}

/// The format that the extension of a file's name selects.
pub fn by_extension(filename: &str) -> Option<&'static Format> {
    let extension = extension(filename)?;
    ALL.iter().find(|format| format.extensions.contains(&extension.as_str()))
}

/// The extension for which an upload is refused, if the name has such a one.
pub fn refused_extension(filename: &str) -> Option<&'static str> {
    let extension = extension(filename)?;
    REFUSED_EXTENSIONS.into_iter().find(|refused| *refused == extension)
}

/// What follows the last dot of a file's name, in lower case; `None` where nothing does or the dot starts the name.
fn extension(filename: &str) -> Option<String> {
    let name = filename.rsplit(['/', '\\']).next().unwrap_or_default();
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_before_media_types_and_both_before_the_default() {
        for (filename, media_type, format) in [
            ("a.md", "", "markdown"),
            ("Q3 Report.PDF", "text/plain", "pdf"),
            ("notes", "text/markdown; charset=utf-8", "markdown"),
            ("notes", "", "text"),
            (".toml", "", "text"),
            ("a.unknown", "TEXT/CSV", "csv"),
            ("folder.csv/data", "", "text"),
            ("trailing.", "", "text"),
        ] {
            assert_eq!(of(filename, media_type), format, "{filename} {media_type}");
        }
    }

    #[test]
    fn nothing_selects_two_formats_and_the_list_is_sorted() {
        assert!(ALL.is_sorted_by(|a, b| a.name < b.name));
        for select in [|format: &Format| format.extensions, |format: &Format| format.media_types] {
            let mut all: Vec<&str> = ALL.iter().flat_map(|format| select(format).iter().copied()).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
            assert!(all.iter().all(|name| *name == name.to_ascii_lowercase() && !REFUSED_EXTENSIONS.contains(name)));
        }
    }

    #[test]
    fn old_office_names_are_refused_in_any_case() {
        assert_eq!(refused_extension("a/NEWSSLID.DOC"), Some("doc"));
        assert_eq!(refused_extension("a.docx"), None);
        assert_eq!(refused_extension("doc"), None);
    }
}
