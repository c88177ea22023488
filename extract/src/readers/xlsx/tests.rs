use expect_test::{Expect, expect};

use super::dates::{DateSystem, duration};
use super::formats::{Meaning, meaning};
use super::render::render;
use crate::contract::{Artifact, Cell, CellType, Locator, RefusalCode, Value, lost};
pub use crate::readers::office::testing::relations;
use crate::readers::office::testing::zip_texts;
use crate::readers::testing::{read_as, survives, told};

/// A sheet: its name, its state, the content of its part.
type Sheet<'a> = (&'a str, &'a str, &'a str);

/// The styles that the cells' `s` counts in: plain, date, date and time, time, elapsed, percent, money.
const STYLES: &str = "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='[h]:mm:ss'/>\
    <numFmt numFmtId='171' formatCode='&quot;$&quot;#,##0.00_);[Red](&quot;$&quot;#,##0.00)'/></numFmts><cellXfs>\
    <xf numFmtId='0'/><xf numFmtId='14'/><xf numFmtId='22'/><xf numFmtId='21'/><xf numFmtId='170'/><xf numFmtId='10'/>\
    <xf numFmtId='171'/></cellXfs></styleSheet>";

fn workbook(properties: &str, sheets: &[Sheet<'_>], parts: &[(&str, &str)]) -> Vec<u8> {
    let listed: Vec<String> = sheets
        .iter()
        .enumerate()
        .map(|(at, (name, state, _))| format!("<sheet name='{name}' sheetId='{at}' state='{state}' r:id='r{at}'/>"))
        .collect();
    let listed = listed.concat();
    let book = format!("<workbook xmlns:r='r'><workbookPr {properties}/><sheets>{listed}</sheets></workbook>");
    let ids: Vec<(String, String)> =
        (0..sheets.len()).map(|at| (format!("r{at}"), format!("worksheets/sheet{at}.xml"))).collect();
    let mut related: Vec<(&str, &str, &str)> =
        ids.iter().map(|(id, target)| (id.as_str(), "worksheet", target.as_str())).collect();
    related.push(("s", "styles", "styles.xml"));
    related.push(("t", "sharedStrings", "sharedStrings.xml"));
    let related = relations(&related);
    let root = relations(&[("r1", "officeDocument", "xl/workbook.xml")]);
    let names: Vec<(String, String)> = sheets
        .iter()
        .enumerate()
        .map(|(at, sheet)| (format!("xl/worksheets/sheet{at}.xml"), format!("<worksheet>{}</worksheet>", sheet.2)))
        .collect();
    let mut all = vec![
        ("_rels/.rels", root.as_str()),
        ("xl/workbook.xml", book.as_str()),
        ("xl/_rels/workbook.xml.rels", related.as_str()),
        ("xl/styles.xml", STYLES),
    ];
    all.extend(names.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    all.extend(parts.iter().copied());
    zip_texts(&all)
}

/// One sheet of rows, each a list of cells as XML.
fn sheet(rows: &[&str]) -> String {
    let row = |(at, cells): (usize, &&str)| format!("<row r='{}'>{cells}</row>", at + 1);
    format!("<sheetData>{}</sheetData>", rows.iter().enumerate().map(row).collect::<String>())
}

pub fn text(words: &str) -> String {
    format!("<c t='inlineStr'><is><t>{words}</t></is></c>")
}

pub fn number(digits: &str, style: u8) -> String {
    format!("<c s='{style}'><v>{digits}</v></c>")
}

pub fn read(properties: &str, sheets: &[Sheet<'_>], parts: &[(&str, &str)]) -> Artifact {
    read_as("xlsx", &workbook(properties, sheets, parts)).expect("it is a workbook")
}

/// Holds what is read against what is expected, and then the warnings.
fn check(artifact: &Artifact, expected: &Expect) {
    expected.assert_eq(&told(artifact));
}

#[test]
fn a_sheet_is_a_heading_a_title_and_a_table_with_the_sheets_rows() {
    let title = text("Ducks of the year");
    let header = text("Year") + &text("Count");
    let rows = [
        title.as_str(),
        "",
        &header,
        &(number("2019", 0) + &number("120", 0)),
        "",
        &(number("2020", 0) + &number("1.5", 0)),
    ];
    let artifact = read("", &[("Ducks", "visible", &sheet(&rows))], &[]);
    check(
        &artifact,
        &expect![[r"
        heading1: Ducks
        paragraph: Ducks of the year
        table: 
          Year | Count
          4 2019 | 120
          6 2020 | 1.5
    "]],
    );
    let table = &artifact.tables[0];
    assert!(table.numbered);
    assert_eq!((table.name.as_str(), table.header_rows, table.total_rows), ("Ducks", 1, 2));
    assert_eq!(table.columns[1].column_type, CellType::Number);
    let rows = |start, end| Some(Locator::Rows { sheet: "Ducks".into(), start, end });
    let locators: Vec<_> = artifact.blocks.iter().map(|block| block.locator.clone()).collect();
    assert_eq!(locators, [rows(1, 6), rows(1, 1), rows(3, 6)]);
}

#[test]
fn what_broke_others_is_read() {
    let days = sheet(&[
        &(text("Day") + &text("Span") + &text("Share")),
        &(number("60", 1) + &number("1.5", 4) + "<c t='e'><v>#DIV/0!</v></c>"),
        &(number("61", 1) + &number("1.25", 3) + "<c><f>A1+B1</f></c>"),
        &(number("59", 1) + &number("0.5", 3) + &number("0.1234", 5)),
    ]);
    let header = "<sheetData><row r='1'><c r='A1' t='inlineStr'><is><t>Region</t></is></c>\
        <c r='B1' t='inlineStr'><is><t>Sales</t></is></c><c r='D1' t='inlineStr'><is><t>Note</t></is></c></row>\
        <row r='2'><c r='B2' t='inlineStr'><is><t>Q1</t></is></c><c r='C2' t='inlineStr'><is><t>Q2</t></is></c></row>\
        <row r='3'><c r='A3' t='inlineStr'><is><t>North</t></is></c><c r='B3'><v>1</v></c><c r='C3'><v>2</v></c></row></sheetData>\
        <mergeCells><mergeCell ref='A1:A2'/><mergeCell ref='B1:C1'/><mergeCell ref='D1:D2'/></mergeCells>";
    let inflated = format!("<dimension ref='A1:XFD1048576'/>{}", sheet(&[&text("a"), &text("b"), &text("c")]));
    let sheets = [
        ("Days", "visible", days.as_str()),
        ("Header", "visible", header),
        ("Unseen", "hidden", &inflated),
        ("Deeper", "veryHidden", &inflated),
    ];
    let artifact = read("", &sheets, &[]);
    check(
        &artifact,
        &expect![[r#"
        heading1: Days
        table: 
          Day | Span | Share
          2 1900-02-29 | 36:00:00 | #DIV/0!
          3 1900-03-01 | 30:00:00 | =A1+B1
          4 1900-02-28 | 12:00:00 | 12.34%
        heading1: Header
        table: 
          Region | Sales / Q1 | Sales / Q2 | Note
          3 North | 1 | 2 | 
        heading1: Unseen
        table: 
          a
          2 b
          3 c
        heading1: Deeper
        table: 
          a
          2 b
          3 c
        ! hidden sheets were read too: "Unseen", "Deeper"
        ! 1 cell holds an error
        ! 1 cell holds a day that never was
        ! 1 formula was saved without its value
    "#]],
    );
    assert_eq!(artifact.coverage.lost, [lost::FORMULA_VALUES]);
    assert_eq!(artifact.tables[2].total_rows, 2);
    let later = read("date1904='1'", &[("Days", "visible", &days)], &[]);
    check(
        &later,
        &expect![[r"
        heading1: Days
        table: 
          Day | Span | Share
          2 1904-03-01 | 36:00:00 | #DIV/0!
          3 1904-03-02 | 30:00:00 | =A1+B1
          4 1904-02-29 | 12:00:00 | 12.34%
        ! 1 cell holds an error
        ! 1 formula was saved without its value
    "]],
    );
}

#[test]
fn cells_keep_digits_and_show_what_the_sheet_shows() {
    let shared = "<sst><si><t>plain</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>フリガナ</t></rPh></si>\
        <si><t>line_x000D_\nbreak</t></si></sst>";
    let cells = "<c t='s'><v>0</v></c><c t='s'><v>1</v></c><c t='s'><v>2</v></c><c t='s'><v>99</v></c>";
    let values = [
        "<c t='b'><v>1</v></c>".to_owned(),
        "<c t='str'><f>A1</f><v>cached</v></c>".to_owned(),
        "<c t='str'><f>A1</f><v></v></c>".to_owned(),
        "<c t='d'><v>2026-01-31T12:30:00</v></c>".to_owned(),
        number("0.10000000000000001", 0),
        number("9007199254740993", 0),
        number("10.010", 0),
        number("1E-7", 0),
        number("1337", 6),
        number("-1337.5", 6),
        number("0.256", 5),
        number("44197.5", 2),
        number("44197", 2),
        number("0.25", 2),
        number("-5", 1),
        number("1e999", 0),
        number("nonsense", 0),
    ]
    .concat();
    let content = sheet(&[cells, &values]);
    let artifact = read("", &[("S", "visible", &content)], &[("xl/sharedStrings.xml", shared)]);
    let cells: Vec<&Cell> = artifact.tables[0].rows.iter().flat_map(|row| &row.1).collect();
    let shown: String = cells.iter().map(|cell| serde_json::to_string(cell).expect("cells are plain") + "\n").collect();
    expect![[r#"
        "plain"
        "rich text"
        "line\nbreak"
        null
        null
        null
        null
        null
        null
        null
        null
        null
        null
        null
        null
        null
        null
        {"bool":true}
        "cached"
        null
        {"datetime":"2026-01-31T12:30:00","text":"2026-01-31 12:30:00"}
        {"number":"0.1"}
        {"number":"9007199254740993"}
        {"number":"10.010"}
        {"number":"1E-7"}
        {"number":"1337","text":"$1,337.00"}
        {"number":"-1337.5","text":"($1,337.50)"}
        {"number":"0.256","text":"25.60%"}
        {"datetime":"2021-01-01T12:00:00","text":"2021-01-01 12:00:00"}
        {"datetime":"2021-01-01T00:00:00","text":"2021-01-01 00:00:00"}
        {"time":"06:00:00"}
        {"number":"-5"}
        {"error":"1e999"}
        "nonsense"
    "#]]
    .assert_eq(&shown);
}

#[test]
fn comments_threads_and_text_boxes_stand_after_the_table() {
    let rels = relations(&[
        ("c", "comments", "../comments1.xml"),
        ("t", "threadedComment", "../threads.xml"),
        ("d", "drawing", "../drawing.xml"),
    ]);
    let parts = [
        ("xl/worksheets/_rels/sheet0.xml.rels", rels.as_str()),
        (
            "xl/comments1.xml",
            "<comments><commentList><comment ref='A1'><text><r><t>An old </t></r><r><t>one</t></r></text></comment>\
             <comment ref='B2'><text><t>[Threaded comment] Your version</t></text></comment></commentList></comments>",
        ),
        (
            "xl/threads.xml",
            "<ThreadedComments><threadedComment ref='B2'><text>Why?</text></threadedComment></ThreadedComments>",
        ),
        ("xl/drawing.xml", "<wsDr><sp><txBody><p><r><t>In a </t></r><r><t>box</t></r></p><p/></txBody></sp></wsDr>"),
    ];
    check(
        &read("", &[("S", "visible", &sheet(&[&text("a"), &text("b")]))], &parts),
        &expect![[r"
            heading1: S
            table: 
              a
              2 b
            note: B2: Why?
            note: A1: An old one
            paragraph: In a box
        "]],
    );
}

#[test]
fn empty_sheets_are_named_and_a_workbook_of_them_is_refused() {
    let full = sheet(&[&text("a"), &text("b")]);
    check(
        &read("", &[("None", "visible", "<sheetData/>"), ("Some", "visible", &full)], &[]),
        &expect![[r"
            heading1: None
            heading1: Some
            table: 
              a
              2 b
        "]],
    );
    let none = workbook("", &[("None", "visible", "<sheetData/>")], &[]);
    assert_eq!(read_as("xlsx", &none).expect_err("it is empty").code, RefusalCode::NoText);
}

#[test]
fn repeated_strings_cannot_outgrow_the_bounds() {
    let shared = format!("<sst><si><t>{}</t></si></sst>", "long words ".repeat(90_000));
    let cells = "<c t='s'><v>0</v></c>".repeat(200);
    let bytes = workbook("", &[("S", "visible", &sheet(&[&cells]))], &[("xl/sharedStrings.xml", &shared)]);
    assert_eq!(read_as("xlsx", &bytes).expect_err("it is a bomb").code, RefusalCode::ResourceLimit);
}

#[test]
fn days_and_times() {
    for (system, serial, date, time, is_a_day) in [
        (DateSystem::From1900, 1.0, "1900-01-01", "00:00:00", true),
        (DateSystem::From1900, 59.0, "1900-02-28", "00:00:00", true),
        (DateSystem::From1900, 60.0, "1900-02-29", "00:00:00", false),
        (DateSystem::From1900, 61.0, "1900-03-01", "00:00:00", true),
        (DateSystem::From1900, 44_197.999_999_999, "2021-01-02", "00:00:00", true),
        (DateSystem::From1900, 2_958_465.5, "9999-12-31", "12:00:00", true),
        (DateSystem::From1904, 0.0, "1904-01-01", "00:00:00", true),
        (DateSystem::From1904, 42_735.000_005, "2021-01-01", "00:00:00.432", true),
    ] {
        let moment = system.moment(serial).expect("it is in range");
        assert_eq!((moment.date.as_str(), moment.time.as_str(), moment.is_a_day), (date, time, is_a_day), "{serial}");
    }
    assert_eq!(DateSystem::From1900.moment(-1.0), None);
    assert_eq!(DateSystem::From1900.moment(f64::NAN), None);
    assert_eq!(duration(1.5), Some(("129600".into(), "36:00:00".into())));
    assert_eq!(duration(-0.000_005_787), Some(("-0.5".into(), "-0:00:00.5".into())));
}

#[test]
fn formats_say_what_numbers_are() {
    let shown = |code: &str| Meaning::Shown(code.to_owned());
    for (code, expected) in [
        ("General", Meaning::Plain),
        ("0.00", Meaning::Plain),
        ("yyyy-mm-dd", Meaning::Date),
        ("[$-409]d-mmm-yy;@", Meaning::Date),
        ("mmmm", Meaning::Date),
        ("m", Meaning::Date),
        ("h:mm", Meaning::Time),
        ("mm:ss", Meaning::Time),
        ("d/m/yyyy h:mm", Meaning::Datetime),
        ("[h]:mm", Meaning::Duration),
        ("[Red]0.00", Meaning::Plain),
        ("0.0%", shown("0.0%")),
        ("#,##0", shown("#,##0")),
        ("0 \"days\"", shown("0 \"days\"")),
        ("[$€-407] #,##0.00", shown("[$€-407] #,##0.00")),
        ("0.00E+00", Meaning::Plain),
    ] {
        assert_eq!(meaning(code), expected, "{code}");
    }
}

#[test]
fn numbers_are_shown_by_their_formats() {
    for (code, number, expected) in [
        ("0%", 0.256, Some("26%")),
        ("0.00%", 0.12345, Some("12.35%")),
        ("#,##0", 1_234_567.0, Some("1,234,567")),
        ("#,##0", 0.5, None),
        ("#,##0.00;(#,##0.00)", -1234.5, Some("(1,234.50)")),
        ("$#,##0.00", 1337.0, Some("$1,337.00")),
        ("[$€-407] #,##0.00", 2.5, Some("€ 2.50")),
        ("0 \"days\"", 3.0, Some("3 days")),
        ("0.0##", 1.25, Some("1.25")),
        ("#,##0,\" k\"", 12_000.0, Some("12 k")),
        ("# ?/?", 0.5, None),
        ("[<5]0;0", 1.0, None),
        ("\"n/a\"", 1.0, None),
        ("000-00", 12_345.0, None),
    ] {
        assert_eq!(render(code, number).as_deref(), expected, "{code} of {number}");
    }
}

#[test]
fn damaged_workbooks_are_refused_or_read_without_panic() {
    let shared = "<sst><si><t>a</t></si></sst>";
    let content = sheet(&["<c r='B1' t='s'><v>0</v></c><c r='C1' s='1'><v>1</v></c>"]);
    survives("xlsx", &workbook("", &[("S", "visible", &content)], &[("xl/sharedStrings.xml", shared)]));
    let value = |reference: &str| {
        format!(
            "<sheetData><row r='5'><c r='{reference}'><v>1</v></c></row><row r='2'><c r='A2'><v>2</v></c></row></sheetData>"
        )
    };
    for reference in ["A5", "ZZZZ1", "", "1", "A99999999999999999999", "XFE1"] {
        let artifact = read("", &[("S", "visible", &value(reference))], &[]);
        assert!(!artifact.tables.is_empty(), "{reference}");
        assert!(matches!(
            artifact.tables[0].rows.last().map(|row| row.1[0].clone()),
            Some(Cell::Typed { value: Value::Number(_), .. })
        ));
    }
}
