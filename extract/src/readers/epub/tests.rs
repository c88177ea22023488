use expect_test::expect;

use crate::contract::{RefusalCode, lost};
use crate::readers::office::testing::zip_texts;
use crate::readers::testing::{listed, read_as, survives};

const CONTAINER: &str = "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>";
const BOOK: &str = "<package><metadata><dc:title>A book</dc:title><dc:title>of two titles</dc:title></metadata><manifest>\
    <item id='b' href='text/b%20page.xhtml' media-type='application/xhtml+xml'/>\
    <item id='a' href='a.xhtml' media-type='application/xhtml+xml'/><item id='p' href='p.png' media-type='image/png'/>\
    <item id='gone' href='gone.xhtml' media-type='application/xhtml+xml'/></manifest>\
    <spine><itemref idref='a'/><itemref idref='b'/><itemref idref='a'/><itemref idref='p'/><itemref idref='gone'/></spine></package>";

fn page(words: &str) -> String {
    format!(
        "<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.1//EN' 'x.dtd'><html><head><title>t</title></head>\
         <body><h1>{words}</h1><p>Words&nbsp;of {words}</p></body></html>"
    )
}

fn epub(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut all =
        vec![("mimetype", "application/epub+zip"), ("META-INF/container.xml", CONTAINER), ("OEBPS/book.opf", BOOK)];
    all.extend(parts.iter().copied());
    zip_texts(&all)
}

#[test]
fn pages_are_read_in_the_order_of_the_spine() {
    let (one, two) = (page("One"), page("Two"));
    let bytes = epub(&[("OEBPS/text/b page.xhtml", &two), ("OEBPS/a.xhtml", &one)]);
    let artifact = read_as("epub", &bytes).expect("it is a book");
    expect![[r"
        heading1: A book
        heading1: One
        paragraph: Words of One
        heading1: Two
        paragraph: Words of Two
    "]]
    .assert_eq(&listed(&artifact));
    assert_eq!(artifact.coverage.lost, [lost::TEXT]);
    survives("epub", &bytes);
}

#[test]
fn empty_and_encrypted_books_are_refused() {
    let code = |bytes: &[u8]| read_as("epub", bytes).expect_err("it is refused").code;
    assert_eq!(code(&epub(&[])), RefusalCode::NoText);
    let locked =
        "<encryption><EncryptedData><EncryptionMethod Algorithm='http://x#aes128-cbc'/></EncryptedData></encryption>";
    assert_eq!(code(&epub(&[("META-INF/encryption.xml", locked)])), RefusalCode::Corrupt);
    let fonts = locked.replace("aes128-cbc", "http://www.idpf.org/2008/embedding#obfuscation");
    let page = page("One");
    assert!(read_as("epub", &epub(&[("META-INF/encryption.xml", &fonts), ("OEBPS/a.xhtml", &page)])).is_ok());
}
