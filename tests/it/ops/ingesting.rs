//! `knowledge.upload`, `knowledge.ingest`, `knowledge.ingest_status`, `knowledge.ingest_cancel`: files as jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use loom::{Caller, Code, Engine, Role, UploadRequest};
use serde_json::{Value, json};

use crate::extractor::{Extraction, artifact, paragraphs, refusal, service};
use crate::harness::{Folder, add, hits, holder, ok, refused};

/// How long a job may take on a busy machine before a test gives it up.
const PATIENCE: Duration = Duration::from_mins(2);

fn opened(folder: &Folder, read: impl Fn(&str, &[u8]) -> Extraction + Clone + Send + 'static) -> Engine {
    opened_with(folder, read, |_| {})
}

pub fn opened_with(
    folder: &Folder,
    read: impl Fn(&str, &[u8]) -> Extraction + Clone + Send + 'static,
    set: impl FnOnce(&mut loom::Config),
) -> Engine {
    folder.open_with(|config| {
        config.extraction.service = Some(service(read));
        config.ingest.retry_s = 0;
        set(config);
    })
}

pub fn upload(engine: &Engine, filename: &str, bytes: &[u8]) -> String {
    upload_as(engine, &Caller::local(), filename, bytes)
}

fn upload_as(engine: &Engine, caller: &Caller, filename: &str, bytes: &[u8]) -> String {
    let request = UploadRequest { filename: filename.into(), ..UploadRequest::default() };
    let mut uploading = engine.begin_upload(caller, request).expect("it may be sent");
    bytes.chunks(7).for_each(|piece| uploading.write(piece).expect("it is taken"));
    uploading.finish().expect("it is stored").upload_id
}

/// Uploads a file and asks for its ingest; answers the job's id.
pub fn ingest(engine: &Engine, filename: &str, bytes: &[u8], more: &Value) -> String {
    let mut input = json!({ "upload_id": upload(engine, filename, bytes), "source_uri": filename });
    for (name, value) in more.as_object().expect("fields") {
        input[name] = value.clone();
    }
    let asked = ok(engine, "knowledge.ingest", input);
    assert_eq!((&asked["state"], &asked["namespace"]), (&json!("pending"), &json!("local")));
    asked["ingestion_id"].as_str().expect("an id").to_owned()
}

pub fn status(engine: &Engine, job: &str) -> Value {
    ok(engine, "knowledge.ingest_status", json!({ "ingestion_id": job }))
}

/// The status of a job once it is over.
pub fn ended(engine: &Engine, job: &str) -> Value {
    awaited(engine, job, |status| !matches!(status["state"].as_str(), Some("pending" | "processing")))
}

fn awaited(engine: &Engine, job: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = status(engine, job);
        if is_it(&status) {
            return status;
        }
        assert!(Instant::now() < until, "{status}");
        thread::yield_now();
    }
}

/// A gate that a service's answers wait at.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn pass(&self) {
        let open = self.0.0.lock().expect("nobody panicked");
        drop(self.0.1.wait_while(open, |open| !*open).expect("nobody panicked"));
    }

    fn open(&self) {
        *self.0.0.lock().expect("nobody panicked") = true;
        self.0.1.notify_all();
    }
}

