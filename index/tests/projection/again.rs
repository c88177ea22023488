//! Documents deleted, added again and replaced by themselves, so that versions follow each other with the same chunks:
//! a projection that followed answers like one built anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use loom_index::text::QueryWords;
use loom_index::{Filter, LegQuery, Progress, Projection, Projections};
use loom_storage::contract::sample::{batch, delete, edit, put, restore, scope, vectors};
use loom_storage::{Store, Write, live_versions};
use proptest::prelude::*;

use super::{DIM, Place, in_an_hour, model, of};

const MODELS: [&str; 2] = ["one", "two"];
const URIS: [&str; 3] = ["a", "b", "c/d"];
/// Chunks. The last has no vector, the one before a vector without a direction.
const LINES: [&str; 5] = ["alpha\n", "beta beta\n", "alpha gamma\n", "delta\n", "gamma\n"];
const TEXTS: [&[usize]; 5] = [&[0, 1, 2], &[0, 1, 2, 3, 4], &[2, 4], &[3, 1], &[]];

#[derive(Clone, Debug)]
enum Step {
    /// What happens to some of the addresses, in one commit, and whether the projection follows at once.
    Commit(BTreeMap<usize, Act>, bool),
    Follow,
    Flush,
    Tend,
    /// With all written out, or as after a crash.
    Reopen(bool),
    PrepareOther,
    SwitchModel,
    Check,
}

#[derive(Clone, Debug)]
enum Act {
    /// The text that was put there last.
    PutAgain,
    Put(usize),
    Delete,
    Restore,
    Edit,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::PutAgain),
        2 => (0..TEXTS.len()).prop_map(Act::Put),
        5 => Just(Act::Delete),
        2 => Just(Act::Restore),
        1 => Just(Act::Edit),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let acts = prop::collection::btree_map(0..URIS.len(), act(), 1..URIS.len());
    prop_oneof![
        20 => (acts, any::<bool>()).prop_map(|(acts, follows)| Step::Commit(acts, follows)),
        3 => Just(Step::Follow),
        4 => Just(Step::Flush),
        1 => Just(Step::Tend),
        3 => any::<bool>().prop_map(Step::Reopen),
        1 => Just(Step::PrepareOther),
        1 => Just(Step::SwitchModel),
        2 => Just(Step::Check),
    ]
}

/// A store, and a projection that follows it.
struct Follower {
    place: Place,
    projections: Projections,
    projection: Arc<Projection>,
    /// The model that serves.
    serving: usize,
    /// The text that each address was given last.
    texts: [usize; URIS.len()],
    clock: i64,
}

