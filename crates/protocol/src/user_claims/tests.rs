use serde_json::{Value, json};

use super::*;
use crate::token::fixture::{scope, user};
use crate::user::{Address, UserProfile};

fn written(user: &User, text: &str) -> Value {
    let mut json = Object::with_capacity(0);
    write(user, RequestedClaims::by(&scope(text)), &mut json);
    serde_json::from_slice(&json.end()).unwrap()
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
