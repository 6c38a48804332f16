use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use crate::attribute::AttributeSchema;
use crate::entitlement::{EntitlementName, Entitlements, HeldGroup, HeldRole, path};
use crate::id::{ClientId, GroupId, RoleId};
use crate::scope::Scope;
use crate::token::fixture::{access_token, entitlements, scope, user};
use crate::user_claims::UserRecords;

fn definition(document: Json) -> Result<ClaimDefinition, String> {
    serde_json::from_value(document).map_err(|error| error.to_string())
}

fn set(issuer: Json, client: Json) -> ClaimSet {
    let read = |list: Json| serde_json::from_value::<Vec<ClaimDefinition>>(list).unwrap();
    ClaimSet::of(&read(issuer), &read(client), &AttributeSchema::default())
}

fn records() -> UserRecords {
    UserRecords { user: Some(Arc::new(user())), entitlements: Some(Arc::new(entitlements())) }
}

/// The claims that a set yields for UserInfo with this scope.
fn shown(set: &ClaimSet, scopes: &str, records: &UserRecords) -> Json {
    let token = access_token("app", scopes);
    let mut failures = Vec::new();
    let input = ClaimInput::for_client(&token, records);
    let claims = set.write(Destination::Userinfo, input, &mut failures).to_value().unwrap();
    assert_eq!(failures, []);
    claims
}

/// The value of one claim.
fn value(mut document: Json) -> Json {
    document["name"] = json!("it");
    shown(&set(json!([document]), json!([])), "openid", &records())["it"].take()
}

fn refusal(document: Json) -> String {
    let one = definition(document).unwrap();
    check(&[one]).unwrap_err().to_string()
}

#[test]
fn a_definition_reads_back_as_it_was_written() {
    for document in [
        json!({ "name": "a", "source": "client_roles:grafana", "form": "first", "destinations": ["id_token"] }),
        json!({ "name": "a", "source": "attribute:team", "prefix": "x:", "scope": "team", "destinations": ["userinfo"] }),
        json!({ "name": "a", "expression": "groups", "destinations": ["access_token", "introspection"] }),
        json!({ "name": "a", "value": { "b": [1, "c"] }, "destinations": [] }),
        json!({ "name": "a", "enabled": false }),
    ] {
        assert_eq!(json!(definition(document.clone()).unwrap()), document);
    }
    let read = definition(json!({ "name": "a", "source": "email" })).unwrap();
    assert_eq!(json!(read)["destinations"], json!(["id_token", "userinfo"]));
}

