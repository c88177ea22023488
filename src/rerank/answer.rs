//! Reading what a provider answered. It is not trusted: every passage has one finite score, or nothing is used.

use serde::Deserialize;

/// Bytes that an answer may have for each passage, and for the rest of it.
const BYTES_PER_PASSAGE: u64 = 512;
const BYTES_FIXED: u64 = 64 << 10;

/// The most bytes of an answer about so many passages.
pub fn bytes_max(passages: usize) -> u64 {
    BYTES_FIXED + BYTES_PER_PASSAGE * passages as u64
}

#[derive(Deserialize)]
struct Results {
    results: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    index: usize,
    #[serde(alias = "relevance_score")]
    score: f64,
}

#[derive(Deserialize)]
struct Chat {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

/// `{results: [{index, relevance_score}]}`.
pub fn results(bytes: &[u8], passages: usize) -> Result<Vec<f64>, &'static str> {
    let Results { results } = serde_json::from_slice(bytes).map_err(|_| "is no list of results")?;
    scores(results, passages)
}

/// `[{index, score}]`.
pub fn list(bytes: &[u8], passages: usize) -> Result<Vec<f64>, &'static str> {
    scores(serde_json::from_slice(bytes).map_err(|_| "is no list of scores")?, passages)
}

/// A chat's answer: the numbers of the passages, best first. Those that it leaves out come after, in the order given.
pub fn order(bytes: &[u8], passages: usize) -> Result<Vec<f64>, &'static str> {
    let chat: Chat = serde_json::from_slice(bytes).map_err(|_| "is no chat completion")?;
    let content = chat.choices.first().map(|choice| choice.message.content.as_str()).ok_or("holds no choice")?;
    let list = content.find('[').zip(content.rfind(']')).filter(|(start, end)| start < end);
    let (start, end) = list.ok_or("holds no list of numbers")?;
    let numbers: Vec<usize> = serde_json::from_str(&content[start..=end]).map_err(|_| "holds no list of numbers")?;
    let mut scores = vec![None; passages];
    let mut next = 0;
    for number in numbers {
        let slot =
            number.checked_sub(1).and_then(|at| scores.get_mut(at)).ok_or("names a passage that was not sent")?;
        // A passage that is named again keeps its better place.
        if slot.is_none() {
            *slot = Some(falling(next, passages));
            next += 1;
        }
    }
    Ok(scores
        .into_iter()
        .map(|score| {
            score.unwrap_or_else(|| {
                next += 1;
                falling(next - 1, passages)
            })
        })
        .collect())
}

/// 1 for the first place, falling to 0.
#[expect(clippy::cast_precision_loss, reason = "few passages are reranked")]
fn falling(place: usize, passages: usize) -> f64 {
    1.0 - place as f64 / passages.max(1) as f64
}

fn scores(results: Vec<Scored>, passages: usize) -> Result<Vec<f64>, &'static str> {
    let mut scores = vec![None; passages];
    for Scored { index, score } in results {
        let slot = scores.get_mut(index).ok_or("names a passage that was not sent")?;
        if !score.is_finite() || slot.replace(score).is_some() {
            return Err("scores a passage twice, or with no number");
        }
    }
    scores.into_iter().collect::<Option<_>>().ok_or("does not score every passage")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_passage_has_one_score() {
        let good = br#"{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":-2}]}"#;
        assert_eq!(results(good, 2), Ok(vec![-2.0, 0.9]));
        assert_eq!(list(br#"[{"index":0,"score":1}]"#, 1), Ok(vec![1.0]));
        for (bytes, passages) in [
            (&good[..], 1),
            (&good[..], 3),
            (br#"{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":2}]}"#, 2),
            (br#"{"results":[{"index":0,"relevance_score":1e999}]}"#, 1),
            (br#"{"results":3}"#, 0),
            (b"<html>", 1),
        ] {
            assert!(results(bytes, passages).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_chat_orders_the_passages_that_it_names() {
        let chat =
            |content: &str| serde_json::json!({ "choices": [{ "message": { "content": content } }] }).to_string();
        let places = |content: &str| {
            let scores = order(chat(content).as_bytes(), 3).expect("an order");
            let mut places: Vec<usize> = (0..3).collect();
            places.sort_by(|left, right| scores[*right].total_cmp(&scores[*left]));
            places
        };
        assert_eq!(places("[3, 1, 2]"), [2, 0, 1]);
        assert_eq!(places("Sure:\n```json\n[2]\n```"), [1, 0, 2]);
        assert_eq!(places("[2, 2, 3]"), [1, 2, 0]);
        for content in ["", "none", "[4]", "[0]", "[\"a\"]", "]["] {
            assert!(order(chat(content).as_bytes(), 3).is_err(), "{content}");
        }
        assert!(order(br#"{"choices":[]}"#, 3).is_err());
    }
}
