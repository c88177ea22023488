//! The parts of `openapi.json` that no operation brings: errors, headers and the routes beside operations.

use serde_json::{Map, Value, json};

use crate::error::Code;

/// The statuses of those codes that only a write answers with.
const WRITE_ONLY: [u16; 1] = [409];
/// The statuses that only a download answers with.
const DOWNLOAD_ONLY: [u16; 1] = [410];

/// The schema of the one error shape.
pub fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "retryable"],
                "properties": {
                    "code": {
                        "type": "string",
                        "description": "What went wrong, for programs.",
                        "examples": Code::ALL,
                    },
                    "message": { "type": "string", "description": "What was wrong and what to do, in plain words." },
                    "retryable": { "type": "boolean", "description": "Whether the same call may succeed later." },
                    "field": {
                        "type": "string",
                        "description": "The input field at fault, such as `entries[3].source_uri`.",
                    },
                    "retry_after_s": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "Seconds after which the call may be repeated.",
                    },
                    "details": { "description": "More on the error, where a code has more to say." },
                },
            },
        },
    })
}

fn statuses() -> Vec<u16> {
    let mut statuses: Vec<u16> = Code::ALL.iter().map(|code| code.status()).collect();
    statuses.dedup();
    statuses
}

/// A response component for each status of an error.
pub fn error_responses() -> Map<String, Value> {
    let response = |status: u16| {
        let codes: Vec<String> =
            Code::ALL.iter().filter(|code| code.status() == status).map(|code| format!("`{code}`")).collect();
        let response = json!({
            "description": codes.join(", "),
            "headers": header_refs(),
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
        });
        (format!("Error{status}"), response)
    };
    statuses().into_iter().map(response).collect()
}

/// The error responses of an operation that `writes`, or of one that reads.
pub fn error_refs(writes: bool) -> Map<String, Value> {
    refs(|status| !DOWNLOAD_ONLY.contains(&status) && (writes || !WRITE_ONLY.contains(&status)))
}

fn refs(answered: impl Fn(u16) -> bool) -> Map<String, Value> {
    statuses()
        .into_iter()
        .filter(|status| answered(*status))
        .map(|status| (status.to_string(), json!({ "$ref": format!("#/components/responses/Error{status}") })))
        .collect()
}

/// The headers of every answer.
pub fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "The call's id: the one that the caller sent when it is 1 to 128 letters, digits, `.`, `_` or `-`, else a fresh one. Log lines carry it.",
            "schema": { "type": "string" },
        },
        "ServerTiming": {
            "description": "Milliseconds by stage: embed, lexical, vector, keys, fuse, store; and in total.",
            "schema": { "type": "string" },
        },
    })
}

/// References to the headers of every answer.
pub fn header_refs() -> Value {
    json!({
        "x-request-id": { "$ref": "#/components/headers/RequestId" },
        "server-timing": { "$ref": "#/components/headers/ServerTiming" },
    })
}

/// The routes that are no operations.
pub fn paths() -> Map<String, Value> {
    let json_object = json!({ "application/json": { "schema": { "type": "object" } } });
    let text = json!({ "text/plain": { "schema": { "type": "string" } } });
    let probe = |summary: &str, content: &Value, refused: &[u16]| {
        let mut responses =
            json!({ "200": { "description": summary, "headers": header_refs(), "content": content.clone() } });
        for (status, response) in refs(|status| refused.contains(&status)) {
            responses[status] = response;
        }
        json!({ "get": { "summary": summary, "tags": ["server"], "responses": responses } })
    };
    Map::from_iter([
        ("/v1/knowledge.download".to_owned(), json!({ "get": download() })),
        ("/v1/knowledge.upload".to_owned(), json!({ "post": upload() })),
        ("/v1/backup".to_owned(), json!({ "post": backup() })),
        ("/v1/ops".to_owned(), probe("Lists the operations with their role, kind and summary.", &json_object, &[])),
        ("/openapi.json".to_owned(), probe("Answers this document.", &json_object, &[])),
        ("/healthz".to_owned(), probe("Tells that the process is up.", &json_object, &[])),
        ("/readyz".to_owned(), probe("Tells whether searches see every write; 503 while not.", &json_object, &[503])),
        ("/metrics".to_owned(), probe("Answers the server's numbers for Prometheus.", &text, &[401, 403, 429, 500])),
    ])
}

