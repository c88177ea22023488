//! The order of hits once they are read: noise below what is close to the query, one hit for each section.

use std::collections::HashMap;

use super::hit::Hit;

/// The similarity from which on a hit counts as close to the query, unless the model's noise floor is higher.
pub const CLOSE: f64 = 0.30;

/// Whether a hit is close to the query.
pub fn is_close(hit: &Hit) -> bool {
    hit.similarity.is_some_and(|similarity| similarity >= CLOSE.max(hit.noise_floor))
}

/// Moves the noise hits among the first `window` below the last of them that is close to the query and no noise. The
/// others keep their order.
pub fn demote_noise(hits: &mut [Hit], window: usize) {
    let window = window.min(hits.len());
    let Some(last) = hits[..window].iter().rposition(|hit| !hit.noise && is_close(hit)) else { return };
    for hit in hits[..last].iter_mut().filter(|hit| hit.noise) {
        hit.demoted = true;
    }
    // Stable: false before true.
    hits[..=last].sort_by_key(|hit| hit.noise);
}

/// Keeps the best hit of each section of a document, which counts those it stands for.
pub fn collapse(hits: &mut Vec<Hit>) {
    let mut first: HashMap<(String, String, Vec<String>), usize> = HashMap::new();
    let mut kept: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits.drain(..) {
        let section = (hit.namespace.clone(), hit.doc_id.clone(), hit.section_path.clone());
        if let Some(at) = first.get(&section) {
            kept[*at].siblings_folded += 1;
            if let Some(explanation) = &mut kept[*at].explanation {
                explanation.folded.push(hit.chunk_idx);
            }
        } else {
            first.insert(section, kept.len());
            kept.push(hit);
        }
    }
    *hits = kept;
}
