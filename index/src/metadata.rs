//! Filtering by what a document's metadata says.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Conditions on a document's metadata; all of them must hold.
#[derive(Clone, Debug, Default)]
pub struct MetadataFilter(pub Vec<(String, Condition)>);

/// What the value under a key must be. A list meets a condition when one of its items does.
#[derive(Clone, Debug)]
pub enum Condition {
    /// One of these.
    OneOf(Vec<Value>),
    /// Between these, both included: numbers by size, strings by their characters. What is of another type is not.
    Between {
        /// The least.
        gte: Option<Value>,
        /// The greatest.
        lte: Option<Value>,
    },
}

impl MetadataFilter {
    /// Whether it lets everything pass.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether metadata, as JSON, meets every condition; text that is no JSON object meets none.
    pub fn passes(&self, metadata: &str) -> bool {
        let metadata: Map<String, Value> = match serde_json::from_str(metadata) {
            Ok(metadata) => metadata,
            Err(_) => return self.is_empty(),
        };
        self.0.iter().all(|(key, condition)| metadata.get(key).is_some_and(|value| condition.is_met(value)))
    }
}

impl Condition {
    fn is_met(&self, value: &Value) -> bool {
        if let Value::Array(items) = value {
            return items.iter().any(|item| self.is_met(item));
        }
        match self {
            Self::OneOf(values) => values.iter().any(|wanted| equal(wanted, value)),
            Self::Between { gte, lte } => {
                let holds = |bound: &Option<Value>, allowed: Ordering| {
                    bound.as_ref().is_none_or(|bound| {
                        compare(value, bound).is_some_and(|order| order == allowed || order == Ordering::Equal)
                    })
                };
                holds(gte, Ordering::Greater) && holds(lte, Ordering::Less)
            }
        }
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    left == right
        || matches!((left, right), (Value::Number(_), Value::Number(_)))
            && compare(left, right) == Some(Ordering::Equal)
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
                return Some(left.cmp(&right));
            }
            left.as_f64()?.partial_cmp(&right.as_f64()?)
        }
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(key: &str, condition: Condition) -> bool {
        let metadata = json!({ "team": "storage", "year": 2026, "on": "2026-03-04", "tags": ["a", 7], "open": true });
        MetadataFilter(vec![(key.into(), condition)]).passes(&metadata.to_string())
    }

    #[test]
    fn values_are_compared_by_their_type() {
        let one_of = |values: &[Value]| Condition::OneOf(values.to_vec());
        assert!(passes("team", one_of(&[json!("search"), json!("storage")])));
        assert!(passes("year", one_of(&[json!(2026.0)])));
        assert!(passes("tags", one_of(&[json!(7)])));
        assert!(passes("open", one_of(&[json!(true)])));
        assert!(!passes("year", one_of(&[json!("2026")])));
        assert!(!passes("team", one_of(&[json!("Storage")])));
        assert!(!passes("owner", one_of(&[Value::Null])));
        let between = |gte: Value, lte: Value| Condition::Between { gte: Some(gte), lte: Some(lte) };
        assert!(passes("year", between(json!(2026), json!(2026))));
        assert!(passes("on", between(json!("2026-03-01"), json!("2026-03-31"))));
        assert!(!passes("year", between(json!(2027), json!(2030))));
        assert!(!passes("on", between(json!(1), json!(3))));
        assert!(passes("year", Condition::Between { gte: None, lte: Some(json!(2026.5)) }));
    }

    #[test]
    fn what_is_no_object_passes_nothing() {
        assert!(MetadataFilter::default().passes("x"));
        assert!(!MetadataFilter(vec![("a".into(), Condition::OneOf(Vec::new()))]).passes("[1]"));
    }
}
