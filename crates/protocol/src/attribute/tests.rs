use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::scope::Scope;

const BY: Party = Party::Administrator;

fn name(text: &str) -> AttributeName {
    AttributeName::parse(text).unwrap()
}

pub(super) fn schema(definitions: Value) -> AttributeSchema {
    let schema: AttributeSchema = serde_json::from_value(definitions).unwrap();
    schema.validate().unwrap();
    schema
}

pub(super) fn values(json: Value) -> Attributes {
    serde_json::from_value(json).unwrap()
}

/// Why a new user cannot have these attributes.
pub(super) fn told(schema: &AttributeSchema, json: Value) -> Option<String> {
    schema.check(&values(json), None, BY).err().map(|error| error.to_string())
}

fn invalid(definitions: Value) -> String {
    let schema: AttributeSchema = serde_json::from_value(definitions).unwrap();
    schema.validate().unwrap_err().to_string()
}

#[test]
fn a_name_has_letters_digits_and_three_signs() {
    for good in ["a", "employee_number", "cost-center", "x.y", "A1", "_", &"x".repeat(64)] {
        assert_eq!(name(good).as_str(), good);
        assert_eq!(serde_json::from_value::<AttributeName>(json!(good)).unwrap(), name(good));
    }
    for bad in ["", ".", "..", "a b", "a/b", "\u{e4}", "a\"", "a=b", "a:b", "a\0", &"x".repeat(65)] {
        assert!(AttributeName::parse(bad).is_err(), "{bad:?}");
        assert!(serde_json::from_value::<AttributeName>(json!(bad)).is_err(), "{bad:?}");
    }
    assert_eq!(values(json!({ "a": 1 })).get("a"), Some(&AttributeValue::Number(1.into())));
}

#[test]
fn no_attribute_takes_the_name_of_another_claim() {
    for reserved in [
        "sub",
        "iss",
        "aud",
        "exp",
        "sid",
        "groups",
        "roles",
        "email",
        "updated_at",
        "preferred_username",
        "cnf",
        "Sub",
        "GROUPS",
        "client_id",
        "gid",
        "address",
        "may_act",
    ] {
        let told = invalid(json!([{ "name": reserved, "type": "string" }]));
        assert_eq!(
            told,
            format!(
                "attributes.{reserved} is the name of a claim that has a meaning of its own: take another name"
            )
        );
    }
    assert!(!is_reserved_claim("department") && !is_reserved_claim("subject"));
}

#[test]
fn each_type_takes_its_own_values_in_their_bounds() {
    let long = |count: usize| "\u{e4}".repeat(count);
    let cases = [
        (
            "string",
            vec![json!("x"), json!("two\nlines"), json!(long(2_000))],
            vec![
                json!(""),
                json!(1),
                json!(["x"]),
                json!("a\u{0}b"),
                json!("\u{7f}"),
                json!(long(2_001)),
                json!("x".repeat(9_000)),
            ],
        ),
        (
            "number",
            vec![json!(0), json!(-5), json!(1.5), json!(9_007_199_254_740_991_u64)],
            vec![json!("1"), json!(9_007_199_254_740_992_u64), json!(1e300), json!(true)],
        ),
        ("boolean", vec![json!(true), json!(false)], vec![json!("true"), json!(0), json!("")]),
        (
            "list",
            vec![json!([]), json!(["a", "b"]), json!(vec!["x"; 100])],
            vec![json!("a"), json!([""]), json!(vec!["x"; 101]), json!([long(2_001)])],
        ),
        (
            "date",
            vec![json!("2026-11-28"), json!("2024-02-29"), json!("2000-02-29"), json!("0001-12-31")],
            vec![
                json!("2026-11-31"),
                json!("2026-02-29"),
                json!("1900-02-29"),
                json!("2026-13-01"),
                json!("2026-00-10"),
                json!("2026-10-00"),
                json!("2026-1-1"),
                json!("2026-11-28T00:00:00Z"),
                json!("+026-11-28"),
                json!("\u{ff12}026-11-28"),
                json!(20_261_128),
                json!(""),
            ],
        ),
    ];
    for (kind, good, bad) in cases {
        let schema = schema(json!([{ "name": "x", "type": kind }]));
        for value in good {
            assert_eq!(told(&schema, json!({ "x": value })), None, "{kind}");
            let back = json!(values(json!({ "x": value })));
            assert_eq!(back, json!({ "x": value }), "JSON is what it was");
        }
        for value in bad {
            let told = told(&schema, json!({ "x": value })).unwrap_or_else(|| panic!("{kind} took {value}"));
            assert!(told.starts_with("attributes.x must "), "{told}");
        }
    }
    for (value, why) in
        [(json!(null), "null"), (json!({}), "object"), (json!([1]), "items"), (json!([["a"]]), "lists")]
    {
        assert_eq!(AttributeValue::try_from(value), Err(AttributeFault::NoType), "{why}");
    }
}

