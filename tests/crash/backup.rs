//! Backups that are taken among the writes, and what they must restore to.

use std::io::Read as _;
use std::sync::mpsc::Sender;

use loom::{DoctorOptions, check_backup, restore_backup};

use crate::after::{found, open};
use crate::known::{Journal, Ticks};
use crate::random::Random;
use crate::server::{Client, Embedding};

/// A backup that came to its end.
pub struct Backup {
    bytes: Vec<u8>,
    /// When it was asked for.
    started: u64,
    /// When its last byte was there.
    ended: u64,
}

/// Takes one backup after the other until the server is gone; those that came to their end.
pub fn take_all(client: &Client, ticks: &Ticks, answers: &Sender<()>) -> Vec<Backup> {
    let mut whole = Vec::new();
    // Nobody hears the answers any more once the server was killed.
    while answers.send(()).is_ok() {
        let started = ticks.next();
        let Some(mut response) = client.stream("backup") else { break };
        let mut bytes = Vec::new();
        let read = response.body_mut().as_reader().read_to_end(&mut bytes);
        if response.status().is_success() && read.is_ok() {
            whole.push(Backup { bytes, started, ended: ticks.next() });
        }
    }
    whole
}

/// Restores a backup: each writer's documents are as they were at one moment between its start and its end.
pub fn verify(backup: &Backup, embedding: &Embedding, journals: &[Journal], random: &mut Random) {
    let folder = tempfile::tempdir().unwrap();
    restore_backup(folder.path(), &mut backup.bytes.as_slice()).unwrap();
    let engine = open(folder.path(), embedding);
    for journal in journals {
        let docs = found(&engine, journal);
        let (from, to) = (backup.started, backup.ended);
        assert!(journal.explains(&docs, from, to), "a backup of {from} to {to} has {docs:#?}");
    }
    let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
    // One that breaks off anywhere is none.
    let cut = usize::try_from(random.below(backup.bytes.len() as u64)).unwrap();
    assert!(check_backup(&mut &backup.bytes[..cut]).is_err(), "{cut} of {} bytes", backup.bytes.len());
}
