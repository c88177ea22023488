//! The command line: the built binary, as a user runs it.

mod extracting;
#[cfg(feature = "mcp")]
mod owning;
mod searching;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A data folder, a folder to work in, and the binary.
pub struct Loom {
    dir: TempDir,
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Loom {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::create_dir(dir.path().join("tmp")).unwrap();
        Self { dir }
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work").canonicalize().unwrap()
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Writes a file of the work folder.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The source URI of a file of the work folder.
    fn uri(&self, name: &str) -> String {
        format!("file://{}/{name}", self.work().display())
    }

    /// The binary on this data folder, with none of the settings of whoever runs the tests.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loom"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LOOM_")) {
            command.env_remove(name);
        }
        command.env("LOOM_DATA", self.data()).env("TMPDIR", self.dir.path().join("tmp")).current_dir(self.work());
        command
    }

    pub fn run<const N: usize>(&self, args: [&str; N]) -> Ran {
        self.run_with(args, "")
    }

    fn run_with<const N: usize>(&self, args: [&str; N], input: &str) -> Ran {
        let mut command = self.command();
        let piped = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        // A command that reads no input may be gone before it is written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    /// Runs a command that must succeed, and returns what it prints.
    fn ok<const N: usize>(&self, args: [&str; N]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {ran:?}");
        assert_eq!(ran.err, "", "{args:?}");
        ran.out
    }

    /// Runs a command with `--json` that must succeed.
    fn json<const N: usize>(&self, args: [&str; N]) -> Value {
        let mut command = self.command();
        let ran = Ran::from(command.args(args).arg("--json").output().unwrap());
        assert_eq!(ran.status, 0, "{args:?}: {ran:?}");
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ran.out))
    }

    /// Starts a server on the folder.
    pub fn serve(&self) -> Serving {
        Serving::start(&mut self.command())
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { status: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A running `loom serve`, killed when dropped.
pub struct Serving {
    pub base: String,
    pub child: Child,
}

impl Serving {
    /// Starts a server with a command's settings.
    pub fn start(command: &mut Command) -> Self {
        let listening = command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = listening.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("it said {line:?}"));
        Self { base: base.to_owned(), child }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn sample() -> Loom {
    let loom = Loom::new();
    loom.write("docs/deploy.md", "# Deploy\n\nPush to main.\n\n## Rollback\n\nRun make undo, then tell the team.\n");
    loom.write("docs/notes/door.txt", "The door code changes on Mondays.\n");
    loom
}

#[test]
fn a_folder_is_added_and_then_only_what_changed() {
    let loom = sample();
    let first = loom.json(["add", "docs"]);
    assert_eq!((&first["added"], &first["replaced"], &first["unchanged"]), (&2.into(), &0.into(), &0.into()));
    assert!(first["chunks"].as_u64().unwrap() >= 2, "{first}");

    let again = loom.json(["add", "docs"]);
    assert_eq!((&again["added"], &again["replaced"], &again["unchanged"]), (&0.into(), &0.into(), &2.into()));

    loom.write("docs/deploy.md", "# Deploy\n\nPush to main, slowly.\n");
    loom.write("docs/new.md", "# New\n\nSomething else.\n");
    let changed = loom.json(["add", "docs"]);
    assert_eq!((&changed["added"], &changed["replaced"], &changed["unchanged"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(loom.json(["get", "docs/deploy.md"])["revision"], 2);

    let forced = loom.json(["add", "docs", "--force"]);
    assert_eq!((&forced["replaced"], &forced["unchanged"]), (&3.into(), &0.into()));

    let tagged = loom.json(["add", "docs/new.md", "--tag", "fresh"]);
    assert_eq!(tagged["replaced"], 1, "other tags are a change");
    assert_eq!(loom.json(["add", "docs/new.md", "--tag", "fresh"])["unchanged"], 1);
}

#[test]
fn what_is_not_read_is_named_with_its_reason() {
    let loom = sample();
    loom.write("docs/scan.png", "\u{89}PNG");
    loom.write("docs/latin.txt", b"caf\xe9");
    loom.write("docs/zeros.txt", b"a\0b");
    loom.write("docs/main.rs", "fn main() {}");
    loom.write("docs/~$plan.docx", "x");
    let ran = loom.run(["add", "docs"]);
    assert_eq!(ran.status, 0, "files of a folder may be skipped: {ran:?}");
    for line in [
        "docs/scan.png: pictures are read only where the command names them",
        "docs/latin.txt: not UTF-8",
        "docs/zeros.txt: binary, not text",
        "docs/main.rs: .rs files are not read",
        "docs/~$plan.docx: left behind by",
    ] {
        assert!(ran.out.contains(&format!("  skipped: {line}")), "{line}: {}", ran.out);
    }
    assert!(ran.out.starts_with("added 2, skipped 5 "), "{}", ran.out);

    let named = loom.run(["add", "docs/main.rs"]);
    assert_eq!((named.status, named.err.as_str()), (1, "error: docs/main.rs: .rs files are not read\n"));
    let absent = loom.run(["add", "docs/deploy.md", "absent.md"]);
    assert_eq!(absent.status, 1);
    assert!(absent.err.starts_with("error: absent.md: cannot be read: "), "{}", absent.err);
    assert!(absent.out.starts_with("added 0, unchanged 1, failed 1 "), "{}", absent.out);

    let mut small = loom.command();
    small.env("LOOM_KNOWLEDGE_MAX_CONTENT_BYTES", "20");
    let over = small.args(["add", "docs/notes", "--force"]).output().unwrap().into();
    let Ran { status: 0, out, .. } = over else { panic!("{over:?}") };
    assert!(out.contains("door.txt: over the 20 bytes that LOOM_KNOWLEDGE_MAX_CONTENT_BYTES allows"), "{out}");
}

#[test]
fn ignored_and_hidden_files_are_left_out_unless_named() {
    let loom = sample();
    loom.write("docs/.gitignore", "build/\n");
    loom.write("docs/.ignore", "*.draft.md\n");
    for name in ["docs/build/out.md", "docs/plan.draft.md", "docs/.hidden.md", "docs/.cache/x.md"] {
        loom.write(name, "# Left out\n");
    }
    assert_eq!(loom.json(["add", "docs"])["added"], 2);
    assert_eq!(loom.json(["add", "docs/.hidden.md", "docs/plan.draft.md", "docs/build"])["added"], 3);
}

#[test]
fn one_refused_document_does_not_hold_up_the_others() {
    let loom = sample();
    let deep = format!("docs/{}end.md", format!("{}/", "d".repeat(200)).repeat(11));
    loom.write(&deep, "# Too deep for a source address\n");
    let ran = loom.run(["add", "docs"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.starts_with("added 2, failed 1 "), "{}", ran.out);
    assert!(ran.err.starts_with(&format!("error: {deep}: ")), "{}", ran.err);
    assert!(ran.err.contains("2048"), "it names the bound: {}", ran.err);
}

#[cfg(unix)]
#[test]
fn pipes_links_and_the_data_folder_are_not_read() {
    let loom = sample();
    assert!(Command::new("mkfifo").arg(loom.work().join("docs/pipe.md")).status().unwrap().success());
    std::os::unix::fs::symlink("deploy.md", loom.work().join("docs/link.md")).unwrap();
    loom.write("docs/data/inside.md", "# In the data folder\n");
    let mut command = loom.command();
    let ran = Ran::from(command.args(["add", "docs", "docs/link.md", "--data", "docs/data"]).output().unwrap());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.starts_with("added 3, skipped 2 "), "a link that is named is followed: {}", ran.out);
    assert!(ran.out.contains("docs/pipe.md: neither a file nor a folder"), "{}", ran.out);
    assert!(ran.out.contains("docs/link.md: symbolic links are not followed"), "{}", ran.out);
}

#[test]
fn names_may_be_chosen() {
    let loom = sample();
    loom.write("docs/with blank%.md", "# Odd name\n");
    loom.ok(["add", "docs", "--prefix", "handbook/"]);
    let rows = loom.json(["list", "--prefix", "handbook/"]);
    let mut uris: Vec<&str> =
        rows["rows"].as_array().unwrap().iter().map(|row| row["source_uri"].as_str().unwrap()).collect();
    uris.sort_unstable();
    assert_eq!(uris, ["handbook/deploy.md", "handbook/notes/door.txt", "handbook/with%20blank%25.md"]);

    loom.ok(["add", "docs/deploy.md", "--source-uri", "repo://deploy", "--title", "How to deploy", "--tag", "ops"]);
    let named = loom.json(["get", "repo://deploy"]);
    assert_eq!((&named["title"], &named["tags"]), (&"How to deploy".into(), &serde_json::json!(["ops"])));
    assert_eq!(loom.run(["add", "docs/deploy.md", "docs/notes", "--source-uri", "x"]).status, 2);
    assert_eq!(loom.run(["add", "docs", "--source-uri", "x"]).status, 2);
}

#[test]
fn front_matter_names_a_document_before_its_file_does() {
    let loom = Loom::new();
    loom.write("a.md", "---\ntitle: The Named One\ntags: [x]\n---\n\n# Heading\n\nText.\n");
    loom.write("b.md", "---\nowner: ana\n---\n\n# Heading\n\nText.\n");
    loom.ok(["add", "a.md", "b.md"]);
    assert_eq!(loom.json(["get", "a.md"])["title"], "The Named One");
    assert_eq!(loom.json(["get", "b.md"])["title"], "b");
}

#[test]
fn standard_input_needs_a_name() {
    let loom = Loom::new();
    let unnamed = loom.run_with(["add", "-"], "text");
    assert_eq!(unnamed.status, 2);
    assert!(unnamed.err.contains("--source-uri"), "{}", unnamed.err);
    let named = loom.run_with(["add", "-", "--source-uri", "note://a"], "A note about owls.\n");
    assert_eq!(named.status, 0, "{named:?}");
    assert_eq!(loom.ok(["get", "note://a"]), "A note about owls.\n");
}

#[test]
fn every_encoding_with_a_mark_is_read_whole() {
    let loom = Loom::new();
    let utf16: Vec<u8> = "\u{feff}größer 😀".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let late = "a".repeat(5_000) + "café";
    loom.write("bom.txt", "\u{feff}Name,Qty\r\n");
    loom.write("utf16.txt", utf16);
    loom.write("late.txt", &late);
    loom.write("empty.md", "");
    loom.ok(["add", "."]);
    assert_eq!(loom.ok(["get", "bom.txt"]), "Name,Qty\r\n");
    assert_eq!(loom.ok(["get", "utf16.txt"]), "größer 😀");
    assert_eq!(loom.ok(["get", "late.txt"]), late);
    assert_eq!(loom.ok(["get", "empty.md"]), "");
}

#[test]
fn a_document_is_read_outlined_deleted_and_restored() {
    let loom = sample();
    loom.ok(["add", "docs"]);
    let uri = loom.uri("docs/deploy.md");
    let outline = loom.ok(["outline", &uri]);
    assert!(outline.starts_with("deploy\nDeploy  "), "{outline}");
    assert!(outline.contains("\n  Rollback  "), "{outline}");
    let section = loom.ok(["outline", &uri, "--section", "Deploy", "--section", "Rollback"]);
    assert_eq!(section.trim_end(), "## Rollback\n\nRun make undo, then tell the team.");
    let absent = loom.run(["outline", &uri, "--section", "Nowhere"]);
    assert_eq!(absent.status, 1);
    assert!(absent.err.starts_with("error: no section Nowhere: "), "{}", absent.err);

    let list = loom.ok(["list"]);
    assert!(list.contains(&format!("{uri}  deploy\n")), "{list}");
    assert_eq!(loom.json(["list", "--limit", "1"])["rows"].as_array().unwrap().len(), 1);

    assert!(loom.ok(["rm", "docs/deploy.md"]).starts_with(&format!("deleted {uri} (")));
    let gone = loom.run(["get", &uri]);
    assert_eq!((gone.status, gone.out.as_str()), (1, ""));
    assert!(gone.err.starts_with(&format!("error: no document {uri}: ")), "{}", gone.err);
    assert!(loom.ok(["get", &uri, "--deleted"]).starts_with("# Deploy"));
    let twice = loom.run(["rm", &uri, &loom.uri("docs/notes/door.txt")]);
    assert_eq!(twice.status, 1, "one of the two was not there");
    assert!(twice.out.contains("door.txt"), "the other is deleted: {}", twice.out);
    assert_eq!(loom.ok(["list"]), "no documents\n");

    assert!(loom.ok(["restore", &uri]).starts_with(&format!("restored {uri}, revision 1 (")));
    assert_eq!(loom.ok(["search", "roll back", "-k", "1"]).lines().next(), Some("1. deploy  Deploy > Rollback"));
    let live = loom.run(["restore", &uri]);
    assert_eq!((live.status, live.err.contains("it is not deleted")), (1, true), "{live:?}");
    assert_eq!(loom.run(["restore", "nothing"]).status, 1);
    assert!(loom.ok(["doctor", "--deep"]).contains("nothing is wrong: 1 document "));
}

#[test]
fn any_operation_can_be_called() {
    let loom = Loom::new();
    loom.write("input.json", r#"{"source_uri": "a", "content": "one"}"#);
    let answer: Value = serde_json::from_str(&loom.ok(["call", "knowledge.upsert", "@input.json"])).unwrap();
    assert_eq!((&answer["source_uri"], &answer["namespace"]), (&"a".into(), &"local".into()));
    let piped = loom.run_with(["call", "knowledge.get", "-", "--namespace", "local"], r#"{"source_uri": "a"}"#);
    assert_eq!(serde_json::from_str::<Value>(&piped.out).unwrap()["content"], "one");

    let unknown = loom.run(["call", "knowledge.serch"]);
    assert_eq!(unknown.status, 1);
    assert!(unknown.err.contains("knowledge.search"), "the closest is named: {}", unknown.err);
    let refused = loom.run(["call", "knowledge.get", "{}", "--json"]);
    let error: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!((refused.status, &error["error"]["field"]), (1, &"source_uri".into()));
}

#[test]
fn wrong_use_is_told_from_failure() {
    let loom = Loom::new();
    for args in [
        vec![],
        vec!["nonsense"],
        vec!["search"],
        vec!["search", "x", "--mode", "magic"],
        vec!["call", "knowledge.list", "[1]"],
        vec!["call", "knowledge.list", "{"],
        vec!["list", "--server", "http://127.0.0.1:1", "--data", "x"],
        vec!["serve", "--server", "http://127.0.0.1:1"],
    ] {
        let ran = Ran::from(loom.command().args(&args).output().unwrap());
        assert_eq!(ran.status, 2, "{args:?}: {ran:?}");
        assert!(!ran.err.is_empty(), "{args:?}");
    }
    let reading = loom.run(["search", "x"]);
    assert_eq!(reading.status, 1);
    assert!(reading.err.contains("loom add"), "{}", reading.err);
    assert!(!loom.data().exists(), "a command that reads makes no folder");

    let mut command = loom.command();
    command.env("LOOM_BASE_URL", "http://127.0.0.1:1").env("LOOM_API_KEY", "sesame-7");
    let ran = Ran::from(command.args(["list"]).output().unwrap());
    assert_eq!(ran.status, 1);
    assert!(ran.err.starts_with("error: no answer from the server at http://127.0.0.1:1: "), "{}", ran.err);
    assert!(!ran.err.contains("sesame") && !ran.out.contains("sesame"));
}

#[test]
fn a_failure_is_json_too_when_json_is_asked_for() {
    let loom = Loom::new();
    for (args, code) in [
        (vec!["search", "x", "--json"], "NOT_FOUND"),
        (vec!["call", "nothing", "--json"], "UNKNOWN_OP"),
        (vec!["call", "knowledge.list", "[]", "--json"], "VALIDATION_FAILED"),
    ] {
        let ran = Ran::from(loom.command().args(&args).output().unwrap());
        let error: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {ran:?}"));
        assert_eq!(error["error"]["code"], code, "{args:?}");
        assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_reader_that_stops_early_is_no_failure() {
    let loom = Loom::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = loom.command().args(["completions", "bash"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn commands_go_through_the_server_that_has_the_folder() {
    let loom = sample();
    loom.ok(["add", "docs/notes"]);
    let server = loom.serve();

    let started = std::time::Instant::now();
    let second = loom.run(["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status, 1);
    assert!(second.err.contains(&loom.data().display().to_string()), "{}", second.err);
    assert!(started.elapsed().as_secs() < 5, "it says so at once");

    assert_eq!(loom.json(["add", "docs"])["added"], 1);
    assert_eq!(loom.json(["add", "docs"])["unchanged"], 2);
    assert_eq!(loom.ok(["search", "roll back", "-k", "1"]).lines().next(), Some("1. deploy  Deploy > Rollback"));
    assert!(loom.ok(["get", "docs/deploy.md"]).starts_with("# Deploy"));
    assert_eq!(loom.run(["get", "absent"]).status, 1);
    let unknown = loom.run(["call", "knowledge.serch"]);
    assert!(unknown.err.contains("knowledge.search"), "{}", unknown.err);
    let other = loom.run(["call", "knowledge.list", "{}", "--namespace", "other"]);
    assert_eq!(
        serde_json::from_str::<Value>(&other.out).unwrap(),
        serde_json::json!({ "rows": [], "next_cursor": null })
    );
    loom.ok(["rm", "docs/deploy.md"]);
    loom.ok(["restore", "docs/deploy.md"]);
    let doctor = loom.run(["doctor"]);
    assert_eq!(doctor.status, 1);
    assert!(doctor.err.contains(&server.base), "it names the server: {}", doctor.err);

    drop(server);
    assert_eq!(loom.json(["list"])["rows"].as_array().unwrap().len(), 2, "the killed server's folder opens");
    loom.ok(["doctor"]);
}

#[test]
fn commands_wait_for_each_other() {
    let loom = Loom::new();
    let children: Vec<Child> = (0..4)
        .map(|n| {
            loom.write(&format!("{n}.md"), format!("# Number {n}\n"));
            loom.command()
                .args(["add", &format!("{n}.md")])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.status, 0, "{ran:?}");
    }
    assert_eq!(loom.json(["list"])["rows"].as_array().unwrap().len(), 4);
}

#[test]
fn the_demonstration_answers_from_its_documents_and_leaves_nothing() {
    let loom = Loom::new();
    let out = loom.ok(["demo"]);
    assert!(out.starts_with("Stored "), "{out}");
    assert_eq!(out.lines().filter(|line| line.starts_with("1. ")).count(), 3, "three questions: {out}");
    assert!(
        out.lines().filter(|line| line.contains("  revision 1  ") && line.contains("loom://")).count() >= 3,
        "{out}"
    );
    let answers = loom.json(["demo"]);
    let sections: Vec<&str> =
        (0..3).map(|question| answers["answers"][question]["results"][0]["section"].as_str().unwrap()).collect();
    assert_eq!(
        sections,
        ["Loom > Over HTTP", "Architecture > Invariants", "Loom > One minute to a first answer > What is added"]
    );
    assert!(is_empty(&loom.dir.path().join("tmp")), "the temporary folder is gone");
    assert!(!loom.data().exists(), "the user's folder is not touched");
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn completions_are_a_script_for_the_shell() {
    let loom = Loom::new();
    assert!(loom.ok(["completions", "bash"]).contains("_loom"));
    assert!(loom.json(["completions", "zsh"])["script"].as_str().unwrap().starts_with("#compdef loom"));
    assert_eq!(loom.run(["completions", "smalltalk"]).status, 2);
}
