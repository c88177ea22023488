#![no_main]

#[path = "../readers.rs"]
#[allow(dead_code, reason = "the bodies of the other targets")]
mod readers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| readers::read_named("vtt", data));
