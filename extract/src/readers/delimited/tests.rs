use std::time::Duration;

use expect_test::{Expect, expect};

use crate::contract::{Artifact, CellType, CoverageUnit, Locator, Options, RefusalCode, Request};
use crate::readers::Bounds;
use crate::readers::testing::{listed, read_as, read_with, read_within, survives};

fn check(source: &str, expected: &Expect) -> Artifact {
    let artifact = read_as("csv", source.as_bytes()).expect("CSV");
    expected.assert_eq(&listed(&artifact));
    artifact
}

#[test]
fn records_are_counted_and_not_lines() {
    let artifact = check(
        "\u{feff}Name;Qty;Note\r\n\"a;b\";1;\"two\r\nlines\"\r\n\r\n\"say \"\"so\"\"\";2;\r\n",
        &expect![[r#"
            table:  ["Name", "Qty", "Note"]
              Name | Qty | Note
              2 a;b | 1 | two\r\nlines
              3 say "so" | 2 | 
        "#]],
    );
    assert_eq!((artifact.coverage.unit, artifact.coverage.total), (CoverageUnit::Rows, 3));
    assert_eq!(artifact.blocks[0].locator, Some(Locator::Rows { sheet: String::new(), start: 1, end: 3 }));
    assert!(artifact.tables[0].numbered);
}

#[test]
fn the_dialect_is_found_out() {
    check(
        "sep=;\na;b,c\n1;2,5\n2;3,25\n",
        &expect![[r#"
        table:  ["a", "b,c"]
          a | b,c
          2 1 | 2,5
          3 2 | 3,25
    "#]],
    );
    check(
        "a\tb\n1\t2,5\n",
        &expect![[r#"
        table:  ["a", "b"]
          a | b
          2 1 | 2,5
    "#]],
    );
    check(
        "a|b|c\n1|x, y|2\n3|z, w, v|4\n",
        &expect![[r#"
        table:  ["a", "b", "c"]
          a | b | c
          2 1 | x, y | 2
          3 3 | z, w, v | 4
    "#]],
    );
    check(
        "name,said\n'x, y','z'\n'u','v, w'\n",
        &expect![[r#"
        table:  ["name", "said"]
          name | said
          2 x, y | z
          3 u | v, w
    "#]],
    );
    check(
        "a,b\n\"x\\\"y\",1\n\"c:\\\\d\",2\n",
        &expect![[r#"
        table:  ["a", "b"]
          a | b
          2 x"y | 1
          3 c:\d | 2
    "#]],
    );
    check(
        "name\nAda\nGrace\n",
        &expect![[r#"
        table:  ["name"]
          name
          2 Ada
          3 Grace
    "#]],
    );
    let tabs = read_as("tsv", b"a, b\tc\n1, 2\t3\n").expect("TSV");
    assert_eq!(tabs.tables[0].columns.len(), 2);
}

#[test]
fn headers_titles_and_ragged_rows() {
    check(
        "1,abc,2024-01-01\n2,def,2024-01-02\n",
        &expect![[r"
        table: 
           |  | 
          1 1 | abc | 2024-01-01
          2 2 | def | 2024-01-02
    "]],
    );
    check(
        "name,2019,2020\nx,1,2\n",
        &expect![[r#"
        table:  ["name", "2019", "2020"]
          name | 2019 | 2020
          2 x | 1 | 2
    "#]],
    );
    check(
        "2019,2020\n1,2\n",
        &expect![[r#"
        table:  ["2019", "2020"]
          2019 | 2020
          2 1 | 2
    "#]],
    );
    check(
        "The Cups,,\nTeam,Place,Wins\nMapleleafs,TOR,13\nRed Wings,DET,11\n",
        &expect![[r#"
        paragraph: The Cups
        table:  ["Team", "Place", "Wins"]
          Team | Place | Wins
          3 Mapleleafs | TOR | 13
          4 Red Wings | DET | 11
    "#]],
    );
    let ragged = check(
        "a,b\n1\n1,2,3\n",
        &expect![[r#"
        table:  ["a", "b"]
          a | b | 
          2 1 |  | 
          3 1 | 2 | 3
    "#]],
    );
    assert_eq!(ragged.warnings.len(), 1);
    check(
        "a,,a\n1,2,3\n",
        &expect![[r#"
        table:  ["a"]
          a |  | a
          2 1 | 2 | 3
    "#]],
    );
    check(
        "a,b\n",
        &expect![[r#"
        table:  ["a", "b"]
          a | b
    "#]],
    );
}

#[test]
fn cells_are_typed_by_their_column() {
    let artifact =
        read_as("csv", b"id,price,when,ok,mixed\n007,\"1,250.10\",2024-01-31,true,1\n008,7,2024-02-01 10:00,false,x\n");
    let types: Vec<_> =
        artifact.expect("CSV").tables[0].columns.iter().map(|column| (column.column_type, column.mixed)).collect();
    assert_eq!(
        types,
        [
            (CellType::String, false),
            (CellType::Number, false),
            (CellType::String, true),
            (CellType::Bool, false),
            (CellType::String, true)
        ]
    );
}

#[test]
fn an_open_quote_does_not_swallow_the_rest() {
    let artifact = check(
        "a,b\n\"x,1\ny,2\n",
        &expect![[r#"
        table:  ["a", "b"]
          a | b
          2 "x | 1
          3 y | 2
    "#]],
    );
    assert_eq!(artifact.warnings.len(), 1, "{:?}", artifact.warnings);
}

#[test]
fn a_table_past_the_bound_is_cut_and_counted() {
    let request = Request { format: "csv".into(), ..Request::default() };
    let bounds = Bounds { cells: 6, ..Bounds::within(Duration::from_mins(1)) };
    let artifact = read_within(&request, b"a,b\n1,2\n3,4\n5,6\n7,8\n", bounds).expect("CSV");
    assert_eq!((artifact.tables[0].rows.len(), artifact.tables[0].total_rows), (2, 4));
    let coverage = artifact.coverage;
    assert_eq!((coverage.total, coverage.extracted, coverage.failed), (5, 3, 2));
    assert_eq!(coverage.lost, ["tables"]);
}

#[test]
fn fields_past_those_that_a_table_has_are_left_out() {
    let artifact = read_as("csv", &b"a,".repeat(40_000)).expect("CSV");
    assert_eq!(artifact.tables[0].columns.len(), 16_384);
}

#[test]
fn encodings_and_nothing() {
    assert_eq!(read_as("csv", b"\n\r\n").map_err(|refusal| refusal.code), Err(RefusalCode::NoText));
    assert_eq!(read_as("csv", b",,\n,,\n").map_err(|refusal| refusal.code), Err(RefusalCode::NoText));
    let wide: Vec<u8> = "\u{feff}a,b\n1,é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_as("csv", &wide).expect("UTF-16").tables[0].rows[0].1[1].shown(), "é");
    let options = Options { encoding: "shift_jis".into(), ..Options::default() };
    let artifact = read_with("csv", b"a,b\n1,\x81\x5C\n", options).expect("Shift_JIS");
    assert_eq!(artifact.tables[0].rows[0].1[1].shown(), "\u{2015}");
}

#[test]
fn damage_is_survived() {
    survives("csv", "sep=,\né,\"b\"\"c\"\n1,\"2\\\"\"\r\n'x','y'\n".as_bytes());
    survives("tsv", "é\tb\n1\t2024-01-01\n".as_bytes());
}
