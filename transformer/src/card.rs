//! What sentence-transformers wrote beside a model: how a text's vector is made of its tokens' vectors.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;
use crate::folder::Folder;
use crate::prompts::Prompts;

const MODULES: &str = "modules.json";
const POOLING: &str = "1_Pooling";
/// A sentence model is made of few modules.
const MODULES_MAX: usize = 16;

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// Their mean.
    Mean,
    /// That of the mark at the begin.
    First,
}

/// What the files say, with the defaults where they are silent.
#[derive(Debug)]
pub(crate) struct Card {
    pub pooling: Pooling,
    pub tokens_max: Option<usize>,
    pub prompts: Prompts,
}

#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
struct PoolingFile {
    /// Newer files have one name in place of the flags.
    pooling_mode: Option<String>,
    #[serde(default = "yes")]
    include_prompt: bool,
    /// Among them the flags, one for each way of pooling, such as `pooling_mode_mean_tokens`.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Length {
    max_seq_length: Option<usize>,
}

fn yes() -> bool {
    true
}

impl Card {
    /// Reads what is there.
    pub(crate) fn read(folder: &mut Folder) -> Result<Self, Error> {
        let modules: Option<Vec<Module>> = folder.json_if_present(MODULES)?;
        let path = pooling_folder(folder, modules.as_deref())?;
        let pooling = match path {
            None => Pooling::Mean,
            Some(path) => pooling(folder, &format!("{path}/config.json"))?,
        };
        let length: Option<Length> = folder.json_if_present("sentence_bert_config.json")?;
        let prompts = Prompts::read(folder)?;
        Ok(Self { pooling, tokens_max: length.and_then(|length| length.max_seq_length), prompts })
    }
}

/// The folder of the pooling module; every other module must be one that changes nothing about which text is near which.
fn pooling_folder(folder: &Folder, modules: Option<&[Module]>) -> Result<Option<String>, Error> {
    let Some(modules) = modules else { return Ok(Some(POOLING.to_owned())) };
    let file = folder.file(MODULES);
    if modules.len() > MODULES_MAX {
        return Err(Error::Invalid { file, what: format!("it lists {} modules", modules.len()) });
    }
    let mut found = None;
    for module in modules {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" if module.path.is_empty() => {}
            "Normalize" => {}
            "Pooling" => found = Some(module.path.clone()),
            _ => {
                let what = format!(
                    "it has the module {:?} in {:?}; Transformer in the folder itself, Pooling and Normalize are run",
                    module.kind, module.path
                );
                return Err(Error::Unsupported { file, what });
            }
        }
    }
    match found {
        Some(path) if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) => {
            Err(Error::Invalid { file, what: format!("the pooling module is in {path:?}, which is no plain name") })
        }
        other => Ok(other),
    }
}

fn pooling(folder: &mut Folder, name: &str) -> Result<Pooling, Error> {
    let Some(read) = folder.json_if_present::<PoolingFile>(name)? else { return Ok(Pooling::Mean) };
    let unsupported = |what: &str| Err(Error::Unsupported { file: folder.file(name), what: what.to_owned() });
    if !read.include_prompt {
        return unsupported("include_prompt is false; prefixes are pooled with the text they stand before");
    }
    let flags = read.rest.iter().filter(|(name, value)| name.starts_with("pooling_mode_") && **value == true);
    let mut named: Vec<&str> = flags.map(|(name, _)| name.as_str()).chain(read.pooling_mode.as_deref()).collect();
    named.dedup();
    match named[..] {
        ["mean" | "pooling_mode_mean_tokens"] => Ok(Pooling::Mean),
        ["cls" | "pooling_mode_cls_token"] => Ok(Pooling::First),
        _ => unsupported(&format!("it asks to pool by {named:?}; either the mean or the first token is run")),
    }
}
