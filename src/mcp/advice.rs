//! What an agent is told to do about an error.

use serde_json::{Value, json};

/// The error object of the API with a `hint`: what an agent does next. `op` is the operation that it called, if any.
pub(super) fn advised(mut error: Value, op: Option<&str>) -> Value {
    let wait = error["retry_after_s"].as_u64();
    let hint = match (error["code"].as_str().unwrap_or_default(), op) {
        ("VALIDATION_FAILED" | "BAD_JSON", Some(op)) => {
            format!(
                r#"correct the field and call again; loom_op {{"op": "{op}"}} without args answers the fields of {op}"#
            )
        }
        ("VALIDATION_FAILED" | "BAD_JSON", None) => "correct the field and call again".into(),
        ("UNKNOWN_OP", _) => "call loom_op without arguments for the operations there are".into(),
        ("NOT_FOUND", _) => "look for the right source_uri with loom_search or loom_knowledge_list".into(),
        ("UNAUTHENTICATED" | "FORBIDDEN", _) => {
            "do not repeat it: tell the person what it needs, or go on without it".into()
        }
        ("PRECONDITION_FAILED", _) => "read the document again and decide anew, then call with what you read".into(),
        ("INTERNAL", _) => "do not repeat it: tell the person, who finds the cause in the log".into(),
        _ if error["retryable"] == true => {
            format!("repeat the same call in {} seconds", wait.unwrap_or(RETRY_S))
        }
        _ => return error,
    };
    error["hint"] = hint.into();
    error
}

/// After how many seconds a call may be repeated when the error does not say.
const RETRY_S: u64 = 2;

/// A refusal of the protocol's own.
pub(super) fn refused(code: &str, message: &str) -> Value {
    json!({ "code": code, "message": message, "retryable": false })
}

/// A refusal that names an argument.
pub(super) fn invalid(field: &str, message: &str) -> Value {
    json!({ "code": "VALIDATION_FAILED", "message": message, "retryable": false, "field": field })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn errors_say_what_to_do_next() {
        for code in Code::ALL {
            let error = json!({ "code": code, "message": "m", "retryable": code.retryable() });
            let told = advised(error, Some("knowledge.get"));
            assert!(told["hint"].is_string() || !code.retryable(), "{code}");
        }
        for (code, words) in [
            ("VALIDATION_FAILED", r#"{"op": "knowledge.get"}"#),
            ("NOT_FOUND", "loom_search"),
            ("FORBIDDEN", "do not repeat"),
            ("PRECONDITION_FAILED", "read the document again"),
        ] {
            let told = advised(refused(code, "m"), Some("knowledge.get"));
            assert!(told["hint"].as_str().is_some_and(|hint| hint.contains(words)), "{told}");
        }
        let late = json!({ "code": "OVERLOADED", "message": "m", "retryable": true, "retry_after_s": 7 });
        assert!(advised(late, None)["hint"].as_str().is_some_and(|hint| hint.contains("7 seconds")));
        // The message of a size limit says it all.
        assert_eq!(advised(refused("PAYLOAD_TOO_LARGE", "m"), None)["hint"], Value::Null);
    }
}
