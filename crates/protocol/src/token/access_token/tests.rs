use proptest::prelude::*;
use serde_json::{Value, json};
use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;

use super::*;
use crate::token::fixture::{NOW, URL, World, access_token, after, entitlements};

fn header(typ: Option<&str>) -> Header {
    Header { alg: Algorithm::Rs256, kid: None, typ: typ.map(SmolStr::new), cty: None }
}

fn parse(typ: &str, payload: &Value) -> Result<AccessToken, NotAnAccessToken> {
    AccessToken::parse(&header(Some(typ)), payload.to_string().as_bytes())
}

/// A token as load scripts sign them.
fn foreign() -> Value {
    json!({
        "iss": URL, "sub": "u-1", "aud": URL, "client_id": "app", "scope": "openid profile email",
        "iat": 1_700_000_000, "exp": 1_702_592_000, "jti": "g2:enam:7:at_0123456789abcdef"
    })
}

#[test]
fn what_is_written_is_read_back() {
    let token = access_token("app", "openid email");
    let read = AccessToken::parse(&header(Some(TYP)), &token.to_json()).unwrap();
    assert_eq!(read, token);
    let json: Value = serde_json::from_slice(&token.to_json()).unwrap();
    // RFC 9068 2.2.
    for claim in ["iss", "exp", "aud", "sub", "client_id", "iat", "jti"] {
        assert!(!json[claim].is_null(), "{claim}");
    }
    assert_eq!(json["aud"], URL);
    assert_eq!(json["amr"], json!(["pwd"]));
    assert_eq!(json["exp"].as_u64().unwrap() - json["iat"].as_u64().unwrap(), 3600);
    assert!(token.jti.as_str().starts_with(&format!("at_{}_", token.gid.unwrap().slot().number())));
    assert!(json.get("act").is_none() && json.get("anc").is_none() && json.get("resource").is_none());
}

#[test]
fn every_claim_is_written_under_its_name() {
    let full = json!({
        "iss": URL, "sub": "u-1", "aud": [URL, "api"], "client_id": "app", "scope": "openid email",
        "iat": 1_700_000_000, "exp": 1_702_592_000, "nbf": 1_700_000_001, "jti": "at_7_x", "auth_time": 1_699_999_999,
        "acr": "\"gold\"", "amr": ["pwd", "otp"], "gid": "gr_7_1700000000123_0123456789abcdefghijkg", "sid": "1_0_s",
        "anc": ["at_7_y", "at_7_z"], "gcl": "other", "gat": 1_699_999_998, "act": { "sub": "client:a" },
        "may_act": { "sub": "client:b" }, "cnf": { "jkt": "k", "x5t#S256": "c" }, "resource": ["https://a.example", "https://b.example"], "roles": ["\"r\"", "s"],
    });
    let token = parse(TYP, &full).unwrap();
    let written = token.to_json();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), full);
    let AccessToken { nbf, acr, gid, sid, gcl, gat, act, may_act, cnf, .. } = token;
    assert!(
        nbf.is_some() && acr.is_some() && gid.is_some() && sid.is_some() && gcl.is_some() && gat.is_some()
    );
    assert!(act.is_some() && may_act.is_some() && cnf.jkt.as_deref() == Some("k"));
    assert_eq!(cnf.x5t_s256.as_deref(), Some("c"));
    // Another method of confirmation is not one of this server's, and ignored (RFC 7800 3.1).
    let mut other = full;
    other["cnf"] = json!({ "kid": "k" });
    assert_eq!(parse(TYP, &other).unwrap().cnf.claim(), None);
}

