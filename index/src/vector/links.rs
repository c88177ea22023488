//! What usearch writes of a graph, less the vectors, and the check of it that usearch leaves out.
//!
//! usearch follows the numbers of a file wherever they point, and may crash the process. Here every number is checked
//! before usearch sees it, so that a file that is not ours costs at most recall.
//!
//! The bytes, little endian: a head of 64; five u64 (nodes, neighbours a node may have above the lowest level and on
//! it, top level, node where a search starts); the level of each node as i16; the nodes. A node is its key as u64,
//! its level as i16, and for each level from the lowest up the number of its neighbours as u32 and as many places for
//! nodes as u32 as it may have.

/// How many bytes the head has, and those of them that hold the number of nodes.
const HEAD_BYTES: usize = 64;
const HEAD_COUNT: std::ops::Range<usize> = 17..25;
/// The key and the level of a node.
const NODE_HEAD_BYTES: usize = 8 + 2;

/// How many neighbours a node may have on the lowest level, if it may have `neighbours` on each other one.
fn base(neighbours: usize) -> usize {
    2 * neighbours
}

/// The keys of the nodes, in order, if `bytes` are a graph of at most `neighbours` neighbours that begins like `empty`
/// (what usearch writes of a graph without nodes), whose keys ascend, and whose every number is in bounds.
pub(super) fn keys(bytes: &[u8], empty: &[u8], neighbours: usize) -> Option<Vec<u64>> {
    let mut rest = Bytes(bytes);
    let head = rest.take(HEAD_BYTES)?;
    let expected = empty.get(..HEAD_BYTES)?;
    let same_but_count = head[..HEAD_COUNT.start] == expected[..HEAD_COUNT.start]
        && head[HEAD_COUNT.end..] == expected[HEAD_COUNT.end..];
    let count = Bytes(&head[HEAD_COUNT]).number()?;
    let [nodes, above, on_base, top, start] = [(); 5].map(|()| rest.number());
    let (top, start) = (top?, start?);
    if !same_but_count || count == 0 || nodes? != count || above? != neighbours || on_base? != base(neighbours) {
        return None;
    }
    let levels: Vec<i16> =
        rest.take(count.checked_mul(2)?)?.as_chunks().0.iter().map(|l| i16::from_le_bytes(*l)).collect();
    let top = i16::try_from(top).ok()?;
    if *levels.get(start)? != top || levels.iter().any(|level| !(0..=top).contains(level)) {
        return None;
    }
    let mut keys = Vec::with_capacity(count);
    for &level in &levels {
        let head = rest.take(NODE_HEAD_BYTES)?;
        let key = u64::from_le_bytes(*head.first_chunk()?);
        if head[8..] != level.to_le_bytes() || keys.last().is_some_and(|last| *last >= key) {
            return None;
        }
        keys.push(key);
        for at in 0..=level {
            let places = if at == 0 { base(neighbours) } else { neighbours };
            let list = rest.take(4 + 4 * places)?.as_chunks().0;
            let used = u32::from_le_bytes(*list.first()?) as usize;
            let is_node_here =
                |place: &[u8; 4]| levels.get(u32::from_le_bytes(*place) as usize).is_some_and(|level| *level >= at);
            if !list.get(1..=used)?.iter().all(is_node_here) {
                return None;
            }
        }
    }
    rest.0.is_empty().then_some(keys)
}

/// What is left of some bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(*self.take(8)?.first_chunk()?)).ok()
    }
}
