//! `model.safetensors`: named tensors, read in one pass, hashed and checked on the way.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::folder::{Folder, Limits, open};

const FILE: &str = "model.safetensors";
/// The list of the tensors of BERT-large has 50 KB.
const HEADER_BYTES_MAX: u64 = 16 << 20;
/// How many bytes are converted at a time; a multiple of every number's size.
const BLOCK_BYTES: usize = 256 << 10;
/// What some checkpoints put before the names of the network's own tensors.
const PREFIX: &str = "bert.";

/// The tensors of a checkpoint that a network of the family may need, by their names without `bert.`.
pub(crate) struct Weights {
    file: PathBuf,
    tensors: HashMap<String, Tensor>,
}

struct Tensor {
    dims: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

/// How a number is stored.
#[derive(Clone, Copy)]
enum Number {
    F32,
    F16,
    Bf16,
}

impl Weights {
    /// Reads the folder's checkpoint.
    pub(crate) fn read(folder: &mut Folder, limits: &Limits) -> Result<Self, Error> {
        let file = folder.file(FILE);
        if !file.exists() && (folder.file("model.onnx").exists() || folder.file("onnx").exists()) {
            let what = "it is missing, and ONNX files are not read: take the model in its safetensors form";
            return Err(Error::Unsupported { file, what: what.to_owned() });
        }
        let opened = open(&file)?;
        let bytes = opened.metadata().map_err(|source| Error::Read { file: file.clone(), source })?.len();
        if bytes > limits.weights_bytes_max {
            let (bytes_max, limit) = (limits.weights_bytes_max, "the limit of a model's weights");
            return Err(Error::TooLarge { file, bytes, bytes_max, limit });
        }
        let mut pass = Pass { file, reader: BufReader::with_capacity(BLOCK_BYTES, opened), hash: Sha256::new() };
        let tensors = pass.tensors(bytes)?;
        folder.note(FILE, &pass.hash.finalize());
        Ok(Self { file: pass.file, tensors })
    }

    /// Takes out a tensor, which must have the dimensions.
    pub(crate) fn take(&mut self, name: &str, dims: &[usize]) -> Result<Vec<f32>, Error> {
        let invalid = |what| Err(Error::Invalid { file: self.file.clone(), what });
        match self.tensors.remove(name) {
            None => invalid(format!("it has no tensor {name}")),
            Some(tensor) if tensor.dims != dims => {
                invalid(format!("the tensor {name} has the shape {:?}, and config.json asks for {dims:?}", tensor.dims))
            }
            Some(tensor) => Ok(tensor.values),
        }
    }

    /// Whether there is such a tensor.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The file they come from.
    pub(crate) fn file(&self) -> PathBuf {
        self.file.clone()
    }
}

/// One reading of the file from begin to end.
struct Pass {
    file: PathBuf,
    reader: BufReader<File>,
    hash: Sha256,
}

impl Pass {
    fn invalid(&self, what: String) -> Error {
        Error::Invalid { file: self.file.clone(), what }
    }

    fn fill(&mut self, block: &mut [u8]) -> Result<(), Error> {
        self.reader.read_exact(block).map_err(|source| Error::Read { file: self.file.clone(), source })?;
        self.hash.update(block);
        Ok(())
    }

    fn tensors(&mut self, file_bytes: u64) -> Result<HashMap<String, Tensor>, Error> {
        let mut tensors = HashMap::new();
        let (entries, data_bytes) = self.entries(file_bytes)?;
        let mut at = 0;
        for (name, entry) in entries {
            let (begin, end) = entry.data_offsets;
            if begin != at || end < begin || end > data_bytes {
                return Err(self.invalid(format!("the tensor {name} does not follow the one before it")));
            }
            at = end;
            let short = name.strip_prefix(PREFIX).unwrap_or(&name);
            if !is_of_the_network(short) {
                self.skip(end - begin)?;
                continue;
            }
            let number = match entry.dtype.as_str() {
                "F32" => Number::F32,
                "F16" => Number::F16,
                "BF16" => Number::Bf16,
                other => {
                    let what = format!("the tensor {name} is of {other}; F32, F16 and BF16 are read");
                    return Err(Error::Unsupported { file: self.file.clone(), what });
                }
            };
            let count = entry.shape.iter().try_fold(1_usize, |product, &dim| product.checked_mul(dim));
            let bytes = count.and_then(|count| count.checked_mul(number.bytes()));
            if bytes.is_none_or(|bytes| bytes as u64 != end - begin) {
                let (shape, bytes) = (entry.shape, end - begin);
                return Err(self.invalid(format!("the tensor {name} of the shape {shape:?} has {bytes} bytes")));
            }
            let values = self.values(&name, number, count.unwrap_or_default())?;
            if tensors.insert(short.to_owned(), Tensor { dims: entry.shape, values }).is_some() {
                return Err(self.invalid(format!("the tensor {short} is there twice, with and without {PREFIX:?}")));
            }
        }
        if at != data_bytes {
            return Err(self.invalid(format!("{} bytes follow the last tensor", data_bytes - at)));
        }
        Ok(tensors)
    }