#[test]
fn a_file_becomes_a_document_that_searches_cite_by_page() {
    let folder = Folder::new();
    let engine = opened(&folder, |_, bytes| {
        assert_eq!(bytes, b"%PDF of pumps");
        let page =
            |number: u32| json!({ "kind": "pages", "start": number, "end": number, "bbox": [10.0, 20.0, 30.0, 40.0] });
        let blocks = json!([
            { "kind": "heading", "level": 1, "text": "Pumps", "locator": page(1) },
            { "kind": "paragraph", "text": "Prime the pump before it runs.", "locator": page(1) },
            { "kind": "heading", "level": 2, "text": "Speeds", "locator": page(2) },
            { "kind": "table", "table": 0, "locator": page(2), "keys": ["pump_speed"] },
        ]);
        let tables = json!([{ "columns": [{ "name": "Model", "type": "string" }, { "name": "Speed", "type": "number" }],
            "header_rows": 1, "total_rows": 1, "rows": [[2, ["RS32", { "number": "12.50" }]]] }]);
        let coverage = json!({ "unit": "pages", "total": 2, "extracted": 2, "failed": 0 });
        let more =
            json!({ "blocks": blocks, "tables": tables, "coverage": coverage, "warnings": ["A stamp was ignored."] });
        (200, artifact("pdf", &more))
    });
    let job =
        ingest(&engine, "manual.pdf", b"%PDF of pumps", &json!({ "tags": ["pumps"], "metadata": { "team": "a" } }));
    let status = ended(&engine, &job);
    assert_eq!(status["state"], "ready", "{status}");
    assert_eq!((&status["format"], &status["chunks"], &status["revision"]), (&json!("pdf"), &json!(2), &json!(1)));
    assert_eq!((&status["retrieval"], &status["stage"], &status["attempts"]), (&json!("ready"), &json!(""), &json!(1)));
    assert_eq!((&status["warnings"], &status["filename"]), (&json!(["A stamp was ignored."]), &json!("manual.pdf")));
    let document = ok(&engine, "knowledge.get", json!({ "source_uri": "manual.pdf" }));
    assert_eq!(
        (&document["title"], &document["format"], &document["parser"]),
        (&json!("manual.pdf"), &json!("pdf"), &json!("test 1"))
    );
    assert_eq!((&document["coverage"]["unit"], &document["metadata"]["team"]), (&json!("pages"), &json!("a")));
    assert_eq!(
        document["content"],
        "# Pumps\n\nPrime the pump before it runs.\n\n## Speeds\n\n| Model | Speed |\n| --- | --- |\n| RS32 | 12.50 |\n"
    );
    let found =
        ok(&engine, "knowledge.search", json!({ "query": "pump_speed", "block_types": ["table"], "formats": ["pdf"] }));
    let hit = &hits(&found)[0];
    assert_eq!(
        (&hit["section"], &hit["block_type"], &hit["keys_matched"]),
        (&json!("Pumps > Speeds"), &json!("table"), &json!(["pump_speed"]))
    );
    assert_eq!(hit["locator"], json!({ "kind": "pages", "start": 2, "end": 2, "bbox": [10.0, 20.0, 30.0, 40.0] }));
    let expanded = json!({ "query": "pump_speed", "block_types": ["table"], "expand": { "before": 1 } });
    let expanded = &hits(&ok(&engine, "knowledge.search", expanded))[0];
    assert_eq!(expanded["content"], document["content"].as_str().expect("text").trim_end());
    assert_eq!(expanded["locator"], json!({ "kind": "pages", "start": 1, "end": 2 }));
    assert_eq!((&expanded["block_type"], &expanded["expansion"]["first_chunk_idx"]), (&json!("mixed"), &json!(0)));
    let none = ok(&engine, "knowledge.search", json!({ "query": "pump_speed", "formats": [""] }));
    assert!(hits(&none).is_empty());
    let original = engine.download(&Caller::local(), "", "", "manual.pdf").expect("the original is kept");
    assert_eq!((original.size, original.filename.as_str()), (13, "manual.pdf"));
}

#[test]
fn an_upload_is_refused_before_anything_is_stored() {
    let folder = Folder::new();
    let engine = opened_with(&folder, |_, _| refusal(422, "corrupt"), |config| config.documents.original_bytes = 10);
    let begin = |request: UploadRequest| engine.begin_upload(&Caller::local(), request);
    let named = |filename: &str| UploadRequest { filename: filename.into(), ..UploadRequest::default() };
    for (request, code) in [
        (named("old.DOC"), Code::UnsupportedFile),
        (named("a.xls"), Code::UnsupportedFile),
        (named("a.ppt"), Code::UnsupportedFile),
        (named(""), Code::ValidationFailed),
        (named("a\0b"), Code::ValidationFailed),
        (UploadRequest { sha256: "abc".into(), ..named("a.md") }, Code::ValidationFailed),
        (UploadRequest { org: "../x".into(), ..named("a.md") }, Code::ValidationFailed),
    ] {
        let error = begin(request.clone()).err().unwrap_or_else(|| panic!("{request:?} is refused"));
        assert_eq!(error.code, code, "{request:?}");
    }
    let viewer = holder(&[("*", Role::Viewer)]);
    assert_eq!(engine.begin_upload(&viewer, named("a.md")).err().expect("it is refused").code, Code::Forbidden);
    let mut long = begin(named("a.md")).expect("it begins");
    long.write(b"0123456789").expect("it fits");
    assert_eq!(long.write(b"!").expect_err("it is over the limit").code, Code::PayloadTooLarge);
    drop(long);
    let mut other = begin(UploadRequest { sha256: "0".repeat(64), ..named("a.md") }).expect("it begins");
    other.write(b"text").expect("it fits");
    assert_eq!(other.finish().expect_err("the hash is another").code, Code::ChecksumMismatch);
    let mut right =
        begin(UploadRequest { sha256: sha256(b"text").to_uppercase(), ..named("a.md") }).expect("it begins");
    right.write(b"text").expect("it fits");
    let stored = right.finish().expect("the hash is right");
    assert_eq!((stored.size, stored.format.as_str(), stored.sha256), (4, "markdown", sha256(b"text")));
    assert_eq!(stored.expires_at, "2026-01-02T00:00:00.000Z");
}

