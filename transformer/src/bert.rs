//! The network: from token numbers to one vector a token.
//!
//! Texts of any lengths are taken through it together, their tokens one after the other: only attention looks from
//! token to token, and it does so text by text. So there is no padding, and a text's vectors depend on it alone.

use crate::error::Error;
use crate::kernel::Kernel;
use crate::linear::{Linear, Over, Part, PartMut, Product, interleave_columns, interleave_rows};
use crate::math::{Norm, gelu, normalise_rows, softmax};
use crate::shape::Shape;
use crate::tokens::Encoded;
use crate::weights::Weights;

/// A network and its weights.
pub(crate) struct Bert {
    kernel: Kernel,
    shape: Shape,
    /// One row for each token number, position and token type.
    words: Vec<f32>,
    positions: Vec<f32>,
    kinds: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Queries, keys and values in one.
    mixed: Linear,
    attended: Linear,
    attended_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

/// Room to work in, kept from layer to layer.
#[derive(Default)]
struct Room {
    mixed: Vec<f32>,
    context: Vec<f32>,
    wide: Vec<f32>,
    scores: Vec<f32>,
    left: Vec<f32>,
    right: Vec<f32>,
}

impl Bert {
    /// Takes the network's tensors out of a checkpoint.
    pub(crate) fn new(kernel: Kernel, shape: Shape, weights: &mut Weights) -> Result<Self, Error> {
        let hidden = shape.hidden;
        let words = weights.take("embeddings.word_embeddings.weight", &[shape.vocabulary, hidden])?;
        let positions = weights.take("embeddings.position_embeddings.weight", &[shape.positions, hidden])?;
        let kinds = weights.take("embeddings.token_type_embeddings.weight", &[shape.kinds, hidden])?;
        let norm = norm(&shape, weights, "embeddings.LayerNorm")?;
        let layers = (0..shape.layers).map(|at| Layer::new(kernel, &shape, weights, at)).collect::<Result<_, _>>()?;
        Ok(Self { kernel, shape, words, positions, kinds, norm, layers })
    }

    /// The length of a token's vector.
    pub(crate) fn hidden(&self) -> usize {
        self.shape.hidden
    }

    /// The vectors of all tokens of the texts, one after the other. No text is longer than the network's positions,
    /// and no number is outside its tables.
    pub(crate) fn forward(&self, texts: &[&Encoded]) -> Vec<f32> {
        let mut states = self.embed(texts);
        let mut room = Room::default();
        for layer in &self.layers {
            self.layer(layer, texts, &mut states, &mut room);
        }
        states
    }

    fn embed(&self, texts: &[&Encoded]) -> Vec<f32> {
        let hidden = self.shape.hidden;
        let tokens = texts.iter().map(|text| text.len()).sum::<usize>();
        let mut states = Vec::with_capacity(tokens * hidden);
        for text in texts {
            for (position, token) in text.tokens().enumerate() {
                let word = &self.words[token.id * hidden..][..hidden];
                let position = &self.positions[position * hidden..][..hidden];
                let kind = &self.kinds[token.kind * hidden..][..hidden];
                states
                    .extend(word.iter().zip(position).zip(kind).map(|((word, position), kind)| word + kind + position));
            }
        }
        normalise_rows(&mut states, &self.norm);
        states
    }

    fn layer(&self, layer: &Layer, texts: &[&Encoded], states: &mut [f32], room: &mut Room) {
        let hidden = self.shape.hidden;
        let tokens = states.len() / hidden;
        room.mixed.resize(3 * states.len(), 0.0);
        room.context.resize(states.len(), 0.0);
        room.wide.resize(tokens * self.shape.intermediate, 0.0);
        layer.mixed.apply(states, tokens, Over::Replace, &mut room.mixed, &mut room.left);
        let mut first = 0;
        for text in texts {
            for head in 0..self.shape.heads {
                self.attend(first, text.len(), head, room);
            }
            first += text.len();
        }
        layer.attended.apply(&room.context, tokens, Over::Add, states, &mut room.left);
        normalise_rows(states, &layer.attended_norm);
        layer.up.apply(states, tokens, Over::Replace, &mut room.wide, &mut room.left);
        gelu(&mut room.wide);
        layer.down.apply(&room.wide, tokens, Over::Add, states, &mut room.left);
        normalise_rows(states, &layer.norm);
    }

