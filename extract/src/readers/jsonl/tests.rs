use expect_test::expect;

use crate::contract::RefusalCode;
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn flat_objects_are_a_table() {
    let source = b"{\"id\": 9007199254740993, \"name\": \"007\"}\n\n{\"name\": \"b\", \"ok\": true, \"id\": 1.50}\n{\"id\": null}\n";
    let artifact = read_as("jsonl", source).expect("JSON lines");
    expect![[r#"
        table:  ["id", "name", "ok"]
          id | name | ok
          1 9007199254740993 | 007 | 
          2 1.50 | b | true
          3  |  | 
    "#]]
    .assert_eq(&listed(&artifact));
    assert_eq!((artifact.coverage.total, artifact.tables[0].header_rows), (3, 0));
}

#[test]
fn other_values_are_text() {
    let artifact = read_as("jsonl", b"{\"a\": {\"b\": 1}}\n[1, 2]\n").expect("JSON lines");
    expect![[r#"
        field: {"a": {"b": 1}} ["a"]
        field: [1, 2]
    "#]]
    .assert_eq(&listed(&artifact));
}

#[test]
fn a_broken_line_is_named() {
    let refusal = read_as("jsonl", b"{\"a\": 1}\n{\"a\": \n").expect_err("it ends early");
    assert_eq!(refusal.code, RefusalCode::Corrupt);
    assert!(refusal.message.contains("line 2"), "{}", refusal.message);
}

#[test]
fn damage_is_survived() {
    survives("jsonl", "{\"é\": 1, \"b\": \"x\"}\n{\"c\": -0.5}\n".as_bytes());
    survives("jsonl", "{\"é\": [1]}\n\"x\"\n".as_bytes());
}
