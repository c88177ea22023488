//! What is measured of other processes: the HTTP server, and resident memory.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use loom::{Config, Engine};
use serde_json::{Value, json};

use super::Outcome;
use super::corpus::Corpus;
use super::engine::{call, search_input, wait_for_graph};
use super::measure::{self, Latencies};
use super::report::Report;

/// The mode of this program in which it opens a folder, searches, and says what memory it takes.
pub const SERVE: &str = "serve";
const CALLS: usize = 300;

/// A server that is stopped when this is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(data: &Path) -> Outcome<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loom"))
            .arg("serve")
            .env("LOOM_DATA", data)
            .env("LOOM_LISTEN", "127.0.0.1:0")
            .env("LOOM_LOG", "warn")
            .stderr(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("its output is piped")?).read_line(&mut line)?;
        let address = line.trim().rsplit_once("http://").ok_or("it says where it listens")?.1.to_owned();
        Ok(Self { child, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that is gone already needs no killing.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What HTTP adds to the median of a call: of one that does next to nothing, and of a search. A call that is repeated in a
/// loop finds its caches warm and its core awake; one that another thread waits for does not, and neither does a server.
pub fn http(corpus: &Corpus, data: &Path, report: &mut Report) -> Outcome<()> {
    Report::heading("HTTP");
    let gets = corpus.documents.iter().map(|(path, _)| ("knowledge.get", json!({ "source_uri": path })));
    let searches = corpus.queries.iter().map(|(query, _)| ("knowledge.search", search_input(query, "lexical")));
    let gets: Vec<_> = gets.cycle().take(CALLS).collect();
    let searches: Vec<_> = searches.cycle().take(CALLS).collect();
    let engine = Engine::open(data, Config::default())?;
    let in_a_loop = [inside(&engine, &gets)?, inside(&engine, &searches)?];
    let handed_over = [handed_over(&engine, &gets)?, handed_over(&engine, &searches)?];
    engine.close()?;
    drop(engine);
    let server = Server::start(data)?;
    let over_http = [outside(&server, &gets)?, outside(&server, &searches)?];
    let names = [
        ["get in a loop: median", "get by a thread that waits for it", "get over HTTP"],
        [
            "lexical search in a loop: median",
            "lexical search by a thread that waits for it",
            "lexical search over HTTP",
        ],
    ];
    for (at, names) in names.into_iter().enumerate() {
        let medians = [&in_a_loop, &handed_over, &over_http].map(|of| of[at].at(50));
        for (name, median) in names.into_iter().zip(medians) {
            report.figure(name, median, "ms");
        }
        report.figure("HTTP adds to the loop", medians[2] - medians[0], "ms");
        report.figure("HTTP adds to the waiting thread", medians[2] - medians[1], "ms (wanted: at most 0.3)");
    }
    Ok(())
}

/// The calls' latencies in this process, after a first pass over them.
fn inside(engine: &Engine, calls: &[(&str, Value)]) -> Outcome<Latencies> {
    let mut latencies = Latencies::default();
    for pass in 0..2 {
        for (op, input) in calls {
            let (_, spent) = measure::thread(|| call(engine, op, input.clone()))?;
            if pass > 0 {
                latencies.push(spent);
            }
        }
    }
    Ok(latencies)
}

/// The same, each call made by a thread that waits for it.
fn handed_over(engine: &Engine, calls: &[(&str, Value)]) -> Outcome<Latencies> {
    let (to_call, asked) = mpsc::channel::<(&str, Value)>();
    let (to_answer, answered) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(move || {
            for (op, input) in asked {
                let answer = call(engine, op, input).map_err(|error| error.to_string());
                if to_answer.send(answer).is_err() {
                    break;
                }
            }
        });
        let mut latencies = Latencies::default();
        for pass in 0..2 {
            for (op, input) in calls {
                let (_, spent) = measure::thread(|| {
                    to_call.send((*op, input.clone())).map_err(|_| "the thread ended")?;
                    Ok(answered.recv()??)
                })?;
                if pass > 0 {
                    latencies.push(spent);
                }
            }
        }
        drop(to_call);
        Ok(latencies)
    })
}

/// The same over one connection.
fn outside(server: &Server, calls: &[(&str, Value)]) -> Outcome<Latencies> {
    let mut stream = TcpStream::connect(&server.address)?;
    stream.set_nodelay(true)?;
    let mut latencies = Latencies::default();
    for pass in 0..2 {
        for (op, input) in calls {
            let (_, spent) = measure::thread(|| post(&mut stream, &server.address, op, input))?;
            if pass > 0 {
                latencies.push(spent);
            }
        }
    }
    Ok(latencies)
}

fn post(stream: &mut TcpStream, address: &str, op: &str, input: &Value) -> Outcome<Vec<u8>> {
    let body = input.to_string();
    let request = format!(
        "POST /v1/{op} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        answer.extend_from_slice(&buffer[..read]);
        if let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
            if !head.starts_with("http/1.1 200") {
                return Err(format!("the server answered {head}").into());
            }
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .ok_or("an answer has a length")?
                .trim()
                .parse()?;
            if answer.len() >= end + 4 + length {
                return Ok(answer.split_off(end + 4));
            }
        }
    }
}

/// The resident memory of a server on an empty folder, and of one that searches the chunks.
pub fn memory(corpus: &Corpus, data: &Path, folder: &Path, report: &mut Report) -> Outcome<()> {
    Report::heading("resident memory");
    let server = Server::start(&folder.join("empty"))?;
    report.figure(
        "serving an empty folder",
        measure::resident_mb(&server.child.id().to_string())?,
        "MB (wanted: below 64)",
    );
    drop(server);
    let queries = folder.join("queries.txt");
    let lines: Vec<&str> = corpus.queries.iter().map(|(query, _)| query.as_str()).collect();
    fs::write(&queries, lines.join("\n"))?;
    let output = Command::new(std::env::current_exe()?).arg(SERVE).arg(data).arg(&queries).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    report.figure(
        "searching the chunks",
        String::from_utf8(output.stdout)?.trim().parse()?,
        "MB (wanted at 100,000: below 400)",
    );
    Ok(())
}

/// Searches a folder and prints the resident memory that it takes, in MB.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub fn serve(data: &Path, queries: &Path) -> Outcome<()> {
    let engine = Engine::open(data, Config::default())?;
    let queries = fs::read_to_string(queries)?;
    let search = || -> Outcome<()> {
        for query in queries.lines() {
            call(&engine, "knowledge.search", search_input(query, "hybrid"))?;
        }
        Ok(())
    };
    search()?;
    wait_for_graph()?;
    search()?;
    println!("{}", measure::resident_mb("self")?);
    Ok(())
}