#[test]
fn all_together_have_a_bound() {
    let definitions: Vec<Value> =
        (0..10).map(|n| json!({ "name": format!("t{n}"), "type": "string" })).collect();
    let schema = schema(json!(definitions));
    let of =
        |count: usize| -> Value { (0..count).map(|n| (format!("t{n}"), json!("x".repeat(2_000)))).collect() };
    assert_eq!(told(&schema, of(8)), None);
    let told = told(&schema, of(9)).unwrap();
    assert!(
        told.starts_with("attributes take 18073 bytes of JSON; all of a user's together may take 16384"),
        "{told}"
    );
}

#[test]
fn a_pattern_is_matched_as_a_whole_by_a_text_and_by_each_item() {
    let schema = schema(json!([
        { "name": "number", "type": "string", "pattern": "E-[0-9]+|x" },
        { "name": "tags", "type": "list", "pattern": "(?x) [a-z]+ " },
    ]));
    for (json, mend) in [
        (json!({ "number": "E-12" }), None),
        (json!({ "number": "x" }), None),
        (json!({ "number": "E-12\n" }), Some("attributes.number must match the pattern E-[0-9]+|x")),
        (json!({ "number": "1 E-12" }), Some("attributes.number must match the pattern E-[0-9]+|x")),
        (json!({ "number": "xx" }), Some("attributes.number must match the pattern E-[0-9]+|x")),
        (json!({ "tags": ["a", "bc"] }), None),
        (json!({ "tags": [] }), None),
        (json!({ "tags": ["a", "B"] }), Some("attributes.tags must match the pattern (?x) [a-z]+ ")),
    ] {
        assert_eq!(told(&schema, json.clone()).as_deref(), mend, "{json}");
    }
}

#[test]
fn a_pattern_that_cannot_be_used_is_refused_when_the_schema_is_saved() {
    let of = |pattern: &str| invalid(json!([{ "name": "x", "type": "string", "pattern": pattern }]));
    for (pattern, why) in [
        ("(", "unclosed group"),
        ("a)|(b", "unopened group"),
        ("(?x)a # all of it", "unclosed group"),
        (r"(\w{500}){500}", "size limit"),
        (r"\1", "backreferences are not supported"),
        ("(?=a)", "look-around"),
        ("", "1 to 500 characters"),
        (&"x".repeat(501), "1 to 500 characters"),
        (&"(".repeat(300), "unclosed group"),
    ] {
        let told = of(pattern);
        assert!(
            told.starts_with("attributes.x has a pattern that is not valid: ") && told.contains(why),
            "{told}"
        );
        assert!(!told.contains('\n'), "{told}");
    }
    let nested = of(&format!("{}a{}", "(".repeat(100), ")".repeat(100)));
    assert!(nested.contains("nest"), "{nested}");
}

/// A pattern that other engines need exponential time for costs as little as any.
#[test]
fn no_pattern_makes_a_match_slow() {
    let schema = schema(json!([{ "name": "x", "type": "string", "pattern": "(a+)+b|(a|aa)+c" }]));
    assert!(told(&schema, json!({ "x": "a".repeat(2_000) })).is_some());
}

