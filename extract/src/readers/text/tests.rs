use super::*;
use crate::contract::RefusalCode;
use crate::readers::testing::{read_as, spanned};

#[test]
fn paragraphs_are_spans_and_the_text_stays() {
    let source = "\u{feff}  Ein Absatz\nüber zwei Zeilen\r\n \t\r\nnoch \u{1b}[1meiner\u{1b}[0m\n\n\n";
    let artifact = read_as("text", source.as_bytes()).expect("text");
    assert_eq!(artifact.text.as_deref(), Some(&source[3..]));
    assert_eq!(spanned(&artifact), ["Ein Absatz\nüber zwei Zeilen", "noch \u{1b}[1meiner\u{1b}[0m"]);
    assert_eq!((artifact.coverage.total, artifact.coverage.unit), (6, CoverageUnit::Lines));
}

#[test]
fn nothing_to_index_is_refused() {
    for bytes in [&b""[..], b" \n\t\r\n", b"\xEF\xBB\xBF", "\u{a0}\u{2003}\n".as_bytes()] {
        assert_eq!(read_as("text", bytes).map_err(|refusal| refusal.code), Err(RefusalCode::NoText));
    }
}

#[test]
fn a_nul_is_replaced_with_a_warning() {
    let artifact = read_as("text", b"the budget\0 of this year and of the next").expect("text");
    assert_eq!(artifact.text.as_deref(), Some("the budget  of this year and of the next"));
    assert_eq!(artifact.warnings.len(), 1);
}
