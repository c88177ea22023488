//! Archives and XML that mean harm, or are only strange.

use std::time::Duration;

use super::testing::{relations, zip, zip_saying, zip_texts};
use super::{Node, Package, Xml, joined, symbol, xml_escaped};
use crate::contract::RefusalCode;
use crate::readers::Bounds;
use crate::readers::testing::read_as;

const DOCUMENT: &str = "word/document.xml";

fn bounds() -> Bounds {
    Bounds::within(Duration::from_mins(1))
}

fn document(text: &str) -> String {
    format!("<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>")
}

fn code(format: &str, bytes: &[u8]) -> RefusalCode {
    read_as(format, bytes).expect_err("it is refused").code
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let letters = document(&"a".repeat(200_000_000));
    let bomb = zip(&[(DOCUMENT, letters.as_bytes())]);
    assert!(bomb.len() < 400_000, "{} bytes", bomb.len());
    assert_eq!(code("docx", &bomb), RefusalCode::ResourceLimit);
    drop(bomb);

    // The directory says that it is small.
    let lying = zip_saying(&[(DOCUMENT, letters.as_bytes())], |_| 1000);
    assert_eq!(code("docx", &lying), RefusalCode::ResourceLimit);
    drop(letters);

    // And one that says it is huge is not believed either.
    let small = document("a");
    let boasting = zip_saying(&[(DOCUMENT, small.as_bytes())], |_| 4_000_000_000);
    assert_eq!(code("docx", &boasting), RefusalCode::ResourceLimit);
}

#[test]
fn many_parts_that_are_each_allowed_are_not_together() {
    let mut bounds = bounds();
    bounds.inflated_bytes = 1000;
    let bytes = zip_texts(&[("a", &"x".repeat(600)), ("b", &"y".repeat(600))]);
    let package = Package::open(&bytes, "a file", &bounds).expect("the archive is sound");
    assert!(package.text("a").is_ok());
    assert_eq!(package.text("b").expect_err("too much").code, RefusalCode::ResourceLimit);
}

#[test]
fn sixty_thousand_entries_are_too_many() {
    let names: Vec<String> = (0..60_000).map(|number| format!("n{number}")).collect();
    let parts: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    assert_eq!(code("xlsx", &zip(&parts)), RefusalCode::ResourceLimit);
}

#[test]
fn entities_are_not_expanded() {
    let bomb =
        format!("<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY a 'lol'><!ENTITY b '&a;&a;'>]>{}", document("&b;"));
    assert_eq!(code("docx", &zip_texts(&[(DOCUMENT, &bomb)])), RefusalCode::ResourceLimit);
    let unknown = document("a &amp; &#98; &lt;&#x63;&gt; &other; d");
    let read = read_as("docx", &zip_texts(&[(DOCUMENT, &unknown)])).expect("it is well-formed enough");
    assert_eq!(read.blocks[0].text, "a & b <c> &other; d");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("<document><body>{}", "<p>".repeat(100_000));
    assert_eq!(code("docx", &zip_texts(&[(DOCUMENT, &deep)])), RefusalCode::ResourceLimit);
}

#[test]
fn what_is_no_archive_or_another_is_told() {
    let nested = zip(&[("inner.zip", &zip_texts(&[(DOCUMENT, &document("a"))]))]);
    let workbook = zip_texts(&[
        ("_rels/.rels", &relations(&[("r1", "officeDocument", "xl/workbook.xml")])),
        ("xl/workbook.xml", "<workbook/>"),
    ]);
    let mut encrypted = vec![0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1, 0, 0];
    let legacy = encrypted.clone();
    encrypted.extend("EncryptedPackage".bytes().flat_map(|letter| [letter, 0]));
    for (format, bytes, expected) in [
        ("docx", nested.as_slice(), RefusalCode::FormatMismatch),
        ("docx", &workbook, RefusalCode::FormatMismatch),
        ("docx", b"%PDF-1.7", RefusalCode::FormatMismatch),
        ("xlsx", b"a,b\n1,2\n", RefusalCode::FormatMismatch),
        ("pptx", &legacy, RefusalCode::FormatMismatch),
        ("xlsx", &encrypted, RefusalCode::Corrupt),
        ("odt", &workbook, RefusalCode::FormatMismatch),
        ("epub", &workbook, RefusalCode::FormatMismatch),
        ("docx", b"", RefusalCode::NoText),
        ("docx", b"PK\x03\x04", RefusalCode::Corrupt),
    ] {
        assert_eq!(code(format, bytes), expected, "{format} {:?}", &bytes[..bytes.len().min(20)]);
    }
    let refusal = read_as("xlsx", &encrypted).expect_err("it is encrypted");
    assert!(refusal.message.contains("encrypted with a password"), "{refusal}");
}

