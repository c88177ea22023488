//! Turning texts into vectors.
