//! What a piece of work took.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::Outcome;

/// Wall and CPU seconds, the latter of all threads of the process or of the calling thread alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub wall_s: f64,
    pub cpu_s: f64,
}

/// What `work` took in all threads.
pub fn process<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Spent)> {
    spent(process_cpu_s, work)
}

/// What `work` took in this thread.
pub fn thread<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Spent)> {
    spent(thread_cpu_s, work)
}

fn spent<T>(clock: fn() -> Outcome<f64>, work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Spent)> {
    let (cpu_s, started) = (clock()?, Instant::now());
    let done = work()?;
    Ok((done, Spent { wall_s: started.elapsed().as_secs_f64(), cpu_s: clock()? - cpu_s }))
}

/// Counted in hundredths of a second.
fn process_cpu_s() -> Outcome<f64> {
    cpu_of(Path::new("/proc/self/stat"))
}

/// Counted in nanoseconds.
fn thread_cpu_s() -> Outcome<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("schedstat is empty")?.parse::<f64>()? / 1e9)
}

/// CPU seconds of the threads of this process called `name`, those that ended left out.
pub fn threads_cpu_s(name: &str) -> Outcome<f64> {
    let mut sum = 0.0;
    for task in fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        if fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name) {
            sum += cpu_of(&path.join("stat"))?;
        }
    }
    Ok(sum)
}

fn cpu_of(path: &Path) -> Outcome<f64> {
    let stat = fs::read_to_string(path)?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("stat names a process")?.1.split_whitespace().collect();
    let ticks = |at: usize| -> Outcome<f64> { Ok(fields.get(at).ok_or("stat is short")?.parse::<f64>()?) };
    Ok((ticks(11)? + ticks(12)?) / 100.0)
}

/// Resident memory of a process in MB.
pub fn resident_mb(process: &str) -> Outcome<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? / 1e3)
}

/// Bytes that the files below a folder take on the disk.
pub fn disk_bytes(folder: &Path) -> Outcome<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(sum)
}

/// Milliseconds of calls.
#[derive(Default)]
pub struct Latencies(Vec<f64>);

impl Latencies {
    pub fn push(&mut self, spent: Spent) {
        self.0.push(spent.wall_s * 1e3);
    }

    /// The latency that `percent` of the calls do not exceed.
    pub fn at(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or(f64::NAN)
    }
}
