use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::Header;

use super::*;
use crate::attribute::AttributeSchema;
use crate::claim_definition::{ClaimDefinition, ClaimSet};
use crate::entitlement::Entitlements;
use crate::token::fixture::{World, after, code, entitlements, family, scope, user};
use crate::token::{authorization_code, refresh_token};
use crate::user::User;

const EMAIL: &str = "ada@example.com";

fn records() -> UserRecords {
    UserRecords { user: Some(Arc::new(user())), entitlements: Some(Arc::new(entitlements())) }
}

fn plan(world: &World, scope: &str, records: UserRecords) -> IssuePlan {
    let mut plan = authorization_code::issue(&world.context(), &code(scope), after(3600));
    plan.release(&world.context(), records);
    plan
}

/// The claims of the ID token that a code of this scope yields, if it yields one.
fn id_token(world: &World, scope: &str, records: UserRecords) -> Option<Value> {
    plan(world, scope, records).id.map(|id| serde_json::from_slice(&id.to_json()).unwrap())
}

fn access_token(world: &World, scope: &str, records: UserRecords) -> Value {
    serde_json::from_slice(&plan(world, scope, records).access.to_json()).unwrap()
}

#[test]
fn an_id_token_carries_the_claims_of_the_granted_scopes() {
    let world = World::new();
    let claims = id_token(&world, "openid profile email", records()).unwrap();
    assert_eq!((&claims["email"], &claims["email_verified"]), (&json!(EMAIL), &json!(true)));
    assert_eq!((&claims["preferred_username"], &claims["sub"]), (&json!("ada"), &json!("u-1")));
    for absent in ["phone_number", "address", "groups", "roles"] {
        assert!(claims.get(absent).is_none(), "{claims}");
    }
    let claims = id_token(&world, "phone openid address groups roles", records()).unwrap();
    assert_eq!((&claims["phone_number"], &claims["address"]["country"]), (&json!("+44 1"), &json!("GB")));
    assert_eq!(claims["groups"], json!(["dev", "staff"]));
    assert_eq!(claims["roles"], json!(["admin", "editor", "viewer"]));
    assert!(claims.get("email").is_none() && claims.get("updated_at").is_none(), "{claims}");
}

#[test]
fn an_access_token_carries_roles_but_no_groups_and_nothing_of_the_profile() {
    let world = World::new();
    let claims = access_token(&world, "openid email groups roles", records());
    assert_eq!(claims["roles"], json!(["admin", "editor", "viewer"]));
    assert!(claims.get("groups").is_none() && claims.get("email").is_none(), "{claims}");
    let claims = access_token(&world, "openid email groups", records());
    assert!(claims.get("roles").is_none(), "{claims}");
    // Without an ID token, too.
    assert_eq!(access_token(&world, "api roles", records())["roles"], json!(["admin", "editor", "viewer"]));
}

#[test]
fn an_id_token_carries_the_attributes_that_a_scope_releases() {
    let mut world = World::new();
    world.settings.attributes = serde_json::from_value(json!([
        { "name": "level", "type": "number", "scope": "api" },
        { "name": "note", "type": "string" },
    ]))
    .unwrap();
    let mut ada = user();
    ada.profile.attributes = serde_json::from_value(json!({ "level": 3, "note": "x" })).unwrap();
    let known = || UserRecords { user: Some(Arc::new(ada.clone())), entitlements: None };
    let claims = id_token(&world, "openid api", known()).unwrap();
    assert_eq!((&claims["level"], claims.get("note")), (&json!(3), None));
    assert_eq!(access_token(&world, "openid api", known()).get("level"), None);
    assert_eq!(id_token(&world, "openid email", known()).unwrap().get("level"), None);
    assert_eq!((needed(&world, "openid api"), needed(&world, "openid")), ((true, false), (false, false)));
    assert_eq!(needed(&world, "api"), (false, false), "there is no ID token");
    world.client.settings.id_token_claims = Some(IdTokenClaims::Minimal);
    assert_eq!(id_token(&world, "openid api", known()).unwrap().get("level"), None);
    assert_eq!(needed(&world, "openid api"), (false, false));
}

fn needed(world: &World, text: &str) -> (bool, bool) {
    let RecordsNeeded { user, entitlements } = RecordsNeeded::by(&world.context(), &scope(text));
    (user, entitlements)
}

#[test]
fn nothing_is_needed_beyond_what_the_tokens_carry() {
    let mut world = World::new();
    for (scope, scopes, minimal) in [
        ("openid", (false, false), (false, false)),
        ("openid offline_access api", (false, false), (false, false)),
        ("openid email", (true, false), (false, false)),
        ("openid groups", (true, true), (false, false)),
        // Access tokens carry roles in any case.
        ("openid profile roles", (true, true), (true, true)),
        ("api roles", (true, true), (true, true)),
        // There is no ID token.
        ("profile email groups", (false, false), (false, false)),
    ] {
        world.settings.id_token_claims = IdTokenClaims::Scopes;
        assert_eq!(needed(&world, scope), scopes, "{scope}");
        world.settings.id_token_claims = IdTokenClaims::Minimal;
        assert_eq!(needed(&world, scope), minimal, "{scope}, minimal");
    }
}

