//! What is put before a query or a passage, for models that were trained with it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::folder::Folder;

const FILE: &str = "config_sentence_transformers.json";
/// No published instruction has a quarter of it.
const PROMPT_CHARS_MAX: usize = 2_000;

/// The two prefixes; mostly empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prompts {
    pub query: String,
    pub passage: String,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    prompts: Map<String, Value>,
}

impl Prompts {
    /// Those that the folder's files name, or else those that models of its name were trained with.
    pub(crate) fn read(folder: &mut Folder) -> Result<Self, Error> {
        let config: Option<Config> = folder.json_if_present(FILE)?;
        let prompts = config.map(|config| config.prompts).unwrap_or_default();
        let of = |names: &[&str]| {
            let text = names.iter().find_map(|name| prompts.get(*name)).and_then(Value::as_str).unwrap_or_default();
            if text.chars().count() > PROMPT_CHARS_MAX {
                let what = format!("a prompt is longer than {PROMPT_CHARS_MAX} characters");
                return Err(Error::Invalid { file: folder.file(FILE), what });
            }
            Ok(text.to_owned())
        };
        let named = Self { query: of(&["query"])?, passage: of(&["passage", "document"])? };
        let chosen = if named == Self::default() { Self::of_family(&folder.name()) } else { named };
        folder.note("query", chosen.query.as_bytes());
        folder.note("passage", chosen.passage.as_bytes());
        Ok(chosen)
    }

    /// By the words of the folder's name: E5 marks both sides, BGE of versions 1 and 1.5 puts an instruction before queries.
    fn of_family(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let words: Vec<&str> = name.split(['-', '_', '.']).collect();
        let has = |word: &str| words.contains(&word);
        let (query, passage) = match () {
            () if has("instruct") => ("", ""),
            () if has("e5") => ("query: ", "passage: "),
            () if has("bge") && has("en") => ("Represent this sentence for searching relevant passages: ", ""),
            () if has("bge") && has("zh") => ("为这个句子生成表示以用于检索相关文章：", ""),
            () => ("", ""),
        };
        Self { query: query.to_owned(), passage: passage.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::Prompts;

    #[test]
    fn prefixes_follow_the_name_of_the_model() {
        for (name, query, passage) in [
            ("multilingual-e5-small", "query: ", "passage: "),
            ("E5_base_v2", "query: ", "passage: "),
            ("multilingual-e5-large-instruct", "", ""),
            ("bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
            ("bge-small-zh", "为这个句子生成表示以用于检索相关文章：", ""),
            ("all-MiniLM-L6-v2", "", ""),
            ("made5", "", ""),
        ] {
            let prompts = Prompts::of_family(name);
            assert_eq!((prompts.query.as_str(), prompts.passage.as_str()), (query, passage), "{name}");
        }
    }
}
