//! The columns of a file, read some rows at a time.

use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};

use super::kinds::{Kind, Raw};
use super::{corrupt, damaged, nested};
use crate::contract::{Cell, Refusal};

/// A column of the table: one of values, or a nested one over several.
pub struct Root<'s> {
    schema: &'s Type,
    leaves: Vec<Leaf>,
    left_out: bool,
}

/// A column of values, with the levels that say which are missing and which begin a new list.
pub struct Leaf {
    index: usize,
    kind: Kind,
    definition_max: i16,
    repetition_max: i16,
    reader: Option<ColumnReader>,
    saw_binary: bool,
    /// The values and levels of the rows at hand.
    pub values: std::vec::IntoIter<Cell>,
    pub definitions: Vec<i16>,
    pub repetitions: Vec<i16>,
}

/// The columns of the table.
///
/// # Errors
/// `corrupt` when they nest deeper than `depth`.
pub fn roots(schema: &SchemaDescriptor, depth: usize) -> std::result::Result<Vec<Root<'_>>, Refusal> {
    let fields = schema.root_schema().get_fields();
    if fields.iter().any(|field| is_deeper(field, depth)) {
        return Err(corrupt("the file is damaged: its columns nest too deeply"));
    }
    let mut roots: Vec<Root<'_>> =
        fields.iter().map(|field| Root { schema: field, leaves: Vec::new(), left_out: false }).collect();
    for index in 0..schema.num_columns() {
        if let Some(root) = roots.get_mut(schema.get_column_root_idx(index)) {
            root.leaves.push(Leaf::new(index, &schema.column(index)));
        }
    }
    roots.retain(|root| !root.leaves.is_empty());
    Ok(roots)
}

fn is_deeper(field: &Type, depth: usize) -> bool {
    depth == 0 || (field.is_group() && field.get_fields().iter().any(|field| is_deeper(field, depth - 1)))
}

impl Root<'_> {
    pub fn name(&self) -> &str {
        self.schema.name()
    }

    /// The numbers of its leaves among those of the file.
    pub fn leaves(&self) -> impl Iterator<Item = usize> {
        self.leaves.iter().map(|leaf| leaf.index)
    }

    /// Reads no more of it.
    pub fn leave_out(&mut self) {
        self.left_out = true;
    }

    pub fn is_left_out(&self) -> bool {
        self.left_out
    }

    /// Whether it has values that are bytes.
    pub fn has_binary(&self) -> bool {
        !self.left_out && self.leaves.iter().any(|leaf| leaf.saw_binary)
    }

    /// Goes on with the next row group.
    pub fn open(&mut self, group: &dyn RowGroupReader) -> Result<()> {
        for leaf in self.leaves.iter_mut().filter(|_| !self.left_out) {
            leaf.reader = Some(group.get_column_reader(leaf.index)?);
        }
        Ok(())
    }

    /// The cells of the next `rows` rows.
    pub fn cells(&mut self, rows: usize) -> std::result::Result<Vec<Cell>, Refusal> {
        if self.left_out {
            return Ok(vec![Cell::Empty; rows]);
        }
        for leaf in &mut self.leaves {
            leaf.read(rows).map_err(|error| damaged(&error))?;
        }
        let flat = self.schema.is_primitive() && self.leaves[0].repetition_max == 0;
        if flat { Ok(self.leaves[0].flat(rows)) } else { nested::cells(self.schema, &mut self.leaves, rows) }
    }
}

impl Leaf {
    fn new(index: usize, column: &ColumnDescriptor) -> Self {
        Self {
            index,
            kind: Kind::of(column),
            definition_max: column.max_def_level(),
            repetition_max: column.max_rep_level(),
            reader: None,
            saw_binary: false,
            values: Vec::new().into_iter(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }

    fn flat(&mut self, rows: usize) -> Vec<Cell> {
        if self.definition_max == 0 {
            return self.values.by_ref().collect();
        }
        let is_there = |at: usize| self.definitions.get(at) == Some(&self.definition_max);
        (0..rows).map(|at| if is_there(at) { self.values.next().unwrap_or_default() } else { Cell::Empty }).collect()
    }

    fn read(&mut self, rows: usize) -> Result<()> {
        self.definitions.clear();
        self.repetitions.clear();
        let reader = self.reader.take().ok_or_else(|| ParquetError::General("the column is not open".into()))?;
        let kind = self.kind;
        let read = match kind.physical {
            Physical::BOOLEAN => self
                .values::<BoolType>(reader, ColumnReader::BoolColumnReader, rows, |value| kind.cell(Raw::Bool(*value))),
            Physical::INT32 => self.values::<Int32Type>(reader, ColumnReader::Int32ColumnReader, rows, |value| {
                kind.cell(Raw::Int(i64::from(*value)))
            }),
            Physical::INT64 => self.values::<Int64Type>(reader, ColumnReader::Int64ColumnReader, rows, |value| {
                kind.cell(Raw::Int(*value))
            }),
            Physical::INT96 => self.values::<Int96Type>(reader, ColumnReader::Int96ColumnReader, rows, |value| {
                kind.cell(Raw::Int96(value.data()))
            }),
            Physical::FLOAT => self.values::<FloatType>(reader, ColumnReader::FloatColumnReader, rows, |value| {
                kind.cell(Raw::Float(*value))
            }),
            Physical::DOUBLE => self.values::<DoubleType>(reader, ColumnReader::DoubleColumnReader, rows, |value| {
                kind.cell(Raw::Double(*value))
            }),
            Physical::BYTE_ARRAY => {
                self.values::<ByteArrayType>(reader, ColumnReader::ByteArrayColumnReader, rows, |value| {
                    kind.cell(Raw::Bytes(value.data()))
                })
            }
            Physical::FIXED_LEN_BYTE_ARRAY => self.values::<FixedLenByteArrayType>(
                reader,
                ColumnReader::FixedLenByteArrayColumnReader,
                rows,
                |value| kind.cell(Raw::Bytes(value.data())),
            ),
        };
        let cells = read?;
        self.saw_binary |= cells.iter().any(Option::is_none);
        self.values = cells.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().into_iter();
        Ok(())
    }

    /// Reads values and levels of `rows` rows. `None` stands for bytes that no cell can hold.
    fn values<T: DataType>(
        &mut self,
        reader: ColumnReader,
        back: fn(ColumnReaderImpl<T>) -> ColumnReader,
        rows: usize,
        cell: impl Fn(&T::T) -> Option<Cell>,
    ) -> Result<Vec<Option<Cell>>> {
        let mut typed = get_typed_column_reader::<T>(reader);
        let mut values: Vec<T::T> = Vec::new();
        let mut read = 0;
        while read < rows {
            let (records, ..) = typed.read_records(
                rows - read,
                (self.definition_max > 0).then_some(&mut self.definitions),
                (self.repetition_max > 0).then_some(&mut self.repetitions),
                &mut values,
            )?;
            if records == 0 {
                return Err(ParquetError::EOF("a column has fewer rows than the file".into()));
            }
            read += records;
        }
        let there = self.definitions.iter().filter(|level| **level == self.definition_max).count();
        let expected = if self.definition_max > 0 {
            there
        } else if self.repetition_max > 0 {
            self.repetitions.len()
        } else {
            rows
        };
        if values.len() != expected {
            return Err(ParquetError::General("a column has other values than its levels say".into()));
        }
        self.reader = Some(back(typed));
        Ok(values.iter().map(cell).collect())
    }
}