#[test]
fn the_setting_of_the_client_comes_before_the_issuers() {
    const ALL: &str = "openid profile email address phone groups roles";
    let mut world = World::new();
    let bare = id_token(&world, "openid", UserRecords::default());
    assert_eq!(id_token(&world, "openid", records()), bare);
    for (issuers, clients, is_bare) in [
        (IdTokenClaims::Scopes, None, false),
        (IdTokenClaims::Minimal, None, true),
        (IdTokenClaims::Scopes, Some(IdTokenClaims::Minimal), true),
        (IdTokenClaims::Minimal, Some(IdTokenClaims::Scopes), false),
    ] {
        world.settings.id_token_claims = issuers;
        world.client.settings.id_token_claims = clients;
        assert_eq!(id_token(&world, ALL, records()) == bare, is_bare, "{issuers:?} {clients:?}");
        assert!(access_token(&world, ALL, records()).get("roles").is_some(), "{issuers:?} {clients:?}");
    }
}

#[test]
fn a_user_without_a_record_or_who_may_not_sign_in_is_not_described() {
    let world = World::new();
    let inactive = User { active: false, ..user() };
    let inactive = UserRecords { user: Some(Arc::new(inactive)), ..records() };
    let bare = id_token(&world, "openid", UserRecords::default());
    for records in [UserRecords::default(), inactive] {
        assert_eq!(id_token(&world, "openid email groups roles", records), bare);
    }
}

#[test]
fn the_scope_that_is_left_to_the_client_decides() {
    let mut world = World::new();
    world.client.scope = scope("openid profile");
    let claims = id_token(&world, "openid profile email roles", records()).unwrap();
    assert!(claims.get("name").is_some(), "{claims}");
    assert!(claims.get("email").is_none() && claims.get("roles").is_none(), "{claims}");
    assert!(access_token(&world, "openid profile roles", records()).get("roles").is_none());

    // A refresh that asks for less.
    let mut plan = refresh_token::issue(&world.context(), &family(), scope("openid email"), true);
    plan.release(&world.context(), records());
    let claims: Value = serde_json::from_slice(&plan.id.unwrap().to_json()).unwrap();
    assert!(claims.get("name").is_none() && claims["email"] == EMAIL, "{claims}");
}

#[test]
fn a_user_without_groups_and_roles_has_empty_lists() {
    let none = UserRecords { user: None, entitlements: Some(Arc::new(Entitlements::default())) };
    let claims = id_token(&World::new(), "openid groups roles", none).unwrap();
    assert_eq!((&claims["groups"], &claims["roles"]), (&json!([]), &json!([])));
}

/// The claims of definitions in the tokens of a code grant with this scope: of the ID token, and of the access token.
fn defined(definitions: Value, scopes: &str) -> (Value, Value) {
    let definitions: Vec<ClaimDefinition> = serde_json::from_value(definitions).unwrap();
    let mut world =
        World { claims: ClaimSet::of(&definitions, &[], &AttributeSchema::default()), ..World::new() };
    world.client.scope = scope("openid profile email groups roles teams");
    (id_token(&world, scopes, records()).unwrap(), access_token(&world, scopes, records()))
}

#[test]
fn definitions_put_claims_into_the_tokens_they_name() {
    let definitions = json!([
        { "name": "https://example.com/roles", "source": "roles", "scope": "roles",
          "destinations": ["id_token", "access_token"] },
        { "name": "team", "expression": "groups.filter(g, g == 'dev')[0]", "scope": "teams" },
    ]);
    let roles = json!(["admin", "editor", "viewer"]);
    let (id, access) = defined(definitions.clone(), "openid roles");
    assert_eq!((&id["https://example.com/roles"], &access["https://example.com/roles"]), (&roles, &roles));
    assert!(id.get("team").is_none() && access.get("team").is_none(), "{id}");
    let (id, access) = defined(definitions, "openid teams");
    assert!(id.get("https://example.com/roles").is_none(), "{id}");
    assert_eq!((&id["team"], access.get("team")), (&json!("dev"), None));
}

