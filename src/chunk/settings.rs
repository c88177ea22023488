//! The size and the step of windows.

use thiserror::Error;

/// The smallest window; below it a window holds less than a sentence.
const SIZE_MIN: usize = 32;
/// The largest window, so that one chunk stays something an embedder can be sent.
const SIZE_MAX: usize = 100_000;

/// How long windows are and how far apart they start, in Unicode scalar values.
///
/// A value always holds 32 <= size <= 100,000 and 0 < stride <= size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSettings {
    size: usize,
    stride: usize,
}

/// Why a size and a stride do not go together. The message names the setting to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChunkSettingsError {
    /// The size is out of bounds.
    #[error("LOOM_KNOWLEDGE_CHUNK_SIZE is {0}; it must be from {SIZE_MIN} to {SIZE_MAX} characters")]
    Size(usize),
    /// The stride is 0 or greater than the size.
    #[error(
        "LOOM_KNOWLEDGE_CHUNK_STRIDE is {stride}; it must be from 1 to LOOM_KNOWLEDGE_CHUNK_SIZE ({size}), \
         or text between two windows would be lost"
    )]
    Stride {
        /// The stride given.
        stride: usize,
        /// The size it was given with.
        size: usize,
    },
}

impl ChunkSettings {
    /// Windows of at most `size` characters, starting about every `stride`.
    pub fn new(size: usize, stride: usize) -> Result<Self, ChunkSettingsError> {
        if !(SIZE_MIN..=SIZE_MAX).contains(&size) {
            return Err(ChunkSettingsError::Size(size));
        }
        if stride == 0 || stride > size {
            return Err(ChunkSettingsError::Stride { stride, size });
        }
        Ok(Self { size, stride })
    }

    /// The most characters a chunk has.
    pub fn size(self) -> usize {
        self.size
    }

    /// How many characters after a window's start the next one starts, at most.
    pub fn stride(self) -> usize {
        self.stride
    }

    /// The characters two neighbours share when neither is moved to a better border.
    pub(super) fn overlap(self) -> usize {
        self.size - self.stride
    }
}

impl Default for ChunkSettings {
    /// 1,500 characters every 1,200.
    fn default() -> Self {
        Self { size: 1500, stride: 1200 }
    }
}
