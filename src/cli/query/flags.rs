//! The parts of a plan as they are written in flags.

use serde_json::{Value, json};

use crate::cli::failure::Failure;

/// The operators of conditions: where several start at a place, the longest counts.
const OPERATORS: [(&str, &str); 9] = [
    ("!=", "ne"),
    ("<>", "ne"),
    (">=", "ge"),
    ("<=", "le"),
    ("^=", "starts_with"),
    ("=", "eq"),
    ("<", "lt"),
    (">", "gt"),
    ("~", "contains"),
];

/// The datasets of a plan, by which its other parts are read.
#[derive(Default)]
pub struct Parts {
    datasets: Vec<Dataset>,
}

struct Dataset {
    alias: String,
    source_uri: String,
    /// Its id; empty where its source has one.
    id: String,
    /// The names of its columns of true and false.
    truths: Vec<String>,
}

/// `[ALIAS=]SOURCE[#DATASET]`
pub fn source(given: &str) -> (&str, &str, &str) {
    let is_alias =
        |alias: &str| !alias.is_empty() && alias.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let (alias, rest) = given.split_once('=').filter(|(alias, _)| is_alias(alias)).unwrap_or(("", given));
    let (source, dataset) = rest.rsplit_once('#').unwrap_or((rest, ""));
    (alias, source, dataset)
}

/// `COLUMN[:desc]`
pub fn order(given: &str) -> Value {
    let (column, descending) = match given.strip_suffix(":desc") {
        Some(column) => (column, true),
        None => (given.strip_suffix(":asc").unwrap_or(given), false),
    };
    json!({ "column": column, "descending": descending })
}

impl Parts {
    /// Adds a dataset; `found` is what its source has.
    pub fn add_dataset(&mut self, alias: &str, source_uri: &str, dataset_id: &str, found: &[Value]) {
        let columns = found.iter().flat_map(|dataset| dataset["columns"].as_array().into_iter().flatten());
        let truths = columns.filter(|column| column["type"] == "bool").filter_map(|column| column["name"].as_str());
        let truths = truths.map(str::to_owned).collect();
        self.datasets.push(Dataset {
            alias: alias.to_owned(),
            source_uri: source_uri.to_owned(),
            id: dataset_id.to_owned(),
            truths,
        });
    }

    pub fn datasets(&self) -> Vec<Value> {
        let datasets = self.datasets.iter().map(
            |dataset| json!({ "source_uri": dataset.source_uri, "dataset_id": dataset.id, "alias": dataset.alias }),
        );
        datasets.collect()
    }

