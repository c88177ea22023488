//! Telling what is no text.

/// Formats that are no text and start the same way in every file, and how to name them to a person.
const MAGIC: &[(&[u8], &str)] = &[
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive, or a document kept in one"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "a file of an old office program, or an encrypted one"),
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"\xFF\xD8\xFF", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"II*\0", "a TIFF picture"),
    (b"MM\0*", "a TIFF picture"),
    (b"PAR1", "a Parquet file"),
    (b"{\\rtf", "a document in rich text format"),
    (b"\x1F\x8B\x08", "compressed with gzip"),
    (b"BZh9", "compressed with bzip2"),
    (b"\xFD7zXZ\0", "compressed with xz"),
    (b"\x28\xB5\x2F\xFD", "compressed with zstd"),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive"),
    (b"Rar!\x1A\x07", "a RAR archive"),
    (b"\x7FELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"ID3", "a sound recording"),
];

/// What the bytes are by the way they start, if it is no text.
pub fn magic(bytes: &[u8]) -> Option<&'static str> {
    MAGIC.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, name)| *name)
}

/// The most control characters of a text: one of so many characters.
const CHARACTERS_PER_CONTROL: usize = 20;

/// Whether the text has so many control characters that it is none. Tabs, line ends, form feeds, backspaces (old manual
/// pages) and escapes (of terminals) do not count.
pub fn controls_are_many(text: &str) -> bool {
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x08 | 0x1B);
    let controls = text.as_bytes().iter().filter(is_control).count();
    controls > 0 && controls * CHARACTERS_PER_CONTROL > text.chars().count()
}
