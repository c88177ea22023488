use expect_test::expect;

use super::tests::{number, read, relations, text};
use crate::contract::Artifact;
use crate::readers::testing::told;

/// A sheet of a line for each row, its cells parted by commas.
fn one(rows: &str) -> Artifact {
    let cell = |row: usize, column: usize, words: &str| {
        let made = if words.parse::<f64>().is_ok() { number(words, 0) } else { text(words) };
        let column = char::from(b"ABCDEFGH"[column]);
        made.replacen("<c ", &format!("<c r='{column}{row}' "), 1)
    };
    let row = |(at, line): (usize, &str)| {
        let cells = line.split(',').map(str::trim).enumerate().filter(|(_, words)| !words.is_empty());
        let cells: String = cells.map(|(column, words)| cell(at + 1, column, words)).collect();
        format!("<row r='{}'>{cells}</row>", at + 1)
    };
    let content: String = rows.lines().enumerate().map(row).collect();
    read("", &[("S", "visible", &format!("<sheetData>{content}</sheetData>"))], &[])
}

#[test]
fn tables_beside_and_below_each_other_are_tables_of_their_own() {
    let artifact = one("Stock\npart,count\nbolt,4,,city,rain\nnut,7,,Berlin,54\n\nSales\n\nmonth,sum\nMay,9");
    expect![[r"
        heading1: S
        paragraph: Stock
        table: 
          part | count
          3 bolt | 4
          4 nut | 7
        table: 
          city | rain
          4 Berlin | 54
        paragraph: Sales
        table: 
          month | sum
          9 May | 9
    "]]
    .assert_eq(&told(&artifact));
}

#[test]
fn one_table_with_blank_cells_stays_one() {
    for rows in [
        // A blank row with words on both sides of it.
        "term,meaning\none,first\n\ntwo,second\nthree,third",
        // Values without names above them.
        "a,b\n1,2\n\n3,4\n5,6",
        // A cell by itself.
        "a,b\n1,2\n\n\n,,,,,note",
        // Areas that reach around each other.
        "a,b,c,d,e,f\n1,,,,,2\n3,,x,y,,4\n5,,6,7,,8\n9,,,,,1",
    ] {
        assert_eq!(one(rows).tables.len(), 1, "{rows}");
    }
}

#[test]
fn charts_stand_after_the_tables() {
    let rels = relations(&[("d", "drawing", "../drawing.xml")]);
    let drawn = relations(&[("c", "chart", "charts/c.xml")]);
    let chart = "<chartSpace><chart><plotArea><ser><tx><v>Rain</v></tx><cat><pt idx='0'><v>May</v></pt></cat><val><pt idx='0'><v>54</v></pt>\
        </val></ser></plotArea></chart></chartSpace>";
    let parts = [
        ("xl/worksheets/_rels/sheet0.xml.rels", rels.as_str()),
        (
            "xl/drawing.xml",
            "<wsDr><graphicFrame><c:chart r:id='c'/></graphicFrame><graphicFrame><c:chart r:id='c'/></graphicFrame></wsDr>",
        ),
        ("xl/_rels/drawing.xml.rels", drawn.as_str()),
        ("xl/charts/c.xml", chart),
    ];
    let content = format!(
        "<sheetData><row>{}{}</row><row>{}{}</row></sheetData>",
        text("a"),
        text("b"),
        number("1", 0),
        number("2", 0)
    );
    let artifact = read("", &[("S", "visible", &content)], &parts);
    expect![[r"
        heading1: S
        table: 
          a | b
          2 1 | 2
        table: 
           | Rain
          2 May | 54
    "]]
    .assert_eq(&told(&artifact));
}
