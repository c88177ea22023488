//! The lexical index as its callers see it.

mod cases;
mod corpus;
mod damage;
mod flush;
mod model;
mod script;
mod selection;
