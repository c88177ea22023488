//! A memtable as a tantivy segment, written part by part: its postings are sorted already, so that nothing is
//! tokenized, hashed or sorted again.

use tantivy::columnar::{ColumnType, ColumnarWriter};
use tantivy::directory::{TerminatingWrite as _, WritePtr};
use tantivy::fieldnorm::{FieldNormReader, FieldNormsSerializer};
use tantivy::index::SegmentComponent;
use tantivy::postings::InvertedIndexSerializer;
use tantivy::store::StoreWriter;
use tantivy::{DocId, Index, Segment, SegmentMeta, TantivyDocument, TantivyError, Term};

use super::error::Failure;
use super::memtable::{Doc, Memtable};
use super::schema::{CHUNK, Fields, VERSION, WORDS};

/// Writes the live chunks of `memtable` as a segment of `index`, which counts once it is added to a commit. Nothing
/// when there are none.
pub(super) fn write_segment(
    index: &Index,
    fields: &Fields,
    memtable: &Memtable,
) -> Result<Option<SegmentMeta>, Failure> {
    let docs: Vec<&Doc> = memtable.live_docs().collect();
    if docs.is_empty() {
        return Ok(None);
    }
    let segment = index.new_segment();
    write_norms(&segment, fields, docs.len())?;
    write_postings(&segment, fields, memtable, &docs)?;
    write_columns(&segment, &docs)?;
    write_store(&segment, fields, docs.len())?;
    let count = DocId::try_from(docs.len()).expect("a memtable is written out long before four billion chunks");
    Ok(Some(segment.with_max_doc(count).meta().clone()))
}

/// Each document has one version: the lengths that count are a column.
fn write_norms(segment: &Segment, fields: &Fields, docs: usize) -> Result<(), Failure> {
    let mut norms = FieldNormsSerializer::from_write(create(segment, SegmentComponent::FieldNorms)?)?;
    norms.serialize_field(fields.version, &vec![FieldNormReader::fieldnorm_to_id(1); docs])?;
    norms.close()?;
    Ok(())
}

fn write_postings(segment: &Segment, fields: &Fields, memtable: &Memtable, docs: &[&Doc]) -> Result<(), Failure> {
    let mut serializer = InvertedIndexSerializer::open(segment)?;
    let mut text = serializer.new_field(fields.text, memtable.live_occurrences(), None)?;
    memtable.each_live_term(|term, holders, postings| {
        text.new_term(term, holders, true)?;
        for (doc, count) in postings {
            text.write_doc(doc, count, &[]);
        }
        text.close_term()
    })?;
    text.close()?;
    let mut by_version: Vec<(u64, DocId)> = docs.iter().map(|doc| doc.version.0).zip(0..).collect();
    by_version.sort_unstable();
    let mut versions = serializer.new_field(fields.version, docs.len() as u64, None)?;
    for group in by_version.chunk_by(|left, right| left.0 == right.0) {
        let term = Term::from_field_u64(fields.version, group[0].0);
        let holders = DocId::try_from(group.len()).expect("there are no more holders than documents");
        versions.new_term(term.serialized_value_bytes(), holders, false)?;
        for (_, doc) in group {
            versions.write_doc(*doc, 1, &[]);
        }
        versions.close_term()?;
    }
    versions.close()?;
    serializer.close()?;
    Ok(())
}

fn write_columns(segment: &Segment, docs: &[&Doc]) -> Result<(), Failure> {
    let mut columns = ColumnarWriter::default();
    for name in [CHUNK, VERSION, WORDS] {
        columns.record_column_type(name, ColumnType::U64, false);
    }
    for (row, doc) in (0..).zip(docs) {
        columns.record_numerical(row, CHUNK, doc.chunk.0);
        columns.record_numerical(row, VERSION, doc.version.0);
        columns.record_numerical(row, WORDS, u64::from(doc.words));
    }
    let rows = u32::try_from(docs.len()).expect("a memtable is written out long before four billion chunks");
    let mut file = create(segment, SegmentComponent::FastFields)?;
    columns.serialize(rows, None, &mut file)?;
    file.terminate()?;
    Ok(())
}

/// Nothing is stored of a document; a merge wants to read that.
fn write_store(segment: &Segment, fields: &Fields, docs: usize) -> Result<(), Failure> {
    let settings = segment.index().settings();
    let mut store = StoreWriter::new(
        create(segment, SegmentComponent::Store)?,
        settings.docstore_compression,
        settings.docstore_blocksize,
        false,
    )?;
    let nothing = TantivyDocument::new();
    for _ in 0..docs {
        store.store(&nothing, &fields.schema)?;
    }
    store.close()?;
    Ok(())
}

fn create(segment: &Segment, component: SegmentComponent) -> Result<WritePtr, Failure> {
    Ok(segment.open_write(component).map_err(TantivyError::from)?)
}
