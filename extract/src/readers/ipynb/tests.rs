use expect_test::expect;

use crate::contract::RefusalCode;
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn cells_are_blocks() {
    let source = r##"{"nbformat": 4, "metadata": {"kernelspec": {"language": "julia"}}, "cells": [
        {"cell_type": "markdown", "source": ["# Title #\n", "\n", "Some text\n", "\n", "- item\n", "```sh\n", "ls\n", "```"]},
        {"cell_type": "code", "source": "x = 1\n", "outputs": [
            {"output_type": "stream", "text": ["\u001b[31mred\u001b[0m\n", "two\n"]},
            {"output_type": "display_data", "data": {"image/png": "aGk="}},
            {"output_type": "execute_result", "data": {"text/plain": "42"}}]},
        {"cell_type": "raw", "source": "raw"}]}"##;
    let artifact = read_as("ipynb", source.as_bytes()).expect("a notebook");
    expect![[r"
        heading1: Title
        paragraph: Some text
        list_item1: item
        code(sh): ls
        code(julia): x = 1
        code: red\ntwo
        code: 42
        paragraph: raw
    "]]
    .assert_eq(&listed(&artifact));
    assert_eq!(artifact.warnings, ["1 pictures and other outputs without text were left out"]);
}

#[test]
fn what_is_no_notebook_is_told() {
    for (source, code) in [
        ("{", RefusalCode::Corrupt),
        ("{}", RefusalCode::FormatMismatch),
        ("{\"nbformat\": 4, \"cells\": []}", RefusalCode::NoText),
    ] {
        assert_eq!(read_as("ipynb", source.as_bytes()).map_err(|refusal| refusal.code), Err(code), "{source}");
    }
}

#[test]
fn damage_is_survived() {
    survives("ipynb", r#"{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": ["é"]}]}"#.as_bytes());
}
