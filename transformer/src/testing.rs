//! Small models of random weights, written as the files of a folder: for tests, and for comparing with other
//! implementations, which read the same files.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

/// The lengths of a token's vector and of the layer between.
pub const HIDDEN: usize = 32;
const INTERMEDIATE: usize = 64;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const POSITIONS: usize = 48;

/// Which tokenizer a small model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Those of BERT: the longest known pieces from left to right.
    Word,
    /// Those of XLM-R: the most probable pieces.
    Unigram,
}

/// What a small model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// It gives vectors.
    Sentence,
    /// It scores pairs.
    Cross,
}

const WORDS: [&str; 20] = [
    "the",
    "of",
    "and",
    "jar",
    "marmalade",
    "shelf",
    "stands",
    "here",
    "query",
    "passage",
    "red",
    "blue",
    "river",
    "bank",
    "number",
    "##ing",
    "##ed",
    "walnut",
    "cellar",
    "pickled",
];

/// Writes a model into the folder, which must be there. Its weights follow from `seed`.
pub fn write(folder: &Path, pieces: Pieces, head: Head, seed: u64) -> io::Result<()> {
    let tokenizer = match pieces {
        Pieces::Word => word_pieces(),
        Pieces::Unigram => unigrams(),
    };
    let vocabulary = tokenizer["model"]["vocab"].as_object().map(Map::len);
    let vocabulary = vocabulary.or(tokenizer["model"]["vocab"].as_array().map(Vec::len)).unwrap_or_default();
    let architecture = if head == Head::Cross { "BertForSequenceClassification" } else { "BertModel" };
    let mut config = json!({
        "architectures": [architecture], "model_type": "bert", "hidden_act": "gelu",
        "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
        "vocab_size": vocabulary, "layer_norm_eps": 1e-12, "pad_token_id": 0,
    });
    if head == Head::Cross {
        config["id2label"] = json!({ "0": "LABEL_0" });
        config["label2id"] = json!({ "LABEL_0": 0 });
    }
    fs::write(folder.join("config.json"), config.to_string())?;
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string())?;
    fs::write(folder.join("model.safetensors"), safetensors(&tensors(vocabulary, head, seed)))
}

/// A tensor: its name, its dimensions and its numbers.
pub type Tensor = (String, Vec<usize>, Vec<f32>);

/// The bytes of a safetensors file of 32-bit floats.
pub fn safetensors(tensors: &[Tensor]) -> Vec<u8> {
    let mut header = Map::new();
    header.insert("__metadata__".into(), json!({ "format": "pt" }));
    let mut at = 0;
    for (name, dims, numbers) in tensors {
        let end = at + 4 * numbers.len();
        header.insert(name.clone(), json!({ "dtype": "F32", "shape": dims, "data_offsets": [at, end] }));
        at = end;
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    for number in tensors.iter().flat_map(|(_, _, numbers)| numbers) {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

/// The tensors of a model.
pub fn tensors(vocabulary: usize, head: Head, seed: u64) -> Vec<Tensor> {
    let mut made = Made { tensors: Vec::new(), state: seed };
    let prefix = if head == Head::Cross { "bert." } else { "" };
    let embeddings = format!("{prefix}embeddings");
    made.tensor(format!("{embeddings}.word_embeddings.weight"), &[vocabulary, HIDDEN], 1.0);
    made.tensor(format!("{embeddings}.position_embeddings.weight"), &[POSITIONS, HIDDEN], 0.4);
    made.tensor(format!("{embeddings}.token_type_embeddings.weight"), &[2, HIDDEN], 0.4);
    made.norm(&format!("{embeddings}.LayerNorm"));
    for layer in 0..LAYERS {
        let layer = format!("{prefix}encoder.layer.{layer}");
        for name in ["query", "key", "value"] {
            made.linear(&format!("{layer}.attention.self.{name}"), HIDDEN, HIDDEN);
        }
        made.linear(&format!("{layer}.attention.output.dense"), HIDDEN, HIDDEN);
        made.norm(&format!("{layer}.attention.output.LayerNorm"));
        made.linear(&format!("{layer}.intermediate.dense"), INTERMEDIATE, HIDDEN);
        made.linear(&format!("{layer}.output.dense"), HIDDEN, INTERMEDIATE);
        made.norm(&format!("{layer}.output.LayerNorm"));
    }
    made.linear(&format!("{prefix}pooler.dense"), HIDDEN, HIDDEN);
    if head == Head::Cross {
        made.linear("classifier", 1, HIDDEN);
    }
    made.tensors
}

struct Made {
    tensors: Vec<Tensor>,
    state: u64,
}

impl Made {
    /// The next number between -0.5 and 0.5, of the generator `SplitMix64`.
    fn number(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = u16::try_from((mixed ^ mixed >> 31) >> 48).expect("16 bits");
        f32::from(high) / 65_536.0 - 0.5
    }

    fn tensor(&mut self, name: String, dims: &[usize], scale: f32) {
        let numbers = (0..dims.iter().product()).map(|_| self.number() * scale).collect();
        self.tensors.push((name, dims.to_vec(), numbers));
    }

    fn linear(&mut self, name: &str, outputs: usize, inputs: usize) {
        self.tensor(format!("{name}.weight"), &[outputs, inputs], 0.6);
        self.tensor(format!("{name}.bias"), &[outputs], 0.2);
    }

    fn norm(&mut self, name: &str) {
        let numbers = (0..HIDDEN).map(|_| 1.0 + self.number() * 0.2).collect();
        self.tensors.push((format!("{name}.weight"), vec![HIDDEN], numbers));
        self.tensor(format!("{name}.bias"), &[HIDDEN], 0.2);
    }
}

fn special(id: usize, content: &str) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true,
    })
}

