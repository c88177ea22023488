//! Everything that a snapshot answers, as lines of text to compare.

use std::collections::BTreeSet;
use std::fmt::Debug;

use crate::error::Error;
use crate::id::{ChunkId, Hash, Revision, Scope, Seq, VersionId};
use crate::record::Version;
use crate::store::{Page, Snapshot, TimelineKey};

/// Items on a page: few, so that pages are turned.
const LIMIT: usize = 3;

/// What `snapshot` answers to every question about `scopes`, the `models` and `blobs` in them, and the control
/// records. Two stores with the same contents have the same view.
///
/// # Panics
///
/// When an answer is an error or two answers disagree.
pub fn view(snapshot: &dyn Snapshot, scopes: &[Scope], models: &[&str], blobs: &[Hash]) -> Vec<String> {
    let mut lines = vec![format!("{:?}", snapshot.seq())];
    let all = snapshot.namespaces(None).expect("namespaces");
    let orgs: BTreeSet<_> = scopes.iter().map(|scope| scope.org.as_str()).collect();
    lines.push(format!("{all:?}"));
    for org in orgs {
        lines.push(format!("{org}: {:?}", snapshot.namespaces(Some(org)).expect("namespaces of a tenant")));
    }
    let records =
        pages(|after: Option<&String>| snapshot.records("", after.map(String::as_str), LIMIT), |row| row.key.clone());
    for record in records {
        assert_eq!(snapshot.record(&record.key).expect("a record"), Some(record.clone()));
        lines.push(format!("{record:?}"));
    }
    for scope in scopes {
        lines.push(format!("{scope}: {:?}", snapshot.namespace(scope).expect("a namespace")));
        heads(snapshot, scope, &mut lines);
        versions(snapshot, scope, models, &mut lines);
        for blob in blobs {
            lines.push(format!("{blob:?}: {:?}", snapshot.blob(scope, blob).expect("a blob's row")));
        }
        let changes =
            pages(|after| snapshot.changes(scope, after.copied().unwrap_or(Seq(0)), LIMIT), |entry| entry.seq);
        push(&mut lines, changes);
    }
    lines
}

fn heads(snapshot: &dyn Snapshot, scope: &Scope, lines: &mut Vec<String>) {
    let heads = pages(
        |after: Option<&String>| snapshot.heads(scope, "", after.map(String::as_str), LIMIT),
        |(source_uri, _)| source_uri.clone(),
    );
    for (source_uri, head) in &heads {
        assert_eq!(snapshot.head(scope, source_uri).expect("a head"), Some(*head));
        for revision in 1..=head.revision.0 + 1 {
            let version = snapshot.revision(scope, source_uri, Revision(revision)).expect("a revision");
            lines.push(format!("{source_uri:?} {revision}: {:?}", version.map(|version| version.id)));
        }
    }
    push(lines, heads);
}

fn versions(snapshot: &dyn Snapshot, scope: &Scope, models: &[&str], lines: &mut Vec<String>) {
    let key = |version: &Version| TimelineKey { ingested_at: version.ingested_at, version: version.id };
    let timeline = pages(|after| snapshot.timeline(scope, after.copied(), true, LIMIT), key);
    let served = pages(|after| snapshot.timeline(scope, after.copied(), false, LIMIT), key);
    let live: Vec<Version> =
        pages(|after: Option<&VersionId>| snapshot.live_versions(scope, after.copied(), LIMIT), |version| version.id);
    for version in &timeline {
        assert_eq!(snapshot.version(scope, version.id).expect("a version").as_ref(), Some(version));
        let text = snapshot.text(scope, version.id).expect("a text");
        let same = snapshot.versions_with_content(scope, &version.content_hash).expect("same content");
        lines.push(format!("{text:?} also {same:?}"));
        push(lines, snapshot.sections(scope, version.id).expect("sections"));
        let chunks = snapshot.chunks(scope, version.first_chunk, version.chunk_count).expect("chunks");
        for (chunk, id) in chunks.iter().zip(version.chunk_ids()) {
            assert_eq!(snapshot.chunk(scope, id).expect("a chunk").as_ref(), Some(chunk));
            for uri in [version.source_uri.as_str(), "nobody's"] {
                let elsewhere = snapshot.chunk_content_elsewhere(scope, &chunk.content_hash, uri);
                lines.push(format!("{id:?} besides {uri:?}: {:?}", elsewhere.expect("same chunk content")));
            }
            for model in models {
                let vector = snapshot.vector(scope, model, &chunk.input_hash).expect("a vector");
                lines.push(format!("{id:?} {model}: {vector:?}"));
            }
        }
        push(lines, chunks);
    }
    for model in models {
        let inputs: Vec<_> = ["a\n", "b\n", "c\n", "never\n"].map(super::sample::input).into();
        lines.push(format!("{model}: {:?}", snapshot.vectors(scope, model, &inputs).expect("vectors")));
    }
    lines.push(format!("{:?}", snapshot.chunks(scope, ChunkId(0), u32::MAX).expect("no chunks").len()));
    push(lines, timeline);
    push(lines, served.iter().map(|version| version.id));
    push(lines, live.iter().map(|version| version.id));
}

fn push<T: Debug>(lines: &mut Vec<String>, items: impl IntoIterator<Item = T>) {
    lines.extend(items.into_iter().map(|item| format!("{item:?}")));
}

/// All items of a paged scan, whose position is the last item's.
pub(super) fn pages<T, P>(
    page_after: impl Fn(Option<&P>) -> Result<Page<T>, Error>,
    position: impl Fn(&T) -> P,
) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let after = all.last().map(&position);
        let page = page_after(after.as_ref()).expect("a page");
        assert!(page.items.len() <= LIMIT, "a page has {} items", page.items.len());
        assert!(!page.more || !page.items.is_empty(), "an empty page with more to follow");
        all.extend(page.items);
        if !page.more {
            return all;
        }
    }
}
