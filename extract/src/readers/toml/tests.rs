use expect_test::expect;

use crate::contract::{Locator, RefusalCode};
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn tables_are_packed_with_their_keys() {
    let source = "# about\ntitle = \"x\"\nown.er = 1\n\n# the server\n[server]\nhost = \"a\" # note\nports = [1, 2]\n\n[server.tls]\n\
                  cert = { path = \"p\", \"odd key\".x = 1 }\n\n[[bin]]\nname = \"one\"\n[[bin]]\nname = \"two\"\n";
    let artifact = read_as("toml", source.as_bytes()).expect("TOML");
    expect![[r#"
        toml_key: # about\ntitle = "x" ["title"]
        toml_key: own.er = 1 ["own.er"]
        toml_key: # the server\n[server]\nhost = "a" # note\nports = [1, 2] ["server", "server.host", "server.ports"]
        toml_key: [server.tls]\ncert = { path = "p", "odd key".x = 1 } ["server.tls", "server.tls.cert", "server.tls.cert.path", "server.tls.cert.\"odd key\".x"]
        toml_key: [[bin]]\nname = "one" ["bin", "bin.name"]
        toml_key: [[bin]]\nname = "two" ["bin", "bin.name"]
    "#]].assert_eq(&listed(&artifact));
    let places: Vec<String> = artifact
        .blocks
        .iter()
        .map(|block| match &block.locator {
            Some(Locator::Key { path, line_start, line_end }) => format!("{path} {line_start}-{line_end}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(places, ["title 1-2", "own.er 3-3", "server 5-8", "server.tls 10-11", "bin[0] 13-14", "bin[1] 15-16"]);
}

#[test]
fn a_long_table_is_cut_between_its_keys() {
    let line = |number| format!("key{number} = \"{}\"\n", "x".repeat(40));
    let keys = (0..100).map(line).collect::<Vec<_>>().concat();
    let artifact = read_as("toml", format!("[long]\n{keys}").as_bytes()).expect("TOML");
    assert!(artifact.blocks.len() > 3);
    assert_eq!(artifact.blocks[0].keys[..2], ["long", "long.key0"]);
    assert_eq!(artifact.blocks.iter().map(|block| block.keys.len()).sum::<usize>(), 101);
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    let refusal = read_as("toml", b"a = 1\na = 2\n").expect_err("a key twice");
    assert_eq!(refusal.code, RefusalCode::Corrupt);
    assert!(refusal.message.contains("line 2"), "{}", refusal.message);
    for (source, code) in [
        (&b"a = [1"[..], RefusalCode::Corrupt),
        (b"a = \"\\q\"", RefusalCode::Corrupt),
        (b"a = \"\xC3\"", RefusalCode::Encoding),
        (b"", RefusalCode::NoText),
    ] {
        assert_eq!(read_as("toml", source).map_err(|refusal| refusal.code), Err(code), "{source:?}");
    }
    let deep = format!("a = {}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(read_as("toml", deep.as_bytes()).map_err(|refusal| refusal.code), Err(RefusalCode::Corrupt));
}

#[test]
fn damage_is_survived() {
    survives("toml", "# é\na.b = [{c = 1}, [2]]\n[d.e]\nf = 1979-05-27\n[[g]]\n'h i' = '''\nx'''\n".as_bytes());
}