impl Follower {
    fn new() -> Self {
        let place = Place::new();
        for (at, name) in MODELS.iter().enumerate() {
            let mut values = [[0.0; DIM]; LINES.len() - 1];
            for (line, vector) in values.iter_mut().take(LINES.len() - 2).enumerate() {
                vector[line + at] = 1.0;
                vector[DIM - 1] = 0.5;
            }
            let known: Vec<_> = LINES.iter().copied().zip(values.iter().map(|vector| &vector[..])).collect();
            place.commit([vectors(&scope(), name, &known)]);
        }
        let projections = place.projections();
        let projection = of(&projections, &place, &scope(), MODELS[0]);
        Self { place, projections, projection, serving: 0, texts: [0; URIS.len()], clock: 0 }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Commit(acts, follows) => self.commit(acts, *follows),
            Step::Follow => self.follow(),
            Step::Flush => self.projection.flush(true).unwrap(),
            Step::Tend => self.projection.tend_graph(&false.into()).unwrap(),
            Step::Reopen(cleanly) => {
                if *cleanly {
                    self.projections.close().unwrap();
                }
                self.projections = self.place.projections();
                self.follow();
            }
            Step::PrepareOther => {
                let other = model(MODELS[1 - self.serving]);
                self.projection.prepare_model(&self.place.store, &other, &Progress::default()).unwrap();
            }
            Step::SwitchModel => {
                // The serving model must be known of what is followed from here on.
                self.follow();
                self.serving = 1 - self.serving;
                self.place.commit([Write::SwitchModel { scope: scope(), model: MODELS[self.serving].into() }]);
                self.follow();
            }
            Step::Check => self.check(),
        }
    }

    fn commit(&mut self, acts: &BTreeMap<usize, Act>, follows: bool) {
        let snapshot = self.place.snapshot();
        let mut writes = Vec::new();
        for (address, act) in acts {
            self.clock += 1;
            let uri = URIS[*address];
            let live = snapshot.head(&scope(), uri).unwrap().map(|head| head.live);
            match act {
                Act::Put(text) => self.texts[*address] = *text,
                Act::Delete if live == Some(true) => writes.push(delete(&scope(), uri, self.clock)),
                Act::Restore if live == Some(false) => writes.push(restore(&scope(), uri, "restored")),
                Act::Edit if live == Some(true) => writes.push(edit(&scope(), uri, "edited")),
                Act::PutAgain | Act::Delete | Act::Restore | Act::Edit => {}
            }
            if matches!(act, Act::Put(_) | Act::PutAgain) {
                let text: String = TEXTS[self.texts[*address]].iter().map(|line| LINES[*line]).collect();
                writes.push(put(&scope(), uri, &text, self.clock));
            }
        }
        let batch = batch(writes);
        let _announcement = follows.then(|| self.projections.announce(&batch));
        self.place.store.commit(batch).unwrap();
        if follows {
            self.follow();
        }
    }

    fn follow(&mut self) {
        self.projection = of(&self.projections, &self.place, &scope(), MODELS[self.serving]);
    }

    /// Compares with a projection that is built from what the store holds.
    fn check(&self) {
        let elsewhere = tempfile::tempdir().unwrap();
        let built = Place { dir: elsewhere, store: self.place.store.clone() };
        let projections = built.projections();
        let built = of(&projections, &built, &scope(), MODELS[self.serving]);
        let answers = [&self.projection, &built].map(|projection| answers(projection, &self.place));
        assert_eq!(answers[0], answers[1]);
    }
}

/// What a projection answers, as lines of text to compare.
fn answers(projection: &Projection, place: &Place) -> Vec<String> {
    let view = projection.view(&place.store, in_an_hour()).unwrap();
    let totals = view.totals();
    let mut lines = vec![format!("{} {} {}", totals.versions, totals.lexical_chunks, totals.vector_chunks)];
    let live: Vec<_> = live_versions(view.snapshot(), &scope()).map(|version| version.unwrap()).collect();
    let mut served = 0;
    let mut inventory = view.inventory(true).unwrap();
    for version in &live {
        served += version.chunk_count as usize;
        let chunks = view.snapshot().chunks(&scope(), version.first_chunk, version.chunk_count).unwrap();
        let inputs: Vec<_> = chunks.iter().map(|chunk| chunk.input_hash).collect();
        let vectors = view.snapshot().vectors(&scope(), &inventory.model.name, &inputs).unwrap();
        inventory.compare(version, &chunks, &vectors, |part, at, difference| {
            panic!("{part:?}: chunk {at} of {version:?}: {difference:?}");
        });
    }
    assert_eq!((inventory.left_over().next(), inventory.miscount(), inventory.served()), (None, None, served));
    let mut query = [0.25; DIM];
    query[1] = 1.0;
    let of_c = Filter { uri_prefixes: vec!["c".into()], ..Filter::default() };
    for filter in [&Filter::default(), &of_c] {
        for text in ["alpha", "beta gamma", "delta alpha gamma"] {
            for depth in [2, 99] {
                let (names, statistics) = (&["alpha", "gamma"][..], None);
                let (words, vector, near) = (view.look_up(&QueryWords::of(text)).unwrap(), Some(&query[..]), None);
                let query =
                    LegQuery { words: Some(&words), statistics, lexical_min: 0.0, vector, near, names, filter, depth };
                let hits = view.search(&query).unwrap();
                assert!(hits.selected <= served);
                lines.push(format!("{text} {depth}: {:?}", hits.candidates));
            }
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_projection_that_followed_equals_one_built_anew(steps in prop::collection::vec(step(), 1..60)) {
        let mut follower = Follower::new();
        for step in &steps {
            follower.apply(step);
        }
        follower.check();
        follower.apply(&Step::Reopen(false));
        follower.check();
    }
}
