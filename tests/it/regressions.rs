//! What once went wrong.

mod callers;
mod doctor;
