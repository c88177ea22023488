//! The contract as JSON Schema, which follows the types.

use expect_test::expect_file;
use loom::extraction::contract::{Artifact, Capabilities, Refusal, Request};
use schemars::generate::SchemaSettings;

/// `UPDATE_EXPECT=1` writes it anew.
#[test]
fn the_schema_of_the_contract_is_current() {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    for schema in [
        generator.subschema_for::<Capabilities>(),
        generator.subschema_for::<Refusal>(),
        generator.subschema_for::<Request>(),
    ] {
        assert!(schema.as_value()["$ref"].is_string(), "it stands among the definitions");
    }
    let schema = generator.into_root_schema_for::<Artifact>();
    let written = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    expect_file!["../../../docs/extraction.schema.json"].assert_eq(&written);
}