fn sha256(bytes: &[u8]) -> String {
    loom_storage::Hash::of(bytes).hex()
}

#[test]
fn only_who_uploaded_a_file_ingests_it_and_only_while_it_is_kept() {
    let folder = Folder::new();
    let engine = opened(&folder, |_, _| paragraphs("text", "words"));
    let other = holder(&[("*", Role::Writer)]);
    let theirs = upload_as(&engine, &other, "a.txt", b"words");
    for upload_id in [theirs.as_str(), "00000000-0000-0000-0000-0000000000ff", "no id"] {
        let error = refused(&engine, "knowledge.ingest", json!({ "upload_id": upload_id, "source_uri": "a" }));
        assert_eq!((error.code, error.field.as_deref()), (Code::NotFound, Some("upload_id")));
    }
    let own = upload(&engine, "a.txt", b"words");
    let elsewhere =
        refused(&engine, "knowledge.ingest", json!({ "upload_id": own, "source_uri": "a", "namespace": "b" }));
    assert_eq!(elsewhere.code, Code::NotFound);
    folder.clock.advance_ms(24 * 60 * 60 * 1000);
    let late = refused(&engine, "knowledge.ingest", json!({ "upload_id": own, "source_uri": "a" }));
    assert!(late.message.contains("expired"), "{late}");
}

#[test]
fn every_failure_has_its_code() {
    let folder = Folder::new();
    let engine = opened_with(
        &folder,
        |name, _| {
            let cut = json!({ "unit": "pages", "total": 3, "extracted": 2, "failed": 1, "lost": ["ocr_text"] });
            let lines =
                |count: usize| paragraphs("text", &"A sentence that is long enough to fill it.\n\n".repeat(count));
            match name.split('.').next().expect("a name") {
                "partial" => (
                    200,
                    artifact("text", &json!({ "blocks": [{ "kind": "paragraph", "text": "Half." }], "coverage": cut })),
                ),
                "blank" => (200, artifact("text", &json!({ "blocks": [] }))),
                "long" => lines(400),
                "broken" => (200, artifact("text", &json!({ "blocks": [{ "kind": "heading", "text": "no level" }] }))),
                "forbidden" => (403, json!({})),
                code => refusal(422, code),
            }
        },
        |config| config.ingest.chunks_max = 5,
    );
    for (name, options, code) in [
        ("corrupt.txt", json!({}), "corrupt"),
        ("timeout.txt", json!({}), "timeout"),
        ("resource_limit.txt", json!({}), "resource_limit"),
        ("encoding.txt", json!({}), "encoding"),
        ("invalid_option.txt", json!({ "encoding": "x" }), "invalid_option"),
        ("format_mismatch.txt", json!({}), "format_mismatch"),
        ("unsupported_format.txt", json!({}), "unsupported_format"),
        ("no_text.txt", json!({}), "no_text"),
        ("too_large.txt", json!({}), "too_large"),
        ("format_unavailable.txt", json!({}), "format_unavailable"),
        ("partial.txt", json!({}), "incomplete_extraction"),
        ("blank.txt", json!({}), "no_text"),
        ("long.txt", json!({}), "too_large"),
        ("broken.txt", json!({}), "invalid_artifact"),
        ("forbidden.txt", json!({}), "refused"),
        ("a.txt", json!({ "format": "novel" }), "unsupported_format"),
        ("a.docx", json!({}), "format_unavailable"),
    ] {
        let job = ingest(&engine, name, b"bytes", &json!({ "options": options }));
        let status = ended(&engine, &job);
        assert_eq!((&status["state"], &status["error_code"]), (&json!("failed"), &json!(code)), "{name}: {status}");
        assert_eq!((&status["retrieval"], &status["attempts"]), (&json!("failed"), &json!(1)), "{name}");
        assert!(status["error_message"].as_str().is_some_and(|message| message.len() > 10), "{name}: {status}");
    }
    assert_eq!(ok(&engine, "knowledge.list", json!({}))["rows"], json!([]), "a failed job publishes nothing");
    let big = ingest(&engine, "big.txt", &vec![b'a'; (1 << 20) + 1], &json!({}));
    assert_eq!(ended(&engine, &big)["error_code"], "too_large");
    let allowed = ingest(&engine, "partial.txt", b"bytes", &json!({ "allow_partial": true }));
    let status = ended(&engine, &allowed);
    assert_eq!(
        (&status["state"], &status["retrieval"], &status["coverage"]["lost"]),
        (&json!("partial"), &json!("ready"), &json!(["ocr_text"]))
    );
}