#[test]
fn archives_are_read_whatever_their_names_and_order() {
    // The later of two parts of one name, whatever its case and slashes.
    let twice = zip_texts(&[("Word\\Document.XML", &document("old")), (DOCUMENT, &document("new"))]);
    let read = read_as("docx", &twice).expect("it is a document");
    assert_eq!(read.blocks[0].text, "new");
    assert!(read.warnings.iter().any(|warning| warning.contains("same name")), "{:?}", read.warnings);
    // Something before the archive.
    let mut behind = b"#!/bin/sh\n".to_vec();
    behind.extend(zip_texts(&[(DOCUMENT, &document("a"))]));
    let bounds = bounds();
    let archive = super::archive::Archive::open(&behind, &bounds).expect("offsets are shifted");
    assert!(archive.read(DOCUMENT).expect("it is sound").is_some());
}

#[test]
fn a_changed_byte_of_a_part_is_found() {
    let bytes = zip_texts(&[(DOCUMENT, &document("some words"))]);
    let at = 30 + DOCUMENT.len() + 10;
    let mut changed = bytes.clone();
    changed[at] ^= 0x10;
    assert_eq!(code("docx", &changed), RefusalCode::Corrupt);
}

#[test]
fn parts_are_utf8_or_utf16() {
    let text = document("žluťoučký");
    let mut marked = vec![0xEF, 0xBB, 0xBF];
    marked.extend(text.as_bytes());
    let little: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [marked, little, big] {
        let read = read_as("docx", &zip(&[(DOCUMENT, &bytes)])).expect("it is a document");
        assert_eq!(read.blocks[0].text, "žluťoučký");
    }
    assert_eq!(code("docx", &zip(&[(DOCUMENT, b"<a>\xFF</a>")])), RefusalCode::Corrupt);
}

#[test]
fn references_never_leave_the_package() {
    for (folder, target, expected) in [
        ("word", "media/a.png", "word/media/a.png"),
        ("word", "/word/b.xml", "word/b.xml"),
        ("ppt/slides", "../media/a.png", "ppt/media/a.png"),
        ("", "../../../etc/passwd", "etc/passwd"),
        ("a", "..\\..\\b//./c", "b/c"),
    ] {
        assert_eq!(joined(folder, target), expected);
    }
}

#[test]
fn children_are_passed_over_where_nobody_reads_them() {
    let bounds = bounds();
    let text = "<a><b><c>1</c><c>2</c></b>x<d e='1' p:e='2' q:e='3'/></a>";
    let mut xml = Xml::new(text, "a part", &bounds);
    assert_eq!(xml.root().expect("there is one").name(), "a");
    assert_eq!(xml.child(1).expect("sound").expect("b").name(), "b");
    assert_eq!(xml.child(2).expect("sound").expect("c").name(), "c");
    let d = xml.child(1).expect("sound").expect("d");
    assert_eq!((d.name(), d.attribute("e").as_deref(), d.foreign("e").as_deref()), ("d", Some("1"), Some("2")));
    assert!(xml.child(1).expect("sound").is_none());
    assert!(matches!(xml.next(), Ok(Node::Eof)));
    for broken in ["<a><b></a>", "<a>", "</a>", "<a", "<a></a></a>"] {
        let mut xml = Xml::new(broken, "a part", &bounds);
        let end = loop {
            match xml.next() {
                Ok(Node::Eof) => break None,
                Ok(_) => {}
                Err(refusal) => break Some(refusal.code),
            }
        };
        assert_eq!(end, Some(RefusalCode::Corrupt), "{broken}");
    }
}

#[test]
fn escapes_and_symbols() {
    for (text, plain) in [
        ("a_x000D_\nb", "a\nb"),
        ("a_x000D_b", "a\nb"),
        ("_x005F_x000D_", "_x000D_"),
        ("a_x0041_", "aA"),
        ("_x12", "_x12"),
        ("_xZZZZ_ _x0007_", "_xZZZZ_ "),
        ("é_xé000D_", "é_xé000D_"),
    ] {
        assert_eq!(xml_escaped(text), plain);
    }
    for (font, code, sign) in [
        ("Wingdings", 0xF0FE, Some('☑')),
        ("Symbol", 0xF061, Some('α')),
        ("Symbol", 0xF0B7, Some('•')),
        ("Wingdings 2", 0xF001, None),
        ("Arial", 0x20AC, Some('€')),
    ] {
        assert_eq!(symbol(font, code), sign, "{font} {code:x}");
    }
}
