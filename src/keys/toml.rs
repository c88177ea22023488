//! The key paths of TOML, read by its lines: neither multi-line values nor inline tables are looked into.

use std::ops::Range;

use super::KEY_BYTES_MAX;

/// Where the table headers of a block of TOML stand, so that a passage in its middle can tell which table it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<usize>);

impl Headers {
    /// Reads the block at these bytes of `text`.
    pub fn read(text: &str, block: Range<usize>) -> Self {
        let lines = lines(text, block);
        Self(lines.filter(|(_, line)| table_of(line).is_some()).map(|(start, _)| start).collect())
    }

    /// The table that byte `at` of `text` is in.
    fn table_at<'t>(&self, text: &'t str, at: usize) -> &'t str {
        let before = self.0.partition_point(|start| *start < at).checked_sub(1);
        let line = before.and_then(|last| text[self.0[last]..].lines().next());
        line.and_then(table_of).unwrap_or_default()
    }
}

/// Calls `each` with the path of each table and key that the passage, bytes of a block with these headers, defines.
pub fn each_path(text: &str, passage: Range<usize>, headers: &Headers, mut each: impl FnMut(&str)) {
    let mut table = headers.table_at(text, passage.start);
    for (_, line) in lines(text, passage) {
        if let Some(path) = table_of(line) {
            table = path;
            each(&spaceless(path));
        } else if let Some(key) = line.split_once('=').and_then(|(key, _)| path_of(key)) {
            // A path that is too long is no name: its parts are not joined first.
            if table.len() + key.len() < KEY_BYTES_MAX {
                let table = spaceless(table);
                each(&if table.is_empty() { spaceless(key) } else { format!("{table}.{}", spaceless(key)) });
            }
        }
    }
}

/// The lines of a range with where they start.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    let mut start = range.start;
    text.get(range).unwrap_or_default().split_inclusive(['\n', '\r']).map(move |line| {
        start += line.len();
        (start - line.len(), line)
    })
}

/// The path in a table header.
fn table_of(line: &str) -> Option<&str> {
    let line = line.trim().strip_prefix('[')?;
    let (path, rest) = line.strip_prefix('[').unwrap_or(line).split_once(']')?;
    let rest = rest.trim_start_matches(']').trim_start();
    if rest.is_empty() || rest.starts_with('#') { path_of(path) } else { None }
}

/// What is a path of bare keys, without the spaces around it.
fn path_of(written: &str) -> Option<&str> {
    let path = written.trim();
    let is_bare = |key: &str| {
        let key = key.trim();
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    (path.len() <= KEY_BYTES_MAX && path.split('.').all(is_bare)).then_some(path)
}

fn spaceless(path: &str) -> String {
    path.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, passage: Range<usize>) -> Vec<String> {
        let mut paths = Vec::new();
        each_path(text, passage, &Headers::read(text, 0..text.len()), |path| paths.push(path.to_owned()));
        paths
    }

    #[test]
    fn paths_are_read_by_lines() {
        let text = "top = 1\r\n[a . b] # note\n  c-d = [\n  [1, 2],\n]\n\"quoted\" = 1\n[[a.list]]\nx.y=2\n# z = 3\n";
        assert_eq!(paths(text, 0..text.len()), ["top", "a.b", "a.b.c-d", "a.list", "a.list.x.y"]);
        let at = text.find("x.y").expect("it is there");
        assert_eq!(paths(text, at..text.len()), ["a.list.x.y"]);
        assert_eq!(paths(text, 0..3), Vec::<String>::new());
    }

    #[test]
    fn long_paths_are_no_names() {
        let long = "k".repeat(KEY_BYTES_MAX);
        assert_eq!(paths(&format!("[{long}]\na = 1\n"), 0..KEY_BYTES_MAX + 8), [long]);
    }
}
