//! `config.json`: what the network looks like.

use std::ops::RangeInclusive;

use serde::Deserialize;

use crate::error::Error;
use crate::folder::Folder;

/// The bounds of what a configuration may ask for; BERT-large is 24 layers of 1024.
const LAYERS: RangeInclusive<usize> = 1..=64;
const HIDDEN: RangeInclusive<usize> = 1..=4_096;
const INTERMEDIATE: RangeInclusive<usize> = 1..=16_384;
const POSITIONS: RangeInclusive<usize> = 8..=8_192;
const KINDS: RangeInclusive<usize> = 1..=16;
const VOCABULARY: RangeInclusive<usize> = 8..=1_000_000;

/// The sizes of a network, all within bounds.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub intermediate: usize,
    pub positions: usize,
    /// Token types: 2, so that the two texts of a pair are told apart.
    pub kinds: usize,
    pub vocabulary: usize,
    pub epsilon: f32,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    model_type: String,
    #[serde(default)]
    architectures: Vec<String>,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    vocab_size: usize,
    #[serde(default = "epsilon")]
    layer_norm_eps: f32,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
}

fn two() -> usize {
    2
}

fn epsilon() -> f32 {
    1e-12
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

const CONFIG: &str = "config.json";

impl Shape {
    /// Reads and checks `config.json`.
    pub(crate) fn read(folder: &mut Folder) -> Result<Self, Error> {
        let config: Config = folder.json(CONFIG)?;
        let file = folder.file(CONFIG);
        let unsupported = |what: String| Err(Error::Unsupported { file: file.clone(), what });
        if config.model_type != "bert" {
            let (kind, classes) = (&config.model_type, config.architectures.join(", "));
            return unsupported(format!(
                "model_type is {kind:?} ({classes}); networks of the type \"bert\" are run, such as all-MiniLM-L6-v2, \
                 bge-small, multilingual-e5-small and the ms-marco-MiniLM cross-encoders"
            ));
        }
        if config.hidden_act != "gelu" {
            return unsupported(format!("hidden_act is {:?}; \"gelu\" is run", config.hidden_act));
        }
        if config.position_embedding_type != "absolute" {
            let kind = config.position_embedding_type;
            return unsupported(format!("position_embedding_type is {kind:?}; \"absolute\" is run"));
        }
        let invalid = |what: String| Err(Error::Invalid { file: file.clone(), what });
        for (field, value, bounds) in [
            ("num_hidden_layers", config.num_hidden_layers, LAYERS),
            ("hidden_size", config.hidden_size, HIDDEN),
            ("num_attention_heads", config.num_attention_heads, HIDDEN),
            ("intermediate_size", config.intermediate_size, INTERMEDIATE),
            ("max_position_embeddings", config.max_position_embeddings, POSITIONS),
            ("type_vocab_size", config.type_vocab_size, KINDS),
            ("vocab_size", config.vocab_size, VOCABULARY),
        ] {
            if !bounds.contains(&value) {
                return invalid(format!("{field} is {value}; it must be {} to {}", bounds.start(), bounds.end()));
            }
        }
        if !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            let (hidden, heads) = (config.hidden_size, config.num_attention_heads);
            return invalid(format!("hidden_size {hidden} is no multiple of num_attention_heads {heads}"));
        }
        if !(0.0..=0.1).contains(&config.layer_norm_eps) {
            return invalid(format!("layer_norm_eps is {}; it must be 0 to 0.1", config.layer_norm_eps));
        }
        Ok(Self {
            hidden: config.hidden_size,
            layers: config.num_hidden_layers,
            heads: config.num_attention_heads,
            intermediate: config.intermediate_size,
            positions: config.max_position_embeddings,
            kinds: config.type_vocab_size,
            vocabulary: config.vocab_size,
            epsilon: config.layer_norm_eps,
        })
    }

    /// Numbers of one head.
    pub(crate) fn head(&self) -> usize {
        self.hidden / self.heads
    }
}
