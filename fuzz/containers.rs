//! Files around the parts that a fuzzer writes: with sums, lengths and places that are right, so that readers get to the parts.

use std::fmt::Write as _;

/// The parts of an input: each begins with a line `=== name`, and what comes before the first is ignored.
pub fn parts(data: &[u8]) -> Vec<(String, &[u8])> {
    let mut parts: Vec<(String, &[u8])> = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        if let Some(name) = line.strip_prefix(b"=== ") {
            parts.push((String::from_utf8_lossy(name).trim().to_owned(), &after[..0]));
        } else if let Some((_, part)) = parts.last_mut() {
            // Lines of one part lie one after the other.
            let start = data.len() - rest.len() - part.len();
            *part = &data[start..data.len() - after.len()];
        }
        rest = after;
    }
    parts
}

/// A zip archive of the parts of an input, not packed.
pub fn zip(data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    let parts = parts(data);
    let number = |number: usize| u32::try_from(number).expect("an input is small").to_le_bytes();
    let count = u16::try_from(parts.len()).expect("an input is small").to_le_bytes();
    for (name, bytes) in parts {
        let name = &name.as_bytes()[..name.len().min(1000)];
        let length = u16::try_from(name.len()).expect("a name is short").to_le_bytes();
        let sizes = number(bytes.len());
        // Version, no flags, stored, no time.
        let shared =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &sum(bytes).to_le_bytes(), &sizes, &sizes, &length, &[0, 0]];
        let shared = shared.concat();
        directory.extend([b"PK\x01\x02\x14\0", &shared[..], &[0; 10], &number(file.len()), name].concat());
        file.extend([b"PK\x03\x04", &shared[..], name, bytes].concat());
    }
    let (start, size) = (number(file.len()), number(directory.len()));
    [&file[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0, 0]].concat()
}

/// The checksum of a zip archive's part.
fn sum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg()))
    })
}

/// A PDF whose objects are the parts of an input: a part named `4` is object 4 as it is, one named `4 stream` the data of a
/// stream, and one named `4 stream /Some /Entries` a stream with those beside its length. The root is object 1; where an input
/// has no object 1 to 5, they are a catalog, its pages, a page with content 9, and two fonts.
pub fn pdf(data: &[u8]) -> Vec<u8> {
    let mut objects: Vec<(u32, Vec<u8>)> = Vec::new();
    for (name, bytes) in parts(data) {
        let (number, rest) = name.split_once(' ').unwrap_or((&name, ""));
        let Some(number) = number.parse().ok().filter(|number| (1..1000).contains(number)) else { continue };
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let object = match rest.strip_prefix("stream") {
            Some(entries) => {
                let head = format!("<< {entries} /Length {} >>\nstream\n", bytes.len());
                [head.as_bytes(), bytes, b"\nendstream"].concat()
            }
            None => bytes.to_vec(),
        };
        objects.push((number, object));
    }
    for (number, usual) in USUAL {
        if objects.iter().all(|(there, _)| there != number) {
            objects.push((*number, usual.as_bytes().to_vec()));
        }
    }
    objects.sort_by_key(|(number, _)| *number);
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut table = String::new();
    for (number, object) in &objects {
        let _ = write!(table, "{number} 1\n{:010} 00000 n \n", file.len());
        file.extend([format!("{number} 0 obj\n").as_bytes(), object, b"\nendobj\n"].concat());
    }
    let start = file.len();
    let table = format!("xref\n0 1\n0000000000 65535 f \n{table}trailer\n<< /Size 1000 /Root 1 0 R >>\n");
    file.extend([table.as_bytes(), format!("startxref\n{start}\n%%EOF\n").as_bytes()].concat());
    file
}

/// The objects that an input need not have.
const USUAL: &[(u32, &str)] = &[
    (1, "<< /Type /Catalog /Pages 2 0 R /Outlines 8 0 R >>"),
    (2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>"),
    (
        3,
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 400] /Contents 9 0 R /Resources \
         << /Font << /F 4 0 R /C 5 0 R /U 6 0 R >> /XObject << /X 7 0 R >> >> >>",
    ),
    (4, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"),
    (5, "<< /Type /Font /Subtype /Type1 /BaseFont /Courier-Bold >>"),
];