    /// The tensors in the order of their bytes, and how many bytes they have together.
    fn entries(&mut self, file_bytes: u64) -> Result<(Vec<(String, Entry)>, u64), Error> {
        let mut length = [0; 8];
        if file_bytes < 8 {
            return Err(self.invalid("it is too short to be a safetensors file".to_owned()));
        }
        self.fill(&mut length)?;
        let header_bytes = u64::from_le_bytes(length);
        if header_bytes > HEADER_BYTES_MAX || header_bytes > file_bytes - 8 {
            return Err(self.invalid(format!("it says that its list of tensors has {header_bytes} bytes")));
        }
        let mut header = vec![0; usize::try_from(header_bytes).expect("at most HEADER_BYTES_MAX")];
        self.fill(&mut header)?;
        let unreadable = |error| format!("its list of tensors cannot be understood: {error}");
        let mut listed: Map<String, Value> =
            serde_json::from_slice(&header).map_err(|error| self.invalid(unreadable(error)))?;
        listed.shift_remove("__metadata__");
        let mut entries = Vec::with_capacity(listed.len());
        for (name, entry) in listed {
            let entry: Entry = serde_json::from_value(entry).map_err(|error| self.invalid(unreadable(error)))?;
            entries.push((name, entry));
        }
        entries.sort_by_key(|(_, entry)| entry.data_offsets);
        Ok((entries, file_bytes - 8 - header_bytes))
    }

    fn skip(&mut self, mut bytes: u64) -> Result<(), Error> {
        let mut block = vec![0; BLOCK_BYTES];
        while bytes > 0 {
            let now = usize::try_from(bytes).map_or(BLOCK_BYTES, |bytes| bytes.min(BLOCK_BYTES));
            self.fill(&mut block[..now])?;
            bytes -= now as u64;
        }
        Ok(())
    }

    fn values(&mut self, name: &str, number: Number, count: usize) -> Result<Vec<f32>, Error> {
        let mut values = Vec::with_capacity(count);
        let mut block = vec![0; BLOCK_BYTES];
        while values.len() < count {
            let now = (count - values.len()).min(BLOCK_BYTES / number.bytes());
            let block = &mut block[..now * number.bytes()];
            self.fill(block)?;
            let start = values.len();
            number.read(block, &mut values);
            if !values[start..].iter().all(|value| value.is_finite()) {
                return Err(self.invalid(format!("the tensor {name} holds a number that is not finite")));
            }
        }
        Ok(values)
    }
}

impl Number {
    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    fn read(self, block: &[u8], values: &mut Vec<f32>) {
        match self {
            Self::F32 => values.extend(block.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes))),
            Self::F16 => values.extend(block.as_chunks().0.iter().map(|&bytes| half(u16::from_le_bytes(bytes)))),
            Self::Bf16 => {
                let wide = |&bytes: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16);
                values.extend(block.as_chunks().0.iter().map(wide));
            }
        }
    }
}

/// The value of a 16-bit float of IEEE 754.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        // A subnormal is its fraction times 2^-24, which 32 bits hold exactly.
        0 => {
            let magnitude = f32::from(bits & 0x3ff) * f32::from_bits(0x3380_0000);
            f32::from_bits(magnitude.to_bits() | sign)
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// Whether a network of the family has a tensor of this name; a checkpoint may hold others, of training heads.
fn is_of_the_network(name: &str) -> bool {
    let parts = ["embeddings.", "encoder.", "pooler.", "classifier."];
    parts.iter().any(|part| name.starts_with(part)) && name != "embeddings.position_ids"
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn halves_are_widened_exactly() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x83ff, -6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:x}");
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }
}
