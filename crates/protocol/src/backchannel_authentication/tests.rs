use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::random::SeededRandom;

use super::request::{BackchannelRequest, Hint};
use super::*;
use crate::client::{Client, GrantType, TokenEndpointAuthMethod};
use crate::error::OAuthError;
use crate::grant::Slot;
use crate::params::Params;
use crate::refusal::Reason;
use crate::security_profile::SecurityProfile;
use crate::settings::IssuerSettings;
use crate::token::fixture::{NOW, URL, after, client};

fn check(form: &str, client: &Client) -> Result<BackchannelAuthentication, OAuthError> {
    let params = Params::parse(form.as_bytes()).unwrap();
    let request = BackchannelRequest::check(&params, client, (URL, &IssuerSettings::default()), NOW)?;
    assert!(matches!(request.hint, Hint::Login("ann") | Hint::IdToken("a.b.c")));
    Ok(request.for_user(UserId::trusted("ann"), None))
}

fn pinged() -> Client {
    let endpoint = Some("https://app.example.com/ciba".to_owned());
    let own =
        Metadata { mode: DeliveryMode::Ping, notification_endpoint: endpoint, request_signing_alg: None };
    Client { backchannel: Some(Box::new(own)), ..client("app") }
}

#[test]
fn an_auth_req_id_names_its_request_and_hides_nothing_but_its_secret() {
    let random = SeededRandom::new(2);
    let (ours, theirs) = (IssuerId::default_issuer(), IssuerId::parse("other").unwrap());
    let user = UserId::trusted("ann");
    let (one, other) = (AuthReqId::draw(&ours, &user, &random), AuthReqId::draw(&ours, &user, &random));
    let (first, second) = (one.parts(&ours).unwrap(), other.parts(&ours).unwrap());
    assert!(first.request != second.request && first.secret_digest != second.secret_digest);
    assert!(one.parts(&theirs).unwrap().secret_digest != first.secret_digest, "another issuer's");
    assert_eq!(first.request.slot(), Slot::of(&ours, "ann"));
    assert_eq!(first.request.to_string().parse::<BackchannelRequestId>(), Ok(first.request));
    assert!(one.expose().starts_with(&format!("ar_{}.", first.request)));
    // CIBA Core 7.3: letters, digits, `.`, `-` and `_` alone.
    assert!(one.expose().bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)));
    assert_eq!(format!("{one:?}"), "AuthReqId(..)");
    for wrong in ["", "ar_", "ar_x.y", "dc_1.2", &one.expose()[1..], &format!("{}A", one.expose())] {
        assert!(!AuthReqId::new(wrong).has_our_form(), "{wrong}");
    }
}

#[test]
fn a_client_asks_for_what_it_may_have() {
    let own = client("app");
    let asked = check("login_hint=ann&scope=openid+offline_access+unknown", &own).unwrap();
    assert_eq!((asked.client.as_str(), asked.scope.as_str()), ("app", "openid offline_access"));
    assert_eq!((asked.asked_at, asked.expires_at), (NOW, after(300)));
    let told: Value = serde_json::from_slice(&answer(&AuthReqId::new("ar_x"), &asked)).unwrap();
    assert_eq!(told, json!({ "auth_req_id": "ar_x", "expires_in": 300, "interval": 5 }));
    for (sent, ends) in [("10", 10), ("030", 30), ("900", 900), ("86400", 900)] {
        let form = format!("id_token_hint=a.b.c&scope=openid&requested_expiry={sent}");
        assert_eq!(check(&form, &own).unwrap().expires_at, after(ends), "{sent}");
    }
    let all = "login_hint=ann&scope=openid&binding_message=Till+7%3A+%E2%82%AC+12.50+%E5%93%81%E5%B7%9D\
               &acr_values=urn:symbolon:acr:2";
    let asked = check(all, &own).unwrap();
    assert_eq!(asked.binding_message.as_deref(), Some("Till 7: \u{20ac} 12.50 \u{54c1}\u{5ddd}"));
    assert!(asked.acr.needs_second_factor());
    let without_refresh = Client { grant_types: vec![GrantType::Ciba], ..client("app") };
    let asked = check("login_hint=ann&scope=openid+offline_access", &without_refresh).unwrap();
    assert_eq!(asked.scope.as_str(), "openid");
}

