//! What an input field may hold. Every refusal names the field, the bound and what was given.

use loom_index::fold_tag;
use serde_json::{Map, Value};

use crate::error::{Code, Error};

/// The longest `org` and `namespace`, in characters.
pub const NAME_CHARS_MAX: usize = 128;
/// The longest `source_uri`, in characters.
pub const SOURCE_URI_CHARS_MAX: usize = 2_048;
/// The longest `title`, in characters.
pub const TITLE_CHARS_MAX: usize = 1_000;
/// The longest `description`, in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 4_000;
/// The longest tag, in characters.
pub const TAG_CHARS_MAX: usize = 200;
/// The most tags of a document or a filter.
pub const TAGS_MAX: usize = 100;
/// The largest `metadata`, in bytes of JSON.
pub const METADATA_BYTES_MAX: usize = 64 << 10;
/// The longest `query`, in characters.
pub const QUERY_CHARS_MAX: usize = 8_192;
/// The most hits of a search.
pub const TOP_K_MAX: u32 = 100;
/// The most entries of `knowledge.bulk_add` and `knowledge.bulk_delete`.
pub const BULK_MAX: usize = 500;
/// The most `uri_prefix` filters.
pub const URI_PREFIXES_MAX: usize = 8;
/// The most values of any other list filter.
pub const FILTER_VALUES_MAX: usize = 100;
/// The most namespaces that one call may name.
pub const NAMESPACES_MAX: usize = 100;
/// The most rows of a `knowledge.list` page.
pub const LIST_LIMIT_MAX: u32 = 500;
/// The longest `agent`, `session_id`, file name and media type, in characters.
pub const LABEL_CHARS_MAX: usize = 512;

/// Checks the name of a tenant or a namespace.
pub fn name(field: &str, value: &str) -> Result<(), Error> {
    let mut bytes = value.bytes();
    let starts_well = bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let goes_on_well = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if starts_well && goes_on_well && value.len() <= NAME_CHARS_MAX {
        return Ok(());
    }
    Err(Error::invalid(
        field,
        format!(
            "{field} must be 1 to {NAME_CHARS_MAX} letters, digits, dots, dashes or underscores, the first a letter or digit"
        ),
    ))
}

/// Checks a source address, which is kept byte for byte.
pub fn source_uri(field: &str, value: &str) -> Result<(), Error> {
    let chars = value.chars().count();
    if chars == 0 || chars > SOURCE_URI_CHARS_MAX {
        return Err(Error::invalid(
            field,
            format!("{field} must have 1 to {SOURCE_URI_CHARS_MAX} characters; it has {chars}"),
        ));
    }
    if let Some(at) = value.chars().position(char::is_control) {
        return Err(Error::invalid(field, format!("{field} holds a control character at position {at}: remove it")));
    }
    Ok(())
}

/// Checks a text field against its bound; it may be empty but not hold NUL.
pub fn text(field: &str, value: &str, chars_max: usize) -> Result<(), Error> {
    no_nul(field, value)?;
    // A character has at most four bytes, so most texts need no counting.
    if value.len() > chars_max {
        let chars = value.chars().count();
        if chars > chars_max {
            return Err(Error::invalid(field, format!("{field} may have {chars_max} characters; it has {chars}")));
        }
    }
    Ok(())
}

/// Refuses the NUL character, which not every backend can store.
pub fn no_nul(field: &str, value: &str) -> Result<(), Error> {
    match value.find('\0') {
        None => Ok(()),
        Some(at) => Err(Error::invalid(field, format!("{field} holds a NUL character at byte {at}: remove it"))),
    }
}

/// Checks a document's text against its bound in bytes.
pub fn content(field: &str, value: &str, bytes_max: usize) -> Result<(), Error> {
    if value.len() > bytes_max {
        return Err(Error {
            field: Some(field.into()),
            ..Error::new(
                Code::PayloadTooLarge,
                format!(
                    "{field} has {} bytes; LOOM_KNOWLEDGE_MAX_CONTENT_BYTES allows {bytes_max}: split the document",
                    value.len()
                ),
            )
        });
    }
    no_nul(field, value)
}

