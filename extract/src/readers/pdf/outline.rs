//! The bookmarks of a file.

use std::collections::HashSet;

use hayro_syntax::object::{Dict, ObjectIdentifier, String as Bytes};

/// The most bookmarks that are read.
const ENTRIES_MAX: usize = 20_000;

/// A bookmark's title and how deep it stands, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub title: String,
    pub level: u8,
}

/// All bookmarks in their order. A list that bites its own tail ends there.
pub fn entries(catalog: Option<&Dict<'_>>) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut seen: HashSet<ObjectIdentifier> = HashSet::new();
    let first = catalog
        .and_then(|catalog| catalog.get::<Dict<'_>>("Outlines"))
        .and_then(|outlines| outlines.get::<Dict<'_>>("First"));
    let mut open: Vec<(Dict<'_>, u8)> = first.map(|first| (first, 1)).into_iter().collect();
    while let Some((entry, level)) = open.pop() {
        if all.len() >= ENTRIES_MAX || entry.obj_id().is_some_and(|id| !seen.insert(id)) {
            continue;
        }
        if let Some(title) = entry.get::<Bytes<'_>>("Title") {
            all.push(Entry { title: text_string(title.as_bytes()).trim().to_owned(), level });
        }
        if let Some(next) = entry.get::<Dict<'_>>("Next") {
            open.push((next, level));
        }
        if let (Some(first), true) = (entry.get::<Dict<'_>>("First"), level < 6) {
            open.push((first, level + 1));
        }
    }
    all
}

/// A text string of a PDF: UTF-16 or UTF-8 by its byte order mark, else Latin-1 with some typographic signs.
pub fn text_string(bytes: &[u8]) -> String {
    let wide = |bytes: &[u8], of: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| of([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|byte| document_char(*byte)).collect(),
    }
}

/// Where the encoding of documents is not Latin-1.
fn document_char(byte: u8) -> char {
    const SIGNS: [char; 30] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ', 'ﬂ', 'Ł',
        'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š',
    ];
    match byte {
        0x80..=0x9d => SIGNS[usize::from(byte - 0x80)],
        0x9e => 'ž',
        0xa0 => '€',
        _ => char::from(byte),
    }
}
