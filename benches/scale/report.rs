//! The table that a run prints.

use std::path::Path;

use super::Outcome;
use super::corpus::Corpus;
use super::measure;

/// Figures by name, for the ratios between them.
pub struct Report {
    figures: Vec<(&'static str, f64)>,
}

impl Report {
    #[expect(clippy::print_stdout, reason = "a benchmark prints")]
    pub fn begin(corpus: &Corpus) -> Self {
        println!(
            "\n{} chunks of {} documents, {:.1} MB of text, {:.1} MB of vectors, {} queries",
            corpus.texts.len(),
            corpus.documents.len(),
            mb(corpus.bytes() - corpus.vectors.len() * corpus.vectors[0].len() * 4),
            mb(corpus.vectors.len() * corpus.vectors[0].len() * 4),
            corpus.queries.len()
        );
        let mut report = Self { figures: Vec::new() };
        let count = float(corpus.texts.len());
        Self::heading("bare");
        report.figure("embedding: CPU per text", corpus.embedding.cpu_s * 1e3 / count, "ms");
        report
    }

    /// A heading of the figures that follow.
    #[expect(clippy::print_stdout, reason = "a benchmark prints")]
    pub fn heading(what: &str) {
        println!("\n{what}");
    }

    /// A figure.
    #[expect(clippy::print_stdout, reason = "a benchmark prints")]
    pub fn figure(&mut self, name: &'static str, value: f64, unit: &str) {
        println!("  {name:<58}{value:>12.3} {unit}");
        self.figures.push((name, value));
    }

    /// The ratio of two figures, against the most it may be.
    #[expect(clippy::print_stdout, reason = "a benchmark prints")]
    pub fn ratio(what: &str, of: f64, to: f64, wanted: &str) {
        println!("  {what:<58}{:>12.2} times (wanted: {wanted})", of / to);
    }

    /// A figure that was reported before.
    pub fn value(&self, name: &str) -> f64 {
        self.figures.iter().rev().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value)
    }

    /// What the data folder takes.
    pub fn disk(&mut self, corpus: &Corpus, data: &Path) -> Outcome<()> {
        Self::heading("disk");
        let index = measure::disk_bytes(&data.join("index"))?;
        let all = measure::disk_bytes(data)?;
        self.figure("store", mb(usize::try_from(all - index)?), "MB");
        self.figure("projections", mb(usize::try_from(index)?), "MB");
        Self::ratio("the folder to text and vectors", mb(usize::try_from(all)?), mb(corpus.bytes()), "at most 2.5");
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes here are far below 2^52")]
pub fn mb(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub fn float(count: usize) -> f64 {
    count as f64
}
