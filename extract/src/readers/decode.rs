//! From bytes to text.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};

use super::likely::is_likely;
use super::magic::{controls_are_many, magic};
use crate::contract::{Options, Refusal, RefusalCode};

/// Whether the encoding of bytes that do not say it may be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// Of a format that may be written in any encoding.
    Allowed,
    /// Of a format that is UTF-8 or marked as UTF-16 or UTF-32 by its own rules.
    Never,
}

/// Text, and what should be said of how it was decoded.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text without its byte order mark.
    pub text: Cow<'a, str>,
    /// The warning that the encoding was guessed.
    pub warning: Option<String>,
}

/// Decodes the bytes of a file of text: as `options.encoding` says; else by its byte order mark; else as `declared`, the label
/// that the file has inside, says; else as UTF-8, where the whole is valid; else as UTF-16 or UTF-32, whose zero bytes
/// show; else by a guess that is certain enough.
///
/// # Errors
/// [`RefusalCode::InvalidOption`], [`RefusalCode::FormatMismatch`] for bytes that are no text, and
/// [`RefusalCode::Encoding`].
pub fn decode<'a>(
    bytes: &'a [u8],
    options: &Options,
    declared: Option<&str>,
    guess: Guess,
) -> Result<Decoded<'a>, Refusal> {
    if let Some(name) = magic(bytes) {
        let message = format!("the file is {name}, not text");
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    }
    let decoded = by_order(bytes, options, declared, guess)?;
    if controls_are_many(&decoded.text) {
        let message = "the file is binary: more of it are control characters than any text has";
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    }
    Ok(decoded)
}

fn by_order<'a>(
    bytes: &'a [u8],
    options: &Options,
    declared: Option<&str>,
    guess: Guess,
) -> Result<Decoded<'a>, Refusal> {
    let certain = |text| Ok(Decoded { text, warning: None });
    let label = options.encoding.trim();
    if !label.is_empty() {
        let scheme = Scheme::named(label).ok_or_else(|| unknown(label))?;
        return scheme.read(bytes).map_or_else(|| Err(invalid(scheme.name(), "options.encoding says")), certain);
    }
    if let Some((scheme, length)) = mark(bytes) {
        let text = scheme.read(&bytes[length..]);
        return text.map_or_else(|| Err(invalid(scheme.name(), "its byte order mark says")), certain);
    }
    if let Some(scheme) = zeros(bytes)
        && let Some(text) = scheme.read(bytes)
    {
        return certain(text);
    }
    // A label is often left over from another life of the file: what is valid UTF-8 is UTF-8, and a label that does
    // not fit is not believed.
    if let Ok(text) = std::str::from_utf8(bytes) {
        return certain(Cow::Borrowed(text));
    }
    if let Some(text) = declared.and_then(Scheme::named).and_then(|scheme| scheme.read(bytes)) {
        return certain(text);
    }
    if bytes.contains(&0) {
        return Err(Refusal::new(
            RefusalCode::FormatMismatch,
            "the file is binary: it holds zero bytes, and is no UTF-16",
        ));
    }
    if guess == Guess::Allowed
        && let Some(decoded) = guessed(bytes)
    {
        return Ok(decoded);
    }
    let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let message = format!(
        "the text is not UTF-8 (at byte {at}), and its encoding cannot be told for certain: name it in options.encoding"
    );
    Err(Refusal::new(RefusalCode::Encoding, message))
}

/// What the statistics of the bytes speak for, where the text that comes of it looks like one.
fn guessed(bytes: &[u8]) -> Option<Decoded<'_>> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    if !is_likely(&text, encoding) {
        return None;
    }
    let warning = format!(
        "the encoding {} was guessed; if the text is garbled, name the right one in options.encoding",
        encoding.name()
    );
    Some(Decoded { text, warning: Some(warning) })
}

/// A way to write text as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Of(&'static Encoding),
    Utf32Le,
    Utf32Be,
}

