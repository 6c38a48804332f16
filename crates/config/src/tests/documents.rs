//! The generated documents are the committed ones. `UPDATE_GENERATED=1` writes them anew.

use std::path::Path;

use crate::{json_schema, keys, reference};

fn assert_committed(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == generated, "{name} is stale: UPDATE_GENERATED=1 cargo test -p symbolon-config");
}

#[test]
fn the_reference_is_committed() {
    assert_committed("configuration.md", &reference());
}

#[test]
fn the_schema_is_committed() {
    assert_committed("configuration.schema.json", &format!("{:#}\n", json_schema()));
}

#[test]
fn schema_and_reference_hold_every_key() {
    let (schema, reference) = (json_schema(), reference());
    for key in keys() {
        let pointer = format!("/properties/{}", key.path.replace('.', "/properties/"));
        assert_eq!(schema.pointer(&pointer).unwrap()["x-env"], key.env);
        for name in [key.path, key.env, key.flag] {
            assert!(reference.contains(&format!("`{name}`")), "{name}");
        }
    }
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["log"]["additionalProperties"], false);
}