#[test]
fn a_service_that_fails_for_a_while_is_asked_again() {
    let folder = Folder::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let read = move |name: &str, _: &[u8]| {
        let before = counted.fetch_add(1, Ordering::SeqCst);
        if name.starts_with("never") || before < 2 { (500, json!({})) } else { paragraphs("text", "words") }
    };
    let engine = opened_with(&folder, read, |config| config.ingest.attempts_max = 3);
    let job = ingest(&engine, "later.txt", b"words", &json!({}));
    let status = ended(&engine, &job);
    assert_eq!(
        (&status["state"], &status["attempts"], &status["error_code"]),
        (&json!("ready"), &json!(3), &json!("")),
        "{status}"
    );
    let status = ended(&engine, &ingest(&engine, "never.txt", b"words", &json!({})));
    assert_eq!((&status["error_code"], &status["attempts"]), (&json!("retries_exhausted"), &json!(3)), "{status}");
    assert_eq!(asked.load(Ordering::SeqCst), 6);
}

#[test]
fn a_job_that_waits_for_its_next_run_says_so_and_its_wait_doubles() {
    let folder = Folder::new();
    let engine = opened_with(&folder, |_, _| (503, json!({})), |config| config.ingest.retry_s = 60);
    let job = ingest(&engine, "a.txt", b"words", &json!({}));
    let waiting = |attempts: u64| {
        awaited(&engine, &job, move |status| status["attempts"] == attempts && status["state"] == "pending")
    };
    let status = waiting(1);
    assert_eq!(
        (&status["error_code"], &status["stage"], &status["retrieval"]),
        (&json!("retrying"), &json!("parse"), &json!("pending"))
    );
    folder.clock.advance_ms(60_000);
    waiting(2);
    // Another job has the workers look: the first is due in two minutes only.
    folder.clock.advance_ms(119_999);
    let other = ingest(&engine, "b.txt", b"words", &json!({}));
    awaited(&engine, &other, |status| status["attempts"] == 1);
    assert_eq!(status_attempts(&engine, &job), 2);
    folder.clock.advance_ms(1);
    waiting(3);
}

fn status_attempts(engine: &Engine, job: &str) -> u64 {
    status(engine, job)["attempts"].as_u64().expect("a number")
}

#[test]
fn revisions_are_guarded_and_an_earlier_one_serves_until_the_next() {
    let folder = Folder::new();
    let engine = opened(&folder, |name, bytes| {
        if name.starts_with("bad") {
            refusal(422, "corrupt")
        } else {
            paragraphs("text", std::str::from_utf8(bytes).expect("text"))
        }
    });
    let under = |uri: &str, more: Value| {
        let mut more = more;
        more["source_uri"] = uri.into();
        more
    };
    let first = ingest(&engine, "a.txt", b"alpha", &under("doc", json!({ "expected_revision": 0 })));
    assert_eq!(ended(&engine, &first)["revision"], 1);
    let again = ingest(&engine, "a.txt", b"beta", &under("doc", json!({ "expected_revision": 0 })));
    let status = ended(&engine, &again);
    assert_eq!((&status["error_code"], &status["expected_revision"]), (&json!("revision_conflict"), &json!(0)));
    let bad = ingest(&engine, "bad.txt", b"gamma", &under("doc", json!({})));
    ended(&engine, &bad);
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "doc" }))["content"], "alpha\n");
    let second = ingest(&engine, "a.txt", b"delta", &under("doc", json!({ "expected_revision": 1 })));
    assert_eq!(ended(&engine, &second)["revision"], 2);
    add(&engine, "doc", "a text over it");
    let document = ok(&engine, "knowledge.get", json!({ "source_uri": "doc" }));
    assert_eq!((&document["revision"], &document["format"]), (&json!(3), &Value::Null));
}

#[test]
fn a_text_write_that_lands_while_a_file_is_read_is_published_over_unless_a_revision_was_expected() {
    let folder = Folder::new();
    let (gate, held) = (Gate::default(), Gate::default());
    let (reached, passed) = (held.clone(), gate.clone());
    let engine = opened(&folder, move |_, _| {
        reached.open();
        passed.pass();
        paragraphs("text", "from the file")
    });
    let job = ingest(&engine, "a.txt", b"words", &json!({ "expected_revision": 0 }));
    held.pass();
    assert_eq!(status(&engine, &job)["stage"], "parse");
    add(&engine, "a.txt", "a text");
    gate.open();
    assert_eq!(ended(&engine, &job)["error_code"], "revision_conflict");
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "a.txt" }))["content"], "a text");
}

