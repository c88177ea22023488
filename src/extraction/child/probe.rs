//! What a confined process can still do, found out by trying. Whoever operates Loom sees it in `loom extractor --probe`.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;

use crate::extraction::frames::Attempt;

/// More memory than an extraction may use by default.
const MUCH_MEMORY: usize = 2 << 30;

/// Tries what an extractor must not be able to do.
pub fn attempts() -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let mut attempt = |what: &str, tried: io::Result<()>| {
        let (allowed, said) = match tried {
            Ok(()) => (true, "it was allowed".to_owned()),
            Err(error) => (false, error.to_string()),
        };
        attempts.push(Attempt { what: what.to_owned(), allowed, said });
    };
    let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    attempt("read a file of the system", File::open("/etc/passwd").map(drop));
    attempt("read the program", File::open("/proc/self/exe").map(drop));
    attempt("list a folder", fs::read_dir("/").map(drop));
    attempt("write a file", File::create(std::env::temp_dir().join("loom-extractor-probe")).map(drop));
    attempt("remove a file", fs::remove_file("/nonexistent").or_else(absent));
    attempt("connect over TCP", TcpStream::connect(("127.0.0.1", 9)).map(drop));
    attempt("listen over TCP", TcpListener::bind(("127.0.0.1", 0)).map(drop));
    attempt("send over UDP", UdpSocket::bind(("127.0.0.1", 0)).map(drop));
    #[cfg(unix)]
    attempt("open a Unix socket", std::os::unix::net::UnixDatagram::unbound().map(drop));
    attempt("run a program", Command::new("/bin/true").spawn().map(drop));
    attempt("run itself", Command::new(program).arg("--version").spawn().map(drop));
    attempt("start a thread", thread::Builder::new().spawn(|| {}).map(drop));
    attempt("take 2 GiB of memory", memory());
    #[cfg(target_os = "linux")]
    linux(&mut attempt);
    attempts
}

/// What is not there was looked for, which is what is not allowed.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn memory() -> io::Result<()> {
    let mut bytes = Vec::<u8>::new();
    bytes.try_reserve_exact(MUCH_MEMORY).map_err(io::Error::other)?;
    // Memory that nobody writes to might not be taken at all.
    bytes.resize(1 << 20, 1);
    Ok(())
}

#[cfg(target_os = "linux")]
fn linux(attempt: &mut dyn FnMut(&str, io::Result<()>)) {
    use nix::sched::{CloneFlags, unshare};
    use nix::sys::resource::{Resource, setrlimit};
    use nix::sys::signal::kill;
    use nix::unistd::getppid;
    use std::os::fd::AsFd;
    attempt("signal the engine", kill(getppid(), None).map_err(Into::into));
    attempt("leave its namespaces", unshare(CloneFlags::CLONE_NEWNS).map_err(Into::into));
    attempt("raise a limit", setrlimit(Resource::RLIMIT_NOFILE, 64, 64).map_err(Into::into));
    attempt("open another descriptor", io::stdin().as_fd().try_clone_to_owned().map(drop));
}
