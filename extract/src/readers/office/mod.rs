//! What the readers of zipped XML share: the archive, the XML, the parts and how they name each other, and what becomes
//! of the text found.

mod archive;
mod chart;
mod drawing;
mod equation;
mod escape;
mod grid;
mod latex;
mod numbers;
mod output;
mod package;
mod pictures;
mod symbols;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod xml;

pub use archive::{corrupt, encrypted};
pub use chart::{chart, diagram};
pub use drawing::{Bullet, Line, text_body};
pub use equation::equation;
pub use escape::xml_escaped;
pub use grid::{Continued, Grid, GridCell};
pub use numbers::{letters, numbered, roman};
pub use output::Output;
pub use package::{Package, Relation, joined, targets};
pub use pictures::{Pictures, described};
pub use symbols::symbol;
pub use xml::{Element, Node, Xml};
