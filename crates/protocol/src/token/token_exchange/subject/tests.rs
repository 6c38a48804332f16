use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::SigningKey;

use super::*;
use crate::error::ErrorCode;
use crate::token::claim::MayAct;
use crate::token::fixture::{NOW, URL, World, after, scope};
use crate::token::token_exchange::{ExchangeRequest, ID_TOKEN_TYPE, JWT_TYPE, check};

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::EdDsa, Some("k1")).unwrap()
}

fn sign(key: &SigningKey, typ: Option<&str>, claims: &Value) -> String {
    let input =
        signing_input(EncodedHeader::for_key(key, typ).as_str(), &serde_json::to_vec(claims).unwrap());
    let signature = key.sign(input.as_bytes()).unwrap();
    finish(input, &signature)
}

fn read(key: &SigningKey, token: &str) -> Result<Box<AccessToken>, Reason> {
    let open = |purpose: &str, sealed: &str| {
        let is_whole = purpose == "id token of app about masked" && sealed == "good";
        is_whole.then(|| Veiled { user: UserId::trusted("u-1"), sid: Some(Sid::trusted("s9")), gid: None })
    };
    of_id_token(token, |kid| (kid == key.kid()).then_some(key.public()), open)
}

fn id_token(changes: &[(&str, Value)]) -> Value {
    let now = NOW.seconds();
    let mut claims = json!({
        "iss": URL, "sub": "u-1", "aud": "app", "exp": now + 600, "iat": now - 10, "auth_time": now - 60,
        "sid": "s1", "acr": "urn:x", "amr": ["pwd"], "nonce": "n", "at_hash": "h",
    });
    for (name, value) in changes {
        claims[*name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(*name);
        }
    }
    claims
}

/// A client that may exchange ID tokens, at an issuer that lets it.
fn world() -> World {
    let mut world = World::new();
    let types = json!([JWT_TYPE, ID_TOKEN_TYPE]);
    world.settings.token_exchange_subject_token_types = serde_json::from_value(types).unwrap();
    world.client.token_exchange.id_tokens = true;
    world
}

fn exchange(
    world: &World,
    (kind, asked): (&str, Option<&str>),
    subject: &AccessToken,
) -> Result<Box<AccessToken>, ErrorCode> {
    let request = ExchangeRequest {
        subject_token: Some("subject"),
        subject_token_type: Some(kind),
        scope: asked,
        ..ExchangeRequest::default()
    };
    let context = world.context();
    check(&context, &request)
        .and_then(|exchange| exchange.issue(&context, subject, None))
        .map_err(|error| error.code)
}

#[test]
fn an_id_token_is_exchanged_for_what_its_client_may_have_and_no_longer() {
    let (world, key) = (world(), key());
    let mut subject = read(&key, &sign(&key, Some("JWT"), &id_token(&[]))).unwrap();
    may_have(&mut subject, &world.client);
    let all = exchange(&world, (ID_TOKEN_TYPE, None), &subject).unwrap();
    assert_eq!(all.scope, scope("openid profile email address phone groups roles api"));
    assert_eq!((&*all.sub, all.exp, all.auth_time), ("u-1", subject.exp, subject.auth_time));
    assert_eq!((all.sid.as_ref().map(Sid::as_str), all.acr.as_deref()), (Some("s1"), Some("urn:x")));
    assert!(all.anc.is_empty() && all.gid.is_none() && all.gcl.is_none(), "{all:?}");
    assert_eq!(all.born().seconds(), NOW.seconds() - 10, "it ends with whatever ended the ID token");
    let narrow = exchange(&world, (ID_TOKEN_TYPE, Some("email")), &subject).unwrap();
    assert_eq!(narrow.scope, scope("email"));
    assert_eq!(exchange(&world, (ID_TOKEN_TYPE, Some("more")), &subject), Err(ErrorCode::InvalidScope));
    let late = World { now: after(600), ..self::world() };
    assert_eq!(exchange(&late, (ID_TOKEN_TYPE, None), &subject), Err(ErrorCode::InvalidGrant));
    // Another client's, unless it is on the list.
    let mut other = read(&key, &sign(&key, None, &id_token(&[("aud", json!("front"))]))).unwrap();
    may_have(&mut other, &world.client);
    assert_eq!(exchange(&world, (ID_TOKEN_TYPE, None), &other), Err(ErrorCode::InvalidGrant));
    let mut listed = self::world();
    listed.client.token_exchange.subject_token_clients = vec![ClientId::trusted("front")];
    let result = exchange(&listed, (ID_TOKEN_TYPE, None), &other).unwrap();
    assert_eq!(result.gcl, Some(ClientId::trusted("front")), "it ends with that client too");
}

