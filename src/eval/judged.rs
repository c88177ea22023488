//! Queries and what was judged relevant to them.

use std::collections::HashMap;

use serde::Deserialize;

/// The most queries of one set.
pub const QUERIES_MAX: usize = 100_000;

/// The grades of the documents judged for one query; one that is not named has 0.
pub type Judgements = HashMap<String, u32>;

/// A set of queries with judgements.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// The queries that have at least one relevant document: id, text and judgements.
    pub queries: Vec<(String, String, Judgements)>,
    /// How many queries have none and are left out.
    pub unjudged: usize,
}

/// A line that is no query or no judgement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the {file}: {problem}")]
pub struct JudgedError {
    file: &'static str,
    line: usize,
    problem: String,
}

#[derive(Deserialize)]
struct Query {
    id: String,
    text: String,
}

impl Judged {
    /// Reads queries (a JSON object with `id` and `text` a line) and judgements (query id, document id and grade a line,
    /// separated by tabs; the four columns of trec are understood too).
    pub fn read(queries: &str, judgements: &str) -> Result<Self, JudgedError> {
        let mut grades = grades(judgements)?;
        let mut judged = Self::default();
        for (at, line) in lines(queries) {
            let failed = |problem| JudgedError { file: "queries", line: at, problem };
            let query: Query = serde_json::from_str(line).map_err(|error| failed(error.to_string()))?;
            if judged.queries.len() == QUERIES_MAX {
                return Err(failed(format!("there are more than {QUERIES_MAX} queries")));
            }
            match grades.remove(&query.id).filter(|grades| grades.values().any(|grade| *grade > 0)) {
                Some(grades) => judged.queries.push((query.id, query.text, grades)),
                None => judged.unjudged += 1,
            }
        }
        Ok(judged)
    }
}

fn grades(judgements: &str) -> Result<HashMap<String, Judgements>, JudgedError> {
    let mut grades: HashMap<String, Judgements> = HashMap::new();
    for (at, line) in lines(judgements) {
        let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
        let ([query, document, grade] | [query, _, document, grade]) = columns[..] else {
            let problem = format!("it has {} columns separated by tabs, not three", columns.len());
            return Err(JudgedError { file: "judgements", line: at, problem });
        };
        let Ok(grade) = grade.parse::<i64>() else {
            // A first line may name the columns.
            if at == 1 {
                continue;
            }
            let problem = format!("the grade {grade:?} is no whole number");
            return Err(JudgedError { file: "judgements", line: at, problem });
        };
        let grade = u32::try_from(grade.max(0)).unwrap_or(u32::MAX);
        grades.entry(query.to_owned()).or_default().insert(document.to_owned(), grade);
    }
    Ok(grades)
}

/// The lines that are not blank, numbered from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_meet_their_judgements() {
        let queries =
            "{\"id\":\"1\",\"text\":\"one\"}\n\n{\"id\":\"2\",\"text\":\"two\"}\n{\"id\":\"3\",\"text\":\"three\"}";
        let judged =
            Judged::read(queries, "query\tdoc\tgrade\n1\ta\t2\n1\tb\t-1\n2\t0\tc\t1\n3\td\t0\n").expect("a set");
        assert_eq!(judged.unjudged, 1);
        let ids: Vec<_> = judged.queries.iter().map(|(id, text, _)| (id.as_str(), text.as_str())).collect();
        assert_eq!(ids, [("1", "one"), ("2", "two")]);
        assert_eq!(judged.queries[0].2, HashMap::from([("a".to_owned(), 2), ("b".to_owned(), 0)]));
    }

    #[test]
    fn what_is_no_line_of_a_set_is_named() {
        let error = |queries, judgements| Judged::read(queries, judgements).expect_err("no set").to_string();
        assert!(error("{\"id\":1}", "").starts_with("line 1 of the queries: "));
        assert_eq!(
            error("", "1\ta\t1\n2 b 1"),
            "line 2 of the judgements: it has 1 columns separated by tabs, not three"
        );
        assert_eq!(error("", "1\ta\t1\n1\tb\thigh"), "line 2 of the judgements: the grade \"high\" is no whole number");
    }
}
