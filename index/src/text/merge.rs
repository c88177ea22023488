//! Which segments to merge after a flush.

use tantivy::SegmentMeta;
use tantivy::index::SegmentId;

/// So many segments of about one size become one, and one size is so many times the next.
const FANOUT: u32 = 6;
/// Segments with fewer documents count as one size: a search opens every segment for every term.
const SMALLEST_DOCS: u32 = 1024;
/// A segment is rewritten alone once a third of its documents are dead.
const DEAD_SHARE: u32 = 3;

/// The segments to merge next, or nothing when the index is in shape. Every merge makes either the number of segments
/// or that of dead documents smaller, so that asking again and again ends.
pub(super) fn next_merge(segments: &[SegmentMeta]) -> Option<Vec<SegmentId>> {
    let sizes: Vec<_> =
        segments.iter().map(|meta| Size { id: meta.id(), live: meta.num_docs(), docs: meta.max_doc() }).collect();
    plan(&sizes)
}

struct Size<Id> {
    id: Id,
    live: u32,
    docs: u32,
}

fn plan<Id: Copy>(segments: &[Size<Id>]) -> Option<Vec<Id>> {
    if let Some(worn) = segments.iter().find(|segment| segment.docs - segment.live > segment.docs / DEAD_SHARE) {
        return Some(vec![worn.id]);
    }
    let mut levels: Vec<Vec<Id>> = Vec::new();
    for segment in segments {
        let level = (segment.live.max(SMALLEST_DOCS) / SMALLEST_DOCS).ilog(FANOUT) as usize;
        if levels.len() <= level {
            levels.resize_with(level + 1, Vec::new);
        }
        levels[level].push(segment.id);
    }
    levels.into_iter().find(|level| level.len() >= FANOUT as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(list: &[(u32, u32)]) -> Vec<Size<usize>> {
        list.iter().enumerate().map(|(id, (live, docs))| Size { id, live: *live, docs: *docs }).collect()
    }

    #[test]
    fn many_of_one_size_are_merged_and_few_are_left_alone() {
        assert_eq!(plan(&sizes(&[])), None);
        assert_eq!(plan(&sizes(&[(10, 10); 5])), None);
        assert_eq!(plan(&sizes(&[(10, 10); 6])), Some(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(plan(&sizes(&[(90_000, 90_000), (10, 10), (8_000, 8_000)])), None);
    }

    #[test]
    fn a_segment_of_dead_documents_is_rewritten() {
        assert_eq!(plan(&sizes(&[(90, 100), (60, 100)])), Some(vec![1]));
        assert_eq!(plan(&sizes(&[(0, 1)])), Some(vec![0]));
    }

    #[test]
    fn ten_thousand_flushes_leave_few_segments() {
        let mut segments: Vec<Size<usize>> = Vec::new();
        let mut next = 0;
        let mut written = 0u64;
        for _ in 0..10_000 {
            segments.push(Size { id: next, live: 512, docs: 512 });
            next += 1;
            while let Some(merged) = plan(&segments) {
                let live =
                    segments.iter().filter(|segment| merged.contains(&segment.id)).map(|segment| segment.live).sum();
                segments.retain(|segment| !merged.contains(&segment.id));
                segments.push(Size { id: next, live, docs: live });
                next += 1;
                written += u64::from(live);
            }
        }
        assert!(segments.len() <= 30, "{}", segments.len());
        assert!(written < 10_000 * 512 * 7, "a chunk is rewritten about once for every size");
    }
}
