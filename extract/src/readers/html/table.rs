//! Which tables hold data, and what they hold.

use std::collections::HashMap;

use super::super::cells::type_cells;
use super::grid::{Grid, Room, Source};
use super::inline::Inline;
use super::shown::Shown;
use super::tree::{Data, NodeId, Tree};
use crate::contract::Table;

/// A cell of more bytes, without any heading cell in its table, is a part of the page's layout.
const LAYOUT_CELL_BYTES: usize = 2000;

/// Elements after which a cell's text goes on in another line.
const LINES: &[&str] = &[
    "p",
    "div",
    "li",
    "ul",
    "ol",
    "dl",
    "dt",
    "dd",
    "tr",
    "table",
    "pre",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
];

/// Whether a table holds data, rather than the page's layout: it has more than one cell, and heading cells or a caption, or
/// else more than one row and column, no headings of the page and no whole articles.
pub fn is_data(tree: &Tree, shown: &Shown, table: NodeId) -> bool {
    if matches!(tree.attribute(table, "role"), Some("presentation" | "none")) {
        return false;
    }
    let (mut rows, mut cells, mut is_marked, mut is_framing) = (0_usize, 0_usize, false, false);
    walk(tree, table, |id, name| {
        match name {
            "tr" => rows += 1,
            "td" | "th" => {
                cells += 1;
                is_marked |= name == "th";
                is_framing |=
                    tree.inside(id).any(|id| matches!(tree.name(id), "h1" | "h2" | "h3" | "form" | "main" | "article"));
                return false;
            }
            "caption" | "thead" => is_marked = true,
            _ => {}
        }
        true
    });
    if cells < 2 || (is_framing && !is_marked) {
        return false;
    }
    if is_marked {
        return true;
    }
    let mut is_long = false;
    walk(tree, table, |id, name| {
        let is_cell = name == "td";
        is_long |= is_cell && cell_text(tree, shown, id).len() > LAYOUT_CELL_BYTES;
        !is_cell
    });
    rows > 1 && cells > rows && !is_long
}

/// The table, as far as there is room; `None` where all its cells are blank.
pub fn read(tree: &Tree, shown: &Shown, table: NodeId, room: &mut Room) -> Option<Table> {
    let mut name = String::new();
    let mut grid = Grid::new(room);
    walk(tree, table, |id, element| {
        match element {
            "caption" => name = cell_text(tree, shown, id).replace('\n', " "),
            "tr" => grid.start_row(tree.parent(id).is_some_and(|parent| tree.name(parent) == "thead")),
            "td" | "th" => {
                let span = |attribute| tree.attribute(id, attribute).and_then(|span| span.trim().parse::<usize>().ok());
                let text = if shown.is_left_out(tree, id) { String::new() } else { cell_text(tree, shown, id) };
                grid.cell(Source {
                    text,
                    is_header: element == "th",
                    columns: span("colspan").unwrap_or(1),
                    rows: span("rowspan").unwrap_or(1),
                });
            }
            _ => return true,
        }
        element == "tr"
    });
    let mut table = grid.finish()?;
    table.name = name.chars().take(1000).collect();
    type_cells(&mut table, false);
    Some(table)
}

/// Visits the elements of a table in order, those of tables inside it excepted, as long as `visit` goes in.
fn walk(tree: &Tree, table: NodeId, mut visit: impl FnMut(NodeId, &str) -> bool) {
    let mut at = Some(table);
    while let Some(id) = at {
        let name = tree.name(id);
        let goes_in = id == table || (name != "table" && visit(id, name));
        at = tree.after(id, table, goes_in, |_| {});
    }
}

/// The text inside a cell, lists and tables in it too, a line for each of its blocks.
fn cell_text(tree: &Tree, shown: &Shown, cell: NodeId) -> String {
    let mut inline = Inline::default();
    // The numbers of the last items of lists that have numbers.
    let mut numbers: HashMap<NodeId, usize> = HashMap::new();
    let mut at = Some(cell);
    while let Some(id) = at {
        let mut goes_in = true;
        match tree.data(id) {
            Data::Text(text) => inline.push(text),
            Data::Other => {}
            Data::Element(..) if id != cell && shown.is_left_out(tree, id) => goes_in = false,
            Data::Element(..) => match tree.name(id) {
                "br" => inline.line_if_any(),
                "td" | "th" => inline.space(),
                "rt" | "rp" => goes_in = false,
                "img" => {
                    inline.space();
                    inline.push(tree.attribute(id, "alt").unwrap_or_default());
                    inline.space();
                }
                name if LINES.contains(&name) => {
                    inline.line_if_any();
                    if name == "li" {
                        inline.push(&item_mark(tree, id, &mut numbers));
                    }
                }
                _ => {}
            },
        }
        at = tree.after(id, cell, goes_in, |left| {
            if left != cell && LINES.contains(&tree.name(left)) {
                inline.line_if_any();
            }
        });
    }
    inline.take()
}

/// What stands before a list's item in a cell.
fn item_mark(tree: &Tree, item: NodeId, numbers: &mut HashMap<NodeId, usize>) -> String {
    let Some(list) = tree.parent(item).filter(|list| tree.name(*list) == "ol") else { return "- ".to_owned() };
    let number = numbers.entry(list).or_default();
    *number += 1;
    format!("{number}. ")
}
