//! Inputs that broke other products, and what must hold for each kind of them, asked of the whole engine.

mod access;
mod busy;
mod crowd;
mod cuts;
mod identifiers;
mod isolation;
mod life;
mod local_models;
mod models;
mod names;
mod processes;
mod queries;
mod races;
mod structure;
mod words;
