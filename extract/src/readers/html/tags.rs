//! How many attributes the tags of a page have, before a parser reads them.

/// The most attributes of one tag.
const ATTRIBUTES_MAX: usize = 2_000;

/// Whether a tag has more attributes than any page gives one. The parser compares each attribute of a tag with all before it.
pub fn are_overloaded(html: &str) -> bool {
    let bytes = html.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', bytes.get(at..).unwrap_or_default()) {
        at += found + 1;
        let name = at + usize::from(bytes.get(at) == Some(&b'/'));
        if !bytes.get(name).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let (attributes, end) = attributes(bytes, name);
        if attributes > ATTRIBUTES_MAX {
            return true;
        }
        at = end;
        // What stands in a script looks like tags and is none.
        if bytes[name..].get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"script")) {
            at = memchr::memmem::find(&bytes[at..], b"</").map_or(at, |length| at + length);
        }
    }
    false
}

/// How many attributes the tag whose name begins at `at` has, no more counted than are too many, and where it ends.
fn attributes(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let end_of = |from: usize, ends: fn(u8) -> bool| {
        bytes[from..].iter().position(|byte| ends(*byte)).map_or(bytes.len(), |length| from + length)
    };
    let is_blank = |byte: u8| byte.is_ascii_whitespace() || byte == b'/';
    at = end_of(at, |byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'));
    let mut count = 0;
    while count <= ATTRIBUTES_MAX {
        while bytes.get(at).is_some_and(|byte| is_blank(*byte)) {
            at += 1;
        }
        match bytes.get(at) {
            None => break,
            Some(b'>') => return (count, at + 1),
            Some(_) => {}
        }
        count += 1;
        // A name may begin with `=`.
        at = end_of(at + 1, |byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'='));
        let value = end_of(at, |byte| !byte.is_ascii_whitespace());
        if bytes.get(value) != Some(&b'=') {
            continue;
        }
        at = end_of(value + 1, |byte| !byte.is_ascii_whitespace());
        at = match bytes.get(at) {
            Some(quote @ (b'"' | b'\'')) => {
                memchr::memchr(*quote, &bytes[at + 1..]).map_or(bytes.len(), |length| at + length + 2)
            }
            Some(_) | None => end_of(at, |byte| byte.is_ascii_whitespace() || byte == b'>'),
        };
    }
    (count, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_counted_as_they_are_parsed() {
        for (tag, count) in [
            ("p>a b c", 0),
            ("p a>b c", 1),
            ("p  a = 'x > y' b=\">\"c=1/d/>rest", 3),
            ("p =a =b", 1),
            ("p a='open b c d", 1),
            ("br/>", 0),
        ] {
            assert_eq!(attributes(tag.as_bytes(), 0).0, count, "{tag}");
        }
    }

    #[test]
    fn only_tags_with_too_many_are_too_much() {
        let words = "a ".repeat(ATTRIBUTES_MAX + 1);
        for (html, expected) in [
            (format!("<p {words}>"), true),
            (format!("<b></p {words}"), true),
            (format!("<p a='>' {words}>"), true),
            (format!("<p>{words}</p>"), false),
            (format!("a < {words}"), false),
            (format!("<script>for (i=0;i<n;i++) {words}</script>"), false),
        ] {
            assert_eq!(are_overloaded(&html), expected, "{}", &html[..20]);
        }
    }
}
