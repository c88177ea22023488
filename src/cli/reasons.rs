//! What `loom search --explain` and `--why-not` say, for a person.

use serde_json::Value;

use super::failure::Failure;
use super::screen::{Screen, WIDTH, counted, wrap};

/// The legs, as a person calls them, with what their scores are.
const LEGS: [(&str, &str, &str); 3] =
    [("lexical", "words", "BM25"), ("vector", "meaning", "cosine"), ("keys", "exact names", "names held")];
const INDENT: usize = 5;

/// Prints why a hit stands where it stands.
pub fn print_hit(hit: &Value, screen: &mut Screen) -> Result<(), Failure> {
    let why = &hit["explanation"];
    for (leg, name, scored) in LEGS {
        let part = &why[leg];
        let (Some(score), Some(adds)) = (part["score"].as_f64(), part["part"].as_f64()) else { continue };
        let rank = part["rank"].as_u64().map_or_else(|| "not in its list".to_owned(), ordinal);
        note(&format!("{name}: {rank}, {scored} {}, adds {adds:.3}", trimmed(score)), screen)?;
    }
    let list = |name: &str, of: &Value| {
        let words: Vec<String> = of.as_array().into_iter().flatten().map(plain).collect();
        (!words.is_empty()).then(|| format!("{name} {}", words.join(", ")))
    };
    let facts = [
        list("holds the words", &why["matched_terms"]),
        list("holds the exact names", &hit["keys_matched"]),
        list("stands for the passages", &why["folded"]).map(|folded| format!("{folded} of its section")),
        why["rerank_score"].as_f64().map(|score| format!("the reranker gives it {}", trimmed(score))),
        (why["demoted"] == true).then(|| "moved below what is close to the query: its section is noise".to_owned()),
    ];
    facts.into_iter().flatten().try_for_each(|fact| note(&fact, screen))
}

/// Prints what the search weighed, and what became of the document that it asks about, where an answer says so.
pub fn print_search(answer: &Value, screen: &mut Screen) -> Result<(), Failure> {
    let report = &answer["report"];
    if report.is_object() {
        let fusion = match (report["fusion"].as_str(), report["vector_share"].as_f64()) {
            (Some("convex"), Some(share)) => format!("scores are {:.0}% meaning", share * 100.0),
            (Some("reciprocal_rank"), _) => "scores are made of ranks".to_owned(),
            (leg, _) => format!("scores are those of the {} leg", leg.unwrap_or_default()),
        };
        let count = |name: &str| report[name].as_u64().unwrap_or_default();
        said(
            "weighed",
            &format!(
                "{} pass the filters; {} by words, {} by meaning, {} by exact names; {} read; {fusion}",
                counted(count("selected"), "passage"),
                count("lexical_candidates"),
                count("vector_candidates"),
                count("keys_candidates"),
                count("read"),
            ),
            screen,
        )?;
        if let Some(by) = answer["reranked_by"].as_str().filter(|by| !by.is_empty()) {
            said("reranked", &format!("by {by}"), screen)?;
        }
        if report["public_pass"] == true {
            said("public", "nothing private was close, so public namespaces were searched too", screen)?;
        }
        let stage = |time: &Value| Some(format!("{} {:.2}", time["stage"].as_str()?, time["ms"].as_f64()?));
        let stages: Vec<String> = report["timings_ms"].as_array().into_iter().flatten().filter_map(stage).collect();
        said("milliseconds", &stages.join(", "), screen)?;
    }
    let why = &answer["why_not"];
    if why.is_object() {
        said(
            plain(&why["source_uri"]).as_str(),
            &format!("{}: {}", plain(&why["reason"]).replace('_', " "), plain(&why["detail"])),
            screen,
        )?;
        for (leg, name, _) in LEGS {
            if let Some(rank) = why[format!("{leg}_rank")].as_u64() {
                note(&format!("{name}: {}", ordinal(rank)), screen)?;
            }
        }
        if let (Some(chunks), Some(embedded)) = (why["chunks"].as_u64(), why["embedded"].as_u64())
            && chunks > 0
        {
            note(&format!("{}, {embedded} with a vector", counted(chunks, "passage")), screen)?;
        }
    }
    Ok(())
}

fn note(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    for (at, line) in wrap(text, WIDTH - INDENT, usize::MAX).into_iter().enumerate() {
        let mark = if at == 0 { "·" } else { " " };
        screen.line(format!("   {}", screen.faint(&format!("{mark} {line}"))))?;
    }
    Ok(())
}

fn said(subject: &str, text: &str, screen: &mut Screen) -> Result<(), Failure> {
    for line in wrap(&format!("{subject}: {text}"), WIDTH, usize::MAX) {
        screen.line(line)?;
    }
    Ok(())
}

/// A value as text: a string without its quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A number with two digits behind the point, if it needs them.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.strip_suffix(".00").map_or_else(|| text.clone(), str::to_owned)
}

/// `1st`, `22nd`, `113th`.
fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_a_person_says_them() {
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 13, 21, 112, 102].map(ordinal).join(" "),
            "1st 2nd 3rd 4th 11th 12th 13th 21st 112th 102nd"
        );
        assert_eq!([3.0, 0.456, 12.5].map(trimmed), ["3", "0.46", "12.50"]);
    }
}
