use serde_json::{Value, json};

use super::*;
use crate::token::fixture::{World, after, code, family, scope, user};
use crate::token::{authorization_code, refresh_token};

const EMAIL: &str = "ada@example.com";

fn records() -> UserRecords {
    UserRecords { user: Some(Arc::new(user())) }
}

/// The claims of the ID token that a code of this scope yields, if it yields one.
fn id_token(world: &World, scope: &str, records: &UserRecords) -> Option<Value> {
    let mut plan = authorization_code::issue(&world.context(), &code(scope), after(3600));
    plan.release(&world.context(), records);
    plan.id.map(|id| serde_json::from_slice(&id.to_json()).unwrap())
}

#[test]
fn an_id_token_carries_the_claims_of_the_granted_scopes() {
    let world = World::new();
    let claims = id_token(&world, "openid profile email", &records()).unwrap();
    assert_eq!((&claims["email"], &claims["email_verified"]), (&json!(EMAIL), &json!(true)));
    assert_eq!((&claims["preferred_username"], &claims["sub"]), (&json!("ada"), &json!("u-1")));
    assert!(claims.get("phone_number").is_none() && claims.get("address").is_none(), "{claims}");
    let claims = id_token(&world, "phone openid address", &records()).unwrap();
    assert_eq!((&claims["phone_number"], &claims["address"]["country"]), (&json!("+44 1"), &json!("GB")));
    assert!(claims.get("email").is_none() && claims.get("updated_at").is_none(), "{claims}");
}

#[test]
fn without_such_scopes_or_with_minimal_nothing_is_needed_and_nothing_is_added() {
    let mut world = World::new();
    let bare = id_token(&world, "openid", &UserRecords::default()).unwrap();
    assert!(!RecordsNeeded::by(&world.context(), &scope("openid offline_access api")).user);
    assert!(!RecordsNeeded::by(&world.context(), &scope("profile email")).user, "there is no ID token");
    assert!(RecordsNeeded::by(&world.context(), &scope("openid email")).user);
    assert_eq!(id_token(&world, "openid", &records()), Some(bare.clone()));
    assert_eq!(id_token(&world, "email", &records()), None);

    let all = scope("openid profile email address phone");
    for (issuers, clients, needed) in [
        (IdTokenClaims::Scopes, None, true),
        (IdTokenClaims::Minimal, None, false),
        (IdTokenClaims::Scopes, Some(IdTokenClaims::Minimal), false),
        (IdTokenClaims::Minimal, Some(IdTokenClaims::Scopes), true),
    ] {
        world.settings.id_token_claims = issuers;
        world.client.settings.id_token_claims = clients;
        assert_eq!(RecordsNeeded::by(&world.context(), &all).user, needed, "{issuers:?} {clients:?}");
        let claims = id_token(&world, all.as_str(), &records()).unwrap();
        assert_eq!(claims == bare, !needed, "{issuers:?} {clients:?}");
    }
}

#[test]
fn a_user_without_a_record_or_who_may_not_sign_in_is_not_described() {
    let world = World::new();
    let inactive = UserRecords { user: Some(Arc::new(User { active: false, ..user() })) };
    let bare = id_token(&world, "openid", &UserRecords::default());
    for records in [UserRecords::default(), inactive] {
        assert_eq!(id_token(&world, "openid email", &records), bare);
    }
}

#[test]
fn the_scope_that_is_left_to_the_client_decides() {
    let mut world = World::new();
    world.client.scope = scope("openid profile");
    let claims = id_token(&world, "openid profile email", &records()).unwrap();
    assert!(claims.get("name").is_some() && claims.get("email").is_none(), "{claims}");

    // A refresh that asks for less.
    let mut plan = refresh_token::issue(&world.context(), &family(), scope("openid email"), true);
    plan.release(&world.context(), &records());
    let claims: Value = serde_json::from_slice(&plan.id.unwrap().to_json()).unwrap();
    assert!(claims.get("name").is_none() && claims["email"] == EMAIL, "{claims}");
}
