use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::claim_definition::NO_CLAIMS;
use crate::token::claim::Audience;
use crate::token::fixture::{NOW, URL, access_token, after, entitlements, user};

fn records(user: User) -> UserRecords {
    UserRecords { user: Some(Arc::new(user)), entitlements: Some(Arc::new(entitlements())) }
}

fn shown_to(client: &str, scope: &str, user: User) -> Value {
    let token = access_token(client, scope);
    serde_json::from_slice(
        &claims(&token, records(user), (&AttributeSchema::default(), NOW)).unwrap().to_json(),
    )
    .unwrap()
}

fn shown(scope: &str) -> Value {
    shown_to("app", scope, user())
}

#[test]
fn claims_by_scope_of_openid_connect_core_5_4() {
    for (scope, expected) in [
        ("openid", json!({"sub": "u-1"})),
        ("openid email", json!({"sub": "u-1", "email": "ada@example.com", "email_verified": true})),
        (
            "openid profile",
            json!({
                "sub": "u-1", "name": "Ada \"Countess\" Lovelace", "preferred_username": "ada",
                "updated_at": 1_600_000_000
            }),
        ),
        ("openid address", json!({"sub": "u-1", "address": {"country": "GB"}})),
        ("openid phone", json!({"sub": "u-1", "phone_number": "+44 1", "phone_number_verified": false})),
        ("openid api", json!({"sub": "u-1"})),
        ("openid groups", json!({"sub": "u-1", "groups": ["dev", "staff"]})),
        ("openid roles", json!({"sub": "u-1", "roles": ["admin", "editor", "viewer"]})),
    ] {
        assert_eq!(shown(scope), expected, "{scope}");
        let needed = needs_entitlements(&access_token("app", scope), &NO_CLAIMS);
        assert_eq!(needed, scope.contains("groups") || scope.contains("roles"), "{scope}");
    }
}

#[test]
fn roles_are_those_of_the_client_that_the_token_was_issued_to() {
    let roles = shown_to("other", "openid roles", user())["roles"].clone();
    assert_eq!(roles, json!(["admin", "owner", "viewer"]));
}

#[test]
fn attributes_are_told_by_the_scopes_of_the_schema() {
    let schema: AttributeSchema = serde_json::from_value(json!([
        { "name": "level", "type": "number", "scope": "api" },
        { "name": "team", "type": "list", "scope": "api" },
        { "name": "room", "type": "string", "scope": "api" },
        { "name": "note", "type": "string" },
    ]))
    .unwrap();
    let mut ada = user();
    ada.profile.attributes =
        serde_json::from_value(json!({ "level": 1.5, "team": ["a\"b"], "note": "secret" })).unwrap();
    let told = |scope: &str, schema: &AttributeSchema| -> Value {
        let token = access_token("app", scope);
        serde_json::from_slice(&claims(&token, records(ada.clone()), (schema, NOW)).unwrap().to_json())
            .unwrap()
    };
    assert_eq!(told("openid api", &schema), json!({ "sub": "u-1", "level": 1.5, "team": ["a\"b"] }));
    assert_eq!(told("openid", &schema), json!({ "sub": "u-1" }));
    assert_eq!(told("openid api", &AttributeSchema::default()), json!({ "sub": "u-1" }));
}

#[test]
fn claims_that_a_user_lacks_are_left_out() {
    let nobody = User { email: None, profile: crate::user::UserProfile::default(), ..user() };
    let json = shown_to("app", "openid email phone address profile", nobody);
    assert_eq!(json, json!({"sub": "u-1", "updated_at": 1_600_000_000}));
}

#[test]
fn who_may_ask() {
    let good = access_token("app", "openid email");
    let elsewhere = AccessToken { aud: Audience::one("https://api.example.com"), ..good.clone() };
    let both = AccessToken { aud: Audience::of(["https://api.example.com", URL]), ..good.clone() };
    let other_issuer = AccessToken { iss: "https://other.example.com".to_owned(), ..good.clone() };
    for (token, now, answer) in [
        (&good, NOW, Ok(())),
        (&both, NOW, Ok(())),
        (&good, after(3600), Err(ErrorCode::InvalidToken)),
        (&elsewhere, NOW, Err(ErrorCode::InvalidToken)),
        (&other_issuer, NOW, Err(ErrorCode::InvalidToken)),
        (&access_token("app", "email"), NOW, Err(ErrorCode::InsufficientScope)),
    ] {
        assert_eq!(check(token, URL, now).map_err(|error| error.code), answer);
    }
}

