use expect_test::expect;

use crate::contract::{Locator, RefusalCode};
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn short_values_are_one_block_and_long_ones_are_taken_apart() {
    let short = read_as("json", b"{\"a\": {\"b\": [1, {\"c\": null}]}, \"d e\": \"x\"}").expect("JSON");
    expect![[r#"
        field: {"a": {"b": [1, {"c": null}]}, "d e": "x"} ["a", "a.b", "a.b.c", "\"d e\""]
    "#]]
    .assert_eq(&listed(&short));
    let filler = "y".repeat(600);
    let long = format!(
        "{{\n  \"one\": \"{filler}\",\n  \"two\": {{\n    \"three\": \"{filler}\",\n    \"four\": [\"{filler}\"]\n  }}\n}}"
    );
    let artifact = read_as("json", long.as_bytes()).expect("JSON");
    let places: Vec<_> = artifact.blocks.iter().map(|block| (block.locator.clone(), block.keys.join(" "))).collect();
    let place = |path: &str, line_start, line_end| Some(Locator::Key { path: path.into(), line_start, line_end });
    assert_eq!(
        places,
        [
            (place("one", 1, 2), "one".to_owned()),
            (place("two.three", 3, 4), "two two.three".to_owned()),
            (place("two.four", 5, 7), "two.four".to_owned())
        ]
    );
}

#[test]
fn what_is_no_json_is_refused_with_its_line() {
    for (source, line) in [
        ("{\"a\": 1,\n}", "line 2"),
        ("[1 2]", "line 1"),
        ("{\"a\" 1}", "line 1"),
        ("\n\n{} x", "line 3"),
        ("\"open", "line 1"),
    ] {
        let refusal = read_as("json", source.as_bytes()).expect_err(source);
        assert_eq!(refusal.code, RefusalCode::Corrupt);
        assert!(refusal.message.contains(line), "{source}: {}", refusal.message);
    }
    assert_eq!(read_as("json", b" ").map_err(|refusal| refusal.code), Err(RefusalCode::NoText));
}

#[test]
fn a_long_name_is_no_part_of_any_key() {
    let source = format!("{{\"{}\": {{\"a\": 1, \"b\": \"{}\"}}, \"c\": 2}}", "k".repeat(5_000), "long ".repeat(500));
    let artifact = read_as("json", source.as_bytes()).expect("JSON");
    let keys: Vec<&String> = artifact.blocks.iter().flat_map(|block| &block.keys).collect();
    assert_eq!(keys, ["c"]);
    for block in &artifact.blocks {
        assert!(matches!(&block.locator, Some(Locator::Key { path, .. }) if path.len() <= 1024));
    }
}

#[test]
fn depth_and_length_cost_little() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(read_as("json", deep.as_bytes()).expect("JSON").coverage.lost, ["exact_keys"]);
    let long = format!("[{}1]", "1,".repeat(100_000));
    assert!(read_as("json", long.as_bytes()).expect("JSON").blocks.len() > 100);
}

#[test]
fn damage_is_survived() {
    survives("json", "{\"é\": [1, -2.5e3, true, null, {\"b\\n\": \"c\"}]}".as_bytes());
}
