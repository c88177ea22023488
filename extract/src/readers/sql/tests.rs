use expect_test::{Expect, expect};

use crate::contract::{Artifact, Options, Refusal, RefusalCode};
use crate::readers::testing::{listed, read_as, read_with, survives};

fn read(dialect: &str, source: &str) -> Result<Artifact, Refusal> {
    read_with("sql", source.as_bytes(), Options { sql_dialect: dialect.to_owned(), ..Options::default() })
}

fn check(dialect: &str, source: &str, expected: &Expect) {
    let artifact = read(dialect, source).expect("SQL");
    assert!(artifact.coverage.is_complete(), "{:?}", artifact.warnings);
    expected.assert_eq(&listed(&artifact));
}

#[test]
fn statements_are_told_apart_and_keep_their_comments() {
    check(
        "",
        "-- users; of the shop\nCREATE TABLE shop.users (\n  id integer PRIMARY KEY, -- the; key\n  \"Full Name\" text DEFAULT 'a;''b',\n  \
         org_id int REFERENCES shop.orgs (id), CONSTRAINT c CHECK (id > 0)\n); -- done\n\n/* two */ SELECT u.id, lower(u.email) AS mail, \
         my_rank(x) FROM shop.users u JOIN orders AS o ON o.user_id = u.id, extra WHERE extract(year FROM created_at) = 1;\n\
         INSERT INTO orders (id, total) VALUES (1, 'x'), (2, 'y');\n-- nothing more\n",
        &expect![[r#"
            sql_statement: -- users; of the shop\nCREATE TABLE shop.users (\n  id integer PRIMARY KEY, -- the; key\n  "Full Name" text DEFAULT 'a;''b',\n  org_id int REFERENCES shop.orgs (id), CONSTRAINT c CHECK (id > 0)\n); -- done ["shop.users", "users", "id", "Full Name", "org_id", "shop.orgs", "orgs"]
            sql_statement: /* two */ SELECT u.id, lower(u.email) AS mail, my_rank(x) FROM shop.users u JOIN orders AS o ON o.user_id = u.id, extra WHERE extract(year FROM created_at) = 1; ["id", "email", "my_rank", "x", "shop.users", "users", "orders", "user_id", "extra", "year", "created_at"]
            sql_statement: INSERT INTO orders (id, total) VALUES (1, 'x'), (2, 'y'); ["orders", "id", "total"]
            paragraph: -- nothing more
        "#]],
    );
}

#[test]
fn bodies_are_one_statement() {
    check(
        "postgres",
        "CREATE FUNCTION f(a int) RETURNS int AS $body$ BEGIN UPDATE audit.log SET n = 1; RETURN 2; END; $body$ LANGUAGE plpgsql;\n\
         BEGIN;\nWITH recent AS (SELECT id FROM orders) DELETE FROM items USING recent WHERE items.id = recent.id;\nCOMMIT;\n\
         COPY t (a, b) FROM stdin;\n1\tit's\n\\.\nSELECT 1;",
        &expect![[r#"
            sql_statement: CREATE FUNCTION f(a int) RETURNS int AS $body$ BEGIN UPDATE audit.log SET n = 1; RETURN 2; END; $body$ LANGUAGE plpgsql; ["f", "audit.log", "log"]
            sql_statement: BEGIN;
            sql_statement: WITH recent AS (SELECT id FROM orders) DELETE FROM items USING recent WHERE items.id = recent.id; ["id", "orders", "items"]
            sql_statement: COMMIT;
            sql_statement: COPY t (a, b) FROM stdin;\n1	it's\n\. ["t", "a", "b"]
            sql_statement: SELECT 1;
        "#]],
    );
    check(
        "mysql",
        "DELIMITER //\nCREATE TRIGGER tr BEFORE INSERT ON `acc;ount` FOR EACH ROW BEGIN IF NEW.a < 0 THEN SET NEW.a = 0; END IF; END//\n\
         DELIMITER ;\nSELECT 'it\\'s; fine', \"a;b\" # c;\nFROM t;",
        &expect![[r#"
            sql_statement: DELIMITER //\nCREATE TRIGGER tr BEFORE INSERT ON `acc;ount` FOR EACH ROW BEGIN IF NEW.a < 0 THEN SET NEW.a = 0; END IF; END// ["tr", "acc;ount"]
            sql_statement: DELIMITER ;\nSELECT 'it\'s; fine', "a;b" # c;\nFROM t; ["t"]
        "#]],
    );
    check(
        "tsql",
        "CREATE PROCEDURE [dbo].[Get It] AS SELECT [a] FROM [dbo].[T 1]; SELECT 2;\nGO\nUPDATE x SET y = 1\nGO 5\n",
        &expect![[r#"
            sql_statement: CREATE PROCEDURE [dbo].[Get It] AS SELECT [a] FROM [dbo].[T 1]; SELECT 2;\nGO ["dbo.Get It", "Get It", "dbo.T 1", "T 1"]
            sql_statement: UPDATE x SET y = 1\nGO 5 ["x", "y"]
        "#]],
    );
    check(
        "oracle",
        "DECLARE n emp%ROWTYPE; BEGIN SELECT * INTO n FROM emp; CASE WHEN 1=1 THEN NULL; END CASE; END;\n/\nSELECT q'[it's;]' FROM dual;",
        &expect![[r#"
            sql_statement: DECLARE n emp%ROWTYPE; BEGIN SELECT * INTO n FROM emp; CASE WHEN 1=1 THEN NULL; END CASE; END;\n/ ["n", "emp"]
            sql_statement: SELECT q'[it's;]' FROM dual; ["dual"]
        "#]],
    );
}

#[test]
fn views_indexes_and_changes_name_what_they_touch() {
    check(
        "",
        "CREATE OR REPLACE VIEW v AS SELECT a.x AS total, b FROM t a;\nCREATE UNIQUE INDEX i ON s.t (lower(email), name);\n\
         ALTER TABLE IF EXISTS t ADD COLUMN IF NOT EXISTS c int;\nDROP TABLE old_one;\nMERGE INTO target USING source ON a = b;\n\
         CREATE TABLE copy AS SELECT 1;",
        &expect![[r#"
            sql_statement: CREATE OR REPLACE VIEW v AS SELECT a.x AS total, b FROM t a; ["v", "x", "total", "b", "t"]
            sql_statement: CREATE UNIQUE INDEX i ON s.t (lower(email), name); ["i", "s.t", "t", "email", "name"]
            sql_statement: ALTER TABLE IF EXISTS t ADD COLUMN IF NOT EXISTS c int; ["t", "c"]
            sql_statement: DROP TABLE old_one; ["old_one"]
            sql_statement: MERGE INTO target USING source ON a = b; ["target", "source", "a", "b"]
            sql_statement: CREATE TABLE copy AS SELECT 1; ["copy"]
        "#]],
    );
}

#[test]
fn dialects_have_names_and_open_quotes_lose_the_structure() {
    for name in [
        "postgres",
        "mysql",
        "sqlite",
        "mssql",
        "tsql",
        "oracle",
        "bigquery",
        "clickhouse",
        "duckdb",
        "snowflake",
        "redshift",
        "hive",
        "databricks",
        "ansi",
        "generic",
        "Postgres ",
    ] {
        assert!(read(name, "SELECT 1").is_ok(), "{name}");
    }
    assert_eq!(read("dbase", "SELECT 1").map_err(|refusal| refusal.code), Err(RefusalCode::InvalidOption));
    assert_eq!(read("", " \n").map_err(|refusal| refusal.code), Err(RefusalCode::NoText));
    let artifact = read("", "SELECT 1; SELECT 'never closed; SELECT 2;").expect("SQL");
    assert_eq!((artifact.blocks.len(), artifact.coverage.lost.as_slice()), (2, &["sql_structure".to_owned()][..]));
}

#[test]
fn long_lines_cost_what_they_hold() {
    let many = "SELECT a FROM b;".repeat(50_000);
    assert_eq!(read_as("sql", many.as_bytes()).expect("SQL").blocks.len(), 50_000);
    // Rows that a statement announces and that never end are looked for once.
    let copies = "COPY a FROM STDIN;\n".repeat(100_000);
    assert_eq!(read_as("sql", copies.as_bytes()).expect("SQL").blocks.len(), 100_000);
    let insert = format!("INSERT INTO t (a, b) VALUES {};", vec!["(1, 'x')"; 50_000].join(","));
    assert_eq!(read_as("sql", insert.as_bytes()).expect("SQL").blocks[0].keys, ["t", "a", "b"]);
}

#[test]
fn damage_is_survived() {
    survives(
        "sql",
        "CREATE FUNCTION é() AS $x$ SELECT 1 $x$;\n/* a */ SELECT `b`, \"c\", [d] FROM e WHERE f = E'g\\'' GO\nGO\n"
            .as_bytes(),
    );
}
