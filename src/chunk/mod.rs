//! Cutting a text into chunks on its structure.
