//! An embedding endpoint on the loopback: deterministic vectors of a chosen length, and as many as it is allowed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A served model. Its threads end with the process.
pub struct Endpoint {
    /// What to set as the base URL.
    pub base: String,
    state: Arc<State>,
}

struct State {
    dim: usize,
    /// Texts that are still answered; then it answers that it is busy.
    left: AtomicUsize,
    texts: AtomicUsize,
    /// Whether requests with [`HELD`] in a text wait, and how many do.
    held: Mutex<(bool, usize)>,
    changed: Condvar,
}

/// The word whose texts a held endpoint answers only once it is let go.
pub const HELD: &str = "glacier";

impl Endpoint {
    /// Serves vectors on a free port: of as many numbers as the model's name says (`dim48`), else of `dim` numbers.
    pub fn start(dim: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let base = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
        let state = Arc::new(State {
            dim,
            left: AtomicUsize::new(usize::MAX),
            texts: AtomicUsize::new(0),
            held: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&serving);
                thread::spawn(move || serve(&state, &stream));
            }
        });
        Self { base, state }
    }

    /// Answers this many texts from now on, the ones that ask for the dimension not counted.
    pub fn allow(&self, texts: usize) {
        self.state.left.store(texts, Ordering::SeqCst);
    }

    /// Has requests with [`HELD`] in a text wait from now on.
    pub fn hold(&self) {
        self.state.held.lock().unwrap().0 = true;
    }

    /// Answers those that wait, and all later ones.
    pub fn release(&self) {
        self.state.held.lock().unwrap().0 = false;
        self.state.changed.notify_all();
    }

    /// Waits until so many requests wait here.
    pub fn until_waiting(&self, requests: usize) {
        let held = self.state.held.lock().unwrap();
        drop(self.state.changed.wait_while(held, |held| held.1 != requests).unwrap());
    }

    /// How many texts were answered.
    pub fn texts(&self) -> usize {
        self.state.texts.load(Ordering::SeqCst)
    }
}

fn serve(state: &State, stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    while let Some(body) = request(&mut reader) {
        let asked: Value = serde_json::from_slice(&body).expect("the engine sends JSON");
        let texts: Vec<&str> =
            asked["input"].as_array().expect("texts").iter().map(|text| text.as_str().expect("text")).collect();
        if texts.iter().any(|text| text.contains(HELD)) {
            wait(state);
        }
        let (status, answer) = if take(state, &texts) {
            let named = asked["model"].as_str().and_then(|model| model.strip_prefix("dim")?.parse().ok());
            ("200 OK", answer(named.unwrap_or(state.dim), &texts))
        } else {
            ("503 Service Unavailable", json!({}))
        };
        let answer = answer.to_string();
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", answer.len());
        let mut stream = stream;
        if stream.write_all((head + &answer).as_bytes()).is_err() {
            return;
        }
    }
}

fn wait(state: &State) {
    let mut held = state.held.lock().unwrap();
    held.1 += 1;
    state.changed.notify_all();
    held = state.changed.wait_while(held, |held| held.0).unwrap();
    held.1 -= 1;
    state.changed.notify_all();
}

/// The body of the next request of a connection; `None` at its end.
fn request(reader: &mut BufReader<&TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let header = line.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn take(state: &State, texts: &[&str]) -> bool {
    if texts == ["dimension"] {
        return true;
    }
    let taken = state.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        if left == usize::MAX { Some(left) } else { left.checked_sub(texts.len()) }
    });
    if taken.is_ok() {
        state.texts.fetch_add(texts.len(), Ordering::SeqCst);
    }
    taken.is_ok()
}

fn answer(dim: usize, texts: &[&str]) -> Value {
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({ "index": index, "embedding": vector(dim, text) }))
        .collect();
    json!({ "data": data })
}

/// Each word adds its own direction, so that texts that share words are near each other.
fn vector(dim: usize, text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; dim];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut state = word
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        for value in &mut vector {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *value += if state >> 63 == 0 { 1.0 } else { -1.0 };
        }
    }
    vector
}
