//! Erasing what one person wrote, in every namespace of an organisation.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use loom_storage::{Batch, Hash, RecordWrite, Scope, Snapshot, TimelineKey, Timestamp, Version, VersionId, Write};
use serde_json::{Map, Value};

use super::Erased;
use super::namespace::catalogued;
use super::records::{hush, remove, remove_blobs};
use crate::datasets::{self, datasets_key, snapshots_of};
use crate::engine::Inner;
use crate::error::Error;
use crate::extracted::{ArtifactRow, artifact_key};
use crate::jobs::{self, Job};
use crate::models;
use crate::reads;
use crate::uploads::{UPLOADS, Upload};

/// Versions read at a time.
const PAGE: usize = 1_000;
/// Source addresses erased in one commit.
const ADDRESSES_MAX: usize = 500;

/// Erases what `actor` wrote as far as it is still there. One that is `resumed` may have lost its versions before, and not yet
/// what they alone needed.
pub(super) fn erase(engine: &Inner, org: &str, actor: &str, resumed: bool, erased: &mut Erased) -> Result<(), Error> {
    let mut gone = HashSet::new();
    for scope in scopes(engine.store.snapshot()?.as_ref(), org)? {
        let mut blobs = uploads_and_ingests(engine, &scope, actor, erased)?;
        let found = written_by(engine.store.snapshot()?.as_ref(), &scope, actor)?;
        let found_any = !found.is_empty();
        erase_versions(engine, &scope, found, &mut blobs, erased, &mut gone)?;
        if resumed {
            blobs.extend(catalogued(engine.store.snapshot()?.as_ref(), &scope)?);
        }
        if found_any || resumed {
            drop_unneeded(engine, &scope)?;
        }
        let is_gone = |uri: &str| gone.contains(&(scope.namespace.clone(), uri.to_owned()));
        engine.reads.forget(&scope, is_gone);
        datasets::forget(engine);
        erased.records += remove(engine, &reads::prefix(&scope), |record| {
            let read: reads::Read = serde_json::from_slice(&record.value).map_err(Error::internal)?;
            Ok(is_gone(&read.source_uri))
        })?;
        let needed = still_needed(engine.store.snapshot()?.as_ref(), &scope, &blobs)?;
        blobs.retain(|blob| !needed.contains(blob));
        let blobs: Vec<Hash> = blobs.into_iter().collect();
        erased.originals += remove_blobs(engine, &scope, &blobs)?;
    }
    let by = Value::from(actor);
    hush(engine, org, |row| row.get("actor") == Some(&by) || names_any(row, &gone))
}

/// The namespaces of an organisation that hold versions, uploads or ingests.
fn scopes(snapshot: &dyn Snapshot, org: &str) -> Result<BTreeSet<Scope>, Error> {
    let mut found: BTreeSet<Scope> = snapshot.namespaces(Some(org))?.into_iter().map(|row| row.scope).collect();
    for start in [UPLOADS, jobs::JOBS] {
        let prefix = format!("{start}{org}/");
        let mut after: Option<String> = None;
        loop {
            let page = snapshot.records(&prefix, after.as_deref(), PAGE)?;
            let namespaces = page.items.iter().filter_map(|record| record.key[prefix.len()..].split('/').next());
            found.extend(namespaces.map(|namespace| Scope::new(org, namespace)));
            let Some(last) = page.items.last().filter(|_| page.more) else { break };
            after = Some(last.key.clone());
        }
    }
    Ok(found)
}

/// Whether an audit record names one of these documents, by namespace and source address.
fn names_any(row: &Map<String, Value>, gone: &HashSet<(String, String)>) -> bool {
    let namespace = row.get("namespace").and_then(Value::as_str).unwrap_or_default();
    let what = row.get("what").and_then(Value::as_object);
    let mut texts = what.into_iter().flat_map(|what| what.values()).flat_map(|value| {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().chain([value]).filter_map(Value::as_str)
    });
    texts.any(|text| gone.contains(&(namespace.to_owned(), text.to_owned())))
}

/// Removes the person's uploads and ingests; answers the blobs that those named.
fn uploads_and_ingests(
    engine: &Inner,
    scope: &Scope,
    actor: &str,
    erased: &mut Erased,
) -> Result<HashSet<Hash>, Error> {
    let mut blobs = HashSet::new();
    erased.records += remove(engine, &format!("{UPLOADS}{}/{}/", scope.org, scope.namespace), |record| {
        let upload: Upload = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        let goes = upload.actor == actor;
        blobs.extend(Hash::from_hex(&upload.sha256).filter(|_| goes));
        Ok(goes)
    })?;
    erased.records += remove(engine, &jobs::prefix(scope), |record| {
        let job: Job = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        let goes = job.ask.actor == actor;
        if goes {
            engine.queue.stop(scope, job.id);
            blobs.extend(Hash::from_hex(&job.file.sha256));
        }
        Ok(goes)
    })?;
    Ok(blobs)
}

/// The versions of a namespace that `actor` wrote, in whatever state, by source address.
fn written_by(snapshot: &dyn Snapshot, scope: &Scope, actor: &str) -> Result<BTreeMap<String, Vec<Version>>, Error> {
    let mut found: BTreeMap<String, Vec<Version>> = BTreeMap::new();
    every_version(snapshot, scope, |version| {
        if version.document.actor == actor {
            found.entry(version.source_uri.clone()).or_default().push(version);
        }
        Ok(())
    })?;
    Ok(found)
}

