//! Files that mean harm, sent to a server that is a process of its own: each ends in its own way, soon, and in little memory.

use serde_json::{Value, json};

use crate::cli::{Loom, Serving};
use crate::memory::Growth;

#[path = "../../fuzz/containers.rs"]
mod containers;

/// How much more memory the server may take, in KiB.
const GROWTH_KIB_MAX: u64 = 64 * 1024;

/// The state that an ingest of the file ends in, and its error code.
fn ingested(serving: &Serving, name: &str, file: &[u8]) -> (String, String, Value) {
    let url = |op: &str| format!("{}/v1/knowledge.{op}", serving.base);
    let request = ureq::post(url("upload")).query("filename", name).header("content-type", "application/octet-stream");
    let uploaded: Value = request.send(file).unwrap().body_mut().read_json().unwrap();
    let post = |op: &str, input: &Value| -> Value {
        ureq::post(url(op)).send_json(input).unwrap().body_mut().read_json().unwrap()
    };
    let asked = json!({ "upload_id": uploaded["upload_id"], "source_uri": name, "allow_partial": true });
    let id = json!({ "ingestion_id": post("ingest", &asked)["ingestion_id"] });
    loop {
        let job = post("ingest_status", &id);
        let of = |field: &str| job[field].as_str().unwrap_or_default().to_owned();
        if !matches!(of("state").as_str(), "pending" | "processing") || of("error_code") == "retrying" {
            return (of("state"), of("error_code"), job);
        }
        std::thread::yield_now();
    }
}

/// Each file by its name, and the code of its failure; empty where it is read.
fn hold(files: &[(&str, Vec<u8>, &str)]) {
    let loom = Loom::new();
    // Computing and not time is what a busy machine does not change.
    let serving = Serving::start(loom.command().env("LOOM_EXTRACTOR_CPU_SECONDS", "10"));
    assert_eq!(ingested(&serving, "first.md", b"# First\n\nWords.\n").0, "ready");
    for (name, file, expected) in files {
        let growth = Growth::of(&serving);
        let (state, code, job) = ingested(&serving, name, file);
        assert_eq!(code, *expected, "{name}: {job}");
        assert_eq!(state == "failed", !expected.is_empty(), "{name}: {job}");
        assert!(growth.kib() < GROWTH_KIB_MAX, "{name} took {} KiB", growth.kib());
    }
    assert_eq!(ingested(&serving, "last.md", b"# Last\n\nWords.\n").0, "ready");
}

#[test]
fn markup_that_nests_or_multiplies() {
    let attributes = (0..100_000).map(|number| format!("a{number} ")).collect::<Vec<_>>().concat();
    let numbered = (0..1_000).map(|number| format!("{}a:\n", " ".repeat(number))).collect::<Vec<_>>().concat();
    let aliases = ('a'..'j')
        .zip('b'..)
        .map(|(one, next)| format!("{next}: &{next} [*{one}, *{one}, *{one}]\n"))
        .collect::<Vec<_>>()
        .concat();
    hold(&[
        ("nested.html", "<div>".repeat(200_000).into(), "resource_limit"),
        ("attributes.html", format!("<p {attributes}>words").into(), "resource_limit"),
        ("spans.html", format!("<table><td rowspan=0 colspan=1000>w{}", "<tr>".repeat(20_000)).into(), ""),
        ("items.html", format!("<table><tr><th>h<td><ol>{}", "<li>x".repeat(100_000)).into(), ""),
        ("nested.json", "[".repeat(1_000_000).into(), "corrupt"),
        ("objects.json", format!("{}1{}", "{\"a\":".repeat(300_000), "}".repeat(300_000)).into(), ""),
        ("nested.yaml", "[".repeat(200_000).into(), "corrupt"),
        ("blocks.yaml", numbered.into(), ""),
        ("aliases.yaml", format!("a: &a [x, x]\n{aliases}").into(), ""),
        ("nested.toml", format!("a = {}", "[".repeat(200_000)).into(), "corrupt"),
        ("dotted.toml", format!("{}a = 1", "a.".repeat(200_000)).into(), "corrupt"),
        ("quotes.md", format!("{}\n", ">".repeat(1_000)).repeat(1_000).into(), ""),
    ]);
}

#[test]
fn text_that_never_ends() {
    hold(&[
        ("quote.csv", format!("a,b\n\"{}", "x,y\n".repeat(40_000)).into(), ""),
        ("commas.csv", ",".repeat(3_000_000).into(), "no_text"),
        ("line.txt", "x".repeat(4_000_000).into(), ""),
        ("copies.sql", "COPY a FROM STDIN;\n".repeat(40_000).into(), ""),
        ("open.sql", format!("SELECT '{}", "x;\n".repeat(300_000)).into(), ""),
        ("tags.vtt", format!("WEBVTT\n\n00:00 --> 00:01\n{}", "<a".repeat(500_000)).into(), ""),
        ("nested.eml", format!("Subject: x\n{}", "Content-Type: message/rfc822\n\n".repeat(20_000)).into(), ""),
    ]);
}

#[test]
fn office_files_and_pages_that_mean_harm() {
    let document = |body: &str| containers::zip(format!("=== word/document.xml\n{body}").as_bytes());
    let sheets = (0..300_000).map(|at| format!("<sheet name='S{at}' r:id='r'/>")).collect::<Vec<_>>().concat();
    let workbook = |sheets: &str| {
        let parts = format!(
            "=== xl/workbook.xml\n<workbook xmlns:r='r'><sheets>{sheets}</sheets></workbook>\n=== xl/_rels/workbook.xml.rels\n\
             <Relationships><Relationship Id='r' Type='x/worksheet' Target='s.xml'/></Relationships>\n=== xl/s.xml\n\
             <worksheet><sheetData><row r='1048576'><c r='XFD1048576'><v>1</v></c></row></sheetData></worksheet>"
        );
        containers::zip(parts.as_bytes())
    };
    let pages = format!("=== 2\n<< /Type /Pages /Count 300000 /Kids [{}] >>", "3 0 R ".repeat(300_000));
    let loops = "=== 2\n<< /Type /Pages /Count 9 /Kids [2 0 R 3 0 R 20 0 R] >>\n=== 20\n<< /Type /Pages /Kids [2 0 R 20 0 R] >>\n\
                 === 7 stream /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 7 0 R >> >>\n/X Do /X Do\n\
                 === 9 stream\n/X Do BT /F 9 Tf (words) Tj ET";
    hold(&[
        (
            "entities.docx",
            document("<!DOCTYPE a [<!ENTITY a 'aaa'><!ENTITY b '&a;&a;'>]><document/>"),
            "resource_limit",
        ),
        ("nested.docx", document(&format!("<document>{}", "<a>".repeat(500_000))), "resource_limit"),
        ("sheets.xlsx", workbook(&sheets), "resource_limit"),
        ("far.xlsx", workbook("<sheet name='S' r:id='r'/>"), ""),
        ("pages.pdf", containers::pdf(pages.as_bytes()), "no_text"),
        ("loops.pdf", containers::pdf(loops.as_bytes()), ""),
    ]);
}
