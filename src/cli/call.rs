//! `loom call`: any operation, as JSON.

use std::fs::File;
use std::io::{self, Read};

use serde_json::{Map, Value};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};

/// The largest input read; the server's own bound is not above it.
const INPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Call an operation, such as `loom call knowledge.list '{"limit": 3}'`
#[derive(clap::Args)]
pub struct Args {
    /// The operation's name
    op: String,
    /// Its input, a JSON object: given here, `@FILE`, or `-` for standard input
    #[arg(default_value = "{}")]
    input: String,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let text = match args.input.strip_prefix('@') {
        Some(path) => {
            let what = format!("cannot read {path}");
            read(File::open(path).map_err(Failure::io(what.clone()))?, &what)?
        }
        None if args.input == "-" => read(io::stdin(), "cannot read standard input")?,
        None => args.input.clone(),
    };
    let input: Map<String, Value> = serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("the input is no JSON object, such as {{\"limit\": 3}}: {error}")))?;
    let client = Client::open(global, &args.identity, Missing::Create)?;
    let answer = client.call(&args.op, Value::Object(input))?;
    client.close();
    screen.json(&answer)
}

fn read(mut from: impl Read, what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    from.by_ref().take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(Failure::io(what))?;
    if text.len() as u64 == INPUT_BYTES_MAX {
        return Err(Failure::Usage(format!("the input is over {INPUT_BYTES_MAX} bytes: send less at once")));
    }
    Ok(text)
}
