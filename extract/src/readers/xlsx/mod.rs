//! Workbooks: a heading and a table for each sheet, its rows numbered as the sheet numbers them.

use std::collections::HashMap;

use crate::contract::{Artifact, BlockKind, Coverage, CoverageUnit, Locator, Refusal, RefusalCode, Request, lost};
use crate::readers::Context;
use crate::readers::office::{Output, Package, Relation, Xml, xml_escaped};

mod dates;
mod formats;
mod remarks;
mod render;
mod sheet;
mod split;
#[cfg(test)]
mod split_tests;
mod strings;
mod table;
#[cfg(test)]
mod tests;

use dates::DateSystem;
use formats::Formats;
use remarks::Beside;
use sheet::{Book, Sheet};

const WHAT: &str = "a workbook";
/// The most sheets of a workbook that are read.
const SHEETS_MAX: usize = 5000;
/// The longest name of a sheet, in characters; programs allow 31.
const NAME_CHARS_MAX: usize = 255;
/// How many hidden sheets a warning names.
const HIDDEN_NAMED_MAX: usize = 10;

/// A sheet as the workbook lists it.
struct Listed {
    name: String,
    part: String,
    is_hidden: bool,
}

/// Reads a workbook.
///
/// # Errors
/// [`RefusalCode::FormatMismatch`], [`RefusalCode::Corrupt`] (of an encrypted one too), [`RefusalCode::NoText`],
/// [`RefusalCode::ResourceLimit`] and [`RefusalCode::Timeout`].
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let package = Package::open(bytes, WHAT, &context.bounds)?;
    let main = package.main("xl/workbook.xml", WHAT)?;
    if main.to_ascii_lowercase().ends_with(".bin") {
        let message = "the file is a binary workbook: save it as .xlsx";
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    }
    let relations = package.relations(&main)?;
    let (listed, dates) = workbook(&package, &main, &relations)?;
    let part = |kind: &str| relations.iter().find(|relation| relation.kind == kind).map(|found| found.target.as_str());
    let book = Book {
        strings: strings::read(&package, part("sharedStrings"))?,
        formats: Formats::read(&package, part("styles"))?,
        dates,
    };
    let coverage = Coverage::complete(CoverageUnit::Sheets, listed.len() as u64);
    let mut output = Output::new(&context.bounds, coverage);
    let mut counts = sheet::Counts::default();
    let mut has_content = false;
    for sheet in &listed {
        has_content |= push(&package, sheet, &book, &mut counts, &mut output)?;
    }
    warn(&mut output, &listed, &counts);
    if package.archive.duplicates > 0 {
        output.warn("parts of the file have the same name: the last of each was read".into());
    }
    if has_content { output.finish("loom-xlsx") } else { Err(crate::readers::no_text()) }
}

/// The sheets in the workbook's order, and how it counts days.
fn workbook(package: &Package<'_>, main: &str, relations: &[Relation]) -> Result<(Vec<Listed>, DateSystem), Refusal> {
    let text = package.required(main)?;
    let mut xml = Xml::new(&text, "the workbook", package.bounds);
    if xml.root()?.name() != "workbook" {
        let message = format!("the file is another kind of office file, not {WHAT}");
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    }
    // Sheets of charts and of old macros hold no cells.
    let sheets = relations.iter().filter(|relation| relation.kind == "worksheet");
    let parts: HashMap<&str, &str> = sheets.map(|sheet| (sheet.id.as_str(), sheet.target.as_str())).collect();
    let mut listed = Vec::new();
    let mut dates = DateSystem::From1900;
    while let Some(element) = xml.child(1)? {
        match element.name() {
            "workbookPr" if element.attribute("date1904").is_some_and(|on| matches!(on.as_ref(), "1" | "true")) => {
                dates = DateSystem::From1904;
            }
            "sheets" => {
                while let Some(element) = xml.child(2)? {
                    let id = element.foreign("id").unwrap_or_default();
                    let Some(part) = parts.get(id.as_ref()) else { continue };
                    if listed.len() == SHEETS_MAX {
                        let message = format!("the workbook has more than {SHEETS_MAX} sheets");
                        return Err(Refusal::new(RefusalCode::ResourceLimit, message));
                    }
                    let name = element.attribute("name").unwrap_or_default();
                    listed.push(Listed {
                        name: xml_escaped(&name).chars().take(NAME_CHARS_MAX).collect(),
                        part: (*part).to_owned(),
                        is_hidden: element.attribute("state").is_some_and(|state| state != "visible"),
                    });
                }
            }
            _ => {}
        }
    }
    Ok((listed, dates))
}

/// Adds a sheet; answers whether there was anything on it.
fn push(
    package: &Package<'_>,
    listed: &Listed,
    book: &Book,
    counts: &mut sheet::Counts,
    output: &mut Output<'_>,
) -> Result<bool, Refusal> {
    let Some(text) = package.text(&listed.part)? else {
        output.coverage.extracted -= 1;
        output.coverage.failed += 1;
        output.warn("a sheet that the workbook lists is not in the file".into());
        return Ok(false);
    };
    let sheet = Sheet::read(&text, book, counts, output.cells_left(), package.bounds)?;
    drop(text);
    let Beside { remarks, charts } = remarks::read(package, &listed.part)?;
    let is_empty = sheet.rows.is_empty() && remarks.is_empty() && charts.is_empty();
    output.locator = sheet.span(&listed.name);
    output.push(BlockKind::Heading, 1, &listed.name)?;
    if sheet.is_cut {
        output.lose(lost::TABLES, format!("sheets were cut at {} cells together", package.bounds.cells));
    }
    for mut table in sheet.split() {
        for (row, title) in table.take_titles() {
            output.locator = Some(Locator::Rows { sheet: listed.name.clone(), start: row, end: row });
            output.push(BlockKind::Paragraph, 0, &title)?;
        }
        output.locator = table.span(&listed.name);
        if let Some(table) = table.into_table(&listed.name) {
            output.push_table(table)?;
        }
    }
    for remark in remarks {
        output.locator = remark.row.map(|row| Locator::Rows { sheet: listed.name.clone(), start: row, end: row });
        output.push(remark.kind, 0, &remark.text)?;
    }
    output.locator = None;
    for (title, grid) in charts {
        output.push(BlockKind::Caption, 0, &title)?;
        output.push_grid(title, grid)?;
    }
    Ok(!is_empty)
}

fn warn(output: &mut Output<'_>, listed: &[Listed], counts: &sheet::Counts) {
    let hidden: Vec<String> =
        listed.iter().filter(|sheet| sheet.is_hidden).map(|sheet| format!("{:?}", sheet.name)).collect();
    if !hidden.is_empty() {
        let named = hidden[..hidden.len().min(HIDDEN_NAMED_MAX)].join(", ");
        let more = hidden.len().saturating_sub(HIDDEN_NAMED_MAX);
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        output.warn(format!("hidden sheets were read too: {named}{others}"));
    }
    output.warn_count(counts.errors, "1 cell holds an error", "{} cells hold errors");
    output.warn_count(counts.no_days, "1 cell holds a day that never was", "{} cells hold days that never were");
    if counts.formulas > 0 {
        output.coverage.lose(lost::FORMULA_VALUES);
        let many = "{} formulas were saved without their values";
        output.warn_count(counts.formulas, "1 formula was saved without its value", many);
    }
}
