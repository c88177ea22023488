//! `loom backup` and `loom restore-backup`: everything in one file, and back.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted};
use super::settings::{Global, Identity};
use crate::{BackupSummary, Caller, check_backup, restore_backup};

/// Copy everything that is stored into one file, also while a server runs
#[derive(clap::Args)]
pub struct Args {
    /// The file to make
    file: PathBuf,
    /// Replace the file when it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    identity: Identity,
}

/// Make a data folder from a backup; the folder must be missing or empty
#[derive(clap::Args)]
pub struct RestoreArgs {
    /// The backup
    file: PathBuf,
}

/// A file on its way to its name; gone when it does not get there.
struct Fresh {
    path: PathBuf,
    file: File,
}

impl Fresh {
    /// Beside `target`, so that the name can be changed in one step.
    fn beside(target: &Path) -> Result<Self, Failure> {
        let Some(name) = target.file_name() else {
            return Err(Failure::Usage(format!("{} names no file", target.display())));
        };
        let mut fresh = std::ffi::OsString::from(".");
        fresh.push(name);
        fresh.push(format!(".{}.new", std::process::id()));
        let path = target.with_file_name(fresh);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(Failure::io(format!("cannot make {}", path.display())))?;
        Ok(Self { path, file })
    }

    /// Makes it durable under the name `target`.
    fn publish(self, target: &Path) -> Result<(), Failure> {
        let doing = || Failure::io(format!("cannot write {}", target.display()));
        self.file.sync_all().map_err(doing())?;
        fs::rename(&self.path, target).map_err(doing())?;
        #[cfg(unix)]
        if let Some(folder) = std::path::absolute(target).ok().as_deref().and_then(Path::parent) {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(doing())?;
        }
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // After it was given its name there is nothing left to remove.
        let _ = fs::remove_file(&self.path);
    }
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    refuse_existing(&args.file, args.force)?;
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let mut fresh = Fresh::beside(&args.file)?;
    match &client {
        Client::Local(engine) => {
            engine.backup(&Caller::local(), &mut fresh.file)?;
        }
        Client::Http(remote) => remote.backup(&mut fresh.file)?,
    }
    client.close();
    // Read again from the file: what is kept is what was checked.
    let doing = || Failure::io(format!("cannot read {}", fresh.path.display()));
    fresh.file.flush().map_err(doing())?;
    let mut written = BufReader::new(File::open(&fresh.path).map_err(doing())?);
    let summary = check_backup(&mut written)?;
    refuse_existing(&args.file, args.force)?;
    fresh.publish(&args.file)?;
    print("backed up", &summary, &args.file, screen)
}

pub fn restore(global: &Global, args: &RestoreArgs, screen: &mut Screen) -> Result<(), Failure> {
    if global.server.is_some() {
        return Err(Failure::Usage("a backup is restored into a folder: name it with --data, not --server".into()));
    }
    let folder = global.folder()?;
    let file = File::open(&args.file).map_err(Failure::io(format!("cannot open {}", args.file.display())))?;
    let summary = restore_backup(&folder, &mut BufReader::new(file)).map_err(Failure::Open)?;
    print("restored", &summary, &folder, screen)
}

fn refuse_existing(file: &Path, force: bool) -> Result<(), Failure> {
    let exists = file.try_exists().map_err(Failure::io(format!("cannot look for {}", file.display())))?;
    if exists && !force {
        return Err(Failure::Usage(format!("{} exists: give --force to replace it", file.display())));
    }
    Ok(())
}

fn print(done: &str, summary: &BackupSummary, place: &Path, screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        return screen.json(&json!({
            "seq": summary.seq.0, "versions": summary.versions, "chunks": summary.chunks, "blobs": summary.blobs,
            "bytes": summary.bytes, "path": place.display().to_string(),
        }));
    }
    screen.line(format!(
        "{done}: {}, {}, {}; {} bytes; {}",
        counted(summary.versions, "document version"),
        counted(summary.chunks, "chunk"),
        counted(summary.blobs, "original"),
        summary.bytes,
        place.display()
    ))
}
