use serde_json::{Value, json};

use super::*;
use crate::attribute::AttributeSchema;
use crate::claim_definition::{ClaimDefinition, ClaimInput, ClaimSet, Destination};
use crate::token::fixture::{NOW, URL, access_token, after, client, family, user};
use crate::user_claims::UserRecords;

const API: &str = "https://api.example.com";

fn inquiry<'a>(caller: &'a Client) -> Inquiry<'a> {
    Inquiry { caller, issuer_url: URL, now: NOW, strict: None }
}

fn body(answer: Result<Introspection<'_>, Refusal>) -> Value {
    serde_json::from_slice(&answer.unwrap_or(INACTIVE).to_json()).unwrap()
}

#[test]
fn an_active_access_token_shows_the_members_of_rfc_7662_section_2_2() {
    let app = client("app");
    let mut token = access_token("app", "openid email");
    token.aud = OneOrMany::of([URL, API]);
    token.act = Some(Actor::new("client:bff", Some("bff")));
    token.resource = OneOrMany::one(API);
    // RFC 9470 6.2.
    (token.auth_time, token.acr) = (Some(1_700_000_000), Some("phr".into()));
    let ada = user();
    let body = body(of_access_token(&inquiry(&app), &token, Some(&ada)));
    assert_eq!(
        body,
        json!({
            "active": true, "scope": "openid email", "client_id": "app", "username": "ada@example.com",
            "token_type": "Bearer", "exp": token.exp, "iat": token.iat, "sub": "u-1", "aud": [URL, API],
            "iss": URL, "jti": token.jti.as_str(), "act": {"sub": "client:bff", "client_id": "bff"},
            "auth_time": 1_700_000_000, "acr": "phr",
            "resource": API
        })
    );
}

#[test]
fn a_bound_token_shows_its_key_by_rfc_9449_section_6_2() {
    let app = client("app");
    let mut token = access_token("app", "openid");
    assert!(body(of_access_token(&inquiry(&app), &token, None)).get("cnf").is_none());
    token.cnf.jkt = Some("jkt".into());
    let body = body(of_access_token(&inquiry(&app), &token, None));
    assert_eq!((&body["token_type"], &body["cnf"]), (&json!("DPoP"), &json!({ "jkt": "jkt" })));
}

#[test]
fn the_roles_of_a_token_are_shown_even_if_there_are_none() {
    let app = client("app");
    let mut token = access_token("app", "openid roles");
    assert!(body(of_access_token(&inquiry(&app), &token, None)).get("roles").is_none());
    for roles in [&[][..], &["admin", "editor"]] {
        token.roles = Some(roles.iter().copied().map(smol_str::SmolStr::new).collect());
        assert_eq!(body(of_access_token(&inquiry(&app), &token, None))["roles"], json!(roles));
    }
}

