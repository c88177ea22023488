//! Strict decoding of a request body: one JSON object, without what other readers would take differently.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::error::{Code, Error};

/// How deep objects and lists may lie in each other; the body itself is the first level.
pub const NESTING_MAX: usize = 64;
/// How many values one body may hold, so that a small body cannot grow into a large heap.
pub const VALUES_MAX: usize = 2_000_000;
/// How much of one key a message repeats, in Unicode scalars.
const KEY_SHOWN_MAX: usize = 100;

/// Decodes a body into the object that it must be.
///
/// [`Code::BadJson`] when it is not JSON or not an object; [`Code::ValidationFailed`], naming the field, for a
/// repeated key, a lone surrogate, a number out of range or nesting past [`NESTING_MAX`]; [`Code::PayloadTooLarge`]
/// past [`VALUES_MAX`].
pub fn decode(body: &[u8]) -> Result<Map<String, Value>, Error> {
    if body.is_empty() {
        return Err(bad("is empty: send a JSON object, at least {}"));
    }
    let text = std::str::from_utf8(body).map_err(|error| {
        let valid = body.get(..error.valid_up_to()).unwrap_or_default();
        let line = valid.split(|byte| *byte == b'\n').count();
        let column = valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        bad(format!("is not UTF-8 at line {line} column {column}"))
    })?;
    let mut walk = Walk::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let decoded = Strict { walk: &mut walk, depth: 0 }.deserialize(&mut reader).and_then(|value| {
        reader.end()?;
        Ok(value)
    });
    match decoded {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(bad(format!("is {}, not an object", kind(&other)))),
        Err(error) => Err(walk.explain(&error)),
    }
}

fn bad(what: impl fmt::Display) -> Error {
    Error::new(Code::BadJson, format!("the body {what}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[derive(Clone, Copy)]
enum Fault {
    RepeatedKey,
    TooDeep,
    TooMany,
}

enum Step {
    Key(String),
    Index(usize),
}

/// What decoding has seen. The path is written only on the way out of a failure, innermost step first.
#[derive(Default)]
struct Walk {
    values: usize,
    path: Vec<Step>,
    in_key: bool,
    fault: Option<Fault>,
}

impl Walk {
    fn explain(&self, error: &serde_json::Error) -> Error {
        // Where exactly the nesting went too deep is no help; in which field is.
        let steps_shown = if matches!(self.fault, Some(Fault::TooDeep)) { 1 } else { self.path.len() };
        let field = self.field(steps_shown);
        let named = if field.is_empty() { "the body" } else { &field };
        let at = format!("(line {} column {})", error.line(), error.column());
        let message = match self.fault {
            Some(Fault::TooMany) => {
                return Error::new(
                    Code::PayloadTooLarge,
                    format!("the body holds more than {VALUES_MAX} JSON values: split it over several calls"),
                );
            }
            Some(Fault::RepeatedKey) => format!("{named} is given twice {at}: give it once"),
            Some(Fault::TooDeep) => format!("{named} is nested deeper than {NESTING_MAX} levels {at}: flatten it"),
            None if is_lone_surrogate(error) => {
                let part = if self.in_key { "a key of " } else { "" };
                format!(
                    "{part}{named} holds half of a surrogate pair {at}, which is no character: remove or complete it"
                )
            }
            None if error.to_string().starts_with("number out of range") => {
                format!("{named} is a number that no 64-bit float holds {at}: send it as text")
            }
            None => return bad(format!("is not valid JSON: {error}")),
        };
        Error { field: (!field.is_empty()).then_some(field), ..Error::new(Code::ValidationFailed, message) }
    }

    /// The outer steps of the path in the notation of error answers, such as `entries[3].source_uri`.
    fn field(&self, steps_shown: usize) -> String {
        let mut field = String::new();
        for step in self.path.iter().rev().take(steps_shown) {
            match step {
                Step::Index(index) => field.extend(["[", &index.to_string(), "]"]),
                Step::Key(key) => {
                    if !field.is_empty() {
                        field.push('.');
                    }
                    field.extend(key.chars().take(KEY_SHOWN_MAX));
                }
            }
        }
        field
    }
}

/// The parser gives no kinds of syntax errors, only words; a test holds these to it.
fn is_lone_surrogate(error: &serde_json::Error) -> bool {
    let words = error.to_string();
    words.starts_with("lone leading surrogate in hex escape") || words.starts_with("unexpected end of hex escape")
}

struct Strict<'walk> {
    walk: &'walk mut Walk,
    depth: usize,
}

impl Strict<'_> {
    fn fail<E: serde::de::Error>(self, fault: Fault) -> E {
        self.walk.fault = Some(fault);
        E::custom("refused")
    }

    fn inner(&mut self) -> Strict<'_> {
        Strict { walk: &mut *self.walk, depth: self.depth + 1 }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.walk.values += 1;
        if self.walk.values > VALUES_MAX {
            return Err(self.fail(Fault::TooMany));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        if self.depth >= NESTING_MAX {
            return Err(self.fail(Fault::TooDeep));
        }
        let mut list = Vec::new();
        loop {
            match items.next_element_seed(self.inner()) {
                Ok(Some(item)) => list.push(item),
                Ok(None) => return Ok(Value::Array(list)),
                Err(error) => {
                    self.walk.path.push(Step::Index(list.len()));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        if self.depth >= NESTING_MAX {
            return Err(self.fail(Fault::TooDeep));
        }
        let mut fields = Map::new();
        loop {
            let key = items.next_key::<String>().inspect_err(|_| self.walk.in_key = true)?;
            let Some(key) = key else { return Ok(Value::Object(fields)) };
            match fields.entry(key) {
                Entry::Occupied(taken) => {
                    self.walk.path.push(Step::Key(taken.key().clone()));
                    self.walk.fault = Some(Fault::RepeatedKey);
                    return Err(A::Error::custom("refused"));
                }
                Entry::Vacant(free) => match items.next_value_seed(self.inner()) {
                    Ok(value) => {
                        free.insert(value);
                    }
                    Err(error) => {
                        self.walk.path.push(Step::Key(free.key().clone()));
                        return Err(error);
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
