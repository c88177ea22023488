//! Random histories, told to redb and to the model: every answer is the same, before and after reopening.

use std::io::Read as _;

use loom_storage::contract::{sample, view};
use loom_storage::{
    Batch, BlobRow, Cause, Error, Hash, MemoryStore, Precondition, RedbOptions, RedbStore, Scope, Seq, Store,
    Timestamp, VersionId, Write,
};
use proptest::prelude::*;

const MODELS: [&str; 2] = ["m", "m2"];
const BLOBS: [&[u8]; 2] = [b"blob", b"other blob"];

fn scopes() -> [Scope; 3] {
    [Scope::new("o", "n"), Scope::new("o", "n2"), Scope::new("o2", "n")]
}

#[derive(Clone, Debug)]
enum Step {
    Commit(Batch),
    StoreBlob(usize, usize),
    Reopen,
}

fn scope() -> impl Strategy<Value = Scope> {
    (0..3usize).prop_map(|at| scopes()[at].clone())
}

fn uri() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "a/1", "a/2", "b", "é"]).prop_map(String::from)
}

fn text() -> impl Strategy<Value = String> {
    let any = prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\n"]), 0..4);
    // The same text often follows itself, and then takes over what is there of it.
    prop_oneof![1 => Just("a\nb\n".to_owned()), 1 => any.prop_map(|lines| lines.concat())]
}

fn cause() -> impl Strategy<Value = Cause> {
    prop_oneof![4 => Just(Cause::Delete), 1 => Just(Cause::Duplicate), 1 => Just(Cause::Erasure)]
}

fn vectors() -> impl Strategy<Value = Write> {
    let input = prop::sample::select(vec!["a\n", "b\n", "c\n"]).prop_map(sample::input);
    // One dimension in twenty is another one, which is refused.
    let numbers = prop_oneof![19 => Just(2usize), 1 => Just(3)]
        .prop_flat_map(|dimension| prop::collection::vec(-9i8..9, dimension))
        .prop_map(|numbers| numbers.into_iter().map(f32::from).collect::<Vec<_>>());
    (scope(), prop::sample::select(MODELS.to_vec()), prop::collection::vec((input, numbers), 0..3))
        .prop_map(|(scope, model, vectors)| Write::PutVectors { scope, model: model.into(), vectors })
}

fn write() -> impl Strategy<Value = Write> {
    let model = || prop::sample::select(MODELS.to_vec()).prop_map(String::from);
    let at = 0i64..5;
    let blob = (scope(), 0..BLOBS.len(), at.clone()).prop_map(|(scope, blob, at)| {
        let bytes = BLOBS[blob];
        let row = BlobRow { hash: Hash::of(bytes), size: bytes.len() as u64, stored_at: Timestamp(at) };
        Write::PutBlob { scope, row }
    });
    let dropped = (scope(), 0..BLOBS.len(), at.clone()).prop_map(|(scope, blob, at)| {
        let bytes = BLOBS[blob];
        let row = BlobRow { hash: Hash::of(bytes), size: bytes.len() as u64, stored_at: Timestamp(at) };
        Write::DropBlob { scope, row }
    });
    let key = prop::sample::select(vec!["k/1", "k/2", "l"]);
    let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..3));
    prop_oneof![
        6 => (scope(), uri(), text(), at.clone())
            .prop_map(|(scope, uri, text, at)| sample::put(&scope, &uri, &text, at)),
        3 => (scope(), uri(), cause(), at).prop_map(|(scope, source_uri, cause, at)| {
            Write::Retire { scope, source_uri, cause, at: Timestamp(at) }
        }),
        2 => (scope(), uri()).prop_map(|(scope, uri)| sample::restore(&scope, &uri, "restored")),
        1 => (scope(), uri()).prop_map(|(scope, uri)| sample::edit(&scope, &uri, "edited")),
        2 => vectors(),
        1 => (scope(), model()).prop_map(|(scope, model)| Write::DropVectors { scope, model }),
        1 => (scope(), model()).prop_map(|(scope, model)| Write::SwitchModel { scope, model }),
        1 => blob,
        1 => dropped,
        1 => (key, value).prop_map(|(key, value)| sample::record(key, value.as_deref())),
        1 => (scope(), 0..4u8).prop_map(|(scope, rarely)| match rarely {
            0 => Write::EraseNamespace { scope },
            _ => Write::DropUnusedVectors { scope },
        }),
        3 => (scope(), uri(), prop::collection::vec((1u64..30, 0u64..2), 1..20), 0i64..5).prop_map(
            |(scope, source_uri, ids, at)| Write::EraseVersions {
                scope,
                source_uri,
                versions: ids.into_iter().map(|(seq, nth)| VersionId::new(Seq(seq), nth)).collect(),
                at: Timestamp(at),
            }
        ),
    ]
}

