//! Turning texts into vectors: the static model that is part of the binary, a transformer in a folder, or an endpoint
//! that speaks the `OpenAI` embeddings protocol. Whoever stores a vector stores [`Embedder::model`] beside it, since vectors of
//! two models cannot be compared.

#[cfg(feature = "transformer")]
mod local;
mod openai;
mod recent;
mod settings;
mod static_model;
mod unicode;
mod wordpiece;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use loom_storage::Hash;

pub use settings::{ApiKey, EmbedSettings, LocalLimits};

/// Name of the model in the binary, as settings and stored vectors spell it.
pub const BUILT_IN_MODEL: &str = "loom-static-256";

/// What comes before the name of a model that an endpoint serves.
pub const ENDPOINT_PREFIX: &str = "openai:";

/// What comes before the folder of a transformer in settings, and before its name in what is stored.
pub const LOCAL_PREFIX: &str = "local:";

/// What the texts of a call are, for models that treat the two sides of a search differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedKind {
    /// A chunk to be found, in the form that [`input`] gives it.
    Passage,
    /// What someone looks for.
    Query,
}

/// A model that gives every text a vector.
pub trait Embedder: Send + Sync {
    /// The name stored with each vector, such as `loom-static-256`, `openai:text-embedding-3-small` or
    /// `local:all-MiniLM-L6-v2@5b2f0c1d9e3a`: of a local model, the folder's name and a fingerprint of its files.
    fn model(&self) -> &str;

    /// The number of dimensions of every vector of this model.
    ///
    /// An endpoint is asked once, by embedding a word, unless an earlier call told; so this can block and fail
    /// like [`embed`](Embedder::embed).
    fn dim(&self, until: Instant) -> Result<usize, EmbedError>;

    /// One vector for each input, in the order of the inputs.
    ///
    /// Every vector is finite and of length 1, except the zero vector for a text in which the model knows
    /// nothing (an empty one, say): such a text has no semantic hits. All inputs succeed or the call fails; an
    /// error leaves nothing behind and the call may be repeated. It blocks for as long as the model needs, and until
    /// `until` or [`close`](Embedder::close) at most.
    fn embed(&self, inputs: &[&str], kind: EmbedKind, until: Instant) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Ends the calls that wait for a provider, with [`EmbedError::Closed`], and every later one that would.
    fn close(&self) {}

    /// What is known of the model.
    fn card(&self) -> Card;
}

/// What is known of a model beside its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Card {
    /// The cosine that only one in a hundred unrelated pairs of query and passage exceeds; 0 where nobody
    /// measured it.
    pub noise_floor: f32,
    /// The share of a convex fusion, 0 to 1, that its similarities deserve where they are as far apart as the words' scores.
    pub vector_share: f64,
    /// That share where the query is mostly in another script than the Latin one.
    pub other_scripts_share: f64,
    /// The standard deviation of its cosines, over what a query finds, from which on they tell texts apart; 0 where nobody
    /// measured it.
    pub spread_min: f64,
}

impl Card {
    /// Of a model that nobody measured.
    pub const UNKNOWN: Self = Self { noise_floor: 0.0, vector_share: 0.5, other_scripts_share: 0.5, spread_min: 0.0 };

    /// The share that the similarities of a query deserve.
    pub fn share_for(&self, query: &str) -> f64 {
        let letters = query.chars().filter(|char| char.is_alphabetic());
        let (latin, others) = letters.fold((0, 0), |(latin, others), letter| match letter {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => (latin + 1, others),
            _ => (latin, others + 1),
        });
        if others > latin { self.other_scripts_share } else { self.vector_share }
    }
}

/// Why texts have no vectors. No message holds the key, the endpoint's address or what the endpoint wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The endpoint cannot be reached, is too slow, fails or asks to wait; every retry was used. Later it may work.
    #[error("{message}")]
    Unavailable {
        /// What happened.
        message: String,
        /// Seconds the endpoint asked to wait, unbounded and where it said so.
        retry_after_s: Option<u64>,
    },
    /// The endpoint answered, and will answer the same again: a wrong key, an unknown model, a text too long.
    #[error(
        "the embedding endpoint refused the request with status {status}; check the model, the key and the base URL"
    )]
    Refused {
        /// The HTTP status: neither a success nor one that a repetition may change.
        status: u16,
    },
    /// The endpoint's answer is not one vector for each text, or the model in the binary is damaged.
    #[error("{message}")]
    Invalid {
        /// What is wrong.
        message: String,
    },
    /// The time of the call was over before all its texts were embedded.
    #[error("embedding the texts takes longer than the call may: send less at once")]
    Late,
    /// The engine is being closed.
    #[error("Loom is shutting down: call again once it runs")]
    Closed,
    /// The settings name no usable model.
    #[error("{message}")]
    Config {
        /// What is wrong, and what could stand there.
        message: String,
    },
}

/// The text to embed for a chunk: its context, then the chunk. A vector belongs to this text alone, so two
/// chunks for which it is equal may share one.
pub fn input(context: &str, text: &str) -> String {
    if context.is_empty() {
        return text.to_owned();
    }
    let mut whole = String::with_capacity(context.len() + 1 + text.len());
    whole.push_str(context);
    whole.push('\n');
    whole.push_str(text);
    whole
}

/// The hash of [`input`], under which its vector is kept.
pub fn input_hash(context: &str, text: &str) -> Hash {
    if context.is_empty() {
        return Hash::of(text.as_bytes());
    }
    Hash::of_all(&[context.as_bytes(), b"\n", text.as_bytes()])
}