impl Scheme {
    fn named(label: &str) -> Option<Self> {
        if label.eq_ignore_ascii_case("utf-32le") || label.eq_ignore_ascii_case("utf-32") {
            return Some(Self::Utf32Le);
        }
        if label.eq_ignore_ascii_case("utf-32be") {
            return Some(Self::Utf32Be);
        }
        // The encodings that the standard replaces by one error could only be refused.
        Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != REPLACEMENT).map(Self::Of)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Of(encoding) => encoding.name(),
            Self::Utf32Le => "UTF-32LE",
            Self::Utf32Be => "UTF-32BE",
        }
    }

    /// The text, if every byte is valid. A byte order mark of the scheme itself is taken off.
    fn read(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        let bytes = match mark(bytes) {
            Some((scheme, length)) if scheme == self => &bytes[length..],
            Some(_) | None => bytes,
        };
        match self {
            Self::Of(encoding) => encoding.decode_without_bom_handling_and_without_replacement(bytes),
            Self::Utf32Le => utf32(bytes, u32::from_le_bytes),
            Self::Utf32Be => utf32(bytes, u32::from_be_bytes),
        }
    }
}

fn utf32(bytes: &[u8], scalar: fn([u8; 4]) -> u32) -> Option<Cow<'_, str>> {
    let (units, []) = bytes.as_chunks::<4>() else { return None };
    units.iter().map(|unit| char::from_u32(scalar(*unit))).collect::<Option<String>>().map(Cow::Owned)
}

/// The scheme that a byte order mark names, and the mark's length.
fn mark(bytes: &[u8]) -> Option<(Scheme, usize)> {
    [
        (&[0xFF, 0xFE, 0, 0][..], Scheme::Utf32Le),
        (&[0, 0, 0xFE, 0xFF], Scheme::Utf32Be),
        (&[0xEF, 0xBB, 0xBF], Scheme::Of(UTF_8)),
        (&[0xFF, 0xFE], Scheme::Of(UTF_16LE)),
        (&[0xFE, 0xFF], Scheme::Of(UTF_16BE)),
    ]
    .into_iter()
    .find(|(mark, _)| bytes.starts_with(mark))
    .map(|(mark, scheme)| (scheme, mark.len()))
}

/// How much of a file is looked at for zero bytes.
const ZEROS_SAMPLE_BYTES: usize = 64 * 1024;

/// The scheme of wide units whose zero bytes lie where those of text do: at the same place in most units, and nearly
/// nowhere else.
fn zeros(bytes: &[u8]) -> Option<Scheme> {
    let sample = &bytes[..bytes.len().min(ZEROS_SAMPLE_BYTES)];
    if !sample.contains(&0) {
        return None;
    }
    let mut at = [0_usize; 4];
    for (index, _) in sample.iter().enumerate().filter(|(_, byte)| **byte == 0) {
        at[index % 4] += 1;
    }
    let units = sample.len() / 4;
    let all = |count: usize| units > 0 && count >= units;
    let most = |count: usize| count * 10 >= units * 9;
    if bytes.len().is_multiple_of(4) && all(at[3]) && most(at[2]) && at[0] * 20 <= units {
        return Some(Scheme::Utf32Le);
    }
    if bytes.len().is_multiple_of(4) && all(at[0]) && most(at[1]) && at[3] * 20 <= units {
        return Some(Scheme::Utf32Be);
    }
    let (even, odd, pairs) = (at[0] + at[2], at[1] + at[3], sample.len() / 2);
    let many = |count: usize| count * 10 >= pairs && count > 0;
    let few = |count: usize| count * 50 <= pairs;
    match bytes.len().is_multiple_of(2) {
        true if many(odd) && few(even) => Some(Scheme::Of(UTF_16LE)),
        true if many(even) && few(odd) => Some(Scheme::Of(UTF_16BE)),
        true | false => None,
    }
}

fn unknown(label: &str) -> Refusal {
    let label: String = label.chars().take(40).collect();
    Refusal::new(RefusalCode::InvalidOption, format!("options.encoding names no known encoding: {label:?}"))
}

fn invalid(name: &str, who: &str) -> Refusal {
    let message = format!("the text is not valid {name}, which {who}: name its encoding in options.encoding");
    Refusal::new(RefusalCode::Encoding, message)
}

#[cfg(test)]
mod tests;
