//! The query string of a download: a `source_uri` is kept byte for byte.

use super::super::form::Form;
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
        let mut form = Form::parse(query, &["org", "namespace", "source_uri", "inline"])?;
        let (org, namespace) = (form.take("org"), form.take("namespace"));
        let (source_uri, inline) = (form.take("source_uri"), form.take("inline"));
        let inline = match inline.as_str() {
            "" | "0" | "false" => false,
            "1" | "true" => true,
            _ => return Err(Error::invalid("inline", "inline is neither 1 nor 0: give one of them or leave it out")),
        };
        if source_uri.is_empty() {
            return Err(Error::invalid("source_uri", "source_uri is missing: name the document to download"));
        }
        Ok(Self { org, namespace, source_uri, inline })
    }
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