#[test]
fn the_user_must_be_there_active_and_the_tokens_own() {
    let token = access_token("app", "openid");
    let inactive = User { active: false, ..user() };
    let another = User { id: crate::id::UserId::trusted("u-2"), ..user() };
    for records in [UserRecords::default(), records(inactive), records(another)] {
        let answer =
            claims(&token, records, (&AttributeSchema::default(), NOW)).map(drop).map_err(|error| error.code);
        assert_eq!(answer, Err(ErrorCode::InvalidToken));
    }
}

#[test]
fn a_definition_takes_the_place_of_the_attribute_of_its_name() {
    let schema: AttributeSchema = serde_json::from_value(json!([
        { "name": "team", "type": "string", "scope": "api" },
        { "name": "level", "type": "number", "scope": "api" },
    ]))
    .unwrap();
    let definitions: Vec<crate::claim_definition::ClaimDefinition> = serde_json::from_value(
        json!([{ "name": "team", "expression": "user.attributes.team.upperAscii()" }]),
    )
    .unwrap();
    let set = ClaimSet::of(&definitions, &[], &schema);
    let mut ada = user();
    ada.profile.attributes = serde_json::from_value(json!({ "team": "engines", "level": 3 })).unwrap();
    let token = access_token("app", "openid api");
    let mut failures = Vec::new();
    let info = claims(&token, records(ada), (&schema, NOW)).unwrap().define(&set, &mut failures).to_json();
    assert_eq!(failures, []);
    let text = String::from_utf8(info).unwrap();
    assert_eq!(text.matches(r#""team":"#).count(), 1, "{text}");
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told, json!({ "sub": "u-1", "level": 3, "team": "ENGINES" }));
}

#[test]
fn definitions_add_claims_and_take_the_place_of_standard_ones() {
    let definitions = serde_json::from_value::<Vec<crate::claim_definition::ClaimDefinition>>(json!([
        { "name": "teams", "source": "groups", "form": "comma_separated", "scope": "teams" },
        { "name": "email", "expression": "user.email.upperAscii()", "scope": "email" },
    ]));
    let claims_of = ClaimSet::of(&definitions.unwrap(), &[], &AttributeSchema::default());
    let told = |scopes: &str| -> Value {
        let token =
            AccessToken { scope: crate::token::fixture::scope(scopes), ..access_token("app", "openid") };
        let mut failures = Vec::new();
        let info = claims(&token, records(user()), (&AttributeSchema::default(), NOW))
            .unwrap()
            .define(&claims_of, &mut failures);
        assert_eq!(failures, []);
        serde_json::from_slice(&info.to_json()).unwrap()
    };
    assert_eq!(told("openid"), json!({"sub": "u-1"}));
    assert_eq!(told("openid email"), json!({"sub": "u-1", "email": "ADA@EXAMPLE.COM"}));
    assert_eq!(told("openid teams"), json!({"sub": "u-1", "teams": "dev,staff"}));
    let needs = |scopes: &str| needs_entitlements(&access_token("app", scopes), &claims_of);
    assert!(!needs("openid email"));
}

/// OpenID Connect Core 5.3.2; RFC 8725 3.12: what other kinds of token need is not in it.
#[test]
fn a_signed_answer_names_issuer_and_client_and_is_no_other_kind_of_token() {
    let token = access_token("app", "openid profile email");
    let info = claims(&token, records(user()), (&AttributeSchema::default(), NOW)).unwrap();
    let signed: Value = serde_json::from_slice(&info.to_signed_claims()).unwrap();
    let mut expected: Value = serde_json::from_slice(&info.to_json()).unwrap();
    expected["iss"] = json!(URL);
    expected["aud"] = json!("app");
    assert_eq!(signed, expected);
    for absent in ["exp", "jti", "client_id"] {
        assert_eq!(signed.get(absent), None, "{absent}");
    }
}

#[test]
fn a_request_without_a_name_gets_a_uuid() {
    let found = [[0; 16], [255; 16]].map(new_interaction_id);
    assert_eq!(found, ["00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"]);
    assert!(found.iter().all(|name| is_interaction_id(name.as_bytes())));
}
