//! A disk in memory that fails, freezes or fills up at a chosen write or sync, and may lose what was not synced.

use std::io::{Error as IoError, ErrorKind};
use std::sync::Arc;

use loom_storage::StorageBackend;
use parking_lot::Mutex;

/// A file as it is, as it was last synced, and the writes between.
#[derive(Clone, Debug, Default)]
struct File {
    now: Vec<u8>,
    synced: Vec<u8>,
    since: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Len(usize),
    Write(usize, Vec<u8>),
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Len(len) => bytes.resize(*len, 0),
        Change::Write(at, data) => {
            let end = at + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at..end].copy_from_slice(data);
        }
    }
}

/// Which of the writes since the last sync reach the disk before the power goes.
#[derive(Clone, Copy, Debug)]
pub enum Lost {
    Nothing,
    Everything,
    EveryOther,
}

impl File {
    fn after_power_loss(&self, lost: Lost) -> Self {
        let mut bytes = self.synced.clone();
        for (index, change) in self.since.iter().enumerate() {
            let kept = match lost {
                Lost::Nothing => true,
                Lost::Everything => false,
                Lost::EveryOther => index % 2 == 1,
            };
            // A file's length is not lost while later bytes of it are kept.
            if kept || matches!((lost, change), (Lost::EveryOther, Change::Len(_))) {
                apply(&mut bytes, change);
            }
        }
        Self { now: bytes.clone(), synced: bytes, since: Vec::new() }
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operation fails, and all that follow until the disk is mended.
    Fail,
    /// The operation alone fails.
    FailOnce,
    /// The operation and all that follow never return: the process is killed while they hang.
    Freeze,
    /// As `Fail`, after half of what was to be written.
    ShortThenFail,
    /// As `Freeze`, after half of what was to be written.
    ShortThenFreeze,
    /// There is no room for this write and all that follow, until there is some again.
    Full,
}

/// The operation at which it goes wrong, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Write(u64),
    Sync(u64),
}

#[derive(Debug, Default)]
struct Plan {
    fault: Option<(Fault, At)>,
    writes: u64,
    syncs: u64,
    /// Whether the chosen operation came.
    fired: bool,
}

/// What the files of a store are on.
#[derive(Clone, Debug)]
pub struct Disk {
    files: [Arc<Mutex<File>>; 3],
    plan: Arc<Mutex<Plan>>,
}

impl Disk {
    /// An empty disk on which nothing goes wrong.
    pub fn new() -> Self {
        Self { files: Default::default(), plan: Arc::default() }
    }

    /// From now on counts operations, and lets one of them go wrong.
    pub fn break_at(&self, fault: Fault, at: At) {
        *self.plan.lock() = Plan { fault: Some((fault, at)), ..Plan::default() };
    }

    /// From now on nothing goes wrong.
    pub fn mend(&self) {
        self.plan.lock().fault = None;
    }

    /// Whether the chosen operation came.
    pub fn fired(&self) -> bool {
        self.plan.lock().fired
    }

    /// What another machine finds on it.
    pub fn after_power_loss(&self, lost: Lost) -> Self {
        let file = |file: &Arc<Mutex<File>>| Arc::new(Mutex::new(file.lock().after_power_loss(lost)));
        Self { files: self.files.each_ref().map(file), plan: Arc::default() }
    }

    /// What opens the main file (0), the write-ahead log (1) or the blob file (2).
    pub fn opener(&self, index: usize) -> impl Fn() -> Result<Backend, IoError> + Send + Sync + 'static {
        let (file, plan) = (Arc::clone(&self.files[index]), Arc::clone(&self.plan));
        move || Ok(Backend { file: Arc::clone(&file), plan: Arc::clone(&plan) })
    }
}

#[derive(Debug)]
pub struct Backend {
    file: Arc<Mutex<File>>,
    plan: Arc<Mutex<Plan>>,
}

/// How much of an operation is done, and what is answered.
enum Verdict {
    Do,
    Half(ErrorKind),
    Refuse(ErrorKind),
}

impl Plan {
    fn verdict(&mut self, is_write: bool) -> Verdict {
        if is_write {
            self.writes += 1;
        } else {
            self.syncs += 1;
        }
        let Some((fault, at)) = self.fault else { return Verdict::Do };
        let now = match at {
            At::Write(number) => is_write && self.writes == number,
            At::Sync(number) => !is_write && self.syncs == number,
        };
        let first = now && !self.fired;
        self.fired |= now;
        match fault {
            _ if !self.fired => Verdict::Do,
            Fault::FailOnce if !first => Verdict::Do,
            Fault::Full if !is_write && !first => Verdict::Do,
            Fault::Full => Verdict::Refuse(ErrorKind::StorageFull),
            Fault::ShortThenFail | Fault::ShortThenFreeze if first => Verdict::Half(ErrorKind::Other),
            Fault::Fail | Fault::FailOnce | Fault::Freeze | Fault::ShortThenFail | Fault::ShortThenFreeze => {
                Verdict::Refuse(ErrorKind::Other)
            }
        }
    }
}

impl Backend {
    fn change(&self, change: &Change) -> Result<(), IoError> {
        let verdict = self.plan.lock().verdict(true);
        let (done, answer) = match (verdict, change) {
            (Verdict::Do, change) => (Some(change.clone()), Ok(())),
            (Verdict::Half(kind), Change::Write(at, data)) => {
                (Some(Change::Write(*at, data[..data.len() / 2].to_vec())), Err(kind.into()))
            }
            (Verdict::Half(kind) | Verdict::Refuse(kind), _) => (None, Err(kind.into())),
        };
        if let Some(done) = done {
            let mut file = self.file.lock();
            apply(&mut file.now, &done);
            file.since.push(done);
        }
        answer
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("a test's file is small")
}

impl StorageBackend for Backend {
    fn len(&self) -> Result<u64, IoError> {
        Ok(self.file.lock().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), IoError> {
        let file = self.file.lock();
        let bytes = file.now.get(index(offset)..index(offset) + out.len());
        out.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.change(&Change::Len(index(len)))
    }

    fn sync_data(&self) -> Result<(), IoError> {
        match self.plan.lock().verdict(false) {
            Verdict::Do => {}
            Verdict::Half(kind) | Verdict::Refuse(kind) => return Err(kind.into()),
        }
        let mut file = self.file.lock();
        let File { synced, since, .. } = &mut *file;
        for change in since.drain(..) {
            apply(synced, &change);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), IoError> {
        self.change(&Change::Write(index(offset), data.to_vec()))
    }
}