/// Trims tags and drops repetitions (in any case), keeping the case of the first.
pub fn tags(field: &str, tags: &[String]) -> Result<Vec<String>, Error> {
    if tags.len() > TAGS_MAX {
        return Err(Error::invalid(field, format!("{field} may have {TAGS_MAX} tags; it has {}", tags.len())));
    }
    let mut kept: Vec<String> = Vec::new();
    let mut folded = Vec::new();
    for (at, tag) in tags.iter().enumerate() {
        let at = format!("{field}[{at}]");
        let tag = tag.trim();
        if tag.is_empty() {
            return Err(Error::invalid(at.clone(), format!("{at} is blank: leave it out")));
        }
        text(&at, tag, TAG_CHARS_MAX)?;
        let fold = fold_tag(tag);
        if !folded.contains(&fold) {
            folded.push(fold);
            kept.push(tag.to_owned());
        }
    }
    Ok(kept)
}

/// Checks `metadata` and returns it as it is stored.
pub fn metadata(field: &str, metadata: &Map<String, Value>) -> Result<String, Error> {
    for (key, value) in metadata {
        let at = format!("{field}.{key}");
        no_nul(&at.replace('\0', "\\0"), key)?;
        metadata_value(&at, value)?;
    }
    let stored = serde_json::to_string(metadata).map_err(Error::internal)?;
    if stored.len() > METADATA_BYTES_MAX {
        return Err(Error::invalid(
            field,
            format!("{field} may have {METADATA_BYTES_MAX} bytes of JSON; it has {}", stored.len()),
        ));
    }
    Ok(stored)
}

fn metadata_value(at: &str, value: &Value) -> Result<(), Error> {
    match value {
        Value::String(text) => no_nul(at, text),
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(index, item)| metadata_value(&format!("{at}[{index}]"), item))
        }
        Value::Object(fields) => fields.iter().try_for_each(|(key, item)| {
            let at = format!("{at}.{key}");
            no_nul(&at.replace('\0', "\\0"), key)?;
            metadata_value(&at, item)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Checks the length of a list.
pub fn list_len(field: &str, len: usize, least: usize, most: usize) -> Result<(), Error> {
    if (least..=most).contains(&len) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("{field} must have {least} to {most} items; it has {len}")))
}

/// Checks a whole number against its bounds.
pub fn range(field: &str, value: u32, least: u32, most: u32) -> Result<(), Error> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("{field} must be {least} to {most}; it is {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_to_their_alphabet() {
        for good in ["a", "A.b-c_9", &"x".repeat(NAME_CHARS_MAX)] {
            assert!(name("org", good).is_ok(), "{good}");
        }
        for bad in ["", ".a", "-a", "a/b", "ä", "a b", "a\0", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert!(name("org", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn bounds_count_characters_and_name_the_field() {
        assert!(source_uri("source_uri", &"é".repeat(SOURCE_URI_CHARS_MAX)).is_ok());
        assert!(source_uri("source_uri", &"é".repeat(SOURCE_URI_CHARS_MAX + 1)).is_err());
        assert!(source_uri("source_uri", "a\u{85}b").is_err());
        assert!(text("title", &"é".repeat(10), 10).is_ok());
        let error = text("title", "a\0b", 10).expect_err("NUL");
        assert_eq!(error.field.as_deref(), Some("title"));
        let error = tags("tags", &["x".into(), "y\0".into()]).expect_err("NUL in a tag");
        assert_eq!(error.field.as_deref(), Some("tags[1]"));
        let nested = serde_json::json!({"a": {"b": ["ok", "no\0"]}});
        let error = metadata("metadata", nested.as_object().expect("an object")).expect_err("NUL in a value");
        assert_eq!(error.field.as_deref(), Some("metadata.a.b[1]"));
    }

    #[test]
    fn tags_are_trimmed_and_told_apart_without_case() {
        let given = [" Ops ".to_owned(), "ops".into(), "e\u{301}".into(), "\u{e9}".into()];
        assert_eq!(tags("tags", &given).expect("good tags"), ["Ops", "e\u{301}"]);
        assert!(tags("tags", &[" ".into()]).is_err());
    }
}
