use serde_json::{Value, json};

use super::super::tests::{schema, told, values};
use super::*;

const BY: Party = Party::Administrator;

#[test]
fn a_required_attribute_is_asked_for_when_attributes_are_written() {
    let before = schema(json!([{ "name": "a", "type": "string" }]));
    let after = schema(json!([
        { "name": "a", "type": "string" },
        { "name": "b", "type": "list", "required": true },
    ]));
    let stored = values(json!({ "a": "x" }));
    assert_eq!(before.check(&stored, None, BY), Ok(()));
    assert_eq!(after.check(&stored, Some(&stored), BY), Ok(()), "nothing is changed");
    for written in [json!({ "a": "y" }), json!({ "a": "x", "b": [] }), json!({})] {
        let told = after.check(&values(written), Some(&stored), BY).unwrap_err().to_string();
        assert_eq!(told, "attributes.b is required by the issuer's schema: give it a value");
    }
    assert_eq!(after.check(&values(json!({ "a": "y", "b": ["z"] })), Some(&stored), BY), Ok(()));
    assert!(
        told(&after, json!({})).unwrap().starts_with("attributes.b is required"),
        "of a new user, in any case"
    );
}

#[test]
fn values_that_remain_of_an_earlier_schema_stay_until_they_are_written() {
    let schema = schema(json!([{ "name": "a", "type": "number" }]));
    let stored = values(json!({ "a": "text", "gone": true }));
    let check =
        |json: Value| schema.check(&values(json), Some(&stored), BY).err().map(|error| error.to_string());
    assert_eq!(check(json!({ "a": "text", "gone": true })), None);
    assert_eq!(check(json!({ "a": 1, "gone": true })), None, "a value without a definition stays");
    assert_eq!(check(json!({ "a": 1 })), None, "and may be removed");
    let mend = "attributes.gone is not in the issuer's schema, which has a: mend the name, or define the attribute first";
    assert_eq!(check(json!({ "a": 1, "gone": false })).as_deref(), Some(mend), "but not be changed");
    assert!(check(json!({ "a": "text" })).unwrap().starts_with("attributes.a must be a number"));
    let told =
        AttributeSchema::default().check(&values(json!({ "x": 1 })), None, BY).unwrap_err().to_string();
    assert!(told.contains("which has no attribute"), "{told}");
}

/// Whoever may not write a value cannot mend it, and must still be able to change the others.
#[test]
fn a_value_that_is_not_ones_own_to_write_does_not_block_the_others() {
    let schema = schema(json!([
        { "name": "a", "type": "string" },
        { "name": "own", "type": "number", "writable_by": ["person"] },
    ]));
    let stored = values(json!({ "a": "1", "own": "of an earlier type" }));
    let check =
        |json: Value, by| schema.check(&values(json), Some(&stored), by).err().map(|error| error.to_string());
    assert_eq!(check(json!({ "a": "2", "own": "of an earlier type" }), BY), None);
    let told = check(json!({ "a": "1" }), BY).unwrap();
    assert!(told.starts_with("attributes.own is not written by"), "{told}");
    let other = json!({ "a": "1", "own": "another" });
    assert!(check(other, Party::Person).unwrap().starts_with("attributes.own must be a number"));
}

