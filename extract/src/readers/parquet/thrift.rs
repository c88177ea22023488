//! Walks the headers of a Parquet file, which are structures of Thrift's compact protocol, without keeping anything.
//!
//! The parser takes a page's word for its size and sets that much memory aside; here the words are added up before.

use parquet::file::metadata::ColumnChunkMetaData;

/// The deepest nesting of structures that headers have use for.
const DEPTH_MAX: usize = 16;

/// A place in the bytes of a structure.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What a column chunk of a file unpacks to, as the headers of its pages have it; `None` where they cannot be walked.
pub fn unpacked(file: &[u8], chunk: &ColumnChunkMetaData) -> Option<u64> {
    let (start, length) = chunk.byte_range();
    let start = usize::try_from(start).ok()?;
    let bytes = file.get(start..start.checked_add(usize::try_from(length).ok()?)?)?;
    let mut walk = Walk { bytes, at: 0 };
    let mut total = 0_u64;
    while walk.at < bytes.len() {
        let (mut unpacked, mut packed) = (0, 0);
        walk.fields(&mut |field, number| match field {
            2 => unpacked = number,
            3 => packed = number,
            _ => {}
        })?;
        total = total.checked_add(u64::try_from(unpacked).ok()?)?;
        walk.at = walk.at.checked_add(usize::try_from(packed).ok()?)?;
    }
    Some(total)
}

/// Whether a file's footer says that columns are encrypted.
pub fn is_encrypted(file: &[u8]) -> bool {
    let footer = || {
        let end = file.len().checked_sub(8)?;
        let length = u32::from_le_bytes(file.get(end..end + 4)?.try_into().ok()?) as usize;
        file.get(end.checked_sub(length)?..end)
    };
    let Some(bytes) = footer() else { return false };
    let mut encrypted = false;
    // The eighth field is the algorithm. What stands behind it may be a signature.
    let _ = Walk { bytes, at: 0 }.fields(&mut |field, _| encrypted |= field == 8);
    encrypted
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Walks a structure. `seen` is told each field's number and, where it is a whole number, its value.
    fn fields(&mut self, seen: &mut dyn FnMut(i16, i64)) -> Option<()> {
        let mut field = 0_i16;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Some(());
            }
            field = match byte >> 4 {
                0 => i16::try_from(zigzag(self.varint()?)).ok()?,
                step => field.checked_add(i16::from(step))?,
            };
            let kind = byte & 0x0f;
            let number = if (4..=6).contains(&kind) { zigzag(self.varint()?) } else { 0 };
            if !(4..=6).contains(&kind) {
                self.skip(kind, true, 0)?;
            }
            seen(field, number);
        }
    }

    /// Skips a value. A truth is its type where it stands in a structure, and a byte in a list.
    fn skip(&mut self, kind: u8, in_structure: bool, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            1 | 2 if in_structure => {}
            1..=3 => _ = self.byte()?,
            4..=6 => _ = self.varint()?,
            7 => self.at = self.at.checked_add(8)?,
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.at = self.at.checked_add(length)?;
            }
            9 | 10 => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                for _ in 0..count {
                    self.skip(byte & 0x0f, false, depth + 1)?;
                }
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.skip(kinds >> 4, false, depth + 1)?;
                    self.skip(kinds & 0x0f, false, depth + 1)?;
                }
            }
            12 => loop {
                let byte = self.byte()?;
                if byte == 0 {
                    break;
                }
                if byte >> 4 == 0 {
                    self.varint()?;
                }
                self.skip(byte & 0x0f, true, depth + 1)?;
            },
            _ => return None,
        }
        (self.at <= self.bytes.len()).then_some(())
    }
}

fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_is_walked_past_every_kind_of_value() {
        // 1: true, 2: 300, 5: "ab", 6: [1, 2], 7: {1: 1}, 8: {"k": 7}, 40: -1, end.
        let bytes = [
            0x11, 0x15, 0xd8, 0x04, 0x38, 0x02, b'a', b'b', 0x19, 0x25, 0x02, 0x04, 0x1c, 0x15, 0x02, 0x00, 0x1b, 0x01,
            0x85, 0x01, b'k', 0x0e, 0x05, 0x50, 0x01, 0x00,
        ];
        let mut seen = Vec::new();
        let mut walk = Walk { bytes: &bytes, at: 0 };
        assert_eq!(walk.fields(&mut |field, number| seen.push((field, number))), Some(()));
        assert_eq!(seen, [(1, 0), (2, 300), (5, 0), (6, 0), (7, 0), (8, 0), (40, -1)]);
        assert_eq!(walk.at, bytes.len());
        for end in 0..bytes.len() {
            assert_eq!(Walk { bytes: &bytes[..end], at: 0 }.fields(&mut |_, _| {}), None, "{end}");
        }
    }
}
