use expect_test::expect;

use crate::contract::{Locator, RefusalCode};
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn a_table_is_its_heading_and_its_keys_packed() {
    let source = "# about\ntitle = \"x\"\nown.er = 1\n\n# the server\n[server]\nhost = \"a\" # note\nports = [1, 2]\n\n[server.tls]\n\
                  cert = { path = \"p\", \"odd key\".x = 1 }\n\n[[bin]]\nname = \"one\"\n[[bin]]\nname = \"two\"\n";
    let artifact = read_as("toml", source.as_bytes()).expect("TOML");
    expect![[r#"
        toml_key: # about\ntitle = "x" ["title"]
        toml_key: own.er = 1 ["own.er"]
        toml_table: # the server\n[server] ["server"]
        toml_key: host = "a" # note\nports = [1, 2] ["server.host", "server.ports"]
        toml_table: [server.tls] ["server.tls"]
        toml_key: cert = { path = "p", "odd key".x = 1 } ["server.tls.cert", "server.tls.cert.path", "server.tls.cert.\"odd key\".x"]
        toml_table: [[bin]] ["bin"]
        toml_key: name = "one" ["bin.name"]
        toml_table: [[bin]] ["bin"]
        toml_key: name = "two" ["bin.name"]
    "#]].assert_eq(&listed(&artifact));
    let places: Vec<String> = artifact
        .blocks
        .iter()
        .map(|block| match &block.locator {
            Some(Locator::Key { path, line_start, line_end }) => format!("{path} {line_start}-{line_end}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        places,
        [
            "title 1-2",
            "own.er 3-3",
            "server 5-6",
            "server 7-8",
            "server.tls 10-10",
            "server.tls 11-11",
            "bin 13-13",
            "bin[0] 14-14",
            "bin 15-15",
            "bin[1] 16-16"
        ]
    );
}

#[test]
fn a_long_table_is_cut_between_its_keys() {
    let line = |number| format!("key{number} = \"{}\"\n", "x".repeat(40));
    let keys = (0..100).map(line).collect::<Vec<_>>().concat();
    let artifact = read_as("toml", format!("[long]\n{keys}").as_bytes()).expect("TOML");
    assert!(artifact.blocks.len() > 3);
    assert_eq!(
        (&artifact.blocks[0].keys, &artifact.blocks[1].keys[0]),
        (&vec!["long".to_owned()], &"long.key0".to_owned())
    );
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
