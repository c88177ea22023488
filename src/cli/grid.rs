//! Rows under headings, in columns as wide as they need to be.

use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::failure::Failure;
use super::screen::{Screen, harmless};

/// The widest that a column is printed.
const WIDTH_MAX: usize = 40;

/// Rows under headings.
pub struct Grid {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    pub fn new(headings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { headings: headings.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| short(&cell)).collect());
    }

    pub fn print(&self, screen: &mut Screen) -> Result<(), Failure> {
        let headings: Vec<String> = self.headings.iter().map(|heading| short(heading)).collect();
        let widths: Vec<usize> = (0..headings.len())
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at)).chain(&headings[at..=at]);
                cells.map(|cell| cell.width()).max().unwrap_or(0)
            })
            .collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).map(|(cell, width)| {
                let blank = " ".repeat(width.saturating_sub(cell.width()));
                if is_number(cell) { format!("{blank}{cell}") } else { format!("{cell}{blank}") }
            });
            format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
        };
        screen.line(screen.faint(&line(&headings)))?;
        self.rows.iter().try_for_each(|row| screen.line(line(row)))
    }
}

fn is_number(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit() || c == '-') && cell.parse::<f64>().is_ok()
}

/// On one line, and no wider than a column may be.
fn short(cell: &str) -> String {
    let line = harmless(cell).replace(['\n', '\r', '\t'], " ");
    if line.width() <= WIDTH_MAX {
        return line;
    }
    let mut cut = String::new();
    for c in line.chars() {
        if cut.width() + 2 > WIDTH_MAX {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// A value as it is printed: nothing where there is none.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
