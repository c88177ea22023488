//! The lexical leg: one analyser for index and query, and BM25 over context and text together.
