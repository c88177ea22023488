//! How a download presents itself: its name, and what a browser may do with what strangers wrote.

use std::fmt::Write as _;

/// How long a file name may be, in Unicode scalars.
const FILENAME_CHARS_MAX: usize = 200;
/// Whatever a browser makes of the bytes, it runs nothing and reaches nothing.
const SANDBOX: &str = "default-src 'none'; sandbox; frame-ancestors 'self'";
/// The viewers that browsers build in for PDF do not work inside a sandbox.
const NO_FRAMES: &str = "frame-ancestors 'self'";

/// The content type and the rules under which a file is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    /// A valid content type.
    pub content_type: String,
    /// Whether the browser shows it in place.
    pub inline: bool,
    /// The content security policy.
    pub policy: &'static str,
}

impl Shown {
    /// Of the stored content type, which nobody checked. Only what no browser executes is shown in place; other
    /// text is shown as plain text, and everything else is a file to save.
    pub fn new(stored: &str, inline: bool) -> Self {
        let essence = stored.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let essence = if is_media_type(&essence) { essence } else { "application/octet-stream".into() };
        let saved = |content_type| Self { content_type, inline: false, policy: SANDBOX };
        if !inline {
            let utf8 = stored.to_ascii_lowercase().replace(' ', "").ends_with(";charset=utf-8");
            let known = utf8 && essence.starts_with("text/");
            return saved(if known { format!("{essence}; charset=utf-8") } else { essence });
        }
        match essence.as_str() {
            "application/pdf" => Self { content_type: essence, inline: true, policy: NO_FRAMES },
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/avif" | "image/bmp" => {
                Self { content_type: essence, inline: true, policy: SANDBOX }
            }
            "text/plain"
            | "text/markdown"
            | "text/csv"
            | "text/tab-separated-values"
            | "text/vtt"
            | "application/json"
            | "application/x-ndjson"
            | "application/yaml"
            | "application/toml"
            | "application/sql" => {
                Self { content_type: "text/plain; charset=utf-8".into(), inline: true, policy: SANDBOX }
            }
            _ => saved(essence),
        }
    }
}

fn is_media_type(essence: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    essence.len() <= 127 && essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

/// A `Content-Disposition` that names the file twice: in ASCII for old readers and in UTF-8 for others.
pub fn disposition(filename: &str, inline: bool) -> String {
    let name = safe(filename);
    let plain: String =
        name.chars().map(|c| if c.is_ascii() && !matches!(c, '"' | '\\' | '%') { c } else { '_' }).collect();
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    let kind = if inline { "inline" } else { "attachment" };
    format!("{kind}; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

/// The name without what a file system or a reader's eye would take for something else.
fn safe(filename: &str) -> String {
    let name: String = filename
        .chars()
        .map(|c| if matches!(c, '/' | '\\' | ':' | '*' | '?' | '<' | '>' | '|') || c.is_control() { '_' } else { c })
        .filter(|c| !is_invisible(*c))
        .take(FILENAME_CHARS_MAX)
        .collect();
    let name = name.trim_matches(|c: char| c.is_whitespace() || c == '.');
    if name.is_empty() { "document".into() } else { name.into() }
}

/// Marks that turn the direction of the text, so that an ending can pose as another, and other unseen ones.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_harmless_types_are_shown_in_place() {
        let shown = |stored, inline| {
            let shown = Shown::new(stored, inline);
            (shown.content_type, shown.inline, shown.policy == SANDBOX)
        };
        assert_eq!(shown("image/png", true), ("image/png".into(), true, true));
        assert_eq!(shown("image/png", false), ("image/png".into(), false, true));
        assert_eq!(shown("Application/PDF", true), ("application/pdf".into(), true, false));
        assert_eq!(shown("text/markdown; charset=UTF-8", false), ("text/markdown; charset=utf-8".into(), false, true));
        assert_eq!(shown("text/markdown; charset=x\r\ny: z", false), ("text/markdown".into(), false, true));
        assert_eq!(shown("text/markdown; charset=x", true), ("text/plain; charset=utf-8".into(), true, true));
        for dangerous in ["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "text/javascript"] {
            assert_eq!(shown(dangerous, true), (dangerous.into(), false, true));
        }
        for invalid in ["", "text", "text/", "/x", "text/ht ml", "text/html\r\nx: y", "te\u{e9}/x"] {
            assert_eq!(shown(invalid, true), ("application/octet-stream".into(), false, true), "{invalid:?}");
        }
    }

    #[test]
    fn a_file_name_is_safe_in_both_forms() {
        for (filename, expected) in [
            ("a.pdf", "attachment; filename=\"a.pdf\"; filename*=UTF-8''a.pdf"),
            (
                "r\u{e9}sum\u{e9} 1.pdf",
                "attachment; filename=\"r_sum_ 1.pdf\"; filename*=UTF-8''r%C3%A9sum%C3%A9%201.pdf",
            ),
            ("a\"; x=\"b", "attachment; filename=\"a_; x=_b\"; filename*=UTF-8''a%22%3B%20x%3D%22b"),
            ("../../etc/passwd", "attachment; filename=\"_.._etc_passwd\"; filename*=UTF-8''_.._etc_passwd"),
            ("a\r\nset-cookie: x", "attachment; filename=\"a__set-cookie_ x\"; filename*=UTF-8''a__set-cookie_%20x"),
            ("gpj.\u{202e}exe", "attachment; filename=\"gpj.exe\"; filename*=UTF-8''gpj.exe"),
            ("100%.txt", "attachment; filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"),
            ("..", "attachment; filename=\"document\"; filename*=UTF-8''document"),
            ("", "attachment; filename=\"document\"; filename*=UTF-8''document"),
        ] {
            assert_eq!(disposition(filename, false), expected);
        }
    }

    proptest! {
        #[test]
        fn any_name_makes_a_valid_header(filename: String, inline: bool) {
            let value = disposition(&filename, inline);
            prop_assert!(value.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(value.matches('"').count(), 2);
        }
    }
}
