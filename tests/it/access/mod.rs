//! Who may do what: tokens, roles, refusals, and what nobody learns of what is not theirs.

mod collections;
mod crowd;
mod reach;
mod tokens;
