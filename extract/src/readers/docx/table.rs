//! Tables of a document.

use crate::contract::Refusal;
use crate::readers::office::{Continued, Element, Grid, GridCell, Xml};

use super::body::{Item, Walk, flattened};

/// A table in the making.
#[derive(Default)]
struct Making {
    grid: Grid,
    /// The notes that its cells refer to.
    notes: Vec<Item>,
    /// The blocks of the first cell, kept while it is the only one.
    only: Option<Vec<Item>>,
    cells: usize,
    in_body: bool,
}

/// What a row says of itself.
#[derive(Default)]
struct RowProperties {
    before: usize,
    is_header: bool,
    is_deleted: bool,
}

/// What a cell says of itself.
#[derive(Default)]
pub struct CellProperties {
    columns: usize,
    continues: Option<Continued>,
    is_deleted: bool,
}

impl Walk<'_> {
    /// Reads a table, to its end. A table of one cell is a frame: its blocks stand for it.
    pub fn table(&mut self, xml: &mut Xml<'_>, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let mut making = Making::default();
        self.rows(xml, &mut making)?;
        if let Some(blocks) = making.only {
            items.push(Item::Frame(blocks));
        } else {
            items.push(Item::Table(making.grid));
            items.extend(making.notes);
        }
        Ok(())
    }

    fn rows(&mut self, xml: &mut Xml<'_>, making: &mut Making) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "tblPr" => {
                    while let Some(element) = xml.child(depth + 1)? {
                        if element.name() == "tblLook" {
                            making.grid.has_styled_first_row = has_first_row(&element);
                        }
                    }
                }
                "tr" => self.row(xml, making)?,
                "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" => self.rows(xml, making)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn row(&mut self, xml: &mut Xml<'_>, making: &mut Making) -> Result<(), Refusal> {
        let mut properties = RowProperties::default();
        let mut cells = Vec::new();
        self.cells(xml, making, &mut properties, &mut cells)?;
        if properties.is_deleted {
            self.changes.deleted += 1;
            return Ok(());
        }
        if properties.before > 0 {
            cells.insert(0, GridCell { columns: properties.before, ..GridCell::default() });
        }
        making.in_body |= !properties.is_header;
        making.grid.header_rows += usize::from(!making.in_body);
        making.grid.push(cells);
        Ok(())
    }

    fn cells(
        &mut self,
        xml: &mut Xml<'_>,
        making: &mut Making,
        properties: &mut RowProperties,
        cells: &mut Vec<GridCell>,
    ) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "trPr" => {
                    while let Some(element) = xml.child(depth + 1)? {
                        match element.name() {
                            "gridBefore" => properties.before = element.number("val").unwrap_or(0),
                            "tblHeader" => properties.is_header = element.is_on(),
                            "del" => properties.is_deleted = true,
                            "ins" => self.changes.inserted += 1,
                            _ => {}
                        }
                    }
                }
                "tc" if properties.is_deleted => {}
                "tc" => cells.push(self.cell(xml, making)?),
                "sdt" | "sdtContent" | "customXml" => self.cells(xml, making, properties, cells)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn cell(&mut self, xml: &mut Xml<'_>, making: &mut Making) -> Result<GridCell, Refusal> {
        let mut blocks = Vec::new();
        let outer = std::mem::take(&mut self.cell);
        self.items(xml, &mut blocks)?;
        let properties = std::mem::replace(&mut self.cell, outer);
        if properties.is_deleted {
            self.changes.deleted += 1;
            blocks.clear();
        }
        let text = flattened(&blocks, &mut making.notes);
        making.cells += 1;
        making.only = (making.cells == 1).then_some(blocks);
        Ok(GridCell { text, columns: properties.columns, continues: properties.continues })
    }

    /// Reads a cell's properties.
    pub fn cell_properties(&mut self, xml: &mut Xml<'_>) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            self.cell.take(&element);
        }
        Ok(())
    }
}

impl CellProperties {
    fn take(&mut self, element: &Element<'_>) {
        match element.name() {
            "gridSpan" => self.columns = element.number("val").unwrap_or(1),
            "vMerge" | "hMerge" if element.attribute("val").is_none_or(|value| value == "continue") => {
                let is_above = element.name() == "vMerge";
                self.continues = Some(if is_above { Continued::Above } else { Continued::Left });
            }
            "cellDel" => self.is_deleted = true,
            _ => {}
        }
    }
}

/// Whether a table's look sets its first row apart.
fn has_first_row(look: &Element<'_>) -> bool {
    let bits = look.attribute("val").and_then(|bits| u32::from_str_radix(&bits, 16).ok());
    match look.attribute("firstRow").as_deref() {
        Some(value) => matches!(value, "1" | "true" | "on"),
        None => bits.is_some_and(|bits| bits & 0x20 != 0),
    }
}