#[test]
fn what_is_no_id_token_of_this_issuer_is_no_subject() {
    let (key, forged) = (key(), key());
    let told = |typ, claims: &Value| read(&key, &sign(&key, typ, claims)).err();
    for (typ, changes, reason) in [
        (Some("at+jwt"), vec![], Reason::TokenOfOtherKind),
        (Some("logout+jwt"), vec![], Reason::TokenOfOtherKind),
        (Some("oauth-id-jag+jwt"), vec![], Reason::TokenOfOtherKind),
        (Some("JWT"), vec![("client_id", json!("app"))], Reason::TokenOfOtherKind),
        (Some("JWT"), vec![("events", json!({}))], Reason::TokenOfOtherKind),
        (Some("JWT"), vec![("rtv", json!(1))], Reason::TokenOfOtherKind),
        (Some("JWT"), vec![("exp", Value::Null)], Reason::TokenMalformed),
        (Some("JWT"), vec![("sub", Value::Null)], Reason::TokenMalformed),
        (Some("JWT"), vec![("aud", json!(["app", "other"]))], Reason::TokenMalformed),
        (Some("JWT"), vec![("pairwise_ref", json!("of another"))], Reason::TokenMalformed),
    ] {
        assert_eq!(told(typ, &id_token(&changes)), Some(reason), "{typ:?} {changes:?}");
    }
    assert_eq!(read(&key, "x").err(), Some(Reason::TokenMalformed));
    let stranger = SigningKey::generate(Algorithm::EdDsa, Some("k2")).unwrap();
    assert_eq!(read(&key, &sign(&stranger, None, &id_token(&[]))).err(), Some(Reason::TokenKeyUnknown));
    assert_eq!(read(&key, &sign(&forged, None, &id_token(&[]))).err(), Some(Reason::TokenSignatureWrong));
    let sealed = id_token(&[("sub", json!("masked")), ("pairwise_ref", json!("good"))]);
    let opened = read(&key, &sign(&key, Some("JWT"), &sealed)).unwrap();
    assert_eq!((&*opened.sub, opened.user()), ("masked", Some(UserId::trusted("u-1"))));
    assert_eq!(opened.sid, Some(Sid::trusted("s9")));
}

/// What a trusted issuer says of a user, as far as it goes beyond who it is.
fn of_trusted(world: &World, changes: &[(&str, Value)]) -> Result<Box<AccessToken>, OAuthError> {
    let key = key();
    let mut claims = json!({
        "iss": "https://idp.example", "sub": "theirs", "aud": URL, "exp": NOW.seconds() + 60, "jti": "j",
    });
    for (name, value) in changes {
        claims[*name] = value.clone();
    }
    let token = sign(&key, Some("JWT"), &claims);
    let assertion = IssuedAssertion::read(&token).unwrap();
    of_assertion(&world.context(), &assertion, &UserId::trusted("u-1"))
}

#[test]
fn a_trusted_issuer_narrows_the_scope_and_says_who_may_act() {
    let world = world();
    let plain = of_trusted(&world, &[]).unwrap();
    let result = exchange(&world, (JWT_TYPE, None), &plain).unwrap();
    assert_eq!((&*result.sub, result.exp), ("u-1", NOW.seconds() + 60));
    assert_eq!((result.gid, result.anc.len()), (plain.gid, 0));
    assert!(result.gid.is_some() && !result.scope.contains("offline_access"));
    let narrow = of_trusted(&world, &[("scope", json!("email unknown"))]).unwrap();
    assert_eq!(exchange(&world, (JWT_TYPE, None), &narrow).unwrap().scope, scope("email"));
    assert_eq!(exchange(&world, (JWT_TYPE, Some("profile")), &narrow), Err(ErrorCode::InvalidScope));
    let other = of_trusted(&world, &[("may_act", json!({ "sub": "client:other" }))]).unwrap();
    assert_eq!(exchange(&world, (JWT_TYPE, None), &other), Err(ErrorCode::InvalidGrant));
    let own = of_trusted(&world, &[("may_act", json!({ "sub": "client:app" }))]).unwrap();
    assert_eq!(exchange(&world, (JWT_TYPE, None), &own).unwrap().may_act, Some(MayAct::new("client:app")));
    let acted = of_trusted(&world, &[("act", json!({ "sub": "first" }))]).unwrap();
    let chain = exchange(&world, (JWT_TYPE, None), &acted).unwrap().act.unwrap();
    assert_eq!((chain.sub(), chain.depth()), (Some("client:app"), 2));
    for bad in [("scope", json!(5)), ("act", json!("x")), ("may_act", json!([]))] {
        let error = of_trusted(&world, std::slice::from_ref(&bad)).unwrap_err();
        assert_eq!(
            (error.code, error.reason),
            (ErrorCode::InvalidGrant, Reason::AssertionMalformed),
            "{bad:?}"
        );
    }
}
