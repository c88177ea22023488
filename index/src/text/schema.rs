//! What the tantivy index holds, and what its commits say about themselves.

use loom_storage::Hash;
use serde::{Deserialize, Serialize};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};

use super::analyze::ANALYZER_VERSION;

/// The version of the schema, the payload and the meaning of both.
pub(super) const FORMAT_VERSION: u32 = 2;
/// The name of the tokenizer in the schema. There is none of that name: terms reach tantivy ready made.
const TOKENIZER: &str = "loom";

pub(super) const CHUNK: &str = "chunk";
pub(super) const VERSION: &str = "version";
pub(super) const WORDS: &str = "words";
const TEXT: &str = "text";

/// The schema and its fields.
pub(super) struct Fields {
    pub(super) schema: Schema,
    /// The terms of context and text together, with their counts.
    pub(super) text: Field,
    /// The id of the version that it belongs to; deletes go by it.
    pub(super) version: Field,
}

impl Fields {
    pub(super) fn new() -> Self {
        let mut schema = Schema::builder();
        // Lengths are kept in `words`: tantivy would count every term, compounds included.
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(false);
        let text = schema.add_text_field(TEXT, TextOptions::default().set_indexing_options(indexing));
        // The chunk's id.
        schema.add_u64_field(CHUNK, FAST);
        let version = schema.add_u64_field(VERSION, NumericOptions::from(FAST | INDEXED));
        // The chunk's exact length in words.
        schema.add_u64_field(WORDS, FAST);
        Self { schema: schema.build(), text, version }
    }
}

/// What a commit says about itself. It guards what tantivy's own checksums do not: the list of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Payload {
    /// [`FORMAT_VERSION`].
    pub(super) format: u32,
    /// [`ANALYZER_VERSION`].
    pub(super) analyzer: u32,
    /// The commit of the change log up to which the index follows it.
    pub(super) watermark: u64,
    /// How many flushes there have been.
    pub(super) flush: u64,
    /// tantivy's number for the commit.
    pub(super) opstamp: u64,
    /// How many chunks are live.
    pub(super) chunks: u64,
    /// How long they are together, in words.
    pub(super) words: u64,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    payload: Payload,
    /// The SHA-256 of the payload's JSON.
    sha256: String,
}

impl Payload {
    pub(super) fn encode(self) -> String {
        serde_json::to_string(&Sealed { payload: self, sha256: self.seal() }).expect("numbers and a string encode")
    }

    /// The payload in `text`, or why it is none that this version reads.
    pub(super) fn decode(text: &str) -> Result<Self, String> {
        let Sealed { payload, sha256 } =
            serde_json::from_str(text).map_err(|error| format!("commit payload: {error}"))?;
        if payload.seal() != sha256 {
            return Err("the commit payload is damaged".to_owned());
        }
        if (payload.format, payload.analyzer) != (FORMAT_VERSION, ANALYZER_VERSION) {
            return Err(format!(
                "written with format {} and analyser {}, this is format {FORMAT_VERSION} and analyser {ANALYZER_VERSION}",
                payload.format, payload.analyzer
            ));
        }
        Ok(payload)
    }

    fn seal(self) -> String {
        let json = serde_json::to_vec(&self).expect("numbers encode");
        Hash::of(&json).hex()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_of_another_analyser_or_format_is_not_read() {
        let own = Payload {
            format: FORMAT_VERSION,
            analyzer: ANALYZER_VERSION,
            watermark: 7,
            flush: 1,
            opstamp: 2,
            chunks: 3,
            words: 4,
        };
        assert_eq!(Payload::decode(&own.encode()), Ok(own));
        for other in [
            Payload { analyzer: ANALYZER_VERSION - 1, ..own },
            Payload { analyzer: ANALYZER_VERSION + 1, ..own },
            Payload { format: FORMAT_VERSION - 1, ..own },
        ] {
            let why = Payload::decode(&other.encode()).expect_err("another version is refused");
            assert!(why.contains("analyser"), "{why}");
        }
    }
}