#[test]
fn inactive_says_nothing_else() {
    assert_eq!(INACTIVE.to_json(), br#"{"active":false}"#);
}

#[test]
fn a_client_learns_only_about_tokens_meant_for_it() {
    let mut token = access_token("front", "openid");
    let mut api = client("api");
    assert!(!may_see(&api, &token));
    api.audiences = vec![API.to_owned()];
    assert!(!may_see(&api, &token));
    token.aud = OneOrMany::of([URL, API]);
    assert!(may_see(&api, &token), "one of its audiences");
    api.audiences = vec![URL.to_owned()];
    assert!(may_see(&api, &token), "the issuer itself, registered by an admin");
    api.audiences.clear();
    token.aud = OneOrMany::one("api");
    assert!(may_see(&api, &token), "named itself");
    assert!(may_see(&client("front"), &token), "issued to it");
    assert_eq!(body(of_access_token(&inquiry(&client("other")), &token, None)), json!({"active": false}));
}

#[test]
fn tokens_that_are_not_good_are_inactive() {
    let app = client("app");
    let token = access_token("app", "openid");
    let inactive = User { active: false, ..user() };
    let other_issuer = AccessToken { iss: "https://other.example.com".to_owned(), ..token.clone() };
    assert!(of_access_token(&inquiry(&app), &token, None).is_ok(), "a user that nobody knows");
    assert!(of_access_token(&inquiry(&app), &token, Some(&inactive)).is_err());
    assert!(of_access_token(&inquiry(&app), &other_issuer, None).is_err());
    let late = Inquiry { now: after(3600), ..inquiry(&app) };
    assert!(of_access_token(&late, &token, None).is_err());
}

#[test]
fn strict_introspection_asks_for_audience_and_client() {
    let app = client("app");
    let token = access_token("app", "openid");
    for (audience, client_exists, active) in
        [(URL, true, true), (URL, false, false), (API, true, false), (API, false, false)]
    {
        let inquiry = Inquiry { strict: Some(Strict { audience, client_exists }), ..inquiry(&app) };
        assert_eq!(of_access_token(&inquiry, &token, None).is_ok(), active, "{audience} {client_exists}");
    }
}

#[test]
fn a_username_goes_only_where_the_scope_lets_it() {
    let app = client("app");
    let ada = user();
    for (scope, name) in
        [("openid", json!(null)), ("openid email", json!("ada@example.com")), ("email profile", json!("ada"))]
    {
        let token = access_token("app", scope);
        assert_eq!(body(of_access_token(&inquiry(&app), &token, Some(&ada)))["username"], name, "{scope}");
    }
}

#[test]
fn a_refresh_token_is_active_for_its_own_client_while_its_version_lives() {
    let (app, other) = (client("app"), client("other"));
    let family = Family { version: 3, ..family() };
    let shown = body(of_refresh_token(&inquiry(&app), &family, 3, None));
    assert_eq!(
        shown,
        json!({
            "active": true, "scope": "openid profile email", "client_id": "app", "sub": "u-1", "iss": URL,
            "iat": NOW.seconds(), "exp": after(1000).seconds()
        })
    );
    assert!(of_refresh_token(&inquiry(&app), &family, 2, None).is_err(), "rotated away");
    assert!(of_refresh_token(&inquiry(&other), &family, 3, None).is_err());
    let late = Inquiry { now: after(1000), ..inquiry(&app) };
    assert!(of_refresh_token(&late, &family, 3, None).is_err());
}

#[test]
fn definitions_add_members_to_an_active_answer_and_replace_them() {
    let definitions = serde_json::from_value::<Vec<ClaimDefinition>>(json!([
        { "name": "team", "value": "dev", "destinations": ["introspection"] },
        { "name": "roles", "value": "none", "destinations": ["introspection"] },
    ]));
    let claims = ClaimSet::of(&definitions.unwrap(), &[], &AttributeSchema::default());
    let app = client("app");
    let mut token = access_token("app", "openid");
    token.roles = Some(vec!["admin".into()]);
    let records = UserRecords::default();
    let defined =
        claims.write(Destination::Introspection, ClaimInput::for_audience(&token, &records), &mut Vec::new());
    let inquiry = inquiry(&app);
    let answer = of_access_token(&inquiry, &token, None).unwrap();
    let active = String::from_utf8(answer.to_json_with(claims.replaced(), &defined)).unwrap();
    assert_eq!(active.matches("\"roles\"").count(), 1, "{active}");
    let active: Value = serde_json::from_str(&active).unwrap();
    assert_eq!(
        (&active["active"], &active["team"], &active["roles"]),
        (&json!(true), &json!("dev"), &json!("none"))
    );
}

/// RFC 9701 5.
#[test]
fn an_answer_as_a_jwt_has_the_plain_one_as_a_claim_and_no_sub_and_exp_beside_it() {
    let app = client("app");
    let token = access_token("app", "openid");
    let plain = of_access_token(&inquiry(&app), &token, None).unwrap().to_json();
    for answer in [plain, INACTIVE.to_json()] {
        let claims: Value =
            serde_json::from_slice(&signed_claims(URL, &app.client_id, NOW, &answer)).unwrap();
        let expected = json!({
            "iss": URL, "aud": "app", "iat": NOW.seconds(),
            "token_introspection": serde_json::from_slice::<Value>(&answer).unwrap(),
        });
        assert_eq!(claims, expected);
    }
}

/// RFC 9701 4.
#[test]
fn only_who_names_the_media_type_gets_a_jwt() {
    for (accept, is_asked) in [
        ("application/token-introspection+jwt", true),
        ("Application/Token-Introspection+JWT", true),
        ("application/json;q=0.5, application/token-introspection+jwt ; q=0.9", true),
        ("application/token-introspection+jwt;q=0", false),
        ("application/token-introspection+jwt; Q=0.000", false),
        ("application/json", false),
        ("application/jwt", false),
        ("application/token-introspection+jwts", false),
        ("*/*", false),
        ("", false),
    ] {
        assert_eq!(accepts_jwt(accept), is_asked, "{accept}");
    }
}
