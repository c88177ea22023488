//! The vector leg: cosine similarity by exact scan or graph.
