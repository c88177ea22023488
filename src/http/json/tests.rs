use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check(body: impl AsRef<[u8]>, expected: &Expect) {
    let shown = match decode(body.as_ref()) {
        Ok(fields) => Value::Object(fields).to_string(),
        Err(error) => format!("{} {:?}: {}", error.code, error.field, error.message),
    };
    expected.assert_eq(&shown);
}

#[test]
fn an_object_decodes_in_its_order() {
    check(
        r#" {"b": [1, -2, 3.5, true, null], "a": "\ud83d\ude00"} "#,
        &expect![[r#"{"b":[1,-2,3.5,true,null],"a":"😀"}"#]],
    );
}

#[test]
fn what_is_no_object_is_bad_json() {
    check("", &expect!["BAD_JSON None: the body is empty: send a JSON object, at least {}"]);
    check("[1]", &expect!["BAD_JSON None: the body is a list, not an object"]);
    check("null", &expect!["BAD_JSON None: the body is null, not an object"]);
    check(
        "{\"a\": 1,\n  b}",
        &expect!["BAD_JSON None: the body is not valid JSON: key must be a string at line 2 column 3"],
    );
    check(
        r#"{"a": 1} {"a": 2}"#,
        &expect!["BAD_JSON None: the body is not valid JSON: trailing characters at line 1 column 10"],
    );
    check(
        r#"{"a": "unclosed"#,
        &expect!["BAD_JSON None: the body is not valid JSON: EOF while parsing a string at line 1 column 15"],
    );
    check(b"{\"a\":\n \"\xff\"}", &expect!["BAD_JSON None: the body is not UTF-8 at line 2 column 3"]);
    check("\u{feff}{}", &expect!["BAD_JSON None: the body is not valid JSON: expected value at line 1 column 1"]);
}

#[test]
fn a_repeated_key_is_named_where_it_lies() {
    check(
        r#"{"source_uri": "a", "source_uri": "b"}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("source_uri"): source_uri is given twice (line 1 column 32): give it once"#
        ]],
    );
    check(
        r#"{"entries": [{}, {"metadata": {"k": 1, "\u006b": 2}}]}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("entries[1].metadata.k"): entries[1].metadata.k is given twice (line 1 column 47): give it once"#
        ]],
    );
    check(
        format!(r#"{{"{0}": 1, "{0}": 2}}"#, "k".repeat(100_000)),
        &expect![[
            r#"VALIDATION_FAILED Some("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"): kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk is given twice (line 1 column 200010): give it once"#
        ]],
    );
}

#[test]
fn a_lone_surrogate_is_named_where_it_lies() {
    check(
        r#"{"title": "\ud800"}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("title"): title holds half of a surrogate pair (line 1 column 18), which is no character: remove or complete it"#
        ]],
    );
    check(
        r#"{"title": "\udc00 x"}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("title"): title holds half of a surrogate pair (line 1 column 17), which is no character: remove or complete it"#
        ]],
    );
    check(
        r#"{"tags": ["ok", "\ud800\ud800"]}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("tags[1]"): tags[1] holds half of a surrogate pair (line 1 column 29), which is no character: remove or complete it"#
        ]],
    );
    check(
        r#"{"tags": ["ok", "\ud800\n"]}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("tags[1]"): tags[1] holds half of a surrogate pair (line 1 column 25), which is no character: remove or complete it"#
        ]],
    );
    check(
        r#"{"metadata": {"\udfff": 1}}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("metadata"): a key of metadata holds half of a surrogate pair (line 1 column 21), which is no character: remove or complete it"#
        ]],
    );
    check(
        r#"{"\udfff": 1}"#,
        &expect![
            "VALIDATION_FAILED None: a key of the body holds half of a surrogate pair (line 1 column 8), which is no character: remove or complete it"
        ],
    );
}

#[test]
fn a_number_out_of_range_is_named_where_it_stands() {
    check(
        r#"{"a": [0, 1e999]}"#,
        &expect![[
            r#"VALIDATION_FAILED Some("a[1]"): a[1] is a number that no 64-bit float holds (line 1 column 15): send it as text"#
        ]],
    );
    check(r#"{"a": 1e-999, "b": -0, "c": 1e308}"#, &expect![[r#"{"a":0.0,"b":-0.0,"c":1e+308}"#]]);
}

#[test]
fn nesting_has_a_limit_and_no_stack_is_at_risk() {
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(decode(nested(NESTING_MAX - 1).as_bytes()).is_ok());
    for body in [nested(NESTING_MAX), nested(1_000_000), "[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)] {
        let error = decode(body.as_bytes()).expect_err("it is too deep");
        assert_eq!(error.code, Code::ValidationFailed, "{}", error.message);
        assert!(error.message.contains("deeper than 64 levels"), "{}", error.message);
        assert!(matches!(error.field.as_deref(), Some("a" | "[0]")), "{:?}", error.field);
    }
}

#[test]
fn a_body_of_too_many_values_is_refused() {
    let body = format!("{{\"a\":[{}0]}}", "0,".repeat(VALUES_MAX));
    assert_eq!(decode(body.as_bytes()).expect_err("it holds too many").code, Code::PayloadTooLarge);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn valid_documents_decode_as_serde_json_does(fields in prop::collection::vec((any::<String>(), value()), 0..6), pretty: bool) {
        let document = Value::Object(fields.into_iter().collect());
        let text = if pretty { format!("{document:#}") } else { document.to_string() };
        let plain: Value = serde_json::from_str(&text).expect("serde_json reads what it wrote");
        prop_assert_eq!(Value::Object(decode(text.as_bytes()).expect("it is valid")), plain);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let plain = serde_json::from_slice::<Value>(&bytes);
        if let Ok(fields) = decode(&bytes) {
            prop_assert_eq!(Value::Object(fields), plain.expect("what is accepted is JSON"));
        }
    }

    #[test]
    fn damaged_documents_never_panic(document in value(), at: prop::sample::Index, byte in prop::sample::select(&b"{}[]\",:\\u0d8e-\x00\xff"[..])) {
        let mut bytes = serde_json::json!({ "a": document }).to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let plain = serde_json::from_slice::<Value>(&bytes);
        match decode(&bytes) {
            Ok(fields) => prop_assert_eq!(Value::Object(fields), plain.expect("what is accepted is JSON")),
            // Only what is not JSON is called so.
            Err(error) if error.code == Code::BadJson => prop_assert!(plain.is_err(), "{}", error.message),
            Err(_) => {}
        }
    }
}
