//! Words read off pictures by the programs of the system, where they are installed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use loom::extraction::Extractors;
use loom::extraction::contract::Locator;

use super::{read, settings};

/// A PDF of objects numbered from 1, the first of them its catalog.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut table = String::new();
    for (at, object) in objects.iter().enumerate() {
        let _ = writeln!(table, "{:010} 00000 n ", bytes.len());
        bytes.extend([format!("{} 0 obj\n", at + 1).as_bytes(), object, b"\nendobj\n"].concat());
    }
    let (start, count) = (bytes.len(), objects.len() + 1);
    let table = format!("xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n");
    [&bytes[..], table.as_bytes(), format!("startxref\n{start}\n%%EOF\n").as_bytes()].concat()
}

fn stream(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let head = format!("<< {dictionary} /Length {} >>\nstream\n", data.len());
    [head.as_bytes(), data, b"\nendstream"].concat()
}

/// A page of 300 by 200 points that draws `content`, which may name the font `F` and the object `X`, number 5.
fn page(content: &str, more: Vec<u8>) -> Vec<u8> {
    pdf(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R \
          /Resources << /Font << /F 5 0 R >> /XObject << /X 5 0 R >> >> >>"
            .to_vec(),
        stream("", content.as_bytes()),
        more,
    ])
}

/// What `pdftoppm` draws of a page at 200 dots an inch; `None` where it is not installed.
fn drawn(pdf: &[u8], kind: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("pdftoppm");
    command.args(kind.split(' ')).args(["-gray", "-r", "200", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    child.stdin.take().unwrap().write_all(pdf).unwrap();
    Some(child.wait_with_output().unwrap().stdout)
}

#[test]
fn the_words_of_a_scanned_page_and_of_a_picture_are_read() {
    let extractors = Extractors::new(&settings()).unwrap();
    let report = extractors.local_report().unwrap().unwrap();
    let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec();
    let words = page("BT /F 24 Tf 20 140 Td (Seven brown foxes) Tj 0 -40 Td (jump over a fence) Tj ET", font);
    let (Some(raw), Ok(())) = (drawn(&words, "-singlefile"), report.ocr) else {
        eprintln!("skipped: pdftoppm and tesseract are not installed");
        return;
    };
    // `P5`, its size and its depth stand before a picture's bytes.
    let header: usize = raw.split_inclusive(|byte| *byte == b'\n').take(3).map(<[u8]>::len).sum();
    let size = String::from_utf8_lossy(&raw[..header]).lines().nth(1).unwrap().to_owned();
    let (width, height) = size.split_once(' ').unwrap();
    let image = stream(
        &format!(
            "/Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceGray /BitsPerComponent 8"
        ),
        &raw[header..],
    );
    let scan = page("q 300 0 0 200 0 0 cm /X Do Q", image);
    let picture = drawn(&words, "-png -singlefile").unwrap();
    for (format, file) in [("pdf", &scan), ("image", &picture)] {
        let artifact = read(&extractors, format, file).unwrap();
        let text: Vec<&str> = artifact.blocks.iter().map(|block| block.text.as_str()).collect();
        assert_eq!(text.join(" "), "Seven brown foxes jump over a fence", "{format}");
        assert!(artifact.coverage.is_complete(), "{:?}", artifact.coverage);
        if let Some(Locator::Pages { bbox, .. }) = &artifact.blocks[0].locator {
            let [left, top, ..] = bbox.unwrap().0;
            assert!((left - 21.0).abs() < 4.0 && (top - 42.0).abs() < 8.0, "{left} {top}");
        }
    }
    // A picture that is none beyond its first bytes: the page is lost, the extraction is not.
    let broken = read(&extractors, "image", &picture[..100]).unwrap();
    assert_eq!((broken.coverage.failed, broken.blocks.len()), (1, 0));
}

#[test]
fn a_page_that_claims_to_be_huge_is_read_or_lost() {
    let extractors = Extractors::new(&settings()).unwrap();
    let image =
        stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", b"x");
    let file = page("q 14400 0 0 14400 0 0 cm /X Do Q", image);
    let huge = String::from_utf8_lossy(&file).replace("[0 0 300 200]", "[0 0 14400 14400]");
    let artifact = read(&extractors, "pdf", huge.as_bytes()).unwrap();
    assert_eq!((artifact.coverage.total, artifact.blocks.len()), (1, 0));
}
