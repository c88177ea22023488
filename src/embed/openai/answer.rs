//! An endpoint's answer, read as untrusted input.

use serde::Deserialize;

/// Generous for one number of a vector in JSON, with the comma and the white space of a pretty printer.
const NUMBER_BYTES_MAX: usize = 48;
/// Generous for what stands around the vectors.
const REST_BYTES_MAX: usize = 64 * 1024;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// The place of the text in the request. Where no item has one, the items are in the request's order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// How much of an answer for `count` texts is read.
pub(super) fn bytes_max(count: usize, dim_max: usize) -> u64 {
    let bytes = count.saturating_mul(dim_max).saturating_mul(NUMBER_BYTES_MAX).saturating_add(REST_BYTES_MAX);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The vectors in the order of the request: exactly `count`, all finite and of one dimension from 1 to `dim_max`.
/// Fails with what is wrong, which repeats nothing of the answer but numbers.
pub(super) fn vectors(bytes: &[u8], count: usize, dim_max: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "the embedding endpoint's answer is not a list of embeddings (line {}, column {})",
            error.line(),
            error.column()
        )
    })?;
    let found = answer.data.len();
    if found != count {
        return Err(format!("the embedding endpoint sent {found} vectors for {count} texts"));
    }
    let ordered = answer.data.iter().all(|item| item.index.is_none());
    let mut places: Vec<Option<Vec<f32>>> = vec![None; count];
    let mut dim = None;
    for (at, item) in answer.data.into_iter().enumerate() {
        let index = if ordered { Some(at) } else { item.index };
        let place = index.and_then(|index| places.get_mut(index)).filter(|place| place.is_none());
        let place = place.ok_or("the embedding endpoint's vectors are not numbered one for each text")?;
        let len = item.embedding.len();
        if len == 0 || len > dim_max || *dim.get_or_insert(len) != len {
            return Err(format!(
                "the embedding endpoint sent a vector of {len} dimensions; all must have the same number, 1 to {dim_max}"
            ));
        }
        if !item.embedding.iter().all(|x| x.is_finite()) {
            return Err("the embedding endpoint sent a vector with a number that is not finite".to_owned());
        }
        *place = Some(item.embedding);
    }
    Ok(places.into_iter().flatten().collect())
}