fn backup() -> Value {
    let bytes = json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } });
    let mut responses = Map::from_iter([(
        "200".to_owned(),
        json!({
            "description": "The backup. One that broke off has no end, and is refused when it is restored.",
            "content": bytes,
        }),
    )]);
    responses.extend(refs(|status| [401, 403, 422, 429, 500, 503].contains(&status)));
    json!({
        "operationId": "backup",
        "summary": "Streams a copy of everything that is stored, taken while other calls go on.",
        "tags": ["server"],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": { "type": "object", "properties": {} } } },
        },
        "responses": responses,
    })
}

fn parameter(name: &str, required: bool, description: &str) -> Value {
    json!({
        "name": name, "in": "query", "required": required, "description": description,
        "schema": { "type": "string" },
    })
}

fn upload() -> Value {
    let texts = ["upload_id", "sha256", "filename", "content_type", "format", "expires_at"];
    let mut properties: Map<String, Value> =
        texts.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    properties.insert("size".into(), json!({ "type": "integer", "minimum": 0 }));
    let stored = json!({
        "description": "The bytes are stored, and can be ingested until `expires_at`.",
        "headers": header_refs(),
        "content": { "application/json": { "schema": { "type": "object", "properties": properties } } },
    });
    let mut responses = Map::from_iter([("201".to_owned(), stored)]);
    responses.extend(refs(|status| [400, 401, 403, 404, 413, 415, 422, 429, 500, 503].contains(&status)));
    json!({
        "operationId": "knowledge.upload",
        "summary": "Stores a file's bytes, for knowledge.ingest to make a document of.",
        "tags": ["knowledge"],
        "parameters": [
            parameter("filename", true, "The file's name, which selects its format."),
            parameter("org", false, "The organisation; the caller's own when absent."),
            parameter("namespace", false, "The namespace; the caller's own when absent."),
            parameter("sha256", false, "The SHA-256 that the bytes must have, in hex digits."),
            parameter("content_type", false, "The media type, where the header does not say it."),
        ],
        "requestBody": {
            "required": true,
            "content": { "*/*": { "schema": { "type": "string", "format": "binary" } } },
        },
        "responses": responses,
    })
}

fn download() -> Value {
    let bytes = json!({ "*/*": { "schema": { "type": "string", "format": "binary" } } });
    let source = json!({
        "description": "`blob` for the stored original, `text` for a file made of the document's text.",
        "schema": { "type": "string", "enum": ["blob", "text"] },
    });
    let file = |description: &str| {
        json!({
            "description": description,
            "headers": { "x-loom-download-source": source.clone() },
            "content": bytes.clone(),
        })
    };
    let mut responses = Map::from_iter([
        ("200".to_owned(), file("The whole file.")),
        ("206".to_owned(), file("The one range that a `range` header asked for.")),
        ("304".to_owned(), json!({ "description": "The caller has it: `if-none-match` names its `etag`." })),
        (
            "416".to_owned(),
            json!({
                "description": "`RANGE_NOT_SATISFIABLE`",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
            }),
        ),
    ]);
    responses.extend(refs(|status| [401, 403, 404, 410, 422, 429, 500, 503].contains(&status)));
    json!({
        "operationId": "knowledge.download",
        "summary": "Downloads a document's original file, or its text when none is stored.",
        "tags": ["knowledge"],
        "parameters": [
            parameter("source_uri", true, "The document."),
            parameter("org", false, "The organisation; the caller's own when absent."),
            parameter("namespace", false, "The namespace; the caller's own when absent."),
            parameter("inline", false, "`1` to show harmless types in the browser rather than save them."),
        ],
        "responses": responses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_listed_once_in_the_order_of_their_statuses() {
        let listed: Vec<u16> = Code::ALL.iter().map(|code| code.status()).collect();
        assert!(listed.is_sorted());
        assert_eq!(statuses(), [400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 500, 502, 503]);
    }
}
