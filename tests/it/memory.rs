//! How much memory a server takes for what is sent to it: a process of its own, as the system counts it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::cli::{Loom, Serving};

const MIB: usize = 1 << 20;

/// How far the resident memory of a server rises, in KiB, from now to its highest.
pub struct Growth {
    process: u32,
    before: u64,
}

impl Growth {
    /// From now on.
    pub fn of(serving: &Serving) -> Self {
        let process = serving.child.id();
        // Forgets the highest so far, where the system lets it; elsewhere only what goes beyond it is seen.
        let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
        Self { process, before: highest(process) }
    }

    /// How far until now.
    pub fn kib(&self) -> u64 {
        highest(self.process) - self.before
    }
}

fn highest(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Uploads as many bytes as they are made, none of them kept here; the status line of the answer.
fn upload(serving: &Serving, name: &str, mebibytes: usize) -> String {
    let mut stream = TcpStream::connect(serving.base.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    let length = mebibytes * MIB;
    write!(
        stream,
        "POST /v1/knowledge.upload?filename={name} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    )
    .unwrap();
    // No two pieces are the same, so that nobody can keep one of them for all.
    let mut state = name.len() as u64 + mebibytes as u64;
    let mut piece = vec![0; MIB];
    for _ in 0..mebibytes {
        for byte in &mut piece {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = state.to_be_bytes()[0];
        }
        stream.write_all(&piece).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn an_upload_streams_through_little_memory_and_many_at_once_each() {
    let loom = Loom::new();
    let serving = loom.serve();
    // What a first upload sets up for all is none of the second's.
    assert_eq!(upload(&serving, "first.bin.txt", 4), "HTTP/1.1 201 Created");
    let growth = Growth::of(&serving);
    assert_eq!(upload(&serving, "large.txt", 64), "HTTP/1.1 201 Created");
    assert!(growth.kib() < 16 * 1024, "an upload of 64 MiB took {} KiB", growth.kib());

    let growth = Growth::of(&serving);
    thread::scope(|scope| {
        let sent: Vec<_> = (0..6)
            .map(|number| {
                let serving = &serving;
                scope.spawn(move || upload(serving, &format!("one_of_six_{number}.txt"), 16 + number))
            })
            .collect();
        for sent in sent {
            assert_eq!(sent.join().unwrap(), "HTTP/1.1 201 Created");
        }
    });
    assert!(growth.kib() < 6 * 16 * 1024, "six uploads at once took {} KiB", growth.kib());
}
