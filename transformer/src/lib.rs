//! Transformers of the BERT family, read from a folder and run on the CPU: [`SentenceEncoder`] gives texts vectors,
//! [`CrossEncoder`] scores passages against a query.
//!
//! A folder holds `config.json`, `tokenizer.json` and `model.safetensors`, as published models do; the files of
//! sentence-transformers say how texts are pooled and prefixed where they are present. Nothing is downloaded, no
//! folder is trusted, and memory is bounded by [`Limits`] and by tasks of [`TASK_TOKENS`].

mod bert;
mod calibration;
mod card;
mod cross;
mod error;
mod folder;
mod kernel;
mod linear;
mod math;
mod prompts;
mod schedule;
mod sentence;
mod shape;
#[cfg(feature = "testing")]
pub mod testing;
mod tokens;
mod weights;

pub use cross::CrossEncoder;
pub use error::Error;
pub use folder::Limits;
pub use schedule::{TASK_TOKENS, WINDOW_TEXTS};
pub use sentence::{SentenceEncoder, Side};