#[test]
fn a_document_says_one_thing() {
    for bad in [
        json!({ "name": "a" }),
        json!({ "source": "email" }),
        json!({ "name": "a", "source": "email", "value": 1 }),
        json!({ "name": "a", "source": "email", "expression": "1" }),
        json!({ "name": "a", "expression": "1", "value": 1 }),
        json!({ "name": "a", "expression": "1", "form": "list" }),
        json!({ "name": "a", "value": 1, "prefix": "x" }),
        json!({ "name": "a", "source": "password" }),
        json!({ "name": "a", "source": "address" }),
        json!({ "name": "a", "source": "attribute:" }),
        json!({ "name": "a", "source": "client_roles:" }),
        json!({ "name": "a", "source": "email", "form": "xml" }),
        json!({ "name": "a", "source": "email", "destinations": ["cookie"] }),
        json!({ "name": "a", "source": "email", "destination": ["id_token"] }),
        json!({ "name": "a", "source": "email", "enabled": false }),
        json!({ "name": "a", "enabled": false, "scope": "x" }),
    ] {
        assert!(definition(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn claims_by_which_tokens_are_judged_cannot_be_defined() {
    for name in [
        "iss",
        "sub",
        "aud",
        "exp",
        "iat",
        "nbf",
        "jti",
        "client_id",
        "scope",
        "act",
        "may_act",
        "cnf",
        "sid",
        "nonce",
        "acr",
        "amr",
        "auth_time",
        "azp",
        "at_hash",
        "c_hash",
        "gid",
        "gcl",
        "gat",
        "anc",
        "resource",
        "active",
        "username",
        "token_type",
        "events",
        "rtv",
        "email_verified",
        "phone_number_verified",
        "updated_at",
    ] {
        assert!(refusal(json!({ "name": name, "value": 1 })).contains("reserved"), "{name}");
        assert!(refusal(json!({ "name": name, "enabled": false })).contains("reserved"), "{name}");
        // Nor does a definition that came past the check write one.
        let set = set(json!([{ "name": name, "value": 1, "destinations": ["userinfo"] }]), json!([]));
        assert_eq!(shown(&set, "openid", &records()), json!({}), "{name}");
        assert_eq!(set.broken().len(), 1);
    }
    for name in ["Sub", "SUB", "Email_Verified", "sub_id"] {
        assert!(refusal(json!({ "name": name, "value": 1 })).contains("reserved"), "{name}");
    }
    for name in ["Email", "GROUPS", "Roles", "Address", "Given_Name"] {
        assert!(refusal(json!({ "name": name, "value": 1 })).contains("by its case alone"), "{name}");
    }
    for name in ["", "a b", "a\"b", "a\\b", "gr\u{fc}n", &"x".repeat(201)] {
        assert!(refusal(json!({ "name": name, "value": 1 })).contains("visible ASCII"), "{name}");
    }
    for name in
        ["https://example.com/roles", "urn:x:y", "resource_access", "groups", "roles", "email", "name"]
    {
        assert_eq!(check(&[definition(json!({ "name": name, "value": 1 })).unwrap()]), Ok(()), "{name}");
    }
}

/// A token that grows beyond what headers hold breaks every request.
#[test]
fn all_claims_of_a_token_are_bounded_together() {
    let text = "x".repeat(4_000);
    let many: Vec<Json> = (0..20)
        .map(|n| json!({ "name": format!("c{n}"), "value": text, "destinations": ["access_token", "userinfo"] }))
        .collect();
    let set = set(Json::Array(many), json!([]));
    let token = access_token("app", "openid");
    let records = records();
    for (destination, most) in [(Destination::AccessToken, 16 << 10), (Destination::Userinfo, 64 << 10)] {
        let mut failures = Vec::new();
        let written = set.write(destination, ClaimInput::for_client(&token, &records), &mut failures);
        assert!(written.as_bytes().len() <= most && written.as_bytes().len() > most - 5_000);
        assert_eq!(written.to_value().unwrap().as_object().unwrap().len() + failures.len(), 20);
        assert!(failures.iter().all(|failure| failure.why.contains("together")), "{failures:?}");
    }
}

#[test]
fn the_steps_of_all_expressions_are_bounded_together() {
    let slow = |n: usize| json!({ "name": format!("c{n}"), "expression": "groups.map(g, g.lowerAscii())" });
    let slow: Vec<_> = (0..50).map(|n| definition(slow(n)).unwrap()).collect();
    assert!(slow.iter().all(|one| check(std::slice::from_ref(one)).is_ok()));
    assert!(check(&slow).unwrap_err().to_string().contains("2,000,000 steps"));
}

/// Every claim of this server's tokens that is not about the user is reserved.
#[test]
fn no_definition_collides_with_a_claim_of_a_token() {
    let token = access_token("app", "openid offline_access");
    let written: Json = serde_json::from_slice(&token.to_json()).unwrap();
    for name in written.as_object().unwrap().keys() {
        assert!(refusal(json!({ "name": name, "value": 1 })).contains("reserved"), "{name}");
    }
}

#[test]
fn definitions_are_bounded() {
    let long = "x".repeat(5_000);
    assert!(refusal(json!({ "name": "a", "value": long })).contains("4 KiB"));
    assert!(
        refusal(json!({ "name": "a", "source": "email", "destinations": [] })).contains("no destination")
    );
    assert!(refusal(json!({ "name": "a", "source": "groups", "prefix": "\n" })).contains("prefix"));
    assert!(refusal(json!({ "name": "a", "source": "updated_at", "prefix": "x" })).contains("prefix"));
    for bad in ["", "a b", "a\"b", " a"] {
        assert!(refusal(json!({ "name": "a", "value": 1, "scope": bad })).contains("scope token"), "{bad}");
    }
    for (source, form) in [
        ("roles", "paths"),
        ("groups", "keycloak"),
        ("client_roles", "list"),
        ("client_roles", "space_separated"),
        ("auth_time", "list"),
        ("email_verified", "first"),
    ] {
        assert!(refusal(json!({ "name": "a", "source": source, "form": form })).contains("form"), "{source}");
    }
    let many = |count: usize| -> Vec<ClaimDefinition> {
        (0..count).map(|n| definition(json!({ "name": format!("c{n}"), "value": n })).unwrap()).collect()
    };
    assert_eq!(check(&many(50)), Ok(()));
    assert!(check(&many(51)).unwrap_err().to_string().contains("50 definitions"));
    let twice = [many(1), many(1)].concat();
    assert_eq!(check(&twice).unwrap_err().to_string(), "the claim c0: it is defined twice");
}

#[test]
fn every_source_and_form_has_its_value() {
    for (document, expected) in [
        (json!({ "source": "sub" }), json!("u-1")),
        (json!({ "source": "email" }), json!("ada@example.com")),
        (json!({ "source": "email", "form": "list" }), json!(["ada@example.com"])),
        (json!({ "source": "email_verified" }), json!(true)),
        (json!({ "source": "updated_at" }), json!(1_600_000_000)),
        (json!({ "source": "phone_number" }), json!("+44 1")),
        (json!({ "source": "nickname" }), Json::Null),
        (json!({ "source": "auth_time" }), json!(1_699_999_000)),
        (json!({ "source": "amr" }), json!(["pwd"])),
        (json!({ "source": "acr" }), json!("urn:symbolon:acr:1")),
        (json!({ "source": "groups" }), json!(["dev", "staff"])),
        (json!({ "source": "groups", "form": "paths" }), json!(["/dev", "/staff"])),
        (json!({ "source": "groups", "prefix": "oidc:" }), json!(["oidc:dev", "oidc:staff"])),
        (json!({ "source": "groups", "form": "space_separated" }), json!("dev staff")),
        (json!({ "source": "groups", "form": "comma_separated", "prefix": "p-" }), json!("p-dev,p-staff")),
        (json!({ "source": "groups", "form": "first" }), json!("dev")),
        (json!({ "source": "roles" }), json!(["admin", "editor", "viewer"])),
        (json!({ "source": "issuer_roles" }), json!(["admin", "viewer"])),
        (json!({ "source": "client_roles" }), json!({ "app": ["admin", "editor"], "other": ["owner"] })),
        (json!({ "source": "client_roles:other" }), json!(["owner"])),
        (json!({ "source": "client_roles:none" }), json!([])),
        (json!({ "source": "issuer_roles", "form": "keycloak" }), json!({ "roles": ["admin", "viewer"] })),
        (
            json!({ "source": "client_roles", "form": "keycloak" }),
            json!({ "app": { "roles": ["admin", "editor"] }, "other": { "roles": ["owner"] } }),
        ),
        (json!({ "value": { "a": [true, "\"b\""] } }), json!({ "a": [true, "\"b\""] })),
        (json!({ "expression": "roles.filter(r, r != 'viewer')" }), json!(["admin", "editor"])),
    ] {
        assert_eq!(value(document.clone()), expected, "{document}");
    }
}

/// The claim of a definition for a user with these attributes, by this schema.
fn of_attributes(schema: &Json, attributes: &Json, mut document: Json) -> Json {
    document["name"] = json!("it");
    let schema = serde_json::from_value(schema.clone()).unwrap();
    let definition = definition(document).unwrap();
    assert_eq!(check(std::slice::from_ref(&definition)), Ok(()));
    let mut ada = user();
    ada.profile.attributes = serde_json::from_value(attributes.clone()).unwrap();
    let records = UserRecords { user: Some(Arc::new(ada)), entitlements: None };
    let claims = ClaimSet::of(&[definition], &[], &schema);
    assert!(claims.need(Destination::Userinfo, &scope("openid")).user);
    shown(&claims, "openid", &records)["it"].take()
}

#[test]
fn attributes_are_sources_and_members_of_the_user_in_expressions() {
    let schema = json!([
        { "name": "team", "type": "string" },
        { "name": "level", "type": "number" },
        { "name": "ratio", "type": "number" },
        { "name": "staff", "type": "boolean" },
        { "name": "tags", "type": "list" },
        { "name": "cost-center", "type": "string" },
        { "name": "room", "type": "string" },
    ]);
    let attributes = json!({
        "team": "a\"b", "level": 3, "ratio": 1.5, "staff": true, "tags": ["x", "y z"], "cost-center": "7",
    });
    for (document, expected) in [
        (json!({ "source": "attribute:team" }), json!("a\"b")),
        (json!({ "source": "attribute:team", "form": "list", "prefix": "t:" }), json!(["t:a\"b"])),
        (json!({ "source": "attribute:level" }), json!(3)),
        (json!({ "source": "attribute:ratio" }), json!(1.5)),
        (json!({ "source": "attribute:staff" }), json!(true)),
        (json!({ "source": "attribute:tags" }), json!(["x", "y z"])),
        (json!({ "source": "attribute:tags", "form": "space_separated" }), json!("x")),
        (json!({ "source": "attribute:room" }), Json::Null),
        (json!({ "expression": "user.attributes.team + '!'" }), json!("a\"b!")),
        (json!({ "expression": "user.attributes.level + 1" }), json!(4)),
        (json!({ "expression": "user.attributes.ratio * 2.0" }), json!(3.0)),
        (json!({ "expression": "user.attributes.staff ? 'staff' : 'guest'" }), json!("staff")),
        (json!({ "expression": "user.attributes.tags.map(t, 'x:' + t)" }), json!(["x:x", "x:y z"])),
        (json!({ "expression": "user.attributes.tags.filter(t, t.startsWith('y'))" }), json!(["y z"])),
        (json!({ "expression": "'y z' in user.attributes.tags" }), json!(true)),
        (json!({ "expression": "user.attributes['cost-center']" }), json!("7")),
        (json!({ "expression": "has(user.attributes.room) ? 'yes' : 'no'" }), json!("no")),
        (json!({ "expression": "has(user.attributes.team) ? 'yes' : 'no'" }), json!("yes")),
        (json!({ "expression": "user.attributes.room" }), Json::Null),
        (json!({ "expression": "user.attributes" }), attributes.clone()),
    ] {
        assert_eq!(of_attributes(&schema, &attributes, document.clone()), expected, "{document}");
    }
}

/// As for an attribute with a scope: it is not known who may see a value without a definition, and applications rely on
/// the type.
#[test]
fn values_that_the_schema_does_not_know_any_more_are_not_told() {
    let attributes = json!({ "gone": "x", "level": "three", "team": "engines" });
    let schema = json!([{ "name": "level", "type": "number" }, { "name": "team", "type": "string" }]);
    for (document, expected) in [
        (json!({ "source": "attribute:level" }), Json::Null),
        (json!({ "expression": "user.attributes.gone" }), Json::Null),
        (json!({ "expression": "user.attributes" }), json!({ "team": "engines" })),
    ] {
        assert_eq!(of_attributes(&schema, &attributes, document.clone()), expected, "{document}");
    }
}

#[test]
fn a_definition_that_does_not_fit_the_schema_is_refused_and_left_out() {
    let schema = json!([
        { "name": "team", "type": "string" }, { "name": "level", "type": "number" },
        { "name": "staff", "type": "boolean" }, { "name": "tags", "type": "list" }, { "name": "since", "type": "date" },
    ]);
    let schema: AttributeSchema = serde_json::from_value(schema).unwrap();
    let scalar = "a number or truth value, which has neither form nor prefix";
    for (mut document, refused) in [
        (json!({ "source": "attribute:team", "form": "list", "prefix": "t:" }), None),
        (json!({ "source": "attribute:since", "form": "first" }), None),
        (json!({ "source": "attribute:tags", "form": "comma_separated" }), None),
        (json!({ "source": "attribute:level" }), None),
        (json!({ "source": "attribute:gone" }), Some("which the schema does not have")),
        (json!({ "source": "attribute:go\"ne" }), Some("the attribute go?ne, which")),
        (json!({ "source": "attribute:level", "form": "list" }), Some(scalar)),
        (json!({ "source": "attribute:staff", "prefix": "x" }), Some(scalar)),
    ] {
        document["name"] = json!("it");
        let definition = definition(document.clone()).unwrap();
        assert_eq!(check(std::slice::from_ref(&definition)), Ok(()), "by itself: {document}");
        let told = check_attributes(std::slice::from_ref(&definition), &schema);
        match refused {
            None => assert_eq!(told, Ok(()), "{document}"),
            Some(why) => assert!(told.is_err_and(|error| error.why.contains(why)), "{document}"),
        }
        let set = ClaimSet::of(&[definition], &[], &schema);
        assert_eq!(set.broken().len(), usize::from(refused.is_some()), "{document}");
        assert_eq!(set.need(Destination::Userinfo, &scope("openid")).user, refused.is_none(), "{document}");
    }
}

#[test]
fn a_user_with_nothing_has_empty_lists_but_no_empty_texts() {
    let nothing = UserRecords { user: None, entitlements: Some(Arc::new(Entitlements::default())) };
    let claims = set(
        json!([
            { "name": "list", "source": "groups" },
            { "name": "text", "source": "groups", "form": "comma_separated" },
            { "name": "first", "source": "roles", "form": "first" },
            { "name": "object", "source": "client_roles" },
            { "name": "email", "source": "email" },
        ]),
        json!([]),
    );
    assert_eq!(shown(&claims, "openid", &nothing), json!({ "list": [], "object": {} }));
    assert_eq!(shown(&claims, "openid", &UserRecords::default()), json!({}));
}

/// Whoever splits the text must not find a role that the user does not have.
#[test]
fn a_name_with_the_separator_in_it_is_left_out_of_a_text() {
    let held = |name: &str| HeldRole {
        id: RoleId::trusted(name),
        name: EntitlementName::parse(name).unwrap(),
        client_id: None,
    };
    let parent = EntitlementName::parse("staff").unwrap();
    let child = EntitlementName::parse("a b").unwrap();
    let group = HeldGroup { id: GroupId::trusted("1"), path: path([&parent, &child]), name: child };
    let held = Entitlements::of(vec![group], vec![held("x"), held("my admin"), held("y,admin")]);
    let records = UserRecords { user: None, entitlements: Some(Arc::new(held)) };
    let claims = set(
        json!([
            { "name": "spaces", "source": "roles", "form": "space_separated" },
            { "name": "commas", "source": "roles", "form": "comma_separated" },
            { "name": "paths", "source": "groups", "form": "paths" },
        ]),
        json!([]),
    );
    assert_eq!(
        shown(&claims, "openid", &records),
        json!({ "spaces": "x y,admin", "commas": "my admin,x", "paths": ["/staff/a b"] })
    );
}

#[test]
fn a_claim_goes_where_its_definition_says_and_only_with_its_scope() {
    let claims = set(
        json!([
            { "name": "always", "value": 1, "destinations": ["id_token", "introspection"] },
            { "name": "scoped", "source": "groups", "scope": "teams", "destinations": ["id_token", "access_token"] },
        ]),
        json!([]),
    );
    let records = records();
    for (scopes, destination, names) in [
        ("openid", Destination::IdToken, &["always"][..]),
        ("openid teams", Destination::IdToken, &["always", "scoped"]),
        ("openid", Destination::AccessToken, &[]),
        ("openid teams", Destination::AccessToken, &["scoped"]),
        ("openid teams", Destination::Userinfo, &[]),
        ("openid teams", Destination::Introspection, &["always"]),
    ] {
        let token = access_token("app", "openid");
        let token = crate::token::access_token::AccessToken { scope: scope(scopes), ..token };
        let input = ClaimInput::for_client(&token, &records);
        let written = claims.write(destination, input, &mut Vec::new()).to_value().unwrap();
        assert!(
            written.as_object().unwrap().keys().map(String::as_str).eq(names.iter().copied()),
            "{scopes} {destination:?}: {written}"
        );
        let needs = claims.need(destination, &scope(scopes)).entitlements;
        assert_eq!(needs, names.contains(&"scoped"), "{scopes} {destination:?}");
    }
}

#[test]
fn a_client_replaces_adds_and_switches_off() {
    let claims = set(
        json!([{ "name": "a", "value": 1 }, { "name": "b", "value": 1 }, { "name": "c", "value": 1 }]),
        json!([{ "name": "a", "value": 2 }, { "name": "b", "enabled": false }, { "name": "d", "value": 2 }]),
    );
    assert_eq!(shown(&claims, "openid", &records()), json!({ "a": 2, "c": 1, "d": 2 }));
    assert!(set(json!([]), json!([])).is_empty() && NO_CLAIMS.is_empty());
    assert!(!set(json!([]), json!([{ "name": "roles", "enabled": false }])).is_empty());
}

#[test]
fn a_failing_expression_leaves_out_its_claim_alone_and_is_told() {
    let claims = set(
        json!([
            { "name": "good", "value": 1 },
            { "name": "bad", "expression": "1 / (size(groups) - 2)" },
            { "name": "large", "expression": "user.name.replace('', user.name)" },
            { "name": "last", "expression": "size(groups)" },
        ]),
        json!([]),
    );
    assert!(claims.broken().is_empty());
    let mut ada = user();
    ada.profile.name = Some("x".repeat(90));
    let records = UserRecords { user: Some(Arc::new(ada)), ..records() };
    let token = access_token("app", "openid");
    let mut failures = Vec::new();
    let written = claims.write(Destination::IdToken, ClaimInput::for_client(&token, &records), &mut failures);
    assert_eq!(written.to_value().unwrap(), json!({ "good": 1, "last": 2 }));
    let told: Vec<_> = failures.iter().map(|failure| (failure.name.as_str(), failure.why.as_str())).collect();
    assert_eq!(told, [("bad", "division by zero"), ("large", "the result is longer than 4096 bytes")]);
    assert!(failures.iter().all(|failure| failure.destination == Destination::IdToken));
}

#[test]
fn a_client_that_acts_for_itself_has_no_claims_about_a_user() {
    let claims = set(json!([{ "name": "a", "value": 1, "destinations": ["access_token"] }]), json!([]));
    let token = access_token("app", "openid");
    let token = crate::token::access_token::AccessToken { sub: "client:app".into(), ..token };
    let none = UserRecords::default();
    let written =
        claims.write(Destination::AccessToken, ClaimInput::for_audience(&token, &none), &mut Vec::new());
    assert!(written.is_empty());
}

#[test]
fn a_resource_server_is_told_its_own_roles() {
    let claims =
        set(json!([{ "name": "r", "source": "roles", "destinations": ["access_token"] }]), json!([]));
    let token = access_token("app", "openid");
    let audience = crate::token::claim::Audience::of([crate::token::fixture::URL, "other"]);
    let token = crate::token::access_token::AccessToken { aud: audience, ..token };
    let records = records();
    let written =
        claims.write(Destination::AccessToken, ClaimInput::for_audience(&token, &records), &mut Vec::new());
    assert_eq!(written.to_value().unwrap(), json!({ "r": ["admin", "owner", "viewer"] }));
    assert_eq!(ClientId::trusted("app"), token.client_id);
    assert!(token.scope == Scope::parse("openid").unwrap());
}

#[test]
fn both_tokens_at_once_carry_what_each_would_carry_alone() {
    let both = json!(["id_token", "access_token"]);
    let definitions = json!([
        { "name": "prefixed", "expression": "groups.map(g, 'oidc:' + g)", "destinations": both },
        { "name": "mine", "expression": "roles", "destinations": both },
        { "name": "none", "expression": "user.nickname", "destinations": both },
        { "name": "wrong", "expression": "user.email + 1", "destinations": both },
        { "name": "only", "expression": "size(groups)", "destinations": ["access_token"] },
        { "name": "work", "expression": "'x'", "scope": "work", "destinations": both },
        { "name": "list", "source": "groups", "destinations": both },
    ]);
    let (set, records) = (set(definitions, json!([])), records());
    for (aud, scopes) in [("app", "openid"), ("app", "openid work"), ("other", "openid work")] {
        let mut token = access_token("app", scopes);
        token.aud = crate::token::claim::Audience::of([aud]);
        let inputs = [ClaimInput::for_client(&token, &records), ClaimInput::for_audience(&token, &records)];
        let mut failures = Vec::new();
        let together = set.write_both(inputs[0], inputs[1], &mut failures);
        let mut failures_alone = Vec::new();
        let alone = [Destination::IdToken, Destination::AccessToken]
            .into_iter()
            .zip(inputs)
            .map(|(destination, input)| set.write(destination, input, &mut failures_alone));
        assert_eq!(alone.collect::<Vec<_>>(), [together.0, together.1], "{aud} {scopes}");
        assert_eq!((failures.len(), failures), (2, failures_alone), "{aud} {scopes}");
    }
}
