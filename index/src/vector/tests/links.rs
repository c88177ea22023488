//! Graphs that a checksum would let through: what they hold is checked before the library follows it.

use std::collections::HashMap;

use super::*;
use crate::vector::fixed::unit;
use crate::vector::graph::Hnsw;
use crate::vector::rows::Rows;

const ROWS: u64 = 300;
/// The bytes before the levels: a head, and five numbers.
const LEVELS: usize = 64 + 5 * 8;

fn rows(count: u64) -> Rows {
    let mut rows = Rows::new(DIM);
    let mut numbers = Numbers(3);
    for id in 0..count {
        let vector = unit(&clustered(&mut numbers, 40)).expect("it has a direction");
        assert!(rows.push(ChunkId(id), &vector));
    }
    rows
}

fn extend(graph: &mut Hnsw, rows: &Rows) {
    assert!(graph.extend(rows, &AtomicBool::new(false)).expect("extended"));
}

/// The links of a graph over `rows`, none of which is a twin.
fn links(rows: &Rows) -> Vec<u8> {
    let mut graph = Hnsw::new(DIM).expect("made");
    extend(&mut graph, rows);
    graph.parts().expect("written").skip(1).flatten().collect()
}

/// Loads `links`; if that is allowed, the graph must be fit for all that is done with graphs.
fn is_loaded(links: &[u8], rows: &Rows, more: &Rows) -> bool {
    let Ok(mut graph) = Hnsw::from_links(links, HashMap::new(), rows, rows.len()) else { return false };
    let query = rows.vector(17).expect("a row").to_vec();
    let odd = |row: u32| row % 2 == 1;
    for _ in 0..2 {
        assert!(graph.search(&query, 50, None).expect("searched").iter().all(|row| *row < more.len()));
        assert!(graph.search(&query, 50, Some(&odd)).expect("searched").iter().all(|row| odd(*row)));
        extend(&mut graph, more);
        graph = graph.copy().expect("copied");
    }
    true
}

#[test]
fn a_graph_comes_back_as_it_was() {
    let (rows, more) = (rows(ROWS), rows(ROWS + 20));
    let links = links(&rows);
    assert!(is_loaded(&links, &rows, &more));
    let graph = Hnsw::from_links(&links, HashMap::new(), &rows, rows.len()).expect("loaded");
    let again: Vec<u8> = graph.parts().expect("written").skip(1).flatten().collect();
    assert!(again == links, "written twice, the same");
}

#[test]
fn a_changed_graph_does_no_harm() {
    let (rows, more) = (rows(ROWS), rows(ROWS + 20));
    let links = links(&rows);
    let mut numbers = Numbers(5);
    let random = |numbers: &mut Numbers| usize::try_from(numbers.next() >> 32).expect("32 bits");
    let (mut refused, mut loaded) = (0, 0);
    let early = 0..LEVELS + 2 * rows.len() as usize;
    let late = (0..1_000).map(|_| random(&mut numbers) % links.len()).collect::<Vec<_>>();
    for at in early.chain(late) {
        let mut changed = links.clone();
        changed[at] ^= 1 << (at % 8);
        if is_loaded(&changed, &rows, &more) {
            loaded += 1;
        } else {
            refused += 1;
        }
    }
    assert!(loaded > 100 && refused > 500, "{loaded} loaded, {refused} refused");
    for _ in 0..200 {
        let length = random(&mut numbers) % links.len();
        assert!(!is_loaded(&links[..length], &rows, &more), "cut to {length}");
    }
    assert!(!is_loaded(&[&links[..], &[0]].concat(), &rows, &more));
}

#[test]
fn a_graph_that_points_outside_is_refused() {
    let (rows, more) = (rows(ROWS), rows(ROWS + 20));
    let links = links(&rows);
    // The first neighbour of the first node, and how many it has.
    let list = LEVELS + 2 * rows.len() as usize + 8 + 2;
    for (at, value) in [(list, u32::MAX), (list, 1_000), (list + 4, 300), (list + 4, u32::MAX), (64, 0), (96, 300)] {
        let mut changed = links.clone();
        changed[at..at + 4].copy_from_slice(&value.to_le_bytes());
        assert!(!is_loaded(&changed, &rows, &more), "{value} at {at}");
    }
    let one = |first: u32, twin: u32| HashMap::from([(first, vec![twin])]);
    for (twins, count) in [(one(0, 300), 301), (one(5, 5), 300), (one(9, 2), 300), (HashMap::new(), 299)] {
        assert!(Hnsw::from_links(&links, twins.clone(), &rows, count).is_err(), "{twins:?} of {count}");
    }
}
