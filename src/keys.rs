//! Exact names: what a passage's code names, and which terms of a query are names rather than words.
//!
//! Two names are the same when they are spelled alike, in any case. A name is letters, digits, `_`, `$` and dots; a dash
//! belongs to it only where it joins the segments of a dotted path.

pub mod toml;

use std::collections::HashSet;
use std::ops::Range;

/// The most names of one passage; the rest are left to the lexical leg.
pub const CHUNK_KEYS_MAX: usize = 256;
/// The most names of a query that are looked up.
pub const QUERY_KEYS_MAX: usize = 64;
/// The longest name in bytes.
pub const KEY_BYTES_MAX: usize = 200;

/// Whether a name cannot be a plain word: it has an underscore, a dot, a `$` or a digit, or a capital after a small letter.
pub fn is_identifier(name: &str) -> bool {
    let mut after_small = false;
    name.chars().any(|c| {
        let tells = matches!(c, '_' | '.' | '$') || c.is_numeric() || (after_small && c.is_uppercase());
        after_small = c.is_lowercase();
        tells
    })
}

/// The names in `text`, in order.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')));
    runs.flat_map(|run| {
        let run = run.trim_matches(['.', '-']);
        // A dash belongs to a dotted path alone; elsewhere it parts words.
        let parts = if run.contains('.') { 1 } else { usize::MAX };
        run.splitn(parts, '-')
    })
    .filter(|name| !name.is_empty() && name.len() <= KEY_BYTES_MAX)
}

/// The exact names that a query asks for, as it spells them, each once: its identifiers, or the whole query when that is
/// one term.
pub fn of_query(query: &str) -> Vec<&str> {
    let whole = query.trim();
    let is_one_term = !whole.contains(char::is_whitespace) && whole.len() <= KEY_BYTES_MAX;
    let mut seen = HashSet::new();
    let terms = is_one_term.then_some(whole).into_iter().chain(names(query).filter(|name| is_identifier(name)));
    terms.filter(|name| seen.insert(name.to_lowercase())).take(QUERY_KEYS_MAX).collect()
}

/// How much of a query its names are, by the square of their share of its words: 1 when it is nothing else, and little for
/// one name in a question of many words.
#[expect(clippy::cast_precision_loss, reason = "a query has few words")]
pub fn share(query: &str, names: &[&str]) -> f64 {
    (names.len() as f64 / query.split_whitespace().count().max(1) as f64).min(1.0).powi(2)
}

/// Code in a text: what is written as a name, and what names others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its bytes.
    pub range: Range<usize>,
    /// What they are.
    pub kind: CodeKind,
}

/// What a piece of code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// It stands in a line of text, between backticks.
    Inline,
    /// A block.
    Block,
    /// A block of TOML.
    Toml(toml::Headers),
}

/// The names that the code within `passage` (bytes of `text`) defines or reads, in order, each once. `code` ascends.
///
/// What stands alone between backticks is a name whatever it is; in other code only identifiers are, and none that is a
/// number. A name with dots names its last part too: `self.read_all` is a use of `read_all`. The keys of TOML are named by
/// their whole paths.
pub fn of_passage(text: &str, passage: Range<usize>, code: &[Code]) -> Vec<String> {
    let first = code.partition_point(|code| code.range.end <= passage.start);
    let mut keys = Keys::default();
    for code in code[first..].iter().take_while(|code| code.range.start < passage.end) {
        let range = code.range.start.max(passage.start)..code.range.end.min(passage.end);
        let Some(mut written) = text.get(range.clone()) else { continue };
        match &code.kind {
            CodeKind::Inline => {
                written = written.trim_matches('`').trim();
                if !written.contains(char::is_whitespace) {
                    keys.add(written);
                }
            }
            CodeKind::Toml(headers) => toml::each_path(text, range, headers, |path| keys.add(path)),
            CodeKind::Block => {}
        }
        for name in names(written) {
            keys.add_identifier(name);
            if let Some((_, last)) = name.rsplit_once('.') {
                keys.add_identifier(last);
            }
        }
    }
    keys.names
}

/// The name that a heading is, if it is nothing else and no plain word.
pub fn of_heading(heading: &str) -> Option<&str> {
    let name = heading.trim().trim_end_matches("()");
    (names(name).next() == Some(name) && is_identifier(name) && name.contains(char::is_alphabetic)).then_some(name)
}

#[derive(Default)]
struct Keys {
    names: Vec<String>,
    seen: HashSet<String>,
}

