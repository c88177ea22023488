//! What becomes of the text found: the blocks, tables and warnings of an artifact, counted as they come.

use crate::contract::{Artifact, Block, BlockKind, Coverage, LIST_LEVEL_MAX, Locator, Refusal, Table, lost};
use crate::readers::html::Page;
use crate::readers::{Bounds, no_text, parser};

use super::Grid;

/// An artifact in the making.
pub struct Output<'a> {
    bounds: &'a Bounds,
    /// Where what is added now stands in the source.
    pub locator: Option<Locator>,
    pub coverage: Coverage,
    blocks: Vec<Block>,
    tables: Vec<Table>,
    warnings: Vec<String>,
    text_bytes: usize,
    cells: usize,
}

impl<'a> Output<'a> {
    /// Nothing yet.
    pub fn new(bounds: &'a Bounds, coverage: Coverage) -> Self {
        Self {
            bounds,
            locator: None,
            coverage,
            blocks: Vec::new(),
            tables: Vec::new(),
            warnings: Vec::new(),
            text_bytes: 0,
            cells: 0,
        }
    }

    /// Whether nothing has been added.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// How many cells may still be added.
    pub fn cells_left(&self) -> usize {
        self.bounds.cells.saturating_sub(self.cells)
    }

    /// Adds a block of text; nothing where the text is blank. A heading becomes one line; levels are kept in their range.
    pub fn push(&mut self, kind: BlockKind, level: u8, text: &str) -> Result<(), Refusal> {
        let text = if kind == BlockKind::Code { text.trim_end() } else { text.trim() };
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        let is_one_line = kind != BlockKind::Heading || !text.contains(['\n', '\r', '\t', '\u{b}']);
        let text = if is_one_line { text.to_owned() } else { one_line(text) };
        let level = if kind == BlockKind::Heading {
            level.clamp(1, 6)
        } else if kind == BlockKind::ListItem {
            level.clamp(1, LIST_LEVEL_MAX)
        } else {
            0
        };
        self.blocks.push(Block { kind, text, level, locator: self.locator.clone(), ..Block::default() });
        Ok(())
    }

    /// Adds the table that a grid makes, cut where its cells are more than there may be.
    pub fn push_grid(&mut self, name: String, grid: Grid) -> Result<(), Refusal> {
        let (table, is_cut) = grid.into_table(name, self.cells_left());
        if is_cut {
            self.lose(
                lost::TABLES,
                format!("a table was cut: all tables together hold over {} cells", self.bounds.cells),
            );
        }
        let Some(table) = table else { return Ok(()) };
        self.push_table(table)
    }

    /// Adds a table.
    pub fn push_table(&mut self, table: Table) -> Result<(), Refusal> {
        let names: usize = table.columns.iter().map(|column| column.name.len()).sum();
        let cells = table.rows.iter().flat_map(|row| &row.1);
        self.count(names + cells.map(|cell| cell.shown().len()).sum::<usize>())?;
        self.cells += table.rows.len() * table.columns.len();
        let number = u32::try_from(self.tables.len()).ok();
        self.blocks.push(Block {
            kind: BlockKind::Table,
            locator: self.locator.clone(),
            table: number,
            ..Block::default()
        });
        self.tables.push(table);
        Ok(())
    }

    /// Adds what a page of HTML holds.
    pub fn push_page(&mut self, page: Page) -> Result<(), Refusal> {
        if page.is_cut {
            self.lose(lost::TABLES, "tables of an embedded page were cut".into());
        }
        let mut tables: Vec<Option<Table>> = page.tables.into_iter().map(Some).collect();
        for block in page.blocks {
            let table = block.table.and_then(|at| tables.get_mut(at as usize)).and_then(Option::take);
            match table {
                Some(table) => self.push_table(table)?,
                None => self.push(block.kind, block.level, &block.text)?,
            }
        }
        Ok(())
    }

    /// Adds a sentence for a person, once.
    pub fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Adds a sentence with a count where the count is not zero; `{}` stands for it.
    pub fn warn_count(&mut self, count: u64, one: &str, many: &str) {
        match count {
            0 => {}
            1 => self.warn(one.to_owned()),
            _ => self.warn(many.replace("{}", &count.to_string())),
        }
    }

    /// Notes a lost capability, and says why.
    pub fn lose(&mut self, capability: &str, warning: String) {
        self.coverage.lose(capability);
        self.warn(warning);
    }

    /// The artifact.
    ///
    /// # Errors
    /// [`crate::contract::RefusalCode::NoText`] where it would be empty.
    pub fn finish(self, name: &str) -> Result<Artifact, Refusal> {
        if self.blocks.is_empty() {
            return Err(no_text());
        }
        Ok(Artifact {
            parser: parser(name),
            blocks: self.blocks,
            tables: self.tables,
            coverage: self.coverage,
            warnings: self.warnings,
            ..Artifact::default()
        })
    }

    fn count(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
        self.bounds.check_text(self.text_bytes)
    }
}

/// All white space as single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
