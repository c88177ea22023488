//! The schemas of a document: definitions lifted out of the schemas they came in, each kept once.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

const TARGET: &str = "#/components/schemas/";
const SOURCES: [&str; 3] = ["#/$defs/", "#/definitions/", TARGET];

/// Collects schemas under names that are unique in the document.
#[derive(Default)]
pub struct Components {
    schemas: Map<String, Value>,
    /// The name given to a definition, by the definition and all that it refers to.
    known: HashMap<String, String>,
}

impl Components {
    /// Adds a root schema and its definitions, and returns a reference to it. `name` is used once.
    ///
    /// Definitions that mean the same are kept once; those that share no more than a name are numbered.
    pub fn add(&mut self, name: &str, mut root: Value) -> Value {
        let mut definitions = Map::new();
        if let Some(fields) = root.as_object_mut() {
            fields.shift_remove("$schema");
            fields.shift_remove("title");
            for place in ["$defs", "definitions"] {
                if let Some(Value::Object(found)) = fields.shift_remove(place) {
                    definitions.extend(found);
                }
            }
        }
        let root_name = self.free_name(name);
        self.schemas.insert(root_name.clone(), Value::Null);
        let mut names = HashMap::new();
        let mut fresh = Vec::new();
        for local in definitions.keys() {
            let meaning = meaning(local, &definitions);
            let name = if let Some(name) = self.known.get(&meaning) {
                name.clone()
            } else {
                let name = self.free_name(local);
                self.schemas.insert(name.clone(), Value::Null);
                self.known.insert(meaning, name.clone());
                fresh.push(local.clone());
                name
            };
            names.insert(local.clone(), name);
        }
        for local in fresh {
            if let (Some(mut schema), Some(name)) = (definitions.get(&local).cloned(), names.get(&local)) {
                point(&mut schema, &names, &root_name);
                self.schemas.insert(name.clone(), schema);
            }
        }
        point(&mut root, &names, &root_name);
        self.schemas.insert(root_name.clone(), root);
        json!({ "$ref": format!("{TARGET}{root_name}") })
    }

    /// All schemas by name.
    pub fn into_schemas(self) -> Map<String, Value> {
        self.schemas
    }

    fn free_name(&self, wanted: &str) -> String {
        let base: String = wanted
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' })
            .collect();
        let numbered = (2..).map(|number| format!("{base}{number}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        // The names are endless and the schemas are not.
        names.find(|name| !self.schemas.contains_key(name)).unwrap_or(base)
    }
}

/// A definition with everything that it leads to, as text that is equal exactly when they are.
fn meaning(local: &str, definitions: &Map<String, Value>) -> String {
    let mut reached = BTreeMap::new();
    let mut open = vec![local.to_owned()];
    while let Some(name) = open.pop() {
        let Some(schema) = definitions.get(&name) else { continue };
        if reached.insert(name, schema.to_string()).is_none() {
            visit(&mut schema.clone(), &mut |target| open.extend(local_name(target)));
        }
    }
    format!("{local} {reached:?}")
}

fn point(schema: &mut Value, names: &HashMap<String, String>, root_name: &str) {
    visit(schema, &mut |target| {
        let name = if target == "#" {
            Some(root_name)
        } else {
            local_name(target).and_then(|local| names.get(&local)).map(String::as_str)
        };
        if let Some(name) = name {
            *target = format!("{TARGET}{name}");
        }
    });
}

fn visit(node: &mut Value, reference: &mut impl FnMut(&mut String)) {
    match node {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Value::String(target) = value
                    && name == "$ref"
                {
                    reference(target);
                } else {
                    visit(value, reference);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, reference)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn local_name(target: &str) -> Option<String> {
    let name = SOURCES.iter().find_map(|prefix| target.strip_prefix(prefix))?;
    Some(name.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_mean_the_same_are_kept_once() {
        let root = |leaf: &str| {
            json!({
                "$schema": "x", "title": "Output", "type": "object",
                "properties": { "entry": { "$ref": "#/$defs/Entry" }, "again": { "$ref": "#" } },
                "$defs": {
                    "Entry": { "properties": { "leaf": { "$ref": "#/$defs/Leaf" } } },
                    "Leaf": { "type": leaf },
                },
            })
        };
        let mut components = Components::default();
        assert_eq!(components.add("A", root("string")), json!({ "$ref": "#/components/schemas/A" }));
        components.add("B", root("string"));
        components.add("C", root("integer"));
        let schemas = components.into_schemas();
        let names: Vec<&str> = schemas.keys().map(String::as_str).collect();
        assert_eq!(names, ["A", "Entry", "Leaf", "B", "C", "Entry2", "Leaf2"]);
        assert_eq!(schemas["B"]["properties"]["entry"]["$ref"], "#/components/schemas/Entry");
        assert_eq!(schemas["C"]["properties"]["entry"]["$ref"], "#/components/schemas/Entry2");
        assert_eq!(schemas["C"]["properties"]["again"]["$ref"], "#/components/schemas/C");
        assert_eq!(schemas["Entry2"]["properties"]["leaf"]["$ref"], "#/components/schemas/Leaf2");
        assert_eq!(schemas["Leaf2"]["type"], "integer");
        assert_eq!(schemas["A"].get("$defs"), None);
        assert_eq!(schemas["A"].get("title"), None);
    }

    #[test]
    fn definitions_may_refer_to_each_other_and_to_themselves() {
        let root = json!({
            "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } },
            "$defs": {
                "A": { "items": { "$ref": "#/$defs/B" } },
                "B": { "anyOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/B" }] },
            },
        });
        let mut components = Components::default();
        components.add("X", root.clone());
        components.add("Y", root);
        let schemas = components.into_schemas();
        assert_eq!(schemas.len(), 4);
        assert_eq!(schemas["B"]["anyOf"][1]["$ref"], "#/components/schemas/B");
    }
}