/// RFC 7519 4: the names within a claims set MUST be unique.
#[test]
fn a_definition_takes_the_place_of_the_attribute_of_its_name() {
    let mut world = World::new();
    world.client.scope = scope("openid work");
    world.settings.attributes = serde_json::from_value(json!([
        { "name": "team", "type": "string", "scope": "work" },
        { "name": "level", "type": "number", "scope": "work" },
        { "name": "room", "type": "string", "scope": "work" },
    ]))
    .unwrap();
    let mut ada = user();
    ada.profile.attributes =
        serde_json::from_value(json!({ "team": "engines", "level": 3, "room": "12" })).unwrap();
    let told = |world: &World| {
        let known = UserRecords { user: Some(Arc::new(ada.clone())), entitlements: None };
        String::from_utf8(plan(world, "openid work", known).id.unwrap().to_json()).unwrap()
    };
    let id = told(&world);
    assert!(id.contains(r#""team":"engines","level":3,"room":"12""#), "{id}");
    let definitions: Vec<ClaimDefinition> = serde_json::from_value(json!([
        { "name": "team", "source": "attribute:team", "form": "list" },
        { "name": "room", "enabled": false },
    ]))
    .unwrap();
    world.claims = ClaimSet::of(&definitions, &[], &world.settings.attributes);
    let id = told(&world);
    assert_eq!((id.matches(r#""team":"#).count(), id.matches(r#""room":"#).count()), (1, 0), "{id}");
    assert!(id.contains(r#""team":["engines"]"#) && id.contains(r#""level":3"#), "{id}");
    // To switch off an attribute takes no other definition.
    world.claims = ClaimSet::of(&definitions[1..], &[], &world.settings.attributes);
    let id = told(&world);
    assert!(id.contains(r#""team":"engines","level":3"#) && !id.contains("room"), "{id}");
}

/// RFC 7519 4: the names within a claims set MUST be unique.
#[test]
fn a_definition_takes_the_place_of_the_standard_claim_of_its_name() {
    let written = |definitions: Value, scopes: &str| {
        let definitions: Vec<ClaimDefinition> = serde_json::from_value(definitions).unwrap();
        let world =
            World { claims: ClaimSet::of(&definitions, &[], &AttributeSchema::default()), ..World::new() };
        let plan = plan(&world, scopes, records());
        [plan.id.unwrap().to_json(), plan.access.to_json()].map(|json| String::from_utf8(json).unwrap())
    };
    let definitions = json!([
        { "name": "groups", "source": "groups", "form": "paths" },
        { "name": "roles", "source": "issuer_roles", "form": "space_separated", "destinations": ["access_token"] },
        { "name": "email", "value": "work@example.com" },
        { "name": "name", "enabled": false },
    ]);
    let [id, access] = written(definitions, "openid profile email groups roles");
    assert_eq!(id.matches(r#""groups":"#).count(), 1, "{id}");
    assert!(
        id.contains(r#""groups":["/dev","/staff"]"#) && id.contains(r#""email":"work@example.com""#),
        "{id}"
    );
    assert!(id.contains(r#""preferred_username":"ada""#), "{id}");
    for gone in [r#""roles""#, r#""email_verified""#, r#""name""#] {
        assert!(!id.contains(gone), "{gone}: {id}");
    }
    assert_eq!(access.matches(r#""roles":"#).count(), 1, "{access}");
    assert!(access.contains(r#""roles":"admin viewer""#), "{access}");
    // The server reads its own token, whatever form the claim has.
    let header = Header { alg: Algorithm::Rs256, kid: None, typ: Some("at+jwt".into()), cty: None };
    let read = AccessToken::parse(&header, access.as_bytes()).unwrap();
    assert_eq!((read.roles, read.defined.is_empty()), (None, true));
}

#[test]
fn minimal_id_tokens_carry_no_defined_claims_and_need_nothing_for_them() {
    let definitions: Vec<ClaimDefinition> = serde_json::from_value(
        json!([{ "name": "g", "source": "groups" }, { "name": "n", "source": "nickname" }]),
    )
    .unwrap();
    let mut world =
        World { claims: ClaimSet::of(&definitions, &[], &AttributeSchema::default()), ..World::new() };
    assert_eq!(needed(&world, "openid"), (true, true));
    assert_eq!(id_token(&world, "openid", records()).unwrap()["g"], json!(["dev", "staff"]));
    assert_eq!(needed(&world, "api"), (false, false), "there is no ID token");
    world.settings.id_token_claims = IdTokenClaims::Minimal;
    assert_eq!(needed(&world, "openid"), (false, false));
    assert!(id_token(&world, "openid", records()).unwrap().get("g").is_none());
}

#[test]
fn a_refresh_and_an_exchange_release_them_too() {
    let definitions: Vec<ClaimDefinition> = serde_json::from_value(
        json!([{ "name": "g", "source": "groups", "destinations": ["id_token", "access_token"] }]),
    )
    .unwrap();
    let world =
        World { claims: ClaimSet::of(&definitions, &[], &AttributeSchema::default()), ..World::new() };
    let mut plan = refresh_token::issue(&world.context(), &family(), scope("openid"), true);
    assert_eq!(plan.release(&world.context(), records()), []);
    let id: Value = serde_json::from_slice(&plan.id.unwrap().to_json()).unwrap();
    assert_eq!(id["g"], json!(["dev", "staff"]));

    let mut access = *plan.access;
    assert!(RecordsNeeded::by_access_token(&world.context(), &access).entitlements);
    access.defined = Default::default();
    assert_eq!(release_to_access_token(&world.context(), &mut access, &records()), []);
    let claims: Value = serde_json::from_slice(&access.to_json()).unwrap();
    assert_eq!(claims["g"], json!(["dev", "staff"]));
}
