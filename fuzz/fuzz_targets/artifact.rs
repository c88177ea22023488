#![no_main]

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "the bodies of the other targets")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::artifact(data));