#[test]
fn each_party_sees_and_writes_what_the_schema_gives_it() {
    let schema = schema(json!([
        { "name": "both", "type": "string", "writable_by": ["person", "administrator"] },
        { "name": "hidden", "type": "string", "readable_by": ["person"] },
        { "name": "own", "type": "string", "writable_by": ["person"] },
    ]));
    let stored = values(json!({ "both": "1", "hidden": "2", "own": "3", "gone": "4" }));
    let names = |found: Vec<(&AttributeName, &AttributeValue)>| {
        found.into_iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(schema.shown_to(Party::Administrator, &stored).collect()), ["both", "own"]);
    assert_eq!(names(schema.shown_to(Party::Person, &stored).collect()), ["both", "hidden", "own"]);
    assert_eq!(names(schema.kept_from(Party::Administrator, &stored).collect()), ["gone", "hidden", "own"]);
    assert_eq!(names(schema.kept_from(Party::Person, &stored).collect()), ["gone", "hidden"]);
    let write = |name: &str, by| {
        let mut written = stored.clone();
        written.insert(AttributeName::parse(name).unwrap(), AttributeValue::Text("new".to_owned()));
        schema.check(&written, Some(&stored), by).err().map(|error| error.to_string())
    };
    let refused = |name: &str, who: &str| {
        Some(format!(
            "attributes.{name} is not written by {who}: writable_by in the issuer's schema does not name them"
        ))
    };
    for (name, administrator, person) in [
        ("both", None, None),
        ("hidden", None, refused("hidden", "the person")),
        ("own", refused("own", "administrators"), None),
    ] {
        assert_eq!(write(name, Party::Administrator), administrator);
        assert_eq!(write(name, Party::Person), person);
    }
    let mut without = stored.clone();
    without.remove("own");
    assert!(schema.check(&without, Some(&stored), Party::Administrator).is_err(), "removing is writing");
}

#[test]
fn a_scope_releases_what_is_of_the_type_that_the_schema_has_now() {
    let schema = schema(json!([
        { "name": "team", "type": "string", "scope": "work" },
        { "name": "level", "type": "number", "scope": "work" },
        { "name": "car", "type": "string", "scope": "private" },
        { "name": "note", "type": "string" },
    ]));
    let attributes = values(json!({ "team": "blue", "level": "high", "car": "red", "note": "x", "gone": 1 }));
    let released = |scope: &str| {
        let scope = Scope::parse(scope).unwrap();
        let names = schema.released(&scope, &attributes).map(ToString::to_string).collect::<Vec<_>>();
        (schema.releases_by(&scope), names.join(" "))
    };
    assert_eq!(released("openid work"), (true, "team".to_owned()));
    assert_eq!(released("private work"), (true, "team car".to_owned()));
    for other in ["", "openid", "workx", "wor"] {
        assert_eq!(released(other), (false, String::new()), "{other}");
    }
}

#[test]
fn equal_values_of_a_unique_attribute_have_one_text() {
    let text =
        |json: Value| AttributeValue::try_from(json).unwrap().unique_text().map(|text| text.into_owned());
    for (one, other) in
        [(json!(1), json!(1.0)), (json!(0), json!(-0.0)), (json!(1e3), json!(1000)), (json!(-7), json!(-7.0))]
    {
        assert_eq!(text(one.clone()), text(other.clone()), "{one} {other}");
    }
    assert_ne!(text(json!(1)), text(json!(1.5)));
    assert_eq!(text(json!("A b")).as_deref(), Some("A b"));
    assert_eq!((text(json!(true)), text(json!(["a"]))), (None, None));
    let before = schema(json!([
        { "name": "a", "type": "string", "unique": true },
        { "name": "b", "type": "string", "unique": true },
        { "name": "c", "type": "string" },
    ]));
    let after = schema(json!([
        { "name": "a", "type": "string", "unique": true, "required": true },
        { "name": "b", "type": "date", "unique": true },
        { "name": "c", "type": "string", "unique": true },
    ]));
    let new = |after: &AttributeSchema, before: &AttributeSchema| {
        let new = after.newly_unique(before);
        new.definitions().iter().map(|definition| definition.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (new(&after, &before), new(&before, &after)),
        (vec!["b".into(), "c".into()], vec!["b".to_string()])
    );
    let attributes = values(json!({ "a": "x", "b": "no date", "c": "y", "d": "z" }));
    let unique: Vec<_> = after.unique(&attributes).map(|(name, _)| name.to_string()).collect();
    assert_eq!(unique, ["a", "c"]);
}
