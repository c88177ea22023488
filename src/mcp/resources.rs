//! Documents as resources: `loom://<namespace>/<source_uri>`, the address percent-encoded.

use std::fmt::Write as _;

/// The scheme of every resource.
const SCHEME: &str = "loom://";

/// The address of a document.
pub(super) fn uri(namespace: &str, source_uri: &str) -> String {
    let mut uri = format!("{SCHEME}{namespace}/");
    for byte in source_uri.bytes() {
        // As a client expands the template, so that no part of it reads like a path that could be shortened.
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("a string takes every write");
        }
    }
    uri
}

/// The namespace and the source address that a resource names.
pub(super) fn parse(uri: &str) -> Option<(String, String)> {
    let (namespace, encoded) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let value = digit(rest.next())? * 16 + digit(rest.next())?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let source_uri = String::from_utf8(bytes).ok()?;
    (!namespace.is_empty() && !source_uri.is_empty()).then(|| (namespace.to_owned(), source_uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_being_a_resource() {
        for source_uri in ["file:///srv/a b.md", "https://x.test/?q=1#two", "ünïcode/日本", "a%2Fb", "/"] {
            let uri = uri("local", source_uri);
            assert_eq!(parse(&uri), Some(("local".into(), source_uri.into())), "{uri}");
        }
        assert_eq!(uri("local", "file:///a/../b.md"), "loom://local/file%3A%2F%2F%2Fa%2F..%2Fb.md");
        assert_eq!(parse("loom://local/file:///b.md"), Some(("local".into(), "file:///b.md".into())));
        for wrong in
            ["file:///a", "loom://", "loom://local", "loom://local/", "loom:///a", "loom://n/%zz", "loom://n/%f"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