#[test]
fn jobs_of_one_source_publish_in_the_order_they_were_asked() {
    let folder = Folder::new();
    let engine = opened_with(
        &folder,
        |_, bytes| paragraphs("text", std::str::from_utf8(bytes).expect("text")),
        |config| config.ingest.workers = 4,
    );
    let jobs: Vec<String> = (1..=8)
        .map(|number| ingest(&engine, "a.txt", format!("text {number}").as_bytes(), &json!({ "source_uri": "same" })))
        .collect();
    for (at, job) in jobs.iter().enumerate() {
        assert_eq!(ended(&engine, job)["revision"], at + 1);
    }
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "same" }))["content"], "text 8\n");
}

#[test]
fn a_pending_job_is_cancelled_at_once_and_a_running_one_before_it_publishes() {
    let folder = Folder::new();
    let (reached, gate) = (Gate::default(), Gate::default());
    let (at, wait) = (reached.clone(), gate.clone());
    let read = move |_: &str, _: &[u8]| {
        at.open();
        wait.pass();
        paragraphs("text", "words")
    };
    let engine = opened_with(&folder, read, |config| config.ingest.workers = 1);
    let running = ingest(&engine, "running.txt", b"words", &json!({}));
    reached.pass();
    let pending = ingest(&engine, "pending.txt", b"words", &json!({}));
    let cancel = |job: &str| ok(&engine, "knowledge.ingest_cancel", json!({ "ingestion_id": job }));
    assert_eq!(cancel(&pending), json!({ "found": true, "state": "cancelled", "cancelled": true }));
    assert_eq!(cancel(&running), json!({ "found": true, "state": "processing", "cancelled": true }));
    // It stops though its service never answers.
    let status = ended(&engine, &running);
    assert_eq!(
        (&status["state"], &status["retrieval"], &status["cancel_requested"]),
        (&json!("cancelled"), &json!("cancelled"), &json!(true))
    );
    assert_eq!(cancel(&running), json!({ "found": true, "state": "cancelled", "cancelled": false }));
    gate.open();
    let ready = ingest(&engine, "ready.txt", b"words", &json!({}));
    assert_eq!(ended(&engine, &ready)["state"], "ready");
    assert_eq!(cancel(&ready), json!({ "found": true, "state": "ready", "cancelled": false }));
    assert_eq!(cancel("00000000-0000-0000-0000-0000000000ff")["found"], false);
    assert_eq!(status_found(&engine, "b", &ready), json!(false), "a job is its namespace's");
    let documents = ok(&engine, "knowledge.list", json!({}))["rows"].as_array().expect("a list").len();
    assert_eq!(documents, 1);
}

fn status_found(engine: &Engine, namespace: &str, job: &str) -> Value {
    ok(engine, "knowledge.ingest_status", json!({ "ingestion_id": job, "namespace": namespace }))["found"].clone()
}

#[test]
fn a_job_that_was_cut_off_runs_again_when_the_folder_is_opened() {
    let folder = Folder::new();
    let reached = Gate::default();
    let at = reached.clone();
    let never = Gate::default();
    let engine = opened(&folder, move |_, _| {
        at.open();
        never.pass();
        refusal(422, "corrupt")
    });
    let job = ingest(&engine, "a.txt", b"words", &json!({}));
    reached.pass();
    engine.close().expect("it stops the job");
    drop(engine);
    let engine = opened(&folder, |_, _| paragraphs("text", "words"));
    let status = ended(&engine, &job);
    assert_eq!(
        (&status["state"], &status["attempts"], &status["revision"]),
        (&json!("ready"), &json!(2), &json!(1)),
        "{status}"
    );
}

#[test]
fn without_workers_jobs_wait_and_the_queue_has_its_bound() {
    let folder = Folder::new();
    let engine = opened_with(
        &folder,
        |_, _| paragraphs("text", "words"),
        |config| {
            config.ingest.workers = 0;
            config.ingest.open_max = 2;
        },
    );
    let job = ingest(&engine, "a.txt", b"words", &json!({}));
    ingest(&engine, "b.txt", b"words", &json!({}));
    assert_eq!((&status(&engine, &job)["state"], &status(&engine, &job)["attempts"]), (&json!("pending"), &json!(0)));
    let third = upload(&engine, "c.txt", b"words");
    let error = refused(&engine, "knowledge.ingest", json!({ "upload_id": third, "source_uri": "c" }));
    assert_eq!((error.code, error.retry_after_s), (Code::Overloaded, Some(10)));
}