#[test]
fn roles_are_the_issuers_and_those_of_the_one_party_that_the_token_is_for() {
    let (api, url) = ("other", "https://api.example.com");
    for (aud, expected) in [
        (&[URL][..], &["admin", "editor", "viewer"][..]),
        (&["app"], &["admin", "editor", "viewer"]),
        (&[URL, "app"], &["admin", "editor", "viewer"]),
        (&[URL, api], &["admin", "owner", "viewer"]),
        (&[api], &["admin", "owner", "viewer"]),
        (&[api, "app"], &["admin", "owner", "viewer"]),
        // An audience of which the user has no role.
        (&[URL, url], &["admin", "viewer"]),
        // Each of them would take the other's roles for its own.
        (&[URL, api, url], &["admin", "viewer"]),
    ] {
        let mut token = access_token("app", "openid roles");
        token.aud = Audience::of(aud.iter().copied());
        token.release_roles(&entitlements());
        let written: Value = serde_json::from_slice(&token.to_json()).unwrap();
        assert_eq!(written["roles"], json!(expected), "{aud:?}");
        assert_eq!(AccessToken::parse(&header(Some(TYP)), &token.to_json()).unwrap(), token);
    }
}

#[test]
fn a_user_without_roles_has_an_empty_list_and_without_the_scope_there_is_none() {
    let mut token = access_token("app", "openid roles");
    assert_eq!(token.needs_roles_of().unwrap().as_str(), "u-1");
    token.release_roles(&Entitlements::default());
    let written: Value = serde_json::from_slice(&token.to_json()).unwrap();
    assert_eq!(written["roles"], json!([]));
    let without = access_token("app", "openid groups");
    assert_eq!(without.needs_roles_of(), None);
    let written: Value = serde_json::from_slice(&without.to_json()).unwrap();
    assert!(written.get("roles").is_none() && written.get("groups").is_none(), "{written}");
    let own = AccessToken { sub: client_subject(&token.client_id), ..token };
    assert_eq!(own.needs_roles_of(), None, "a client that acts for itself");
}

#[test]
fn every_audience_is_kept() {
    let mut world = World::new();
    world.client.access_token_audiences = vec!["https://api.example.com".to_owned(), URL.to_owned()];
    let token = AccessToken::new(&world.context(), Slot::new(3), "u-1".into(), Scope::default());
    assert_eq!(serde_json::to_value(&token.aud).unwrap(), json!([URL, "https://api.example.com"]));
}

#[test]
fn types_by_rfc_9068_section_4() {
    for (typ, read) in [
        ("at+jwt", true),
        ("AT+JWT", true),
        ("application/at+jwt", true),
        ("JWT", true),
        ("dpop+jwt", false),
        ("logout+jwt", false),
        ("", false),
    ] {
        assert_eq!(parse(typ, &foreign()).is_ok(), read, "{typ}");
    }
    let untyped = AccessToken::parse(&header(None), foreign().to_string().as_bytes());
    assert_eq!(untyped, Err(NotAnAccessToken::Kind));
}

#[test]
fn other_kinds_of_token_do_not_pass() {
    let id_token = json!({"iss": URL, "sub": "u-1", "aud": "app", "iat": 1, "exp": 2, "auth_time": 1});
    assert_eq!(parse("JWT", &id_token), Err(NotAnAccessToken::Claims), "RFC 9068 4: no client_id, no jti");
    for (claim, value) in [
        ("nonce", json!("n")),
        ("at_hash", json!("x")),
        ("c_hash", json!("x")),
        ("events", json!({})),
        ("rtv", json!(1)),
    ] {
        let mut payload = foreign();
        payload[claim] = value;
        assert_eq!(parse("JWT", &payload), Err(NotAnAccessToken::Kind), "{claim}");
    }
    for claim in ["iss", "sub", "aud", "client_id", "iat", "exp", "jti"] {
        let mut payload = foreign();
        payload.as_object_mut().unwrap().remove(claim);
        assert_eq!(parse("at+jwt", &payload), Err(NotAnAccessToken::Claims), "without {claim}");
    }
}

#[test]
fn tokens_that_scripts_signed_are_taken_as_they_are() {
    let mut payload = foreign();
    payload["exp"] = json!(1_699_996_400);
    payload["act"] = json!({"sub": "client:service-bff", "client_id": "service-bff"});
    payload["resource"] = json!("https://api.example.com/users");
    payload["azp"] = json!("service-bff");
    let token = parse("at+jwt", &payload).unwrap();
    assert_eq!(token.check(URL, NOW), Err(NotValid::Expired), "exp before iat is just expired");
    let issuer = IssuerId::default_issuer();
    let lineage = token.lineage(&issuer);
    assert_eq!(lineage.slot, Slot::of(&issuer, "u-1"));
    assert_eq!((lineage.grant, lineage.session), (None, None));
    assert_eq!(lineage.user.unwrap().as_str(), "u-1");
    assert_eq!(lineage.born, Timestamp::from_seconds(1_700_000_000));
    assert_eq!(lineage.tokens, [token.jti]);
}

