//! The names in the code of a Markdown text, by its lines: what stands alone between backticks, and what in fenced code
//! cannot be a plain word.

use super::{Definition, runs, toml};

/// What a text's code names.
#[derive(Default)]
pub struct Code {
    /// Alone between backticks.
    pub alone: Vec<String>,
    /// In fenced code.
    pub fenced: Vec<String>,
    /// The key paths of fenced TOML.
    pub toml: Vec<Definition>,
}

/// Reads a text.
pub fn code(text: &str) -> Code {
    let mut code = Code::default();
    let mut fence: Option<(&str, usize, bool)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let trimmed = line.trim();
        let marks = ["```", "~~~"].into_iter().find(|marks| trimmed.starts_with(marks));
        match (fence, marks) {
            (Some((open, from, is_toml)), Some(marks)) if marks == open => {
                if is_toml {
                    let found = toml::definitions(&text[from..start]);
                    code.toml
                        .extend(found.into_iter().map(|found| Definition { offset: from + found.offset, ..found }));
                }
                fence = None;
            }
            (Some(_), _) => code.fenced.extend(runs(line).filter(|run| is_identifier(run)).map(str::to_owned)),
            (None, Some(marks)) => {
                let language = trimmed.trim_start_matches(['`', '~']).trim();
                fence = Some((marks, offset, language.starts_with("toml")));
            }
            (None, None) => {
                // Every second piece is between backticks; longer runs of them make empty pieces, which name nothing.
                let alone = line.split('`').skip(1).step_by(2).filter(|piece| is_name(piece));
                code.alone.extend(alone.map(str::to_owned));
            }
        }
    }
    code
}

/// Whether a piece of code is one name.
fn is_name(piece: &str) -> bool {
    piece.contains(char::is_alphabetic) && runs(piece).next() == Some(piece)
}

/// Whether a name cannot be a plain word, by the bench's own reading of the rule.
fn is_identifier(name: &str) -> bool {
    let inner_capital = name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let sign = name.contains(['_', '.', '$']) || name.contains(char::is_numeric);
    name.contains(char::is_alphabetic) && !name.contains('-') && (sign || inner_capital)
}