fn precondition() -> impl Strategy<Value = Precondition> {
    let changed = || prop::option::of((1u64..20).prop_map(Seq));
    prop_oneof![
        (scope(), uri(), changed()).prop_map(|(scope, source_uri, changed)| Precondition::Head {
            scope,
            source_uri,
            changed
        }),
        (prop::sample::select(vec!["k/1", "l"]), changed())
            .prop_map(|(key, changed)| Precondition::Record { key: key.into(), changed }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    // Most batches are small, so that most are not refused for one of their writes.
    let preconditions = prop_oneof![9 => Just(Vec::new()), 1 => prop::collection::vec(precondition(), 1..3)];
    let commit = (preconditions, prop::collection::vec(write(), 0..4))
        .prop_map(|(preconditions, writes)| Step::Commit(Batch { preconditions, writes }));
    prop_oneof![
        16 => commit,
        1 => (0..3usize, 0..BLOBS.len()).prop_map(|(scope, blob)| Step::StoreBlob(scope, blob)),
        1 => Just(Step::Reopen),
    ]
}

/// What a result is, without its words.
fn outcome<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(Error::Conflict { what }) => format!("conflict on {what}"),
        Err(Error::RecordConflict { key }) => format!("conflict on the record {key}"),
        Err(Error::Invalid(_)) => "invalid".into(),
        Err(Error::BlobGone { hash }) => format!("blob {hash} is gone"),
        Err(other) => panic!("{other}"),
    }
}

fn store_blob(store: &dyn Store, scope: &Scope, bytes: &[u8]) -> Result<(Hash, u64), Error> {
    let mut writer = store.write_blob(scope)?;
    writer.write(bytes)?;
    writer.finish()
}

fn blob_bytes(store: &dyn Store, scope: &Scope, hash: &Hash) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    store.read_blob(scope, hash)?.read_to_end(&mut bytes).expect("its bytes");
    Ok(bytes)
}

fn whole(store: &dyn Store) -> Vec<String> {
    let hashes = BLOBS.map(Hash::of);
    let mut lines = view(&*store.snapshot().expect("a snapshot"), &scopes(), &MODELS, &hashes);
    for scope in scopes() {
        lines.extend(hashes.iter().map(|hash| outcome(blob_bytes(store, &scope, hash))));
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redb_answers_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = || RedbStore::open(folder.path(), &RedbOptions::default()).expect("it opens");
        let (mut redb, model) = (open(), MemoryStore::default());
        for step in steps {
            match step {
                Step::Commit(batch) => {
                    prop_assert_eq!(outcome(redb.commit(batch.clone())), outcome(model.commit(batch)));
                }
                Step::StoreBlob(scope, blob) => {
                    let (scope, bytes) = (&scopes()[scope], BLOBS[blob]);
                    let stored = store_blob(&redb, scope, bytes);
                    prop_assert_eq!(outcome(stored), outcome(store_blob(&model, scope, bytes)));
                }
                Step::Reopen => {
                    drop(redb);
                    redb = open();
                    prop_assert_eq!(whole(&redb), whole(&model));
                }
            }
        }
        prop_assert_eq!(whole(&redb), whole(&model));
        let mut faults = Vec::new();
        redb.verify(true, &mut |fault| faults.push(fault)).expect("it is verified");
        prop_assert_eq!(faults, Vec::<String>::new());
    }
}
