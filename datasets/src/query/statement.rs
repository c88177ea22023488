//! A plan written as a statement of SQL, for people to read. It is never run.

use std::fmt::Write as _;

use serde_json::Value;

use crate::plan::{Comparison, Function, Plan, QueryGroup};

/// The statement, whose values are `$1`, `$2` and so on, and those values.
pub(super) fn statement(plan: &Plan) -> (String, Vec<Value>) {
    let mut parameters: Vec<Value> = Vec::new();
    let column = |dataset: &str, column: &str| match plan.datasets.as_slice() {
        [_] => quoted(column),
        _ => format!("{}.{}", quoted(dataset), quoted(column)),
    };
    let named = |expression: String, name: &str| {
        if name.is_empty() { expression } else { format!("{expression} AS {}", quoted(name)) }
    };
    let period = |group: &QueryGroup| {
        let value = column(&group.dataset, &group.column);
        group.by.map_or(value.clone(), |by| format!("date_trunc('{}', {value})", by.name()))
    };
    let mut columns: Vec<String> = plan.group_by.iter().map(|group| named(period(group), &group.name)).collect();
    columns.extend(plan.aggregates.iter().map(|aggregate| {
        let of = aggregate.column.as_ref().map_or_else(|| "*".to_owned(), |name| column(&aggregate.dataset, name));
        let expression = match aggregate.function {
            Function::CountDistinct => format!("count(DISTINCT {of})"),
            function => format!("{}({of})", function.name()),
        };
        named(expression, &aggregate.name)
    }));
    columns
        .extend(plan.select.iter().map(|selected| named(column(&selected.dataset, &selected.column), &selected.name)));
    if columns.is_empty() {
        columns.push("*".into());
    }
    let first = plan.datasets.first().map(String::as_str).unwrap_or_default();
    let mut statement = format!("SELECT {} FROM {}", columns.join(", "), quoted(first));
    for join in &plan.joins {
        let pairs = join.on.iter().map(|on| {
            let with = if on.with_dataset.is_empty() { first } else { &on.with_dataset };
            format!("{} = {}", column(with, &on.with_column), column(&join.dataset, &on.column))
        });
        let pairs = pairs.collect::<Vec<_>>().join(" AND ");
        let _ = write!(statement, " JOIN {} ON {pairs}", quoted(&join.dataset));
    }
    let mut conditions = Vec::new();
    for filter in &plan.conditions {
        let mut parameter = |value: &Value| {
            parameters.push(value.clone());
            format!("${}", parameters.len())
        };
        let value = column(&filter.dataset, &filter.column);
        let one = filter.value.as_ref().unwrap_or(&Value::Null);
        conditions.push(match filter.op {
            Comparison::IsNull => format!("{value} IS NULL"),
            Comparison::NotNull => format!("{value} IS NOT NULL"),
            Comparison::In | Comparison::NotIn => {
                let list: Vec<String> = filter.values.iter().flatten().map(&mut parameter).collect();
                let not = if filter.op == Comparison::NotIn { "NOT " } else { "" };
                format!("{value} {not}IN ({})", list.join(", "))
            }
            Comparison::Contains => format!("contains({value}, {})", parameter(one)),
            Comparison::StartsWith => format!("starts_with({value}, {})", parameter(one)),
            op => format!("{value} {} {}", sign(op), parameter(one)),
        });
    }
    if !conditions.is_empty() {
        let _ = write!(statement, " WHERE {}", conditions.join(" AND "));
    }
    if !plan.group_by.is_empty() {
        let groups = plan.group_by.iter().map(period).collect::<Vec<_>>().join(", ");
        let _ = write!(statement, " GROUP BY {groups}");
    }
    if !plan.order_by.is_empty() {
        let order = plan.order_by.iter().map(|order| {
            let direction = if order.descending { " DESC" } else { "" };
            format!("{}{direction} NULLS LAST", quoted(&order.column))
        });
        let _ = write!(statement, " ORDER BY {}", order.collect::<Vec<_>>().join(", "));
    }
    let _ = write!(statement, " LIMIT {}", plan.limit);
    (statement, parameters)
}

fn sign(op: Comparison) -> &'static str {
    match op {
        Comparison::Ne => "<>",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
        _ => "=",
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
