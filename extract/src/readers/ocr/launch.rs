//! Starts OCR programs that are found on `PATH`, without confining them.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::OcrFailure;
use super::programs::{Launcher, Program, Run};

/// Starts programs as they are on `PATH`, each in a process group of its own that is killed when its time is over.
#[derive(Debug, Default)]
pub struct PathLauncher;

impl Launcher for PathLauncher {
    fn finds(&self, program: Program) -> bool {
        place(program).is_some()
    }

    fn launch(&self, run: &Run<'_>, deadline: Instant) -> Result<Vec<u8>, OcrFailure> {
        let place = place(run.program).ok_or(OcrFailure::Unavailable)?;
        let mut command = Command::new(place);
        command.args(&run.arguments).envs(run.environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|error| failed(run, &error.to_string()))?;
        outcome(child, run, deadline)
    }
}

fn failed(run: &Run<'_>, what: &str) -> OcrFailure {
    OcrFailure::Failed(format!("{}: {what}", run.program.name()))
}

/// Feeds a program, reads what it writes, and waits for its end: all three at once, as each may wait for another.
fn outcome(mut child: Child, run: &Run<'_>, deadline: Instant) -> Result<Vec<u8>, OcrFailure> {
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (send, receive) = mpsc::channel();
    let most = run.output_bytes_max as u64;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends before it has read everything says why by its status.
            let _ = input.map(|mut input| input.write_all(run.input));
        });
        scope.spawn(move || {
            let mut written = Vec::new();
            let read = output.map(|output| output.take(most + 1).read_to_end(&mut written));
            // The receiver is there until this ends.
            let _ = send.send(read.unwrap_or(Ok(0)).map(|_| written));
        });
        let time = deadline.saturating_duration_since(Instant::now());
        let written = receive.recv_timeout(time);
        let late = written.is_err() || wait(&mut child, deadline);
        if late || matches!(&written, Ok(Ok(written)) if written.len() as u64 > most) {
            kill(&mut child);
        }
        let status = child.wait().map_err(|error| failed(run, &error.to_string()))?;
        match written {
            _ if late => Err(failed(run, "it took too long")),
            Ok(Ok(written)) if written.len() as u64 > most => Err(failed(run, "its output is too large")),
            Ok(Ok(written)) if status.success() => Ok(written),
            Ok(Ok(_)) => Err(failed(run, "it ended with an error")),
            Ok(Err(error)) => Err(failed(run, &error.to_string())),
            Err(_) => Err(failed(run, "it took too long")),
        }
    })
}

/// Whether a program that has written all is still not done at the deadline.
fn wait(child: &mut Child, deadline: Instant) -> bool {
    let mut pause = Duration::from_micros(200);
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            return true;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    false
}

/// Kills a program and all that it started.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

/// Where a program is on `PATH`.
fn place(program: Program) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("{}{}", program.name(), std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| file.is_file())
}