pub(super) fn every_version(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    mut each: impl FnMut(Version) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut after: Option<TimelineKey> = None;
    loop {
        let page = snapshot.timeline(scope, after, true, PAGE)?;
        after = page.items.last().map(|last| TimelineKey { ingested_at: last.ingested_at, version: last.id });
        page.items.into_iter().try_for_each(&mut each)?;
        if !page.more {
            return Ok(());
        }
    }
}

/// Erases versions by source address; [`drop_unneeded`] is for what only they needed. `blobs` gains what the versions named, `gone`
/// the source addresses that went with them.
pub(super) fn erase_versions(
    engine: &Inner,
    scope: &Scope,
    found: BTreeMap<String, Vec<Version>>,
    blobs: &mut HashSet<Hash>,
    erased: &mut Erased,
    gone: &mut HashSet<(String, String)>,
) -> Result<(), Error> {
    let at = engine.config.clock.now();
    let found: Vec<(String, Vec<Version>)> = found.into_iter().collect();
    for some in found.chunks(ADDRESSES_MAX) {
        let snapshot = engine.store.snapshot()?;
        let mut batch = Batch::default();
        for (source_uri, versions) in some {
            erased.documents += 1;
            erased.versions += versions.len() as u64;
            for version in versions {
                blobs.extend(version.document.original.as_ref().map(|original| original.blob));
                let key = artifact_key(scope, version.doc_id);
                if let Some(record) = snapshot.record(&key)? {
                    let row: ArtifactRow = serde_json::from_slice(&record.value).map_err(Error::internal)?;
                    blobs.extend(Hash::from_hex(&row.sha256));
                    erased.records += 1;
                    batch.writes.push(Write::Record(RecordWrite { key, value: None }));
                }
                let datasets = snapshots_of(snapshot.as_ref(), scope, version.doc_id)?;
                if !datasets.is_empty() {
                    blobs.extend(datasets);
                    erased.records += 1;
                    let key = datasets_key(scope, version.doc_id);
                    batch.writes.push(Write::Record(RecordWrite { key, value: None }));
                }
            }
            batch.writes.push(one(scope, source_uri, versions, at));
        }
        drop(snapshot);
        engine.store.commit(batch)?;
        let snapshot = engine.store.snapshot()?;
        for (source_uri, _) in some {
            if snapshot.head(scope, source_uri)?.is_none() {
                gone.insert((scope.namespace.clone(), source_uri.clone()));
            }
        }
    }
    Ok(())
}

/// Removes the vectors that nothing needs any more, and what is searched of the namespace, which holds terms and vectors of
/// what is gone: it is built anew from what is left.
pub(super) fn drop_unneeded(engine: &Inner, scope: &Scope) -> Result<(), Error> {
    // A write that was planned before relies on the vectors that were there.
    let mut writes = vec![Write::DropUnusedVectors { scope: scope.clone() }];
    writes.extend(models::touch(scope, engine.store.snapshot()?.as_ref())?);
    engine.store.commit(Batch { preconditions: Vec::new(), writes })?;
    Ok(engine.projections.discard(scope)?)
}

fn one(scope: &Scope, source_uri: &str, versions: &[Version], at: Timestamp) -> Write {
    let versions: Vec<VersionId> = versions.iter().map(|version| version.id).collect();
    Write::EraseVersions { scope: scope.clone(), source_uri: source_uri.to_owned(), versions, at }
}

/// Those of the blobs that a version, an upload or an ingest of others names.
pub(super) fn still_needed(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    blobs: &HashSet<Hash>,
) -> Result<HashSet<Hash>, Error> {
    let mut needed = HashSet::new();
    if blobs.is_empty() {
        return Ok(needed);
    }
    every_version(snapshot, scope, |version| {
        needed.extend(version.document.original.map(|original| original.blob));
        if let Some(record) = snapshot.record(&artifact_key(scope, version.doc_id))? {
            let row: ArtifactRow = serde_json::from_slice(&record.value).map_err(Error::internal)?;
            needed.extend(Hash::from_hex(&row.sha256));
        }
        needed.extend(snapshots_of(snapshot, scope, version.doc_id)?);
        Ok(())
    })?;
    let prefixes = [format!("{UPLOADS}{}/{}/", scope.org, scope.namespace), jobs::prefix(scope)];
    for (prefix, is_upload) in prefixes.into_iter().zip([true, false]) {
        let mut after: Option<String> = None;
        loop {
            let page = snapshot.records(&prefix, after.as_deref(), PAGE)?;
            for record in &page.items {
                let hash = if is_upload {
                    serde_json::from_slice::<Upload>(&record.value).map(|upload| upload.sha256)
                } else {
                    serde_json::from_slice::<Job>(&record.value).map(|job| job.file.sha256)
                };
                needed.extend(Hash::from_hex(&hash.map_err(Error::internal)?));
            }
            let Some(last) = page.items.last().filter(|_| page.more) else { break };
            after = Some(last.key.clone());
        }
    }
    Ok(needed)
}
