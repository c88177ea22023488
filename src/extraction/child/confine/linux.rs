//! Confinement on Linux.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
    path_beneath_rules,
};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::close;

use super::{Layers, syscalls};
use crate::extraction::frames::{Layer, Setup};

/// The newest kind of landlock that is asked for; a kernel with an older one does what it can.
const LANDLOCK: ABI = ABI::V6;
/// Descriptors of an extractor: its standard input, output and error.
const DESCRIPTORS: u64 = 3;
/// How many descriptors are tried where they cannot be listed.
const DESCRIPTORS_TRIED: i32 = 4_096;
/// What a program of the system may use: a page drawn and read is far below it.
const PROGRAM_MEMORY_BYTES: u64 = 2 << 30;
const PROGRAM_CPU_SECONDS: u64 = 60;
const PROGRAM_DESCRIPTORS: u64 = 64;
/// Where programs of the system have their parts.
const SYSTEM_FOLDERS: [&str; 11] = [
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/nix/store",
    "/dev/null",
    "/dev/urandom",
];

/// Confines the process to its three descriptors, its memory and its time.
pub fn extractor(setup: &Setup) -> Result<Vec<Layer>, String> {
    let mut layers = Layers::new(setup.degraded);
    layers.must("descriptors", close_descriptors())?;
    let limits = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_NPROC, 0),
        (Resource::RLIMIT_CPU, setup.cpu_seconds),
        (Resource::RLIMIT_AS, setup.memory_bytes),
    ];
    layers.must("limits", limit(&limits))?;
    layers.must("no_new_privs", no_new_privs())?;
    layers.may("namespaces", namespaces());
    layers.may("landlock", landlock(&[]));
    layers.must("descriptor_limit", limit(&[(Resource::RLIMIT_NOFILE, DESCRIPTORS)]))?;
    layers.must("seccomp", syscalls::allow_few().map(|()| "allows memory, time, its pipes and its own end".into()))?;
    Ok(layers.layers)
}

/// See [`super::super::become_program`].
pub fn become_program(program: &Path, args: &[String]) -> String {
    let limits = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_CPU, PROGRAM_CPU_SECONDS),
        (Resource::RLIMIT_AS, PROGRAM_MEMORY_BYTES),
        (Resource::RLIMIT_NOFILE, PROGRAM_DESCRIPTORS),
    ];
    let mut folders: Vec<PathBuf> = SYSTEM_FOLDERS.iter().map(PathBuf::from).collect();
    // What the system runs is where the link leads.
    folders.extend(program.canonicalize());
    folders.push(program.to_owned());
    folders.extend(std::env::var_os("TESSDATA_PREFIX").map(PathBuf::from));
    let confined = close_descriptors().and_then(|_| limit(&limits)).and_then(|_| no_new_privs()).and_then(|_| {
        // A system may lack these two.
        for (name, held) in [("namespaces", namespaces()), ("landlock", landlock(&folders))] {
            if let Err(why) = held {
                tracing::debug!(name, why, "a layer does not hold");
            }
        }
        syscalls::deny_many()
    });
    match confined {
        Ok(()) => Command::new(program).args(args).exec().to_string(),
        Err(why) => why,
    }
}

/// Closes whatever the engine left open beside the standard ones.
fn close_descriptors() -> Result<String, String> {
    let open: Vec<i32> = match std::fs::read_dir("/proc/self/fd") {
        Ok(listed) => listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect(),
        // Without that file system all are tried that a process has by default.
        Err(_) => (0..DESCRIPTORS_TRIED).collect(),
    };
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        match close(descriptor) {
            // The one that listed them is closed already.
            Ok(()) | Err(Errno::EBADF) => {}
            Err(error) => return Err(format!("{descriptor} cannot be closed: {error}")),
        }
    }
    Ok("only its three pipes are open".into())
}

fn limit(limits: &[(Resource, u64)]) -> Result<String, String> {
    let mut set = Vec::new();
    for (resource, bound) in limits {
        // At the hard limit of computing time the system kills without a word, at the soft one it says what for.
        let hard = bound + u64::from(*resource == Resource::RLIMIT_CPU);
        setrlimit(*resource, *bound, hard).map_err(|error| format!("{resource:?} cannot be set: {error}"))?;
        set.push(format!("{resource:?} {bound}"));
    }
    Ok(set.join(", "))
}

fn no_new_privs() -> Result<String, String> {
    prctl::set_no_new_privs().and_then(|()| prctl::set_dumpable(false)).map_err(|error| error.to_string())?;
    Ok("gains no rights, and nobody looks into it".into())
}

/// A network of its own, which has no interfaces, and no shared memory of others.
fn namespaces() -> Result<String, String> {
    let apart = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC;
    // As somebody of no other namespace it has no rights outside; where that is not allowed, root may do without.
    match unshare(apart | CloneFlags::CLONE_NEWUSER) {
        Ok(()) => Ok("user, network and shared memory of its own".into()),
        Err(_) => match unshare(apart) {
            Ok(()) => Ok("network and shared memory of its own".into()),
            Err(error) => Err(format!("the system does not allow it: {error}")),
        },
    }
}

/// Denies all files but those below `folders`, which may be read and run, and all TCP ports.
fn landlock(folders: &[PathBuf]) -> Result<String, String> {
    let ruled = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(LANDLOCK)))
        .and_then(|rules| rules.scope(Scope::from_all(LANDLOCK)))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(folders, AccessFs::from_read(LANDLOCK))))
        .and_then(RulesetCreated::restrict_self);
    match ruled {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => Err("this kernel has none".into()),
        Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => Ok("no file and no port".into()),
        Ok(_) => Ok("no file; this kernel's is older and lets some more through".into()),
        Err(error) => Err(error.to_string()),
    }
}
