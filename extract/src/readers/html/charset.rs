//! The encoding that an HTML file says it has.

/// How much of a file is looked at.
const HEAD_BYTES: usize = 8192;

/// The label in a file's `<?xml encoding>` or first `<meta>` that names one.
pub fn declared(bytes: &[u8]) -> Option<String> {
    let head: String = bytes
        .iter()
        .take(HEAD_BYTES)
        .map(|byte| if byte.is_ascii() { char::from(*byte).to_ascii_lowercase() } else { ' ' })
        .collect();
    if let Some(declaration) = head.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split("?>").next())
        && let Some(label) = value_after(declaration, "encoding")
    {
        return Some(label);
    }
    let mut rest = head.as_str();
    while let Some(at) = rest.find("<meta") {
        let tag = &rest[at + 5..];
        let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
        if let Some(label) = value_after(tag, "charset") {
            return Some(label);
        }
        rest = &rest[at + 5..];
    }
    None
}

/// The word after `name` and `=`, within quotes or without.
fn value_after(text: &str, name: &str) -> Option<String> {
    let after = text.split(name).skip(1).find_map(|rest| rest.trim_start().strip_prefix('='))?;
    let after = after.trim_start().trim_start_matches(['"', '\'']);
    let label: &str = after.split(|c: char| c.is_whitespace() || "\"';>/".contains(c)).next().unwrap_or_default();
    (!label.is_empty()).then(|| label.to_owned())
}
