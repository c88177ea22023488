//! The libraries bare: what the same texts and vectors cost without Loom.

use std::fs;
use std::path::Path;

use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::IndexRecordOption::WithFreqsAndPositions;
use tantivy::schema::{INDEXED, STORED, Schema, TEXT, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, TantivyDocument, doc};
use usearch::{IndexOptions, MetricKind, ScalarKind};

use super::Outcome;
use super::corpus::Corpus;
use super::measure;
use super::report::{Report, float};

const TOP: usize = 50;
const WRITER_BYTES: usize = 128 << 20;
const RECALL_MIN: f64 = 0.98;
/// Similarities that differ by less are the same: texts repeat.
pub const TIE: f32 = 5e-5;

/// An index of one stored text field with tantivy's defaults.
pub struct Tantivy {
    reader: IndexReader,
    parser: QueryParser,
}

impl Tantivy {
    /// The index with tantivy's default tokenizer. Another, with its English stemmer, which does the work that Loom's
    /// analyser does, is built to be timed and dropped.
    pub fn build(corpus: &Corpus, folder: &Path, report: &mut Report) -> Outcome<Self> {
        let stemmed = TextFieldIndexing::default().set_tokenizer("en_stem").set_index_option(WithFreqsAndPositions);
        let stemmed = TextOptions::default().set_indexing_options(stemmed).set_stored();
        Self::index(
            corpus,
            &folder.join("stemmed"),
            stemmed,
            "tantivy with its stemmer: CPU per chunk indexed",
            report,
        )?;
        Self::index(corpus, &folder.join("plain"), TEXT | STORED, "tantivy: CPU per chunk indexed", report)
    }

    fn index(
        corpus: &Corpus,
        folder: &Path,
        options: TextOptions,
        what: &'static str,
        report: &mut Report,
    ) -> Outcome<Self> {
        fs::create_dir_all(folder)?;
        let mut schema = Schema::builder();
        let id = schema.add_u64_field("id", STORED | INDEXED);
        let text = schema.add_text_field("text", options);
        let index = Index::create_in_dir(folder, schema.build())?;
        let ((), spent) = measure::process(|| {
            let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, WRITER_BYTES)?;
            for (at, chunk) in (0_u64..).zip(&corpus.texts) {
                writer.add_document(doc!(id => at, text => chunk.as_str()))?;
            }
            writer.commit()?;
            writer.wait_merging_threads()?;
            Ok(())
        })?;
        report.figure(what, spent.cpu_s * 1e3 / float(corpus.texts.len()), "ms");
        Ok(Self { reader: index.reader()?, parser: QueryParser::for_index(&index, vec![text]) })
    }

    /// Searches as a user of the library would; the words of the query are any of them.
    pub fn search(&self, query: &str) -> Outcome<usize> {
        let words: String = query.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
        let words = words.to_lowercase();
        let query = self.parser.parse_query(&words)?;
        Ok(self.reader.searcher().search(&query, &TopDocs::with_limit(TOP).order_by_score())?.len())
    }
}

/// A graph of the vectors with usearch's defaults, and searched as widely as the recall asks.
pub struct Usearch {
    index: usearch::Index,
}

impl Usearch {
    pub fn build(corpus: &Corpus, report: &mut Report) -> Outcome<Self> {
        let options = IndexOptions {
            dimensions: corpus.vectors[0].len(),
            metric: MetricKind::Cos,
            quantization: ScalarKind::F32,
            ..IndexOptions::default()
        };
        let index = usearch::Index::new(&options)?;
        let ((), spent) = measure::process(|| {
            index.reserve(corpus.vectors.len())?;
            for (at, vector) in (0..).zip(&corpus.vectors) {
                index.add(at, vector)?;
            }
            Ok(())
        })?;
        report.figure("usearch: CPU per vector added", spent.cpu_s * 1e3 / float(corpus.vectors.len()), "ms");
        let tenth = corpus.kth_similarity(10, |_| true);
        for expansion in [50, 64, 96, 128, 192, 256, 384, 512, 1024] {
            index.change_expansion_search(expansion);
            let mut found = 0;
            for ((_, vector), tenth) in corpus.queries.iter().zip(&tenth) {
                let hits = index.search(vector, TOP)?;
                found += hits.distances.iter().take(10).filter(|distance| 1.0 - *distance >= tenth - TIE).count();
            }
            let recall = float(found) / float(tenth.len() * 10);
            if recall >= RECALL_MIN || expansion == 1024 {
                report.figure("usearch: ef", float(expansion), "");
                report.figure("usearch: recall at 10", recall, "");
                break;
            }
        }
        Ok(Self { index })
    }

    pub fn search(&self, vector: &[f32]) -> Outcome<usize> {
        Ok(self.index.search(vector, TOP)?.keys.len())
    }
}

/// A redb file to which one record at a time is committed durably.
pub struct Redb(redb::Database);

const NOTES: redb::TableDefinition<'static, u64, &[u8]> = redb::TableDefinition::new("notes");

impl Redb {
    pub fn create(path: &Path) -> Outcome<Self> {
        Ok(Self(redb::Database::create(path)?))
    }

    pub fn put(&self, key: u64, value: &[u8]) -> Outcome<()> {
        let transaction = self.0.begin_write()?;
        transaction.open_table(NOTES)?.insert(key, value)?;
        Ok(transaction.commit()?)
    }
}
