//! The process that reads files: what it does with its standard input and output.
//!
//! It confines itself before it reads the first byte of a file, and then reads one file after another until its input ends.

mod ask;
mod confine;
mod probe;

use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use loom_extract::contract::{Refusal, RefusalCode, Request};
use loom_extract::readers::{self, Bounds, Context};

use super::frames::{self, Hello, Kind, Setup};
use ask::Asking;

/// Reads files for the engine that started this process, until it has no more.
pub fn run() -> ExitCode {
    // What a panic says may be the file's content; where it was says enough.
    panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            complain(&format!("panicked at {place}"));
        }
    }));
    // Both locks are held to the end: nothing else in the process may speak.
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.kind().to_string());
            ExitCode::FAILURE
        }
    }
}

/// Becomes `program`, confined: it reads the system's folders and the program's own, writes nothing and reaches nothing else.
/// Returns only when that fails, with the reason.
pub fn become_program(program: &Path, args: &[String]) -> String {
    confine::become_program(program, args)
}

fn complain(what: &str) {
    // There is nowhere else to say it.
    let _ = writeln!(io::stderr(), "loom extractor: {what}");
}

fn serve(input: &mut dyn Read, output: &mut dyn Write) -> io::Result<()> {
    let (mut input, mut output) = (input, output);
    let setup: Setup = frames::expect(&mut input, Kind::Setup)?;
    let layers = match confine::extractor(&setup) {
        Ok(layers) => layers,
        Err(why) => return frames::write(&mut output, Kind::Unconfined, why.as_bytes()),
    };
    let capabilities = {
        let asking = Asking::new(&mut input, &mut output, &[], setup.ocr);
        readers::capabilities(setup.file_bytes, &asking)
    };
    frames::write_json(&mut output, Kind::Hello, &Hello { capabilities, layers })?;
    while let Some((kind, length)) = frames::read_head(&mut input)? {
        let payload = frames::read_payload(&mut input, length, frames::SMALL_BYTES_MAX)?;
        match kind {
            Kind::Probe => frames::write_json(&mut output, Kind::Probe, &probe::attempts())?,
            Kind::Request => {
                let request: Request =
                    serde_json::from_slice(&payload).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
                let bytes = file(&mut input, setup.file_bytes)?;
                let answer = read(&request, &bytes, &setup, &mut input, &mut output);
                match answer {
                    Ok(artifact) => frames::write(&mut output, Kind::Artifact, &artifact)?,
                    Err(refusal) => frames::write_json(&mut output, Kind::Refusal, &refusal)?,
                }
            }
            Kind::Setup
            | Kind::Hello
            | Kind::Unconfined
            | Kind::File
            | Kind::Artifact
            | Kind::Refusal
            | Kind::Page
            | Kind::Picture
            | Kind::Words => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    Ok(())
}

/// The bytes of the file that follows a request. Where memory is short the process ends here, and the engine sees why.
fn file(input: &mut dyn Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let length = match frames::read_head(&mut &mut *input)? {
        Some((Kind::File, length)) if length <= bytes_max => length,
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    let mut bytes = Vec::with_capacity(usize::try_from(length).map_err(io::Error::other)?);
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The artifact as JSON. A reader that panics is one that fails on the file.
fn read(
    request: &Request,
    bytes: &[u8],
    setup: &Setup,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<Vec<u8>, Refusal> {
    let fails = || Refusal::new(RefusalCode::Corrupt, "the parser of its format fails on the file");
    let asking = Asking::new(input, output, bytes, setup.ocr);
    let context = Context { bounds: Bounds::within(Duration::from_secs(setup.time_seconds)), ocr: &asking };
    let artifact = panic::catch_unwind(AssertUnwindSafe(|| readers::extract(bytes, request, &context)));
    let artifact = artifact.map_err(|_| fails())??;
    serde_json::to_vec(&artifact).map_err(|_| fails())
}