    /// The alias and the name of a column.
    fn named<'a>(&'a self, given: &'a str) -> (&'a Dataset, &'a str) {
        let prefixed = given
            .split_once('.')
            .and_then(|(alias, column)| Some((self.datasets.iter().find(|dataset| dataset.alias == alias)?, column)));
        prefixed.unwrap_or((&self.datasets[0], given))
    }

    pub fn column(&self, given: &str) -> Value {
        let (dataset, column) = self.named(given);
        json!({ "dataset": dataset.alias, "column": column })
    }

    pub fn group(&self, given: &str) -> Value {
        let period = given.rsplit_once(':').filter(|(_, by)| matches!(*by, "day" | "month" | "year"));
        let mut group = self.column(period.map_or(given, |(column, _)| column));
        if let Some((_, by)) = period {
            group["by"] = by.into();
        }
        group
    }

    pub fn aggregate(&self, function: &str, given: &str) -> Value {
        if given.is_empty() {
            return json!({ "fn": function });
        }
        let mut aggregate = self.column(given);
        aggregate["fn"] = function.into();
        aggregate
    }

    pub fn condition(&self, given: &str) -> Result<Value, Failure> {
        let wrong = || {
            let message = "such as 'year=2025', 'amount>=10', 'region in North,South' or 'closed is null'";
            Failure::Usage(format!("--where takes a condition, {message}; it was {given:?}"))
        };
        for (words, op) in [(" is not null", "not_null"), (" is null", "is_null")] {
            if let Some(column) = given.strip_suffix(words) {
                let mut condition = self.column(column.trim());
                condition["op"] = op.into();
                return Ok(condition);
            }
        }
        let sign = given.char_indices().find_map(|(at, _)| {
            let (sign, op) = OPERATORS.iter().find(|(sign, _)| given[at..].starts_with(sign))?;
            Some((at, *sign, *op))
        });
        let words = [(" not in ", "not_in"), (" in ", "in")].into_iter().find_map(|(word, op)| {
            let at = given.find(word).filter(|at| sign.is_none_or(|(sign_at, ..)| *at < sign_at))?;
            Some((at, word, op))
        });
        let (at, sign, op) = words.or(sign).ok_or_else(wrong)?;
        let (name, value) = (given[..at].trim(), given[at + sign.len()..].trim());
        if name.is_empty() {
            return Err(wrong());
        }
        let (dataset, column) = self.named(name);
        let value_of = |text: &str| match (dataset.truths.iter().any(|truth| truth == column), text) {
            (true, "true") => true.into(),
            (true, "false") => false.into(),
            _ => Value::from(unquoted(text)),
        };
        let mut condition = self.column(name);
        condition["op"] = op.into();
        if matches!(op, "in" | "not_in") {
            condition["values"] = value.split(',').map(|value| value_of(value.trim())).collect();
        } else {
            condition["value"] = value_of(value);
        }
        Ok(condition)
    }

    pub fn join(&self, given: &str) -> Result<Value, Failure> {
        let wrong = || Failure::Usage(format!("--join takes NEW.COLUMN=EARLIER.COLUMN; it was {given:?}"));
        let mut on = Vec::new();
        let mut joined = None;
        for pair in given.split(',') {
            let (new, earlier) = pair.split_once('=').ok_or_else(wrong)?;
            let (new, column) = self.named(new.trim());
            let (earlier, with_column) = self.named(earlier.trim());
            joined = Some(new.alias.clone());
            on.push(json!({ "column": column, "with_dataset": earlier.alias, "with_column": with_column }));
        }
        Ok(json!({ "dataset": joined.ok_or_else(wrong)?, "on": on }))
    }
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> &str {
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(aliases: &[&str]) -> Parts {
        let mut parts = Parts::default();
        for alias in aliases {
            let found = [json!({ "columns": [{ "name": "paid", "type": "bool" }] })];
            parts.add_dataset(alias, "file:///sales.csv", "", &found);
        }
        parts
    }

    #[test]
    fn conditions_are_read_by_their_first_sign() {
        let parts = parts(&["s", "r"]);
        for (given, wanted) in [
            ("year=2025", json!({ "dataset": "s", "column": "year", "op": "eq", "value": "2025" })),
            ("amount >= 10.50", json!({ "dataset": "s", "column": "amount", "op": "ge", "value": "10.50" })),
            ("r.name!='a=b'", json!({ "dataset": "r", "column": "name", "op": "ne", "value": "a=b" })),
            ("note^=INC-", json!({ "dataset": "s", "column": "note", "op": "starts_with", "value": "INC-" })),
            ("paid=true", json!({ "dataset": "s", "column": "paid", "op": "eq", "value": true })),
            (
                "region in North, South",
                json!({ "dataset": "s", "column": "region", "op": "in", "values": ["North", "South"] }),
            ),
            ("region not in North", json!({ "dataset": "s", "column": "region", "op": "not_in", "values": ["North"] })),
            ("closed is null", json!({ "dataset": "s", "column": "closed", "op": "is_null" })),
            ("r.closed is not null", json!({ "dataset": "r", "column": "closed", "op": "not_null" })),
            ("note~ in ", json!({ "dataset": "s", "column": "note", "op": "contains", "value": "in" })),
        ] {
            assert_eq!(parts.condition(given).ok(), Some(wanted), "{given}");
        }
        assert!(parts.condition("region").is_err() && parts.condition("=1").is_err());
    }

    #[test]
    fn sources_groups_orders_and_joins_have_their_parts() {
        assert_eq!(source("s=sales.xlsx#q1"), ("s", "sales.xlsx", "q1"));
        assert_eq!(source("https://a/b?c=d"), ("", "https://a/b?c=d", ""));
        let parts = parts(&["s", "r"]);
        assert_eq!(parts.group("s.day:month"), json!({ "dataset": "s", "column": "day", "by": "month" }));
        assert_eq!(parts.group("time:zone"), json!({ "dataset": "s", "column": "time:zone" }));
        assert_eq!(order("sum(a):desc"), json!({ "column": "sum(a)", "descending": true }));
        let join = json!({ "dataset": "r", "on": [{ "column": "id", "with_dataset": "s", "with_column": "region" }] });
        assert_eq!(parts.join("r.id=s.region").ok(), Some(join));
        assert!(parts.join("r.id").is_err());
    }
}
