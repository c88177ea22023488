use expect_test::{Expect, expect};

use crate::contract::RefusalCode;
use crate::readers::office::testing::zip_texts;
use crate::readers::testing::{read_as, survives, told};

const STYLES: &str = "<office:styles><style:style style:name='P1' style:parent-style-name='Title'/>\
    <text:list-style style:name='L1'><text:list-level-style-number text:level='1' style:num-format='1' style:num-suffix='.'/>\
    <text:list-level-style-number text:level='2' style:num-format='a' style:num-suffix=')' text:start-value='3'/></text:list-style>\
    </office:styles>";

fn odt(body: &str, parts: &[(&str, &str)]) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:style='s' xmlns:table='tb' xmlns:draw='d'>{STYLES}\
         <office:body><office:text>{body}</office:text></office:body></office:document-content>"
    );
    let mut all = vec![("content.xml", content.as_str())];
    all.extend(parts.iter().copied());
    zip_texts(&all)
}

fn check(body: &str, parts: &[(&str, &str)], expected: &Expect) {
    let artifact = read_as("odt", &odt(body, parts)).expect("it is a document");
    expected.assert_eq(&told(&artifact));
}

#[test]
fn headings_lists_notes_and_boxes() {
    let body = "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion></text:changed-region>\
        </text:tracked-changes><text:p text:style-name='P1'>The title</text:p><text:h text:outline-level='2'>Part <text:span>one\
        </text:span></text:h><text:p>a  b<text:s text:c='3'/>c<text:tab/>d<text:line-break/>e<text:note><text:note-citation>1\
        </text:note-citation><text:note-body><text:p>At the foot.</text:p></text:note-body></text:note>\
        <office:annotation><text:p>Hm</text:p></office:annotation></text:p>\
        <text:list text:style-name='L1'><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>three</text:p>\
        </text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>\
        <text:list><text:list-item><text:p>a bullet</text:p></text:list-item></text:list>\
        <text:p><draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame></text:p>\
        <text:section><text:p>in a section<text:soft-page-break/></text:p></text:section>";
    let margins = "<office:document-styles><style:master-page><style:header><text:p>On every page</text:p></style:header>\
        <style:footer><text:p><text:page-number>3</text:page-number></text:p></style:footer></style:master-page></office:document-styles>";
    check(
        body,
        &[("styles.xml", margins)],
        &expect![[r"
            heading1: The title
            heading2: Part one
            paragraph: a b   c	d\ne[1]
            note: [1] At the foot.
            list_item1: 1. one
            list_item2: c) three
            list_item1: 2. two
            list_item1: a bullet
            paragraph: in a box
            paragraph: in a section
            margin: On every page
            ! 1 comment was left out
            ! 1 tracked change was taken as accepted: deleted text was left out
        "]],
    );
}

#[test]
fn tables_span_and_repeat() {
    let cell = |attributes: &str, words: &str| {
        format!("<table:table-cell {attributes}><text:p>{words}</text:p></table:table-cell>")
    };
    let body = format!(
        "<table:table table:name='Table1'><table:table-header-rows><table:table-row>{}{}{}</table:table-row>\
         </table:table-header-rows><table:table-row>{}<table:covered-table-cell/>{}</table:table-row>\
         <table:table-row table:number-rows-repeated='1000000'>{}<table:table-cell table:number-columns-repeated='16384'/></table:table-row>\
         </table:table><table:table table:name='Rain in May'><table:table-row>{}{}</table:table-row></table:table>",
        cell("", "A"),
        cell("", "B"),
        cell("", "C"),
        cell("table:number-columns-spanned='2'", "both"),
        cell("", "2.5"),
        cell("", "last"),
        cell("", "x"),
        cell("", "y"),
    );
    check(
        &body,
        &[],
        &expect![[r"
        table: 
          A | B | C
          2 both | both | 2.5
          3 last |  | 
        table: 
           | 
          1 x | y
    "]],
    );
}

#[test]
fn other_and_encrypted_documents_are_refused() {
    let code = |bytes: &[u8]| read_as("odt", bytes).expect_err("it is refused").code;
    assert_eq!(code(&odt("<text:p/>", &[])), RefusalCode::NoText);
    let manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>";
    assert_eq!(code(&odt("", &[("META-INF/manifest.xml", manifest)])), RefusalCode::Corrupt);
    let sheet = zip_texts(&[("content.xml", "<d><body><spreadsheet/></body></d>")]);
    assert_eq!(code(&sheet), RefusalCode::FormatMismatch);
    survives("odt", &odt("<text:p>Sound</text:p>", &[]));
}
