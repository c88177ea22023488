//! Zip archives for tests, sound and not.

use std::io::Write as _;

use flate2::{Compression, Crc, write::DeflateEncoder};

/// An archive of packed parts.
pub fn zip(parts: &[(&str, &[u8])]) -> Vec<u8> {
    zip_saying(parts, |size| size)
}

/// As [`zip`], of texts.
pub fn zip_texts(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    zip(&parts)
}

/// An archive whose directory says another size of each part than it has.
pub fn zip_saying(parts: &[(&str, &[u8])], said: impl Fn(u32) -> u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, bytes) in parts {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory takes it");
        let packed = encoder.finish().expect("memory takes it");
        let mut crc = Crc::new();
        crc.update(bytes);
        let number = |number: usize| u32::try_from(number).expect("a test's file is small");
        let mut rest = Vec::new();
        rest.extend(8_u16.to_le_bytes());
        rest.extend([0; 4]);
        rest.extend(crc.sum().to_le_bytes());
        rest.extend(number(packed.len()).to_le_bytes());
        rest.extend(said(number(bytes.len())).to_le_bytes());
        rest.extend(u16::try_from(name.len()).expect("a name is short").to_le_bytes());
        rest.extend([0; 2]);
        directory.extend(b"PK\x01\x02\x14\0\x14\0\0\0");
        directory.extend(&rest);
        directory.extend([0; 10]);
        directory.extend(number(file.len()).to_le_bytes());
        directory.extend(name.as_bytes());
        file.extend(b"PK\x03\x04\x14\0\0\0");
        file.extend(&rest);
        file.extend(name.as_bytes());
        file.extend(packed);
    }
    let (start, size) = (file.len(), directory.len());
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    let count = u16::try_from(parts.len() % 0x1_0000).expect("it was cut");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend(u32::try_from(size).expect("a test's file is small").to_le_bytes());
    file.extend(u32::try_from(start).expect("a test's file is small").to_le_bytes());
    file.extend([0; 2]);
    file
}

/// A part of relations: name, kind, target.
pub fn relations(of: &[(&str, &str, &str)]) -> String {
    let one = |(id, kind, target): &(&str, &str, &str)| {
        format!(r#"<Relationship Id="{id}" Type="http://x/relationships/{kind}" Target="{target}"/>"#)
    };
    format!("<Relationships>{}</Relationships>", of.iter().map(one).collect::<String>())
}