#[test]
fn what_is_malformed_is_refused_with_the_codes_of_ciba() {
    let token = "t".repeat(22);
    let (own, pinged) = (client("app"), pinged());
    let public = Client { token_endpoint_auth_method: TokenEndpointAuthMethod::None, ..client("app") };
    let without = Client { grant_types: vec![GrantType::AuthorizationCode], ..client("app") };
    let long = "x".repeat(101);
    for (form, client, code) in [
        ("scope=openid".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&id_token_hint=a.b.c&scope=openid".to_owned(), &own, "invalid_request"),
        ("login_hint_token=a.b.c&scope=openid".to_owned(), &own, "invalid_request"),
        ("login_hint=ann".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=email".to_owned(), &own, "invalid_scope"),
        ("login_hint=ann&scope=openid&scope=email".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=openid&user_code=1".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=openid&request_uri=urn:x".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=openid&requested_expiry=0".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=openid&requested_expiry=-1".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=openid&requested_expiry=%2B5".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=openid&resource=x".to_owned(), &own, "invalid_request"),
        ("login_hint=ann&scope=openid&resource=https%3A%2F%2Fx.example".to_owned(), &own, "invalid_target"),
        (format!("login_hint=ann&scope=openid&binding_message={long}"), &own, "invalid_binding_message"),
        (
            "login_hint=ann&scope=openid&binding_message=%F0%9F%91%8D".to_owned(),
            &own,
            "invalid_binding_message",
        ),
        (
            "login_hint=ann&scope=openid&binding_message=a%E2%80%AEb".to_owned(),
            &own,
            "invalid_binding_message",
        ),
        ("login_hint=ann&scope=openid".to_owned(), &pinged, "invalid_request"),
        (
            format!("login_hint=ann&scope=openid&client_notification_token={}", &token[1..]),
            &pinged,
            "invalid_request",
        ),
        (
            format!("login_hint=ann&scope=openid&client_notification_token={token}%0A"),
            &pinged,
            "invalid_request",
        ),
        ("login_hint=ann&scope=openid".to_owned(), &public, "unauthorized_client"),
        ("login_hint=ann&scope=openid".to_owned(), &without, "unauthorized_client"),
    ] {
        let told = check(&form, client).map(drop).map_err(|error| error.code.as_str());
        assert_eq!(told, Err(code), "{form}");
    }
    let form = format!("login_hint=ann&scope=openid&client_notification_token={token}");
    assert!(check(&form, &pinged).is_ok());
}

#[test]
fn what_an_administrator_allows_names_no_session_and_no_method() {
    let asked = check("login_hint=ann&scope=openid", &client("app")).unwrap();
    let grant =
        allowed_by_administrator(&asked, &IssuerId::default_issuer(), after(60), NOW, &SeededRandom::new(1));
    assert_eq!((grant.session(), grant.auth_time, grant.amr.is_empty()), (None, NOW, true));
}

/// A signed request with these claims in place of, or besides, those that it must have.
fn signed(changes: Value) -> Result<Option<signed_request::SignedRequest>, OAuthError> {
    let key = SigningKey::generate(Algorithm::Es256, Some("k1")).unwrap();
    let now = NOW.seconds();
    let mut claims = json!({
        "iss": "app", "aud": URL, "iat": now, "nbf": now, "exp": now + 60, "jti": "j-1",
        "scope": "openid", "login_hint": "ann", "requested_expiry": 30,
    });
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    let input = signing_input(EncodedHeader::for_key(&key, None).as_str(), claims.to_string().as_bytes());
    let signature = key.sign(input.as_bytes()).unwrap();
    let form = format!("client_id=app&request={}", finish(input, &signature));
    let params = Params::parse(form.as_bytes()).unwrap();
    let keys = [key.public().jwk().clone()];
    signed_request::parameters(&params, &client("app"), &keys, URL, NOW)
}

#[test]
fn a_signed_request_has_all_its_claims_and_counts_alone() {
    let read = signed(json!({})).unwrap().unwrap();
    assert!(read.form.contains("login_hint=ann") && read.form.contains("requested_expiry=30"));
    assert!(!read.form.contains("j-1") && read.expires_at > after(60));
    assert_eq!(signed(json!({ "aud": ["https://x.example", URL] })).unwrap().unwrap().mark, read.mark);
    assert_ne!(signed(json!({ "jti": "j-2" })).unwrap().unwrap().mark, read.mark);
    let now = NOW.seconds();
    for changes in [
        json!({ "iss": null }),
        json!({ "iss": "other" }),
        json!({ "client_id": "other" }),
        json!({ "sub": "app" }),
        json!({ "aud": null }),
        json!({ "aud": "https://other.example" }),
        json!({ "exp": null }),
        json!({ "exp": now - 60 }),
        json!({ "exp": now + 4_200 }),
        json!({ "iat": null }),
        json!({ "iat": now + 600 }),
        json!({ "nbf": null }),
        json!({ "nbf": now + 600 }),
        json!({ "nbf": now - 4_200 }),
        json!({ "jti": null }),
        json!({ "request": "a.b.c" }),
    ] {
        let told = signed(changes.clone()).map(drop).map_err(|error| error.code.as_str());
        assert_eq!(told, Err("invalid_request"), "{changes}");
    }
}

#[test]
fn beside_a_signed_request_is_nothing_and_some_clients_must_sign() {
    let told = |form: &str, client: &Client| {
        let params = Params::parse(form.as_bytes()).unwrap();
        signed_request::parameters(&params, client, &[], URL, NOW).map(|own| own.is_some())
    };
    let own = client("app");
    assert_eq!(told("login_hint=ann&scope=openid", &own), Ok(false));
    let reason = |told: Result<bool, OAuthError>| told.map_err(|error| (error.code.as_str(), error.reason));
    let beside = reason(told("request=a.b.c&login_hint=ann", &own));
    assert_eq!(beside, Err(("invalid_request", Reason::RequestObjectMalformed)));
    let mut signing = client("app");
    signing.backchannel.as_mut().unwrap().request_signing_alg = Some(Algorithm::Ps256);
    let mut of_profile = client("app");
    of_profile.settings.profile = Some(SecurityProfile::Fapi2Security);
    for client in [&signing, &of_profile] {
        let missing = reason(told("login_hint=ann&scope=openid", client));
        assert_eq!(missing, Err(("invalid_request", Reason::RequestObjectMissing)));
    }
}
