//! Puts nested values together from the levels of their leaves, as JSON.

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::Type;
use serde_json::{Map, Number, Value as Json};

use super::columns::Leaf;
use super::corrupt;
use crate::contract::{Cell, Refusal, Value};

/// The cells of `rows` rows of a nested column.
pub fn cells(schema: &Type, leaves: &mut [Leaf], rows: usize) -> Result<Vec<Cell>, Refusal> {
    let mut cursors: Vec<Cursor<'_>> = leaves.iter_mut().map(|leaf| Cursor { leaf, at: 0 }).collect();
    let mut out = Vec::with_capacity(rows);
    for _ in 0..rows {
        // Each leaf must be at the start of a row.
        if cursors.iter().any(|cursor| cursor.repetition() != Some(0)) {
            return Err(broken());
        }
        let json = field(schema, 0, 0, &mut cursors)?;
        out.push(match json {
            Json::Null => Cell::Empty,
            Json::String(text) => Cell::Text(text),
            json @ (Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => Cell::Text(json.to_string()),
        });
    }
    if cursors.iter().any(|cursor| !cursor.leaf.repetitions.is_empty() && cursor.repetition().is_some()) {
        return Err(broken());
    }
    Ok(out)
}

fn broken() -> Refusal {
    corrupt("the file is damaged: the levels of its nested columns do not fit together")
}

struct Cursor<'a> {
    leaf: &'a mut Leaf,
    at: usize,
}

impl Cursor<'_> {
    /// The level at which the value at hand is present; that of all where nothing can be missing.
    fn definition(&self) -> Result<i16, Refusal> {
        match (self.leaf.definitions.get(self.at), self.leaf.definitions.is_empty()) {
            (Some(level), _) => Ok(*level),
            (None, true) => Ok(0),
            (None, false) => Err(broken()),
        }
    }

    /// The level of the list that the value at hand goes on with; `None` behind the last one.
    fn repetition(&self) -> Option<i16> {
        if self.leaf.repetitions.is_empty() { Some(0) } else { self.leaf.repetitions.get(self.at).copied() }
    }
}

/// The value of a field. `definition` and `repetition` are the levels of what it stands in.
fn field(schema: &Type, definition: i16, repetition: i16, leaves: &mut [Cursor<'_>]) -> Result<Json, Refusal> {
    let first = leaves.first().ok_or_else(broken)?;
    match schema.get_basic_info().repetition() {
        Repetition::REQUIRED => inner(schema, definition, repetition, leaves),
        Repetition::OPTIONAL => {
            if first.definition()? > definition {
                return inner(schema, definition + 1, repetition, leaves);
            }
            skip(leaves);
            Ok(Json::Null)
        }
        Repetition::REPEATED => {
            let mut items = Vec::new();
            if first.definition()? <= definition {
                skip(leaves);
                return Ok(Json::Array(items));
            }
            loop {
                items.push(inner(schema, definition + 1, repetition + 1, leaves)?);
                if leaves[0].leaf.repetitions.is_empty() || leaves[0].repetition() != Some(repetition + 1) {
                    return Ok(Json::Array(items));
                }
            }
        }
    }
}

/// What is missing or empty has one entry in every leaf.
fn skip(leaves: &mut [Cursor<'_>]) {
    for leaf in leaves {
        leaf.at += 1;
    }
}

fn inner(schema: &Type, definition: i16, repetition: i16, leaves: &mut [Cursor<'_>]) -> Result<Json, Refusal> {
    if schema.is_primitive() {
        let leaf = leaves.first_mut().ok_or_else(broken)?;
        leaf.at += 1;
        return leaf.leaf.values.next().map(json).ok_or_else(broken);
    }
    let mut values: Vec<(&str, Json)> = Vec::new();
    let mut rest = leaves;
    for child in schema.get_fields() {
        let (own, others) = rest.split_at_mut_checked(leaf_count(child)).ok_or_else(broken)?;
        values.push((child.name(), field(child, definition, repetition, own)?));
        rest = others;
    }
    Ok(shaped(schema, values))
}

fn leaf_count(schema: &Type) -> usize {
    if schema.is_primitive() { 1 } else { schema.get_fields().iter().map(|field| leaf_count(field)).sum() }
}

/// A group as what it stands for: a list, a map, or an object.
fn shaped(schema: &Type, mut values: Vec<(&str, Json)>) -> Json {
    let info = schema.get_basic_info();
    let is = |logical: &LogicalType, converted: &[ConvertedType]| {
        info.logical_type_ref() == Some(logical) || converted.contains(&info.converted_type())
    };
    let list = is(&LogicalType::List, &[ConvertedType::LIST]);
    let map = is(&LogicalType::Map, &[ConvertedType::MAP, ConvertedType::MAP_KEY_VALUE]);
    if (list || map)
        && let [(_, Json::Array(items))] = values.as_mut_slice()
    {
        let items = std::mem::take(items);
        return if map { map_of(items) } else { list_of(schema, items) };
    }
    Json::Object(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A list has its elements in a group of one field, except in some old files.
fn list_of(schema: &Type, items: Vec<Json>) -> Json {
    let wrapped = schema.get_fields().first().is_some_and(|middle| {
        middle.is_group()
            && middle.get_fields().len() == 1
            && middle.name() != "array"
            && !middle.name().ends_with("_tuple")
    });
    let unwrap = |item: Json| {
        if let (Json::Object(fields), true) = (&item, wrapped) {
            return fields.values().next().cloned().unwrap_or(Json::Null);
        }
        item
    };
    Json::Array(items.into_iter().map(unwrap).collect())
}

/// A map as an object, where its keys are all different.
fn map_of(items: Vec<Json>) -> Json {
    let mut map = Map::new();
    for item in &items {
        let Json::Object(entry) = item else { return Json::Array(items) };
        let mut fields = entry.values();
        let key = match fields.next() {
            Some(Json::String(key)) => key.clone(),
            Some(key) => key.to_string(),
            None => return Json::Array(items),
        };
        if map.insert(key, fields.next().cloned().unwrap_or(Json::Null)).is_some() {
            return Json::Array(items);
        }
    }
    Json::Object(map)
}

/// A cell in JSON. Numbers that a reader of JSON might round are text.
fn json(cell: Cell) -> Json {
    match cell {
        Cell::Empty => Json::Null,
        Cell::Text(text) => Json::String(text),
        Cell::Typed { value: Value::Bool(value), .. } => Json::Bool(value),
        Cell::Typed { value: Value::Number(digits), .. } => exact(&digits).unwrap_or(Json::String(digits)),
        Cell::Typed { value, .. } => Json::String(value.written().to_owned()),
    }
}

/// A number that is the same after it was written and read as JSON by a program that knows only doubles.
fn exact(digits: &str) -> Option<Json> {
    const SAFE: i64 = 1 << 53;
    if let Ok(whole) = digits.parse::<i64>() {
        return (-SAFE..=SAFE).contains(&whole).then(|| Json::from(whole));
    }
    let number = digits.parse::<f64>().ok()?;
    let json = Number::from_f64(number)?;
    (json.to_string() == digits).then_some(Json::Number(json))
}