    /// What one head of the `tokens` tokens from `first` on takes from each other.
    fn attend(&self, first: usize, tokens: usize, head: usize, room: &mut Room) {
        let (hidden, width) = (self.shape.hidden, self.shape.head());
        let part = |kind: usize, mixed| Part {
            numbers: mixed,
            start: first * 3 * hidden + kind * hidden + head * width,
            stride: 3 * hidden,
        };
        let kernel = self.kernel;
        let Room { mixed, context, scores, left, right, .. } = room;
        scores.resize(tokens * tokens, 0.0);
        interleave_rows(part(0, mixed), tokens, width, kernel.rows(), left);
        interleave_rows(part(1, mixed), tokens, width, kernel.columns(), right);
        let product = Product { kernel, left, right, rows: tokens, columns: tokens, depth: width };
        product.write(None, Over::Replace, &mut PartMut { numbers: scores, start: 0, stride: tokens });
        #[expect(clippy::cast_precision_loss, reason = "a head has thousands of numbers at most")]
        let scale = (width as f32).sqrt().recip();
        softmax(scores, tokens, scale);
        interleave_rows(Part { numbers: scores, start: 0, stride: tokens }, tokens, tokens, kernel.rows(), left);
        interleave_columns(part(2, mixed), width, tokens, kernel.columns(), right);
        let product = Product { kernel, left, right, rows: tokens, columns: width, depth: tokens };
        let start = first * hidden + head * width;
        product.write(None, Over::Replace, &mut PartMut { numbers: context, start, stride: hidden });
    }
}

impl Layer {
    fn new(kernel: Kernel, shape: &Shape, weights: &mut Weights, at: usize) -> Result<Self, Error> {
        let (hidden, intermediate) = (shape.hidden, shape.intermediate);
        let mut linear = |name: &str, outputs, inputs| {
            linear(kernel, weights, &format!("encoder.layer.{at}.{name}"), outputs, inputs)
        };
        let attended = linear("attention.output.dense", hidden, hidden)?;
        let up = linear("intermediate.dense", intermediate, hidden)?;
        let down = linear("output.dense", hidden, intermediate)?;
        let (mut mixed, mut bias) = (Vec::with_capacity(3 * hidden * hidden), Vec::with_capacity(3 * hidden));
        for name in ["query", "key", "value"] {
            let name = format!("encoder.layer.{at}.attention.self.{name}");
            mixed.extend(weights.take(&format!("{name}.weight"), &[hidden, hidden])?);
            bias.extend(weights.take(&format!("{name}.bias"), &[hidden])?);
        }
        Ok(Self {
            mixed: Linear::new(kernel, &mixed, bias),
            attended,
            attended_norm: norm(shape, weights, &format!("encoder.layer.{at}.attention.output.LayerNorm"))?,
            up,
            down,
            norm: norm(shape, weights, &format!("encoder.layer.{at}.output.LayerNorm"))?,
        })
    }
}

/// A linear layer of a checkpoint, by the name that its weight and bias share.
pub(crate) fn linear(
    kernel: Kernel,
    weights: &mut Weights,
    name: &str,
    outputs: usize,
    inputs: usize,
) -> Result<Linear, Error> {
    let weight = weights.take(&format!("{name}.weight"), &[outputs, inputs])?;
    Ok(Linear::new(kernel, &weight, weights.take(&format!("{name}.bias"), &[outputs])?))
}

fn norm(shape: &Shape, weights: &mut Weights, name: &str) -> Result<Norm, Error> {
    let weight = weights.take(&format!("{name}.weight"), &[shape.hidden])?;
    let bias = weights.take(&format!("{name}.bias"), &[shape.hidden])?;
    Ok(Norm { weight, bias, epsilon: shape.epsilon })
}
