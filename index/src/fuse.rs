//! Reciprocal rank fusion: one list from the lists of several legs.

use loom_storage::ChunkId;

/// How much the first ranks are levelled: with 60, the first of a list counts as much as the second and a sixtieth.
const K: f64 = 60.0;

/// What one leg found.
#[derive(Clone, Copy, Debug)]
pub struct Leg<'a> {
    /// How much its ranks count. A leg whose weight is zero, negative or not finite counts nothing, and what only it
    /// found is not in the result.
    pub weight: f64,
    /// Its chunks, the best first. A chunk that is named twice has its better rank.
    pub chunks: &'a [ChunkId],
}

/// A chunk of the fused list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fused {
    /// The chunk.
    pub chunk: ChunkId,
    /// The sum over the legs that found it of `weight / (60 + rank)`, ranks counted from 1.
    pub score: f64,
}

/// Fuses the legs' lists: by score, the highest first, ties by the smaller chunk id. The order of the legs does not
/// matter, to the last bit, and chunks that fared alike tie exactly, so that the caller can break ties.
pub fn fuse(legs: &[Leg<'_>]) -> Vec<Fused> {
    let mut shares: Vec<(ChunkId, f64)> = Vec::new();
    for leg in legs.iter().filter(|leg| leg.weight.is_finite() && leg.weight > 0.0) {
        let mut ranks: Vec<(ChunkId, u32)> = leg.chunks.iter().copied().zip(1..).collect();
        ranks.sort_unstable();
        ranks.dedup_by_key(|&mut (chunk, _)| chunk);
        shares.extend(ranks.into_iter().map(|(chunk, rank)| (chunk, leg.weight / (K + f64::from(rank)))));
    }
    // Sums of floats depend on the order: that of the shares' size is the same for every order of the legs.
    shares.sort_unstable_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
    let groups = shares.chunk_by(|left, right| left.0 == right.0);
    let mut fused: Vec<Fused> =
        groups.map(|group| Fused { chunk: group[0].0, score: group.iter().map(|&(_, share)| share).sum() }).collect();
    fused.sort_unstable_by(|left, right| right.score.total_cmp(&left.score).then(left.chunk.cmp(&right.chunk)));
    fused
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(list: &[u64]) -> Vec<ChunkId> {
        list.iter().copied().map(ChunkId).collect()
    }

    #[test]
    fn ranks_of_two_legs_are_added_by_weight() {
        let (first, second) = (ids(&[7, 3]), ids(&[3, 9]));
        let fused = fuse(&[Leg { weight: 1.0, chunks: &first }, Leg { weight: 0.5, chunks: &second }]);
        let expected = [(3, 1.0 / 62.0 + 0.5 / 61.0), (7, 1.0 / 61.0), (9, 0.5 / 62.0)];
        assert_eq!(fused, expected.map(|(id, score)| Fused { chunk: ChunkId(id), score }));
    }

    #[test]
    fn a_leg_without_a_weight_adds_nothing() {
        let (first, second) = (ids(&[1, 2]), ids(&[8, 2]));
        let alone = fuse(&[Leg { weight: 1.0, chunks: &first }]);
        for weight in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(fuse(&[Leg { weight, chunks: &second }, Leg { weight: 1.0, chunks: &first }]), alone);
        }
        assert_eq!(fuse(&[]), []);
    }

    #[test]
    fn a_chunk_named_twice_has_its_better_rank() {
        let list = ids(&[4, 5, 4]);
        let fused = fuse(&[Leg { weight: 2.0, chunks: &list }]);
        assert_eq!(
            fused,
            [Fused { chunk: ChunkId(4), score: 2.0 / 61.0 }, Fused { chunk: ChunkId(5), score: 2.0 / 62.0 }]
        );
    }

    proptest! {
            #[test]
            fn fusion_depends_on_ranks_alone(
                lists in prop::collection::vec((0..3_u8, prop::collection::vec(0..30_u64, 0..20)), 0..5),
            ) {
                let lists: Vec<(f64, Vec<ChunkId>)> = lists.iter().map(|(w, list)| (f64::from(*w) / 3.0, ids(list))).collect();
                let legs: Vec<Leg<'_>> = lists.iter().map(|(weight, list)| Leg { weight: *weight, chunks: list }).collect();
                let fused = fuse(&legs);
                let mut turned = legs.clone();
                for _ in 0..legs.len() {
                    turned.rotate_left(1);
                    prop_assert_eq!(&fuse(&turned), &fused);
                }
                turned.reverse();
                prop_assert_eq!(&fuse(&turned), &fused);
                for pair in fused.windows(2) {
    let order = pair[1].score.total_cmp(&pair[0].score).then(pair[0].chunk.cmp(&pair[1].chunk));
                    prop_assert!(order.is_lt());
                }
                let mut found: Vec<ChunkId> = fused.iter().map(|hit| hit.chunk).collect();
                found.sort_unstable();
                let mut named: Vec<ChunkId> = lists.iter().filter(|leg| leg.0 > 0.0).flat_map(|leg| leg.1.clone()).collect();
                named.sort_unstable();
                named.dedup();
                prop_assert_eq!(found, named);
            }
        }
}
