//! Counts what the compressed streams of a file unpack to before any is unpacked into memory.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::contract::{Refusal, RefusalCode};
use crate::readers::Bounds;

/// Deflate makes no more than this of one byte.
const RATIO_MAX: u64 = 1032;
/// How far before a stream's data its dictionary is looked for.
const DICTIONARY_BYTES: usize = 2048;

/// Refuses a file whose streams unpack to more than the bounds allow. Pictures are never unpacked, and do not count.
///
/// # Errors
/// [`RefusalCode::ResourceLimit`], and [`RefusalCode::Timeout`].
pub fn check(bytes: &[u8], bounds: &Bounds) -> Result<(), Refusal> {
    let mut left = bounds.inflated_bytes;
    // A small file can reach the bound only by a stream that is packed twice.
    let is_small = bytes.len() as u64 * RATIO_MAX < left;
    for keyword in memchr::memmem::find_iter(bytes, b"stream") {
        let before = &bytes[keyword.saturating_sub(DICTIONARY_BYTES)..keyword];
        if before.ends_with(b"end") {
            continue;
        }
        let dictionary = memchr::memmem::rfind(before, b" obj").map_or(before, |at| &before[at..]);
        let after = &bytes[keyword + b"stream".len()..];
        let data = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n")).unwrap_or(after);
        let zlib = matches!(data, [first, second, ..] if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31));
        if !zlib || memchr::memmem::find(dictionary, b"/Image").is_some() {
            continue;
        }
        let twice = memchr::memmem::find_iter(dictionary, b"/Fl").count() > 1;
        if is_small && !twice {
            continue;
        }
        bounds.check_time()?;
        let once = ZlibDecoder::new(data);
        let unpacked = if twice { count(ZlibDecoder::new(once), left) } else { count(once, left) };
        left = left.checked_sub(unpacked).filter(|left| *left > 0).ok_or_else(|| {
            let message = format!("the file unpacks to more than {} bytes", bounds.inflated_bytes);
            Refusal::new(RefusalCode::ResourceLimit, message)
        })?;
    }
    Ok(())
}

/// How many bytes can be read, up to `most`; damage ends them.
fn count(mut from: impl Read, most: u64) -> u64 {
    let mut buffer = [0; 16 * 1024];
    let mut total = 0;
    while total < most {
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => total += read as u64,
        }
    }
    total
}