impl Keys {
    fn add(&mut self, name: &str) {
        let fits = name.contains(char::is_alphanumeric) && name.len() <= KEY_BYTES_MAX;
        if fits && self.names.len() < CHUNK_KEYS_MAX && self.seen.insert(name.to_owned()) {
            self.names.push(name.to_owned());
        }
    }

    fn add_identifier(&mut self, name: &str) {
        if is_identifier(name) && name.contains(char::is_alphabetic) {
            self.add(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_cannot_be_plain_words() {
        for name in ["orders_daily", "server.port", "userId", "$HOME", "sha256", "v2", "GitHub", "_", "größeIn"] {
            assert!(is_identifier(name), "{name}");
        }
        for word in ["status", "ID", "TTL", "Name", "ORDERS", "größe", ""] {
            assert!(!is_identifier(word), "{word}");
        }
    }

    #[test]
    fn a_query_asks_for_its_identifiers() {
        let cases: [(&str, &[&str]); 9] = [
            ("why is orders_daily late", &["orders_daily"]),
            ("What does server.port do, and pool.max-size?", &["server.port", "pool.max-size"]),
            ("the status and name of an ID with a TTL", &[]),
            ("status", &["status"]),
            ("  max-size ", &["max-size"]),
            ("the max-size of a read-only pool", &[]),
            ("compare userId with userid and USERID", &["userId"]),
            ("It ends. Then $PATH.", &["$PATH"]),
            ("std::fs::read_dir", &["std::fs::read_dir", "read_dir"]),
        ];
        for (query, keys) in cases {
            assert_eq!(of_query(query), keys, "{query}");
        }
    }

    fn code(text: &str, written: &str, is_inline: bool) -> Code {
        let start = text.find(written).expect("it is there");
        let kind = if is_inline { CodeKind::Inline } else { CodeKind::Block };
        Code { range: start..start + written.len(), kind }
    }

    #[test]
    fn code_names_things() {
        let text = "Set `pool.max-size` or `ttl`, see `kubectl get my_pods`.\n\nlet userId = orders[17];\nself.read_all(plain.text)\n";
        let all = [
            code(text, "`pool.max-size`", true),
            code(text, "`ttl`", true),
            code(text, "`kubectl get my_pods`", true),
            code(text, "let userId = orders[17];\nself.read_all(plain.text)\n", false),
        ];
        let named = ["pool.max-size", "ttl", "my_pods", "userId", "self.read_all", "read_all", "plain.text"];
        assert_eq!(of_passage(text, 0..text.len(), &all), named);
        let middle = text.find("`ttl`").expect("it is there");
        assert_eq!(of_passage(text, middle..middle + 7, &all), ["ttl"]);
        assert_eq!(of_passage(text, 0..4, &all), Vec::<String>::new());
    }

    #[test]
    fn a_heading_that_is_a_name_defines_it() {
        for (heading, name) in [("POOL_SIZE", Some("POOL_SIZE")), ("read_all()", Some("read_all")), ("Setup", None)] {
            assert_eq!(of_heading(heading), name, "{heading}");
        }
        for heading in ["POOL_SIZE and others", "2.1", "", "`a_b`, `c_d`", "a_b-c_d"] {
            assert_eq!(of_heading(heading), None, "{heading}");
        }
    }

    #[test]
    fn keys_of_toml_are_named_by_their_paths() {
        let text = "[pool]\nsize = 3\n\n[http.limits]\nbody-bytes = 1\nidle.ms = 2\n";
        let block =
            |text: &str| Code { range: 0..text.len(), kind: CodeKind::Toml(toml::Headers::read(text, 0..text.len())) };
        let all = ["pool", "pool.size", "http.limits", "http.limits.body-bytes", "http.limits.idle.ms", "idle.ms"];
        assert_eq!(of_passage(text, 0..text.len(), &[block(text)]), all);
        let middle = text.find("body").expect("it is there");
        assert_eq!(of_passage(text, middle..middle + 14, &[block(text)]), ["http.limits.body-bytes"]);
    }

    #[test]
    fn names_are_bounded() {
        let long = format!("`a_{}`", "x".repeat(KEY_BYTES_MAX));
        assert_eq!(of_passage(&long, 0..long.len(), &[code(&long, &long, true)]), Vec::<String>::new());
        let many = (0..1_000).map(|number| format!("name_{number}")).collect::<Vec<_>>().join(" ");
        let keys = of_passage(&many, 0..many.len(), &[Code { range: 0..many.len(), kind: CodeKind::Block }]);
        assert_eq!(keys.len(), CHUNK_KEYS_MAX);
        assert_eq!(of_query(&many).len(), QUERY_KEYS_MAX);
    }
}
