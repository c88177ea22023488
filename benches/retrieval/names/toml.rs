//! The key paths that a TOML file defines, as far as its lines show them: keys within inline tables are not looked for.

use super::Definition;

/// The paths in full, as somebody would write them: `server.limits.body-bytes`. Quoted keys are left out.
pub fn definitions(text: &str) -> Vec<Definition> {
    let mut found = Vec::new();
    let (mut table, mut open, mut offset) = (Some(String::new()), 0_usize, 0);
    let mut string: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let (start, trimmed) = (offset + line.len() - line.trim_start().len(), line.trim());
        offset += line.len();
        if let Some(mark) = string {
            if trimmed.contains(mark) {
                string = None;
            }
            continue;
        }
        if open > 0 {
            open = balance(open, trimmed);
            continue;
        }
        if let Some(header) = trimmed.strip_prefix('[') {
            let header = header.strip_prefix('[').unwrap_or(header);
            table = header.split_once(']').and_then(|(path, _)| path_of(path));
            found.extend(table.iter().map(|name| Definition { name: name.clone(), offset: start }));
        } else if let Some((key, value)) = trimmed.split_once('=').filter(|_| !trimmed.starts_with('#')) {
            let path = table.as_ref().zip(path_of(key));
            found.extend(path.map(|(table, key)| {
                let name = if table.is_empty() { key } else { format!("{table}.{key}") };
                Definition { name, offset: start }
            }));
            string = ["\"\"\"", "'''"].into_iter().find(|mark| value.matches(mark).count() == 1);
            open = balance(0, value);
        }
    }
    found
}

/// A dotted path of bare keys, without spaces.
fn path_of(written: &str) -> Option<String> {
    let parts: Vec<&str> = written.split('.').map(str::trim).collect();
    let is_bare = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    parts.iter().all(is_bare).then(|| parts.join("."))
}

/// How many brackets of an array are open after a line.
fn balance(mut open: usize, line: &str) -> usize {
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => break,
            (None, '[') => open += 1,
            (None, ']') => open = open.saturating_sub(1),
            (Some(_) | None, _) => {}
        }
    }
    open
}
