use proptest::prelude::*;

use super::*;

/// The list of a change, as the audit log has it.
fn changes(before: Value, after: Value) -> Value {
    ChangedFields::between(&before, &after).onto(Value::Null)["changes"].take()
}

#[test]
fn each_member_that_changed_has_its_value_before_and_after() {
    let before = json!({ "name": "a", "description": "x", "uris": ["u"], "same": [1], "updated_at": 1 });
    let after = json!({ "name": "b", "parent": "p", "uris": ["u", "v"], "same": [1], "updated_at": 2 });
    let expected = json!({
        "name": { "from": "a", "to": "b" },
        "description": { "from": "x", "to": null },
        "parent": { "from": null, "to": "p" },
        "uris": { "from": ["u"], "to": ["u", "v"] },
    });
    assert_eq!(changes(before.clone(), after), expected);
    assert!(ChangedFields::between(&before, &before).is_empty());
}

#[test]
fn members_of_objects_are_told_one_by_one_and_what_lies_deep_as_a_whole() {
    let before =
        json!({ "lifetimes": { "code": 60, "session": 9 }, "a": { "b": { "c": { "d1": { "e": 1 } } } } });
    let after =
        json!({ "lifetimes": { "code": 30, "session": 9 }, "a": { "b": { "c": { "d1": { "e": 2 } } } } });
    let expected = json!({
        "lifetimes.code": { "from": 60, "to": 30 },
        "a.b.c.d1": { "from": { "e": 1 }, "to": { "e": 2 } },
    });
    assert_eq!(changes(before, after), expected);
    let gone = changes(json!({ "address": { "country": "AT" } }), json!({}));
    assert_eq!(gone, json!({ "address.country": { "from": "AT", "to": null } }));
    let other = changes(json!({ "address": { "country": "AT" } }), json!({ "address": "Vienna" }));
    assert_eq!(other, json!({ "address": { "from": { "country": "AT" }, "to": "Vienna" } }));
}

#[test]
fn nothing_in_another_form_is_no_change() {
    for (before, after) in [(json!(null), json!([])), (json!({}), json!(null)), (json!([]), json!({}))] {
        assert!(ChangedFields::between(&json!({ "a": before }), &json!({ "a": after })).is_empty());
    }
    for value in [json!(false), json!(0), json!("")] {
        let changed = changes(json!({ "a": null }), json!({ "a": value }));
        assert_eq!(changed, json!({ "a": { "from": null, "to": value } }));
    }
}

#[test]
fn a_new_record_and_a_deleted_one_have_every_member() {
    let record = json!({ "id": "g", "name": "Staff", "created_at": 1, "updated_at": 1 });
    let made = ChangedFields::made(&record).onto(json!({ "group": "g" }));
    let both = |from: fn(&str) -> Value, to: fn(&str) -> Value| {
        json!({
            "id": { "from": from("g"), "to": to("g") },
            "name": { "from": from("Staff"), "to": to("Staff") },
        })
    };
    let value: fn(&str) -> Value = |text| json!(text);
    let none: fn(&str) -> Value = |_| Value::Null;
    assert_eq!(made, json!({ "group": "g", "changes": both(none, value) }));
    let removed = ChangedFields::removed(&record).onto(Value::Null);
    assert_eq!(removed, json!({ "changes": both(value, none) }));
}

#[test]
fn of_secrets_only_the_change_is_told_wherever_they_stand() {
    let record = |secret: &str| {
        json!({
            "client_secret": secret, "client_secrets": [{ "digest": secret }], "password_hash": secret,
            "k1": { "sealed": [1, secret], "state": "next" },
            "jwks": { "keys": [{ "kty": "RSA", "n": "public", "d": secret, "dp": secret }] },
            "deep": { "a": { "b": { "c": { "password": secret, "of": { "oth": [secret] } } } } },
        })
    };
    let (one, other) = (record("planted-one"), record("planted-two"));
    let all = [
        ChangedFields::between(&one, &other),
        ChangedFields::made(&one),
        ChangedFields::removed(&one).with_untold("password"),
    ];
    for changed in all {
        let told = changed.onto(Value::Null);
        assert!(!told.to_string().contains("planted"), "{told}");
        for name in ["client_secret", "client_secrets", "password_hash", "k1.sealed"] {
            assert_eq!(told["changes"][name], json!({ "changed": true }), "{name}: {told}");
        }
    }
    let public = changes(json!({ "client_secrets": [] }), json!({ "client_secrets": null }));
    assert_eq!(public, json!({}), "a client that has no secret got none");
}

#[test]
fn long_values_are_cut_and_say_what_differs() {
    let uris = |last: &str| {
        let mut uris: Vec<String> = (0..200).map(|n| format!("https://rp.example/callback/{n}")).collect();
        uris.push(last.to_owned());
        uris
    };
    let told = changes(json!({ "uris": uris("https://good/") }), json!({ "uris": uris("https://evil/") }));
    let expected = json!({ "from": ["https://good/"], "to": ["https://evil/"], "cut": true });
    assert_eq!(told["uris"], expected);
    let text = |end: &str| json!({ "about": format!("{}{end}", "\u{e4}".repeat(5_000)) });
    let told = changes(text("x"), text("y"));
    assert_eq!(told["about"], json!({ "from": "…x", "to": "…y", "cut": true }));
    let told = changes(Value::Null, json!({ "uris": ["u".repeat(9_000), "v".repeat(9_000)] }));
    let only = told["uris"]["to"].as_str().unwrap();
    assert!(only.len() < LONGEST + 10 && only.ends_with('…') && told["uris"]["from"].is_null(), "{told}");
    let told = changes(json!({ "uris": ["a"] }), json!({ "uris": ["u".repeat(9_000), "v".repeat(9_000)] }));
    assert_eq!(told["uris"]["to"].as_array().map(Vec::len), Some(1), "{told}");
}

#[test]
fn a_list_of_changes_has_an_end_and_says_how_many_it_lacks() {
    let record: Map<String, Value> = (0..130).map(|n| (format!("m{n}"), n.into())).collect();
    let told = ChangedFields::made(&record).onto(Value::Null);
    assert_eq!(told["changes"].as_object().map(Map::len), Some(MOST_MEMBERS));
    assert_eq!(told["changes_left_out"], 30);
    let told = ChangedFields::made(&json!({ "x": { "y".repeat(9_000): 1 } })).onto(Value::Null);
    assert!(told.to_string().len() < 2 * LONGEST_PATH, "{told}");
    assert_eq!(ChangedFields::none().onto(json!({ "bulk": true })), json!({ "bulk": true }));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        ".{600,700}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-f]{1,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_changes_is_told_within_its_bounds(before in any_json(), after in any_json()) {
        let (before, after) = (json!({ "record": before }), json!({ "record": after }));
        let changed = ChangedFields::between(&before, &after);
        prop_assert_eq!(changed.is_empty(), ChangedFields::between(&after, &before).is_empty());
        prop_assert!(before != after || changed.is_empty());
        for (name, told) in changed.members.iter().flatten() {
            // Twice a value, and a character takes six bytes where JSON escapes it.
            let bound = 2 * 6 * (LONGEST + 20) + name.len() + 100;
            prop_assert!(told.to_string().len() <= bound, "{name}: {told}");
        }
    }
}
