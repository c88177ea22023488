//! `tokenizer.json`: from texts to token numbers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use serde::Deserialize;
use tokenizers::{EncodeInput, Encoding, Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};

use crate::error::Error;
use crate::folder::Folder;
use crate::shape::Shape;

const FILE: &str = "tokenizer.json";
/// Of a text, so many bytes are read for each token that it may have: enough for any script, and a bound on the work.
const BYTES_PER_TOKEN: usize = 64;
/// Any model leaves room for so many tokens, the marks at begin and end included.
const TOKENS_MIN: usize = 8;

/// A folder's tokenizer.
pub(crate) struct Tokens {
    inner: Tokenizer,
    /// The most tokens of a text.
    longest: usize,
    vocabulary: usize,
    kinds: usize,
}

/// A text, or a pair of them, as the network takes it.
pub(crate) struct Encoded {
    ids: Vec<u32>,
    kinds: Vec<u8>,
}

/// One token.
pub(crate) struct Token {
    /// Its row in the table of words.
    pub id: usize,
    /// Which text of a pair it is of.
    pub kind: usize,
}

impl Encoded {
    /// How many tokens there are, the marks at begin and end included.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The tokens in order.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = Token> {
        self.ids.iter().zip(&self.kinds).map(|(&id, &kind)| Token { id: id as usize, kind: kind.into() })
    }
}

/// The part of the file that says which kind of tokenizer it is.
#[derive(Deserialize)]
struct Kind {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    /// Old files of word pieces leave it out.
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Tokens {
    /// Reads the tokenizer, which must fit the network's table of words.
    ///
    /// The file's own truncation and padding are left out: they belong to whoever made the file.
    pub(crate) fn read(folder: &mut Folder, shape: &Shape, tokens_max: usize) -> Result<Self, Error> {
        let bytes = folder.tokenizer()?;
        let file = folder.file(FILE);
        let invalid = |what: String| Error::Invalid { file: file.clone(), what };
        let kind: Kind =
            serde_json::from_slice(&bytes).map_err(|error| invalid(format!("it is no tokenizer: {error}")))?;
        match kind.model.kind.as_deref() {
            None | Some("WordPiece" | "Unigram") => {}
            Some(other) => {
                let what = format!("its model is {other:?}; WordPiece and Unigram are run");
                return Err(Error::Unsupported { file, what });
            }
        }
        let loaded = guarded(|| Tokenizer::from_bytes(&bytes).map_err(|error| error.to_string()));
        let mut inner = loaded.map_err(|error| invalid(format!("it is no tokenizer: {error}")))?;
        let largest = inner.get_vocab(true).into_values().max().unwrap_or_default();
        if largest as usize >= shape.vocabulary {
            let what =
                format!("it has a token of the number {largest}, and config.json a vocab_size of {}", shape.vocabulary);
            return Err(invalid(what));
        }
        let tokens_max = tokens_max.min(shape.positions).max(TOKENS_MIN);
        inner.with_padding(None);
        let truncation = TruncationParams {
            direction: TruncationDirection::Right,
            max_length: tokens_max,
            strategy: TruncationStrategy::LongestFirst,
            stride: 0,
        };
        let cut = guarded(|| inner.with_truncation(Some(truncation)).map(drop).map_err(|error| error.to_string()));
        cut.map_err(invalid)?;
        let tokens = Self { inner, longest: tokens_max, vocabulary: shape.vocabulary, kinds: shape.kinds };
        tokens.probe(file)?;
        Ok(tokens)
    }

    /// The most tokens of a text.
    pub(crate) fn tokens_max(&self) -> usize {
        self.longest
    }

    /// A text's tokens.
    pub(crate) fn text(&self, text: &str) -> Result<Encoded, Error> {
        self.encode(self.start(text).into())
    }

    /// The tokens of two texts, of which the longer one is cut first.
    pub(crate) fn pair(&self, first: &str, second: &str) -> Result<Encoded, Error> {
        self.encode((self.start(first), self.start(second)).into())
    }

    /// Whether the tokenizer works at all, so that a broken one is found at the start.
    fn probe(&self, file: PathBuf) -> Result<(), Error> {
        let long = "a ".repeat(self.longest + 1);
        match self.text("Probe").and_then(|_| self.pair("Probe", &long)) {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::Invalid { file, what: error.to_string() }),
        }
    }

    fn start<'a>(&self, text: &'a str) -> &'a str {
        &text[..text.floor_char_boundary(self.longest.saturating_mul(BYTES_PER_TOKEN))]
    }

    fn encode(&self, input: EncodeInput<'_>) -> Result<Encoded, Error> {
        let encoded = guarded(|| self.inner.encode_fast(input, true).map_err(|error| error.to_string()));
        let encoded = encoded.and_then(|encoding| self.checked(&encoding));
        encoded.map_err(|what| Error::Tokenizer { what })
    }

    /// What the tokenizer gave, if the network has a row for each of it.
    fn checked(&self, encoding: &Encoding) -> Result<Encoded, String> {
        let (ids, kinds) = (encoding.get_ids(), encoding.get_type_ids());
        if ids.is_empty() || ids.len() > self.longest || ids.len() != kinds.len() {
            return Err(format!("it made {} tokens, where 1 to {} are taken", ids.len(), self.longest));
        }
        if let Some(id) = ids.iter().find(|&&id| id as usize >= self.vocabulary) {
            return Err(format!("it made a token of the number {id}, and there are {}", self.vocabulary));
        }
        let kind = |&kind: &u32| u8::try_from(kind).ok().filter(|&kind| usize::from(kind) < self.kinds);
        let kinds: Option<Vec<u8>> = kinds.iter().map(kind).collect();
        let kinds = kinds.ok_or_else(|| format!("it made token types that are not below {}", self.kinds))?;
        Ok(Encoded { ids: ids.to_vec(), kinds })
    }
}

/// What a file of someone else's making has a library do, where a panic is one more way to fail.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it panicked".to_owned()))
}
