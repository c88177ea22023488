//! The contents as rows, for a backup.

use std::collections::BTreeMap;

use super::{Blobs, State};
use crate::backup::Part;
use crate::codec::{self, Outline, Stored, StoredRecord, Vector};
use crate::error::Error;
use crate::id::{Hash, Scope, VersionId};
use crate::keys;
use crate::record::Record;

impl State {
    /// The rows of a part of a backup.
    pub(super) fn rows(&self, part: Part, blobs: &Blobs) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
        fn encoded<'a, T: Stored + 'a>(
            rows: impl Iterator<Item = (Vec<u8>, &'a T)>,
        ) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
            rows.map(|(key, value)| Ok((key.clone(), codec::encode(&key, value)?))).collect()
        }
        let hashed = |(scope, hash): &(Scope, Hash)| keys::hash(scope, hash);
        let of_version = |(scope, id): &(Scope, VersionId)| keys::version(scope, *id);
        match part {
            Part::Namespaces => encoded(self.namespaces.iter().map(|(scope, row)| (keys::scope(scope), row))),
            Part::Heads => encoded(self.heads.iter().map(|((scope, uri), head)| (keys::source(scope, uri), head))),
            Part::Versions => encoded(self.versions.iter().map(|(of, version)| (of_version(of), version))),
            Part::Texts => encoded(self.texts.iter().map(|(of, text)| (of_version(of), text))),
            Part::Outlines => {
                let outlines = self.outlines.iter().filter(|(_, sections)| !sections.is_empty());
                let outlines: Vec<_> =
                    outlines.map(|(of, sections)| (of_version(of), Outline(sections.clone()))).collect();
                encoded(outlines.iter().map(|(key, outline)| (key.clone(), outline)))
            }
            Part::Chunks => encoded(self.chunks.iter().map(|((scope, id), chunk)| (keys::chunk(scope, *id), chunk))),
            Part::Vectors => {
                let key = |(scope, model, input): &(Scope, String, Hash)| keys::vector(scope, model, input);
                let vectors: Vec<_> =
                    self.vectors.iter().map(|(of, vector)| (key(of), Vector(vector.clone()))).collect();
                encoded(vectors.iter().map(|(key, vector)| (key.clone(), vector)))
            }
            Part::Changes => {
                encoded(self.changes.iter().map(|((scope, seq), entry)| (keys::changes(scope, *seq), entry)))
            }
            Part::Blobs => encoded(self.blobs.iter().map(|(of, row)| (hashed(of), row))),
            Part::Records => {
                let stored = |row: &Record| StoredRecord { changed: row.changed, value: row.value.clone() };
                let records: Vec<_> =
                    self.records.iter().map(|(key, row)| (key.clone().into_bytes(), stored(row))).collect();
                encoded(records.iter().map(|(key, record)| (key.clone(), record)))
            }
            Part::BlobBytes => {
                let bytes = blobs.lock();
                let named = self.blobs.keys().filter_map(|of| Some((of, bytes.get(of)?)));
                Ok(named.map(|(of, bytes)| ([&hashed(of)[..], &[0; 8]].concat(), bytes.to_vec())).collect())
            }
        }
    }
}