#[test]
fn a_definition_that_contradicts_itself_is_refused() {
    for (definition, why) in [
        (json!({ "type": "boolean", "unique": true }), "attributes.x is unique, which a boolean cannot be"),
        (json!({ "type": "list", "unique": true }), "attributes.x is unique, which a list cannot be"),
        (
            json!({ "type": "number", "pattern": "1" }),
            "attributes.x has a pattern, which a number cannot have",
        ),
        (json!({ "type": "date", "pattern": "1" }), "attributes.x has a pattern, which a date cannot have"),
        (json!({ "type": "string", "scope": "a b" }), "attributes.x has a scope that is not one scope token"),
        (json!({ "type": "string", "scope": "" }), "attributes.x has a scope that is not one scope token"),
        (
            json!({ "type": "string", "required": true, "writable_by": ["person"] }),
            "attributes.x is required, so writable_by needs administrator",
        ),
        (
            json!({ "type": "string", "readable_by": [] }),
            "attributes.x needs somebody in readable_by and in writable_by",
        ),
        (
            json!({ "type": "string", "writable_by": [] }),
            "attributes.x needs somebody in readable_by and in writable_by",
        ),
    ] {
        let mut definition = definition;
        definition["name"] = json!("x");
        assert_eq!(invalid(json!([definition])), why);
    }
    assert_eq!(
        invalid(json!([{ "name": "x", "type": "date" }, { "name": "x", "type": "list" }])),
        "attributes.x is defined twice"
    );
    let many: Vec<Value> = (0..101).map(|n| json!({ "name": format!("a{n}"), "type": "string" })).collect();
    assert_eq!(invalid(json!(many)), "attributes must be at most 100 definitions");
    for unknown in [
        json!([{ "name": "x", "type": "text" }]),
        json!([{ "name": "x", "type": "string", "requried": true }]),
        json!([{ "name": "x", "type": "string", "readable_by": ["everybody"] }]),
        json!([{ "name": "a b", "type": "string" }]),
        json!([{ "type": "string" }]),
    ] {
        assert!(serde_json::from_value::<AttributeSchema>(unknown.clone()).is_err(), "{unknown}");
    }
}

#[test]
fn what_is_not_said_is_the_least() {
    let schema = schema(json!([{ "name": "x", "type": "string" }]));
    let definition = schema.definition("x").unwrap();
    assert_eq!(*definition, AttributeDefinition::new(name("x"), AttributeType::String));
    let shown = json!({
        "name": "x", "type": "string", "required": false, "unique": false,
        "readable_by": ["person", "administrator"], "writable_by": ["administrator"],
    });
    assert_eq!(json!(definition), shown);
    assert!(!definition.is_released_by(&Scope::parse("openid profile x").unwrap()));
}

#[test]
fn a_text_stands_for_a_value_of_a_type() {
    for (kind, text, value) in [
        (AttributeType::String, "1", json!("1")),
        (AttributeType::Number, "1", json!(1)),
        (AttributeType::Number, "-1.5", json!(-1.5)),
        (AttributeType::Boolean, "true", json!(true)),
        (AttributeType::Date, "2026-11-28", json!("2026-11-28")),
    ] {
        assert_eq!(json!(kind.value_of(text).unwrap()), value);
    }
    for (kind, text) in [
        (AttributeType::Number, "one"),
        (AttributeType::Number, "[1]"),
        (AttributeType::Boolean, "yes"),
        (AttributeType::Date, "today"),
        (AttributeType::List, "[]"),
        (AttributeType::Aggregated, "a.b.c"),
    ] {
        assert_eq!(kind.value_of(text), Err(AttributeFault::Type(kind)), "{text}");
    }
    for kind in AttributeType::ALL {
        assert_eq!(json!(kind), kind.as_str());
    }
}

proptest! {
    #[test]
    fn whatever_is_stored_is_read_back(texts: Vec<String>, number: i32, flag: bool) {
        let list: Vec<AttributeValue> = vec![
            AttributeValue::List(texts.clone()),
            AttributeValue::Text(texts.concat()),
            AttributeValue::Boolean(flag),
        ];
        let numbers = serde_json::Number::from_f64(f64::from(number) / 64.0).map(AttributeValue::Number);
        for value in list.into_iter().chain(numbers) {
            let back: AttributeValue = serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap();
            prop_assert_eq!(&back, &value);
            prop_assert_eq!(back.unique_text(), value.unique_text());
            let _ = AttributeType::ALL.map(|kind| value.is_of(kind));
        }
    }

    #[test]
    fn whatever_is_typed_is_a_pattern_or_is_refused(text: String) {
        let _ = Pattern::new(text).compile();
    }
}
