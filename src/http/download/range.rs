//! Which bytes of a document a request wants, and whether it has them already.

/// The bytes a `Range` header asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of them: there is no range, or none that is understood.
    Whole,
    /// From `first` to `last`, both included.
    Part {
        /// The first byte, from 0.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// None that the document has.
    Outside,
}

/// Reads a `Range` header for a document of `size` bytes. Several ranges at once are answered with the whole, as
/// HTTP allows.
pub fn wanted(header: &str, size: u64) -> Wanted {
    let Some((unit, range)) = header.split_once('=') else { return Wanted::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    let Some((first, last)) = range.trim().split_once('-') else { return Wanted::Whole };
    match (position(first), position(last)) {
        (Some(first), Some(last)) if first <= last => part(first, last, size),
        (Some(first), None) if last.is_empty() => part(first, u64::MAX, size),
        (None, Some(0)) if first.is_empty() => Wanted::Outside,
        (None, Some(length)) if first.is_empty() => part(size.saturating_sub(length), u64::MAX, size),
        (_, _) => Wanted::Whole,
    }
}

fn part(first: u64, last: u64, size: u64) -> Wanted {
    if first >= size { Wanted::Outside } else { Wanted::Part { first, last: last.min(size - 1) } }
}

/// A number of digits alone; one past 64 bits is as far as any.
fn position(digits: &str) -> Option<u64> {
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Whether an `If-None-Match` header lists `etag`, or any.
pub fn lists(header: &str, etag: &str) -> bool {
    header.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_are_cut_to_the_document() {
        let part = |first, last| Wanted::Part { first, last };
        for (header, expected) in [
            ("bytes=0-4", part(0, 4)),
            ("bytes=2-", part(2, 9)),
            ("bytes=-3", part(7, 9)),
            ("bytes=-30", part(0, 9)),
            ("bytes=9-9", part(9, 9)),
            ("Bytes = 0-99999999999999999999999", part(0, 9)),
            ("bytes=10-", Wanted::Outside),
            ("bytes=99999999999999999999999-", Wanted::Outside),
            ("bytes=-0", Wanted::Outside),
            ("bytes=4-2", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("items=0-1", Wanted::Whole),
            ("bytes", Wanted::Whole),
            ("", Wanted::Whole),
        ] {
            assert_eq!(wanted(header, 10), expected, "{header}");
        }
        assert_eq!(wanted("bytes=0-", 0), Wanted::Outside);
        assert_eq!(wanted("bytes=-5", 0), Wanted::Outside);
    }

    #[test]
    fn an_etag_is_found_in_a_list() {
        assert!(lists("\"a\"", "\"a\"") && lists("\"b\", W/\"a\"", "\"a\"") && lists("*", "\"a\""));
        assert!(!lists("a", "\"a\"") && !lists("\"ab\"", "\"a\"") && !lists("", "\"a\""));
    }

    proptest! {
        #[test]
        fn any_range_lies_inside(header in "bytes=[0-9-]{0,24}|.{0,30}", size: u64) {
            if let Wanted::Part { first, last } = wanted(&header, size) {
                prop_assert!(first <= last && last < size);
            }
        }
    }
}
