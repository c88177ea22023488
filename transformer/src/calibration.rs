//! How near two texts are that have nothing to do with each other, which differs from model to model.

use std::time::Instant;

use crate::error::Error;
use crate::sentence::{SentenceEncoder, Side};

/// Questions, and passages that answer them in the same order; no passage says anything about another question.
const PAIRS: [(&str, &str); 16] = [
    (
        "how do I renew a passport",
        "Applications for a new travel document are handed in at the town hall, with two photographs and the old booklet.",
    ),
    (
        "why does bread dough need salt",
        "Salt slows the yeast, so that the loaf rises evenly, and it tightens the gluten that holds the crumb together.",
    ),
    (
        "configure a reverse proxy with TLS",
        "The listener terminates encryption on port 443 and forwards requests to the upstream; set the certificate and its private key.",
    ),
    (
        "symptoms of low blood sugar",
        "Trembling, sweating and hunger come first; without food, confusion and loss of consciousness can follow.",
    ),
    (
        "when was the suspension bridge opened",
        "After six years of work the crossing was handed over to traffic in May 1883, its cables carrying a span of 486 metres.",
    ),
    (
        "SQL query that counts rows per month",
        "Group by the truncated date and select count(*); an index on the timestamp column lets the planner avoid a sort.",
    ),
    (
        "how long do tortoises live",
        "Kept well, the animals pass eighty years; some in botanical gardens are known to have hatched two centuries ago.",
    ),
    (
        "tax deduction for working from home",
        "Employees may claim a lump sum for each day on which they did not go to the office, up to a yearly maximum.",
    ),
    (
        "tuning a violin by fifths",
        "Take the A from a fork, then adjust the neighbouring strings until the interval no longer beats against it.",
    ),
    (
        "what causes ocean tides",
        "The pull of the Moon is stronger on the near side of the Earth, and raises the water there and opposite to it.",
    ),
    (
        "retry policy for failed payments",
        "A card that was declined is charged again after one, three and seven days; then the subscription is paused.",
    ),
    (
        "how to prune apple trees",
        "In late winter cut back crossing and inward branches above an outward bud, and leave the crown open to the light.",
    ),
    (
        "parser error on unexpected token",
        "The compiler stops at the first symbol that the grammar does not allow there; mostly a bracket is missing before it.",
    ),
    (
        "rules of offside in football",
        "A player is penalised who, when the ball is passed, is nearer to the goal line than both the ball and the second last opponent.",
    ),
    (
        "minutes of the meeting on hiring",
        "Decided: two engineers and a designer are sought for the spring; Lena writes the advertisements by Friday.",
    ),
    (
        "insulating an old attic",
        "Lay mineral wool between the rafters behind a vapour barrier, and leave a gap beneath the tiles for the air.",
    ),
];

/// One in so many unrelated pairs may be nearer.
const RARE: usize = 100;

/// The cosine that one in [`RARE`] pairs of a question and the answer to another one exceeds; 0 to 1.
pub(crate) fn noise_floor(model: &SentenceEncoder, until: Instant) -> Result<f32, Error> {
    let (questions, answers): (Vec<&str>, Vec<&str>) = PAIRS.into_iter().unzip();
    let questions = model.encode(&questions, Side::Query, until)?;
    let answers = model.encode(&answers, Side::Passage, until)?;
    let mut cosines = Vec::with_capacity(PAIRS.len() * PAIRS.len());
    for (at, question) in questions.iter().enumerate() {
        for answer in answers.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, answer)| answer) {
            cosines.push(question.iter().zip(answer).map(|(a, b)| a * b).sum::<f32>());
        }
    }
    cosines.sort_by(f32::total_cmp);
    Ok(cosines[cosines.len() - 1 - cosines.len() / RARE].clamp(0.0, 1.0))
}
