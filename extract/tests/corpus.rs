//! The corpora of the fuzz targets of readers, replayed.

#[path = "../../fuzz/readers.rs"]
mod readers;
#[path = "../../fuzz/replay.rs"]
mod replay;

fn replay(target: &str, body: impl Fn(&[u8])) {
    replay::replay(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus"), target, body);
}

#[test]
fn any_csv_is_read_or_refused() {
    replay("read_csv", |data| readers::read_named("csv", data));
}

#[test]
fn any_document_is_read_or_refused() {
    replay("read_docx", |data| readers::read_packed("docx", data));
}

#[test]
fn any_mail_is_read_or_refused() {
    replay("read_eml", |data| readers::read_named("eml", data));
}

#[test]
fn any_book_is_read_or_refused() {
    replay("read_epub", |data| readers::read_packed("epub", data));
}

#[test]
fn any_page_is_read_or_refused() {
    replay("read_html", |data| readers::read_named("html", data));
}

#[test]
fn any_notebook_is_read_or_refused() {
    replay("read_ipynb", |data| readers::read_named("ipynb", data));
}

#[test]
fn any_json_is_read_or_refused() {
    replay("read_json", |data| readers::read_named("json", data));
}

#[test]
fn any_json_lines_is_read_or_refused() {
    replay("read_jsonl", |data| readers::read_named("jsonl", data));
}

#[test]
fn any_markdown_is_read_or_refused() {
    replay("read_markdown", |data| readers::read_named("markdown", data));
}

#[test]
fn any_open_document_is_read_or_refused() {
    replay("read_odt", |data| readers::read_packed("odt", data));
}

#[test]
fn any_parquet_is_read_or_refused() {
    replay("read_parquet", |data| readers::read_named("parquet", data));
}

#[test]
fn any_pdf_is_read_or_refused() {
    replay("read_pdf", readers::read_pdf);
}

#[test]
fn any_presentation_is_read_or_refused() {
    replay("read_pptx", |data| readers::read_packed("pptx", data));
}

#[test]
fn any_sql_is_read_or_refused() {
    replay("read_sql", |data| readers::read_named("sql", data));
}

#[test]
fn any_text_is_read_or_refused() {
    replay("read_text", |data| readers::read_named("text", data));
}

#[test]
fn any_toml_is_read_or_refused() {
    replay("read_toml", |data| readers::read_named("toml", data));
}

#[test]
fn any_subtitles_is_read_or_refused() {
    replay("read_vtt", |data| readers::read_named("vtt", data));
}

#[test]
fn any_workbook_is_read_or_refused() {
    replay("read_xlsx", |data| readers::read_packed("xlsx", data));
}

#[test]
fn any_yaml_is_read_or_refused() {
    replay("read_yaml", |data| readers::read_named("yaml", data));
}

#[test]
fn any_archive_is_read_or_refused() {
    replay("read_zip", readers::read_zip);
}
