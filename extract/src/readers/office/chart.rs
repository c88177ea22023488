//! Charts and diagrams: parts of their own that a slide or a document shows.

use std::collections::BTreeMap;

use crate::contract::Refusal;

use super::drawing::text_body;
use super::grid::{Grid, GridCell};
use super::package::Package;
use super::xml::{Node, Xml};

/// The most points of one series that are read.
const POINTS_MAX: usize = 100_000;
/// The most series of one chart that are read.
const SERIES_MAX: usize = 500;

/// What one series draws.
#[derive(Default)]
struct Series {
    name: String,
    categories: BTreeMap<u32, String>,
    values: BTreeMap<u32, String>,
}

/// A chart's title, possibly empty, and its values as a table; `None` where there is no such part.
pub fn chart(package: &Package<'_>, part: &str) -> Result<Option<(String, Grid)>, Refusal> {
    let Some(text) = package.text(part)? else { return Ok(None) };
    let mut xml = Xml::new(&text, "a chart", package.bounds);
    let mut title = String::new();
    let mut series = Vec::new();
    // Axes have titles too: the chart's own comes before what is plotted.
    let mut is_plotted = false;
    loop {
        match xml.next()? {
            Node::Start(element) => match element.name() {
                "title" if !is_plotted => title = words(&mut xml)?,
                "plotArea" => is_plotted = true,
                "ser" if series.len() < SERIES_MAX => series.push(Series::read(&mut xml)?),
                _ => {}
            },
            Node::Eof => break,
            Node::End | Node::Text(_) => {}
        }
    }
    Ok(Some((title, grid(&series))))
}

/// The texts of a diagram's shapes in order.
pub fn diagram(package: &Package<'_>, part: &str) -> Result<Vec<String>, Refusal> {
    let Some(text) = package.text(part)? else { return Ok(Vec::new()) };
    let mut xml = Xml::new(&text, "a diagram", package.bounds);
    let mut texts = Vec::new();
    let mut is_shown = false;
    loop {
        match xml.next()? {
            Node::Start(element) => match element.name() {
                "pt" => {
                    is_shown = element.attribute("type").is_none_or(|kind| matches!(kind.as_ref(), "node" | "asst"));
                }
                "t" if is_shown => {
                    let lines = text_body(&mut xml)?;
                    let text = lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n");
                    if !text.trim().is_empty() {
                        texts.push(text);
                    }
                }
                _ => {}
            },
            Node::Eof => return Ok(texts),
            Node::End | Node::Text(_) => {}
        }
    }
}

impl Series {
    fn read(xml: &mut Xml<'_>) -> Result<Self, Refusal> {
        let mut series = Self::default();
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "tx" => series.name = words(xml)?,
                "cat" | "xVal" => series.categories = points(xml)?,
                "val" | "yVal" => series.values = points(xml)?,
                _ => {}
            }
        }
        Ok(series)
    }
}

/// The words in a title or a name: paragraphs, or values that are kept of cells.
fn words(xml: &mut Xml<'_>) -> Result<String, Refusal> {
    let depth = xml.depth();
    let mut words: Vec<String> = Vec::new();
    loop {
        match xml.next()? {
            Node::Start(element) => match element.name() {
                "rich" => words.extend(text_body(xml)?.into_iter().map(|line| line.text)),
                "v" => words.push(xml.text()?),
                _ => {}
            },
            Node::End if xml.depth() < depth => break,
            Node::Eof => break,
            Node::End | Node::Text(_) => {}
        }
    }
    Ok(words.join(" ").trim().to_owned())
}

/// The points of a series by their numbers. Of categories on several levels the innermost are kept.
fn points(xml: &mut Xml<'_>) -> Result<BTreeMap<u32, String>, Refusal> {
    let depth = xml.depth();
    let mut points = BTreeMap::new();
    loop {
        match xml.next()? {
            Node::Start(element) if element.name() == "pt" => {
                let number = element.number("idx").unwrap_or(0);
                let text = xml.text()?;
                if points.len() < POINTS_MAX {
                    points.entry(number).or_insert_with(|| text.trim().to_owned());
                }
            }
            Node::End if xml.depth() < depth => return Ok(points),
            Node::Eof => return Ok(points),
            Node::Start(_) | Node::End | Node::Text(_) => {}
        }
    }
}

/// A row for each category, a column for each series.
fn grid(series: &[Series]) -> Grid {
    let mut grid = Grid::default();
    let cell = |text: &str| GridCell { text: text.to_owned(), ..GridCell::default() };
    let mut numbers: Vec<u32> = series.iter().flat_map(|series| series.values.keys().copied()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.is_empty() {
        return grid;
    }
    let mut names = vec![cell("")];
    names.extend(series.iter().map(|series| cell(&series.name)));
    grid.push(names);
    grid.header_rows = 1;
    for number in numbers {
        let category = series.iter().find_map(|series| series.categories.get(&number));
        let mut row = vec![cell(category.map_or("", String::as_str))];
        row.extend(series.iter().map(|series| cell(series.values.get(&number).map_or("", String::as_str))));
        grid.push(row);
    }
    grid
}
