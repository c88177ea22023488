//! Query strings, decoded strictly.

use crate::error::Error;

/// The parameters of a query string that a route knows, each given at most once.
pub struct Form(Vec<(&'static str, Option<String>)>);

impl Form {
    /// Reads a query string; parameters of other names are passed over.
    pub fn parse(query: &str, names: &[&'static str]) -> Result<Self, Error> {
        let mut values: Vec<(&'static str, Option<String>)> = names.iter().map(|name| (*name, None)).collect();
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
        Ok(Self(values))
    }

    /// The value of a parameter; empty when it was not given.
    pub fn take(&mut self, name: &str) -> String {
        self.0.iter_mut().find(|(known, _)| *known == name).and_then(|(_, value)| value.take()).unwrap_or_default()
    }
}

/// Undoes the percent encoding of a form, where `+` is a blank.
fn decode(encoded: &str) -> Result<String, &'static str> {
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
