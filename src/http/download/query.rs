//! The query string of a download, decoded strictly: a `source_uri` is kept byte for byte.

use crate::error::Error;

/// What a download asks for; an empty organisation or namespace is the configured one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The organisation.
    pub org: String,
    /// The namespace.
    pub namespace: String,
    /// The document.
    pub source_uri: String,
    /// Whether a browser may show it rather than save it.
    pub inline: bool,
}

impl Asked {
    /// Reads a query string; parameters that it does not know are passed over.
    pub fn parse(query: &str) -> Result<Self, Error> {
        let mut values: [(&str, Option<String>); 4] =
            [("org", None), ("namespace", None), ("source_uri", None), ("inline", None)];
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Ok(name) = decode(name) else { continue };
            let Some((name, slot)) = values.iter_mut().find(|(known, _)| *known == name) else { continue };
            if slot.is_some() {
                return Err(Error::invalid(*name, format!("{name} is given twice: give it once")));
            }
            let value = decode(value).map_err(|what| Error::invalid(*name, format!("{name} {what}")))?;
            *slot = Some(value);
        }
        let [(_, org), (_, namespace), (_, source_uri), (_, inline)] = values;
        let inline = match inline.as_deref().unwrap_or_default() {
            "" | "0" | "false" => false,
            "1" | "true" => true,
            _ => return Err(Error::invalid("inline", "inline is neither 1 nor 0: give one of them or leave it out")),
        };
        let source_uri = source_uri
            .filter(|uri| !uri.is_empty())
            .ok_or_else(|| Error::invalid("source_uri", "source_uri is missing: name the document to download"))?;
        Ok(Self { org: org.unwrap_or_default(), namespace: namespace.unwrap_or_default(), source_uri, inline })
    }
}

/// Undoes the percent encoding of a form, where `+` is a blank.
pub(in crate::http) fn decode(encoded: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => match (rest.next().and_then(hex), rest.next().and_then(hex)) {
                (Some(high), Some(low)) => high << 4 | low,
                (_, _) => return Err("has a `%` without two hex digits: write a percent sign as %25"),
            },
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 once its percent encoding is undone")
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_as_they_were_meant() {
        let asked = Asked::parse("source_uri=a%2Fb+c%2b%C3%A9&inline=true&other=%zz&org=o&namespace=n");
        let expected = Asked { org: "o".into(), namespace: "n".into(), source_uri: "a/b c+é".into(), inline: true };
        assert_eq!(asked.expect("it is valid"), expected);
        let least = Asked::parse("&source_uri=a=b&&").expect("it is valid");
        assert_eq!(least, Asked { source_uri: "a=b".into(), ..Asked::default() });
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (query, field) in [
            ("", "source_uri"),
            ("source_uri", "source_uri"),
            ("source_uri=", "source_uri"),
            ("source_uri=a&source_uri=b", "source_uri"),
            ("source_uri=%f", "source_uri"),
            ("source_uri=%+1", "source_uri"),
            ("source_uri=%ff", "source_uri"),
            ("source_uri=a&inline=yes", "inline"),
        ] {
            let error = Asked::parse(query).expect_err("it is refused");
            assert_eq!(error.field.as_deref(), Some(field), "{query}");
        }
    }
}
