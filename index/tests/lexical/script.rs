//! Random scripts of changes, flushes and reopenings: every search agrees with the model, and an index that followed
//! the script gives the very hits of one built anew.

use loom_index::text::{FlushJob, Flushed, LexicalIndex};
use loom_index::{ChunkRange, Selection};
use loom_storage::{ChunkId, Seq, VersionId};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::corpus::Version;
use crate::model::Model;

#[derive(Clone, Debug)]
enum Step {
    Add(usize),
    Remove(usize),
    Freeze,
    Run,
    /// A job that ran is dropped instead of installed.
    Lose,
    Install,
    Reopen,
    Search(String, usize, Option<(u64, u64)>),
}

const WORDS: [&str; 14] = [
    "alpha",
    "Alphas",
    "beta",
    "gamma",
    "the",
    "delta",
    "userId",
    "orders_daily",
    "max-size",
    "数据库",
    "据库",
    "café",
    "1.0.21",
    "writing",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..25).prop_map(|words| words.join(" "))
}

fn versions() -> impl Strategy<Value = Vec<Version>> {
    let chunks = prop::collection::vec((text(), text()), 0..4);
    prop::collection::vec(chunks, 1..10).prop_map(|versions| {
        // Later versions have lower ids, so that chunks do not come in the order of their ids.
        (0u64..)
            .zip(versions)
            .map(|(n, chunks)| {
                let first = 1000 - n * 10;
                let chunks = (first..).zip(chunks).map(|(id, (context, text))| (ChunkId(id), context, text));
                let chunks: Vec<_> = chunks.collect();
                // Several have the same chunks, of which one at most is live.
                [500, 600, 400].map(|id| Version { id: VersionId(id - n), chunks: chunks.clone() })
            })
            .collect::<Vec<_>>()
            .concat()
    })
}

fn step() -> impl Strategy<Value = Step> {
    let query = prop::collection::vec(prop::sample::select(&WORDS[..]), 0..6).prop_map(|words| words.join(" "));
    let ids = prop::option::of((900u64..1010, 1u64..60));
    prop_oneof![
        9 => any::<prop::sample::Index>().prop_map(|n| Step::Add(n.index(30))),
        5 => any::<prop::sample::Index>().prop_map(|n| Step::Remove(n.index(30))),
        2 => Just(Step::Freeze),
        3 => Just(Step::Run),
        1 => Just(Step::Lose),
        3 => Just(Step::Install),
        1 => Just(Step::Reopen),
        6 => (query, 0usize..12, ids).prop_map(|(query, k, ids)| Step::Search(query, k, ids)),
    ]
}

/// An index, the changes made to it and what is under way.
struct Follower {
    folder: TempDir,
    index: LexicalIndex,
    versions: Vec<Version>,
    /// What was added (true) or removed; the place of a change is its sequence number less one.
    log: Vec<(bool, usize)>,
    model: Model,
    job: Option<FlushJob>,
    flushed: Option<Flushed>,
}

impl Follower {
    fn new(versions: Vec<Version>) -> Self {
        let folder = TempDir::new().expect("a folder for the test");
        let (index, _) = LexicalIndex::open(folder.path()).expect("a new folder opens");
        Self { folder, index, versions, log: Vec::new(), model: Model::default(), job: None, flushed: None }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Add(n) => self.add(n % self.versions.len()),
            Step::Remove(n) => self.change(false, n % self.versions.len()),
            Step::Freeze if self.flushed.is_none() => self.job = self.index.freeze(Seq(self.log.len() as u64)),
            Step::Run => {
                if let Some(job) = self.job.take() {
                    self.flushed = Some(job.run().expect("a flush works"));
                }
            }
            Step::Lose => self.flushed = None,
            Step::Install => {
                if let Some(flushed) = self.flushed.take() {
                    self.index.install(flushed);
                }
            }
            Step::Reopen => self.reopen(),
            Step::Search(query, k, ids) => {
                let selection = ids.map(|(first, count)| {
                    let count = u32::try_from(count).expect("a small number");
                    Selection::new(vec![ChunkRange { first: ChunkId(first), count }])
                });
                self.model.count().check(&self.index, query, *k, selection.as_ref());
            }
            Step::Freeze => {}
        }
    }

    fn add(&mut self, n: usize) {
        let chunks = &self.versions[n].chunks;
        let twin = |version: &Version| version.chunks == *chunks && self.model.live.contains_key(&version.id);
        if let Some(twin) = (0..self.versions.len()).find(|at| *at != n && twin(&self.versions[*at])) {
            self.change(false, twin);
        }
        self.change(true, n);
    }

    fn change(&mut self, add: bool, n: usize) {
        self.log.push((add, n));
        let version = self.versions[n].clone();
        Self::follow(&mut self.index, add, &version);
        if add {
            self.model.live.insert(version.id, version);
        } else {
            self.model.live.remove(&version.id);
        }
        for version in &self.versions {
            let has_chunks = self.model.live.get(&version.id).is_some_and(|version| !version.chunks.is_empty());
            assert_eq!(self.index.contains(version.id), has_chunks, "{version:?}");
        }
    }

    fn follow(index: &mut LexicalIndex, add: bool, version: &Version) {
        if add {
            version.add_to(index);
        } else {
            version.remove_from(index);
        }
    }

    fn reopen(&mut self) {
        (self.job, self.flushed) = (None, None);
        let (mut index, watermark) = LexicalIndex::open(self.folder.path()).expect("what was written opens");
        let from = usize::try_from(watermark.0).expect("a short log");
        for (add, n) in &self.log[from..] {
            Self::follow(&mut index, *add, &self.versions[*n]);
        }
        self.index = index;
    }

    /// An index built anew over what is live gives the same hits with the same bits.
    fn check_rebuilt(&self) {
        let folder = TempDir::new().expect("a folder for the test");
        let (mut rebuilt, _) = LexicalIndex::open(folder.path()).expect("a new folder opens");
        for version in self.model.live.values() {
            version.add_to(&mut rebuilt);
        }
        let (own, other) = (self.index.statistics(), rebuilt.statistics());
        assert_eq!((own.chunks, own.words), (other.chunks, other.words));
        let counted = self.model.count();
        for query in WORDS.iter().map(|word| (*word).to_owned()).chain([WORDS.join(" "), WORDS[..4].join(" ")]) {
            for k in [1, 3, 100] {
                let hits = counted.check(&self.index, &query, k, None);
                assert_eq!(hits, rebuilt.search(&query, k, None).expect("a search works"), "{query}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn an_index_that_followed_equals_one_built_anew(
        versions in versions(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut follower = Follower::new(versions);
        for step in &steps {
            follower.apply(step);
        }
        follower.check_rebuilt();
        follower.reopen();
        follower.check_rebuilt();
    }
}
