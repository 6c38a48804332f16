use super::*;
use crate::command::import::testing::{Noted, file, opened, reasons};
use serde_json::json;

fn attributes() -> Attributes {
    let schema = Schema::of(&json!({ "attributes": [
        { "name": "team", "type": "string", "pattern": "[a-z]+" },
        { "name": "level", "type": "number" },
        { "name": "staff", "type": "boolean" },
        { "name": "until", "type": "date" },
        { "name": "tags", "type": "list", "pattern": "[a-z0-9]+" },
        { "name": "own", "type": "string", "writable_by": ["person"] },
        { "name": "later", "type": "colour" },
        { "name": "note", "type": "string" },
        { "name": "bad", "type": "string", "pattern": "(" },
    ] }));
    Attributes::new(&schema.unwrap())
}

fn sorted(all: &[(&str, Value)]) -> Sorted {
    let custom = |(name, value): &(&str, Value)| Custom {
        name: (*name).to_owned(),
        called: format!("x.{name}"),
        value: value.clone(),
    };
    attributes().sort(all.iter().map(custom).collect())
}

#[test]
fn values_get_the_type_of_the_definition() {
    for (name, theirs, ours) in [
        ("team", json!("red"), json!("red")),
        ("team", json!(["red"]), json!("red")),
        ("level", json!("5"), json!(5)),
        ("level", json!([" -1.5 "]), json!(-1.5)),
        ("level", json!(7), json!(7)),
        ("staff", json!("TRUE"), json!(true)),
        ("staff", json!([false]), json!(false)),
        ("until", json!("2026-01-31"), json!("2026-01-31")),
        ("tags", json!("a"), json!(["a"])),
        ("tags", json!(["a", "b"]), json!(["a", "b"])),
        ("tags", json!([1, true]), json!(["1", "true"])),
        ("note", json!(5), json!("5")),
    ] {
        let sorted = sorted(&[(name, theirs.clone())]);
        assert_eq!(Value::Object(sorted.values), json!({ name: ours }), "{theirs}: {:?}", sorted.parts);
    }
}

#[test]
fn what_cannot_be_a_value_is_told_and_nothing_else_is_lost() {
    for (name, value, word) in [
        ("team", json!("Red"), "must match the pattern [a-z]+"),
        ("team", json!(["red", "blue"]), "it has 2 values"),
        ("team", json!({ "a": 1 }), "must be a text"),
        ("level", json!("five"), "must be a number"),
        ("level", json!("1e300"), "must be a number"),
        ("level", json!(true), "must be a number"),
        ("staff", json!("yes"), "must be true or false"),
        ("until", json!("31.01.2026"), "must be a date"),
        ("tags", json!(["a", "B"]), "must match"),
        ("tags", json!([["a"]]), "must be a list"),
        ("own", json!("x"), "may not write"),
        ("later", json!("x"), "later release"),
        ("bad", json!("x"), "must match"),
        ("note", json!("x".repeat(3_000)), "2000 characters"),
        ("note", json!([["x"]]), "must be a text"),
    ] {
        let sorted = sorted(&[("staff", json!(true)), (name, value.clone())]);
        let told = sorted.parts.first().map(|part| (&*part.name, &*part.fault.why));
        let is_duplicate = name == "staff";
        let word = if is_duplicate { "another attribute" } else { word };
        assert!(told.is_some_and(|(_, why)| why.contains(word)), "{value}: {told:?}");
        assert_eq!(Value::Object(sorted.values), json!({ "staff": true }), "{value}");
    }
}

#[test]
fn what_the_schema_does_not_define_is_counted_by_the_name_of_the_file() {
    let sorted = sorted(&[("secret", json!("x")), ("team", json!("a")), ("team", json!("b"))]);
    assert_eq!(sorted.undefined, ["attribute x.secret"]);
    assert_eq!(Value::Object(sorted.values), json!({ "team": "a" }));
    assert_eq!(sorted.parts[0].name, "attribute x.team");
}

#[test]
fn all_together_are_bounded() {
    let tags: Vec<String> = (0..100).map(|_| "a".repeat(160)).collect();
    let sorted = sorted(&[("tags", json!(tags)), ("note", json!("x".repeat(200)))]);
    assert!(sorted.values.contains_key("tags") && !sorted.values.contains_key("note"));
    assert!(sorted.parts[0].fault.why.contains("16384"), "{:?}", sorted.parts);
}