/// The embedder that the settings name. Touches neither the network nor the built-in model's table; a local model is
/// read whole.
///
/// Fails with [`EmbedError::Config`] on an unknown model, an unusable base URL or key, a bound out of range, or a folder
/// that holds no usable model.
pub fn from_settings(settings: &EmbedSettings) -> Result<Arc<dyn Embedder>, EmbedError> {
    let model = settings.model.trim();
    if model.is_empty() || model == BUILT_IN_MODEL {
        return Ok(Arc::new(static_model::BuiltIn));
    }
    if let Some(folder) = local_folder(settings) {
        return local_model(&folder, &settings.local);
    }
    match model.strip_prefix(ENDPOINT_PREFIX) {
        Some(served) if !served.is_empty() => Ok(Arc::new(openai::Endpoint::new(served, settings)?)),
        _ => Err(EmbedError::Config {
            message: format!(
                "there is no embedding model {model:?}: name {BUILT_IN_MODEL} (the default), {LOCAL_PREFIX}<folder> for \
                 a transformer in a folder, or {ENDPOINT_PREFIX}<model> for a model that an OpenAI-compatible endpoint \
                 serves"
            ),
        }),
    }
}

/// The folder of the model that the settings name, when that is a local one.
pub fn local_folder(settings: &EmbedSettings) -> Option<PathBuf> {
    settings.model.trim().strip_prefix(LOCAL_PREFIX).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The embedder in a folder; [`EmbedError::Config`] says what is wrong with it.
#[cfg(feature = "transformer")]
pub fn local_model(folder: &Path, limits: &LocalLimits) -> Result<Arc<dyn Embedder>, EmbedError> {
    Ok(Arc::new(local::Local::open(folder, limits)?))
}

/// Always an error: this build runs no transformers.
#[cfg(not(feature = "transformer"))]
pub fn local_model(folder: &Path, _limits: &LocalLimits) -> Result<Arc<dyn Embedder>, EmbedError> {
    Err(EmbedError::Config {
        message: format!(
            "the embedding model {LOCAL_PREFIX}{} cannot be used: this build of Loom has no transformers (its feature \
             `transformer` is off)",
            folder.display()
        ),
    })
}

/// Scales a finite vector to length 1; the zero vector stays.
fn normalise(vector: &mut [f32]) {
    let squares: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    if squares > 0.0 {
        let scale = squares.sqrt().recip();
        for x in vector {
            #[expect(clippy::cast_possible_truncation, reason = "at most 1 after scaling")]
            let scaled = (f64::from(*x) * scale) as f32;
            *x = scaled;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, Card, EmbedError, EmbedSettings, Hash, from_settings, input, input_hash, normalise};

    fn named(model: &str) -> EmbedSettings {
        EmbedSettings { model: model.to_owned(), ..EmbedSettings::default() }
    }

    #[test]
    fn the_context_heads_the_embedded_text() {
        assert_eq!(input("Guide > Setup", "Run it."), "Guide > Setup\nRun it.");
        assert_eq!(input("", "Run it."), "Run it.");
        for context in ["", "Guide > Setup"] {
            assert_eq!(input_hash(context, "Run it."), Hash::of(input(context, "Run it.").as_bytes()));
        }
    }

    #[test]
    fn the_script_of_a_query_decides_on_its_share() {
        let card = Card { vector_share: 0.25, other_scripts_share: 0.1, ..Card::UNKNOWN };
        for query in ["where is the door", "Übergröße für Schränke", "port 8080 の TLS settings", "404", ""] {
            assert!((card.share_for(query) - 0.25).abs() < f64::EPSILON, "{query}");
        }
        for query in ["東京タワーの高さは", "где ключ от двери", "دरवाज़े की चाबी", "TLS の設定を変更する方法"]
        {
            assert!((card.share_for(query) - 0.1).abs() < f64::EPSILON, "{query}");
        }
    }

    #[test]
    fn settings_select_the_model() {
        for (name, stored) in [
            ("", "loom-static-256"),
            ("loom-static-256", "loom-static-256"),
            (" openai:nomic-embed-text ", "openai:nomic-embed-text"),
        ] {
            let embedder = from_settings(&named(name)).expect("a known model");
            assert_eq!(embedder.model(), stored);
        }
    }

    #[test]
    fn an_unknown_model_is_refused_with_the_known_ones() {
        for name in ["bert", "openai:", "local:", "loom-static-512"] {
            let Err(EmbedError::Config { message }) = from_settings(&named(name)) else {
                panic!("{name} was accepted")
            };
            assert!(message.contains("loom-static-256") && message.contains("openai:<model>"), "{message}");
        }
    }

    #[test]
    fn debug_output_hides_the_key() {
        let settings = EmbedSettings { api_key: ApiKey::new("sk-very-secret"), ..named("openai:m") };
        assert!(!format!("{settings:?}").contains("secret"));
    }

    #[test]
    fn extreme_lengths_are_normalised() {
        for mut vector in [vec![f32::MAX; 3], vec![f32::MIN_POSITIVE; 3]] {
            normalise(&mut vector);
            assert!(vector.iter().all(|x| (x - 0.577_350_26).abs() < 1e-6), "{vector:?}");
        }
        let mut zero = vec![0.0; 3];
        normalise(&mut zero);
        assert_eq!(zero, vec![0.0; 3]);
    }
}