#[test]
fn a_lineage_names_all_that_can_end_the_token() {
    let issuer = IssuerId::default_issuer();
    let mut token = access_token("app", "openid");
    token.anc = vec![Jti::trusted("at_1_a"), Jti::trusted("at_1_b")];
    let lineage = token.lineage(&issuer);
    assert_eq!(lineage.tokens.len(), 3);
    assert_eq!(lineage.born, NOW, "the grant's millisecond, not iat's second");
    assert_eq!(lineage.slot, token.gid.as_ref().unwrap().slot());
    assert_eq!(lineage.session.as_ref().unwrap().as_str(), "sid-1");
    assert!(lineage.grantor.is_none());
    assert!(lineage.clients().eq([&ClientId::trusted("app")]));
    assert_eq!(
        lineage.consent().map(|(user, client)| (user.as_str(), client.as_str())),
        Some(("u-1", "app"))
    );

    token.gcl = Some(ClientId::trusted("first"));
    let lineage = token.lineage(&issuer);
    assert!(lineage.clients().eq(["app", "first"].map(ClientId::trusted).iter()));
    let consent = lineage.consent().map(|(_, client)| client.as_str());
    assert_eq!(consent, Some("first"), "the user allowed the first client, not whoever exchanged its token");
    token.sub = "client:app".into();
    let lineage = token.lineage(&issuer);
    assert!(lineage.user.is_none() && lineage.consent().is_none());
}

#[test]
fn time_and_issuer_by_rfc_7519() {
    let token = access_token("app", "openid");
    let end = token.expires_at();
    let just_before = Timestamp::from_millis(end.millis() - 1);
    assert_eq!(token.check(URL, just_before), Ok(()));
    assert_eq!(token.check(URL, end), Err(NotValid::Expired), "4.1.4: on or after");
    assert_eq!(token.check("https://other.example.com", NOW), Err(NotValid::Issuer));
    let later = AccessToken { nbf: Some(after(10).seconds()), ..token };
    assert_eq!(later.check(URL, NOW), Err(NotValid::NotYet));
    assert_eq!(later.check(URL, after(10)), Ok(()));
}

#[test]
fn numeric_dates_may_have_fractions_but_no_other_form() {
    for (value, read) in [
        (json!(1_700_000_000.75), Some(1_700_000_000)),
        (json!(0), Some(0)),
        (json!(-1), None),
        (json!(1e300), None),
        (json!("1700000000"), None),
        (json!(null), None),
    ] {
        let mut payload = foreign();
        payload["iat"] = value.clone();
        assert_eq!(parse("at+jwt", &payload).ok().map(|token| token.iat), read, "{value}");
    }
}

proptest! {
    #[test]
    fn any_payload_is_read_or_refused(payload: Vec<u8>) {
        let _ = AccessToken::parse(&header(Some("JWT")), &payload);
    }

    #[test]
    fn a_claim_of_any_type_is_read_or_refused(
        claim in "iss|sub|aud|client_id|scope|iat|exp|jti|auth_time|acr|amr|gid|sid|anc|act|may_act|resource|gat",
        value in prop_oneof![
            Just(json!(null)), Just(json!(true)), Just(json!(-5)), Just(json!(u64::MAX)), Just(json!(1e18)),
            Just(json!([])), Just(json!([1])), Just(json!({})), Just(json!({"act": {"act": 1}})), Just(json!("")),
            "\\PC{0,40}".prop_map(Value::from),
        ],
    ) {
        let mut payload = foreign();
        payload[&claim] = value;
        if let Ok(token) = parse("JWT", &payload) {
            let issuer = IssuerId::default_issuer();
            prop_assert!(!token.lineage(&issuer).tokens.is_empty());
            let again = AccessToken::parse(&header(Some(TYP)), &token.to_json());
            prop_assert_eq!(again, Ok(token));
        }
    }
}
