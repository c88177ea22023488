//! The metadata before a Markdown text.

use std::ops::Range;

use saphyr_parser::{Event, Parser};

/// The most bytes front matter has, as where the engine reads it. A longer block is text.
const FRONT_MATTER_BYTES_MAX: usize = 64 * 1024;

/// The metadata before a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// Its bytes with both fences.
    pub range: Range<usize>,
    /// The keys of its mapping.
    pub keys: Vec<String>,
}

/// The metadata block at the start of `text` and where the text goes on: YAML that is a mapping, between a line `---` and a line
/// `---` or `...`.
pub fn read(text: &str) -> Option<(Option<FrontMatter>, usize)> {
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().filter(|line| line.trim_end() == "---" && line.ends_with('\n'))?;
    let mut end = opening.len();
    for line in lines {
        let next = end + line.len();
        if next > FRONT_MATTER_BYTES_MAX {
            return None;
        }
        if matches!(line.trim_end(), "---" | "...") {
            let keys = keys(&text[opening.len()..end])?;
            let range = 0..end + line.trim_end().len();
            return Some((Some(FrontMatter { range, keys }), next));
        }
        end = next;
    }
    None
}

/// The keys of a YAML mapping; `None` for anything else.
fn keys(yaml: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let (mut depth, mut is_key, mut is_mapping) = (0_usize, true, false);
    for event in Parser::new_from_str(yaml) {
        match event.ok()?.0 {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                is_mapping |= depth == 0;
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                is_key |= depth == 1;
            }
            Event::Scalar(name, ..) if depth == 1 => {
                if is_key && name.len() <= 200 {
                    keys.push(name.into_owned());
                }
                is_key = !is_key;
            }
            Event::Alias(_) if depth == 1 => is_key = !is_key,
            Event::Scalar(..)
            | Event::Alias(_)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }
    is_mapping.then_some(keys)
}
