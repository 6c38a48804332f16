use serde_json::{Value, json};

use super::*;
use crate::token::fixture::{entitlements, scope, user};
use crate::user::{Address, UserProfile};

fn written_from(records: UserRecords, text: &str) -> Value {
    let mut json = Object::with_capacity(0);
    let claims = UserClaims::of(records, RequestedClaims::by(&scope(text)));
    claims.write(&ClientId::trusted("app"), &mut json);
    serde_json::from_slice(&json.end()).unwrap()
}

fn written(user: &User, text: &str) -> Value {
    written_from(UserRecords { user: Some(Arc::new(user.clone())), entitlements: None }, text)
}

#[test]
fn each_scope_requests_its_claims_by_openid_connect_core_5_4() {
    let ada = user();
    for (scope, expected) in [
        ("openid", json!({})),
        ("openid offline_access api", json!({})),
        ("email", json!({"email": "ada@example.com", "email_verified": true})),
        (
            "profile",
            json!({
                "name": "Ada \"Countess\" Lovelace", "preferred_username": "ada", "updated_at": 1_600_000_000
            }),
        ),
        ("address", json!({"address": {"country": "GB"}})),
        ("phone", json!({"phone_number": "+44 1", "phone_number_verified": false})),
        (
            "phone openid email",
            json!({
                "email": "ada@example.com", "email_verified": true, "phone_number": "+44 1",
                "phone_number_verified": false
            }),
        ),
    ] {
        assert_eq!(written(&ada, scope), expected, "{scope}");
        let needs_user = expected != json!({});
        assert_eq!(RequestedClaims::by(&Scope::parse(scope).unwrap()).need_user(), needs_user, "{scope}");
    }
}

#[test]
fn a_claim_without_a_value_is_left_out() {
    let nobody = User { email: None, profile: UserProfile::default(), ..user() };
    assert_eq!(written(&nobody, "email phone address profile"), json!({"updated_at": 1_600_000_000}));
}

#[test]
fn every_text_of_a_profile_is_written_by_its_own_name() {
    let mut ada = user();
    let profile = &mut *ada.profile;
    for (name, member) in [
        ("name", &mut profile.name),
        ("given_name", &mut profile.given_name),
        ("family_name", &mut profile.family_name),
        ("middle_name", &mut profile.middle_name),
        ("nickname", &mut profile.nickname),
        ("preferred_username", &mut profile.preferred_username),
        ("profile", &mut profile.profile),
        ("picture", &mut profile.picture),
        ("website", &mut profile.website),
        ("gender", &mut profile.gender),
        ("birthdate", &mut profile.birthdate),
        ("zoneinfo", &mut profile.zoneinfo),
        ("locale", &mut profile.locale),
    ] {
        *member = Some(format!("of {name}"));
    }
    profile.address = Some(Box::new(Address { locality: Some("\u{1}".to_owned()), ..Address::default() }));
    let all = written(&ada, "address profile");
    for name in PROFILE_CLAIMS {
        assert_eq!(all[*name], json!(format!("of {name}")));
    }
    assert_eq!(PROFILE_CLAIMS.len(), 13);
    assert_eq!(all["address"], json!({"locality": "\u{1}"}));
}

#[test]
fn groups_and_roles_are_lists_of_names_and_each_has_its_scope() {
    let known = |entitlements| UserRecords { user: None, entitlements: Some(Arc::new(entitlements)) };
    let roles = json!(["admin", "editor", "viewer"]);
    for (scope, expected) in [
        ("openid", json!({})),
        ("groups", json!({"groups": ["dev", "staff"]})),
        ("roles", json!({"roles": roles})),
        ("roles groups", json!({"groups": ["dev", "staff"], "roles": roles})),
    ] {
        assert_eq!(written_from(known(entitlements()), scope), expected, "{scope}");
        let requested = RequestedClaims::by(&Scope::parse(scope).unwrap());
        assert_eq!((requested.need_entitlements(), requested.need_user()), (expected != json!({}), false));
    }
    let none = known(Entitlements::default());
    assert_eq!(written_from(none, "groups roles"), json!({"groups": [], "roles": []}));
    assert_eq!(written_from(UserRecords::default(), "groups roles"), json!({}), "nothing is known");
}

#[test]
fn a_role_of_another_client_is_never_told_and_a_name_comes_once() {
    let all = entitlements();
    let names = |client| role_names(&all, client).collect::<Vec<_>>();
    assert_eq!(names(Some("app")), ["admin", "editor", "viewer"]);
    assert_eq!(names(Some("other")), ["admin", "owner", "viewer"]);
    assert_eq!(names(Some("third")), ["admin", "viewer"]);
    assert_eq!(names(None), ["admin", "viewer"]);
}
