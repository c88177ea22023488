//! What is embedded and scored with a chunk's text.

use super::plain::one_line;

/// The most bytes of a title in a context.
pub const TITLE_BYTES_MAX: usize = 1024;
/// The most bytes of a description in a context.
pub const DESCRIPTION_BYTES_MAX: usize = 4096;

/// A chunk's context: title, description, breadcrumb (`A > B > C`) and table header, each on lines of its own, the
/// empty ones left out.
///
/// Title and description become one line each and are cut at [`TITLE_BYTES_MAX`] and [`DESCRIPTION_BYTES_MAX`];
/// the other two come bounded from [`cut`](super::cut()).
pub fn context(title: &str, description: &str, section_path: &[String], table_header: Option<&str>) -> String {
    let breadcrumb = section_path.iter().filter(|entry| !entry.is_empty()).map(String::as_str);
    let parts = [
        one_line(title, TITLE_BYTES_MAX),
        one_line(description, DESCRIPTION_BYTES_MAX),
        breadcrumb.collect::<Vec<_>>().join(" > "),
        table_header.unwrap_or_default().to_owned(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
