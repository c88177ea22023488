use expect_test::expect;

use crate::contract::RefusalCode;
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn keys_have_paths_and_aliases_stay() {
    let filler = "é".repeat(450);
    let source = format!(
        "# all\nbase: &b\n  x: {filler}\n\n# the services\nservices:\n  web:\n    image: nginx\n    ports:\n      - 80\n      - 81\n  db:\n    <<: *b\n---\nother: 1\n"
    );
    let artifact = read_as("yaml", source.as_bytes()).expect("YAML");
    expect![[r#"
        field: # all\nbase: &b\n  x: F ["base", "base.x"]
        field: # the services\nservices:\n  web:\n    image: nginx\n    ports:\n      - 80\n      - 81\n  db:\n    <<: *b\n--- ["services", "services.web", "services.web.image", "services.web.ports", "services.db", "services.db.\"<<\""]
        field: other: 1 ["other"]
    "#]].assert_eq(&listed(&artifact).replace(&filler, "F"));
}

#[test]
fn what_is_no_yaml_is_refused_and_bombs_are_not_expanded() {
    let refusal = read_as("yaml", b"a: [1\nb: }\n").expect_err("it is broken");
    assert_eq!(refusal.code, RefusalCode::Corrupt);
    assert_eq!(read_as("yaml", b"# nothing\n").map_err(|refusal| refusal.code), Err(RefusalCode::NoText));
    let line = |at| format!("a{at}: &a{at} [*a{0}, *a{0}, *a{0}, *a{0}]\n", at - 1);
    let bomb = (1..30).map(line).collect::<Vec<_>>().concat();
    let artifact = read_as("yaml", format!("a0: &a0 x\n{bomb}").as_bytes()).expect("YAML");
    assert!(artifact.blocks.len() <= 30);
}

#[test]
fn damage_is_survived() {
    survives("yaml", "é: &x [1, {a: b}]\n? [k]\n: v\nc: |\n  t\n- d\n".replace("- d\n", "d: *x\n").as_bytes());
}