/// How marks are put around a text or a pair, with token type `kind` on the second text.
fn template(begin: &str, end: &str, between: &[&str], kind: u8, ids: [usize; 2]) -> Value {
    let mark = |id: &str, kind: u8| json!({ "SpecialToken": { "id": id, "type_id": kind } });
    let text = |id: &str, kind: u8| json!({ "Sequence": { "id": id, "type_id": kind } });
    let mut pair = vec![mark(begin, 0), text("A", 0), mark(end, 0)];
    pair.extend(between.iter().map(|id| mark(id, 0)));
    pair.extend([text("B", kind), mark(end, kind)]);
    json!({
        "type": "TemplateProcessing",
        "single": [mark(begin, 0), text("A", 0), mark(end, 0)],
        "pair": pair,
        "special_tokens": {
            begin: { "id": begin, "ids": [ids[0]], "tokens": [begin] },
            end: { "id": end, "ids": [ids[1]], "tokens": [end] },
        },
    })
}

fn word_pieces() -> Value {
    let marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
    let letters = ('a'..='z').chain('0'..='9').map(String::from);
    let inner = ('a'..='z').chain('0'..='9').map(|letter| format!("##{letter}"));
    let rest = [".", ",", "-"].into_iter().chain(WORDS).map(String::from);
    let pieces = marks.into_iter().map(String::from).chain(letters).chain(inner).chain(rest);
    let vocabulary: Map<String, Value> = pieces.enumerate().map(|(id, piece)| (piece, json!(id))).collect();
    json!({
        "version": "1.0",
        // As published files have it; whoever reads the folder must not follow it.
        "truncation": { "direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0 },
        "padding": {
            "strategy": { "Fixed": 9 }, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": marks.iter().enumerate().map(|(id, mark)| special(id, mark)).collect::<Vec<_>>(),
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true,
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": template("[CLS]", "[SEP]", &[], 1, [2, 3]),
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}

fn unigrams() -> Value {
    let marks = ["<s>", "<pad>", "</s>", "<unk>"];
    let mut vocabulary: Vec<Value> = marks.iter().map(|mark| json!([mark, 0.0])).collect();
    vocabulary.push(json!(["▁", -3.0]));
    for letter in ('a'..='z').chain('0'..='9').chain(['.', ',', '-', 'é', 'ß', '日', '本']) {
        vocabulary.push(json!([letter.to_string(), -6.0]));
    }
    for word in WORDS {
        let piece = word.strip_prefix("##").map_or_else(|| format!("▁{word}"), str::to_owned);
        vocabulary.push(json!([piece, -4.5]));
    }
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": marks.iter().enumerate().map(|(id, mark)| special(id, mark)).collect::<Vec<_>>(),
        "normalizer": { "type": "NFKC" },
        "pre_tokenizer": { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true },
        "post_processor": template("<s>", "</s>", &["</s>"], 0, [0, 2]),
        "decoder": { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true },
        "model": { "type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": false },
    })
}