/// What a file sends of its first user's attributes, and the report.
fn imported(arguments: &[&str], text: &str) -> (Value, Value) {
    let (_file, path) = file(text);
    let read = opened(&[&[arguments[0], &path], &arguments[1..]].concat()).unwrap();
    let server = Noted::default();
    *server.settings.borrow_mut() = json!({ "attributes": [
        { "name": "team", "type": "string" }, { "name": "level", "type": "number" },
        { "name": "own", "type": "string", "writable_by": ["person"] },
    ] });
    let (done, report) = server.import(false, |importer| read(importer));
    assert_eq!(done, Ok(()), "{report}");
    (server.to("/users/bulk").remove(0)["attributes"].clone(), report)
}

#[test]
fn every_source_brings_the_attributes_that_are_defined_and_no_others() {
    let (hash, list) = ("secret-hash", json!({ "team": ["red"], "level": ["5"], "pin": ["secret-hash"] }));
    let keycloak = json!({ "users": [{ "username": "ann", "attributes": list }] });
    let auth0 = json!({
        "user_id": "1", "email": "a@b.example", "user_metadata": { "level": 5, "team": "blue" },
        "app_metadata": { "team": "red", "pin": hash },
    });
    let claims = json!({ "team": "red", "level": 5, "pin": hash }).to_string();
    let firebase = json!({ "users": [{ "localId": "1", "customAttributes": claims }] });
    let named = |name: &str, value: &str| json!({ "Name": name, "Value": value });
    let all = [
        named("sub", "1"),
        named("custom:team", "red"),
        named("custom:level", "5"),
        named("custom:pin", hash),
    ];
    let cognito = json!({ "Users": [{ "Username": "a", "Attributes": all }] });
    let authentik = json!([{ "model": "authentik_core.user", "pk": 1, "fields": {
        "username": "ann", "uuid": "u", "attributes": { "team": "red", "level": 5, "pin": hash },
    } }]);
    let table = "id,attributes.team,grade,attribute:pin\n1,red,5,secret-hash\n";
    let pool = "sub,custom:team,custom:level,custom:pin\n1,red,5,secret-hash\n";
    for (arguments, text, counted) in [
        (&["keycloak"][..], keycloak.to_string(), "attribute pin"),
        (&["auth0"], auth0.to_string(), "attribute app_metadata.pin"),
        (&["firebase"], firebase.to_string(), "attribute customAttributes.pin"),
        (&["cognito"], cognito.to_string(), "attribute custom:pin"),
        (&["cognito"], pool.to_owned(), "attribute custom:pin"),
        (&["authentik"], authentik.to_string(), "attribute pin"),
        (&["csv", "--map", "grade=attribute:level"], table.to_owned(), "attribute pin"),
    ] {
        let (values, report) = imported(arguments, &text);
        assert_eq!(values, json!({ "team": "red", "level": 5 }), "{arguments:?}: {report}");
        assert_eq!(report["left_out"][counted], 1, "{arguments:?}: {report}");
        let notes = report["notes"].to_string();
        assert_eq!(notes.matches("symbolon attribute set NAME").count(), 1, "{arguments:?}: {notes}");
        assert!(!report.to_string().contains(hash), "{report}");
    }
}

#[test]
fn what_cannot_be_a_value_is_a_part_of_the_user_that_is_told() {
    let attributes = json!({ "level": ["high"], "own": ["x"], "team": ["red", "blue"] });
    let document = json!({ "users": [{ "username": "ann", "attributes": attributes }] });
    let (values, report) = imported(&["keycloak"], &document.to_string());
    assert!(values.is_null() && report["records"]["users"]["created"] == 1, "{report}");
    let told = reasons(&report);
    for (told, word) in
        told.iter().zip(["level: must be a number", "own: administrators", "team: it has 2 values"])
    {
        assert!(told.contains(&format!("user ann attribute {word}")), "{told}");
    }
    assert_eq!((told.len(), report["notes"].as_array().map(Vec::len)), (3, Some(0)));
}
