use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::SigningKey;

use super::*;
use crate::id::UserId;
use crate::token::fixture::{NOW, URL, World, after, client, scope};
use crate::token::token_exchange::{ACCESS_TOKEN_TYPE, ID_TOKEN_TYPE, check};
use crate::trusted_issuer::IssuedAssertion;

const CHAT: &str = "https://chat.example";
const API: &str = "https://api.chat.example/";

/// A client that may get an ID-JAG for one audience.
fn world() -> World {
    let mut world = World::new();
    world.settings.token_exchange_id_jag = true;
    let entries = json!([
        { "audience": CHAT, "client_id": "wiki-at-chat", "scope": "read write", "resources": [API] },
        { "audience": URL, "client_id": "app" },
    ]);
    world.client.token_exchange.id_jag_audiences = serde_json::from_value(entries).unwrap();
    world
}

fn request<'a>() -> ExchangeRequest<'a> {
    ExchangeRequest {
        subject_token: Some("subject"),
        subject_token_type: Some(ID_TOKEN_TYPE),
        requested_token_type: Some(TOKEN_TYPE),
        audience: &[CHAT],
        ..ExchangeRequest::default()
    }
}

/// An ID token of the client, as an exchange reads it.
fn subject() -> AccessToken {
    let mut subject = AccessToken::about("u-1".into(), ClientId::trusted("app"), Scope::default());
    URL.clone_into(&mut subject.iss);
    (subject.iat, subject.exp) = (NOW.seconds() - 10, NOW.seconds() + 3_600);
    subject.auth_time = Some(NOW.seconds() - 60);
    subject.acr = Some("urn:x".into());
    subject
}

fn issued(world: &World, request: &ExchangeRequest<'_>, subject: &AccessToken) -> Result<Value, ErrorCode> {
    let context = world.context();
    let exchange = check(&context, request).map_err(|error| error.code)?;
    assert!(exchange.is_for_id_jag());
    let claims = issue(&context, &exchange, subject, None).map_err(|error| error.code)?;
    Ok(serde_json::from_slice(&claims.to_json()).unwrap())
}

#[test]
fn an_id_jag_has_the_claims_of_the_draft() {
    let request = ExchangeRequest { scope: Some("read more"), resource: &[API], ..request() };
    let mut claims = issued(&world(), &request, &subject()).unwrap();
    let jti = claims.as_object_mut().unwrap().remove("jti").unwrap();
    assert!(jti.as_str().unwrap().starts_with("jag_"), "{jti}");
    let now = NOW.seconds();
    assert_eq!(
        claims,
        json!({
            "iss": URL, "sub": "u-1", "aud": CHAT, "client_id": "wiki-at-chat", "scope": "read", "resource": API,
            "iat": now, "exp": now + 300, "auth_time": now - 60, "acr": "urn:x",
        })
    );
    let whole = issued(&world(), &self::request(), &subject()).unwrap();
    assert_eq!((&whole["scope"], &whole["resource"]), (&json!("read write"), &Value::Null));
    let mut ending = subject();
    ending.exp = now + 5;
    assert_eq!(issued(&world(), &self::request(), &ending).unwrap()["exp"], now + 5);
    let world = world();
    let context = Context { jkt: Some("thumb"), ..world.context() };
    let exchange = check(&context, &self::request()).unwrap();
    let bound = issue(&context, &exchange, &subject(), None).unwrap();
    assert_eq!(bound.cnf.jkt.as_deref(), Some("thumb"));
}

#[test]
fn only_what_the_metadata_name_is_asked_for() {
    let (world, subject) = (world(), subject());
    let many = [CHAT, CHAT];
    for (request, code) in [
        (ExchangeRequest { audience: &[], ..request() }, ErrorCode::InvalidRequest),
        (ExchangeRequest { audience: &many, ..request() }, ErrorCode::InvalidRequest),
        (ExchangeRequest { audience: &["https://chat.example/"], ..request() }, ErrorCode::InvalidTarget),
        // Draft 8.3: never for this issuer.
        (ExchangeRequest { audience: &[URL], ..request() }, ErrorCode::InvalidTarget),
        (ExchangeRequest { resource: &["https://other.example"], ..request() }, ErrorCode::InvalidTarget),
        (ExchangeRequest { resource: &["/relative"], ..request() }, ErrorCode::InvalidRequest),
        (ExchangeRequest { scope: Some("more"), ..request() }, ErrorCode::InvalidScope),
        (
            ExchangeRequest { subject_token_type: Some(ACCESS_TOKEN_TYPE), ..request() },
            ErrorCode::InvalidRequest,
        ),
        (
            ExchangeRequest {
                actor_token: Some("a"),
                actor_token_type: Some(ACCESS_TOKEN_TYPE),
                ..request()
            },
            ErrorCode::InvalidRequest,
        ),
    ] {
        assert_eq!(
            issued(&world, &request, &subject),
            Err(code),
            "{:?} {:?}",
            request.audience,
            request.scope
        );
    }
    let mut off = self::world();
    off.settings.token_exchange_id_jag = false;
    assert_eq!(issued(&off, &request(), &subject), Err(ErrorCode::InvalidRequest));
    // Draft 4.3.3: the ID token is the client's own, whatever other tokens it may exchange.
    let mut listed = self::world();
    listed.client.token_exchange.subject_token_clients = vec![ClientId::trusted("front")];
    let others = AccessToken { client_id: ClientId::trusted("front"), ..subject.clone() };
    assert_eq!(issued(&listed, &request(), &others), Err(ErrorCode::InvalidGrant));
    let late = World { now: after(3_600), ..self::world() };
    assert_eq!(issued(&late, &request(), &subject), Err(ErrorCode::InvalidGrant));
}

/// Draft 3.1: the `sub` is that of signing in at the audience.
#[test]
fn the_subject_is_as_the_audience_knows_the_user() {
    let world = world();
    let context = world.context();
    let exchange = check(&context, &request()).unwrap();
    let sub = |relying_party: Option<&Client>| {
        issue(&context, &exchange, &subject(), relying_party).unwrap().sub.to_string()
    };
    let masked = Client { sector: Some("chat.example".to_owned()), ..client("chat") };
    let expected = Pairwise::of(&world.pairwise_key, &masked).unwrap().sub(&UserId::trusted("u-1"));
    assert_eq!(sub(Some(&masked)), expected.as_str());
    assert_eq!((sub(Some(&client("chat"))), sub(None)), ("u-1".to_owned(), "u-1".to_owned()));
}

#[test]
fn the_metadata_are_checked_when_they_are_saved() {
    let told = |entries: Value| {
        let entries: Vec<IdJagAudience> = serde_json::from_value(entries).unwrap();
        check_audiences(&entries)
    };
    let good =
        json!({ "audience": CHAT, "client_id": "a", "relying_party": "chat", "resources": [API, "urn:x:y"] });
    assert_eq!(told(json!([good, { "audience": "https://chat.example/", "client_id": "a" }])), Ok(()));
    assert!(told(json!([good, good])).unwrap_err().contains("twice"));
    for (name, bad) in [
        ("audience", json!("chat")),
        ("audience", json!("https://chat.example?x=1")),
        ("audience", json!("https://chat.example#x")),
        ("audience", json!("https://chat.example/a b")),
        ("resources", json!(["relative"])),
        ("resources", json!(["https://api.example#x"])),
    ] {
        let mut entry = good.clone();
        entry[name] = bad.clone();
        assert!(told(json!([entry])).is_err(), "{name} {bad}");
    }
    let slip = json!([{ "audience": CHAT, "client_id": "a", "ressources": [] }]);
    assert!(serde_json::from_value::<Vec<IdJagAudience>>(slip).is_err());
}

/// What an ID-JAG with these claims gives the client `app`.
fn taken(
    world: &World,
    changes: &[(&str, Value)],
    asked: (Option<&str>, &[&str]),
) -> Result<Box<AccessToken>, OAuthError> {
    let key = SigningKey::generate(Algorithm::EdDsa, Some("k1")).unwrap();
    let now = NOW.seconds();
    let mut claims = json!({
        "iss": "https://idp.example", "sub": "theirs", "aud": URL, "client_id": "app", "jti": "j", "iat": now,
        "exp": now + 60, "scope": "email profile other", "resource": [API],
    });
    for (name, value) in changes {
        claims[*name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(*name);
        }
    }
    let header = EncodedHeader::for_key(&key, Some(TYP));
    let input = signing_input(header.as_str(), &serde_json::to_vec(&claims).unwrap());
    let signature = key.sign(input.as_bytes()).unwrap();
    let token = finish(input, &signature);
    let assertion = IssuedAssertion::read(&token).unwrap();
    let context = world.context();
    check_bearer(&context, &assertion)?;
    accept(&context, &assertion, &UserId::trusted("u-1"), asked)
}

/// A client that may name the resource.
fn at_home() -> World {
    let mut world = World::new();
    world.client.access_token_audiences = vec![API.to_owned(), "https://more.example".to_owned()];
    world
}

#[test]
fn an_id_jag_gives_what_both_it_and_the_registration_have() {
    let world = at_home();
    let all = taken(&world, &[], (None, &[])).unwrap();
    assert_eq!((&all.scope, &*all.sub), (&scope("profile email"), "u-1"), "in the registration's order");
    assert_eq!((all.aud.iter().collect::<Vec<_>>(), all.gid.is_some()), (vec![API], true));
    let less = taken(&world, &[], (Some("email"), &[API])).unwrap();
    assert_eq!(less.scope, scope("email"));
    let code = |changes: &[(&str, Value)], asked: (Option<&str>, &[&str])| {
        taken(&world, changes, asked).map(drop).map_err(|error| error.code)
    };
    assert_eq!(
        code(&[], (Some("phone"), &[])),
        Err(ErrorCode::InvalidScope),
        "registered, and not in the ID-JAG"
    );
    assert_eq!(code(&[], (Some("other"), &[])), Err(ErrorCode::InvalidScope), "and the reverse");
    assert_eq!(code(&[], (None, &["https://more.example"])), Err(ErrorCode::InvalidTarget));
    let other = ("resource", json!("https://unknown.example"));
    assert_eq!(code(&[other], (None, &[])), Err(ErrorCode::InvalidTarget));
    let unnamed = taken(&world, &[("scope", Value::Null), ("resource", Value::Null)], (None, &[])).unwrap();
    assert!(unnamed.scope.is_empty() && unnamed.aud.contains(URL), "no scope was authorized");
    for (name, bad) in [("scope", json!(["email"])), ("resource", json!(5))] {
        assert_eq!(code(&[(name, bad)], (None, &[])), Err(ErrorCode::InvalidGrant), "{name}");
    }
}

#[test]
fn an_id_jag_is_of_use_to_its_client_and_with_its_key_alone() {
    let world = at_home();
    let reason = |world: &World, changes: &[(&str, Value)]| {
        taken(world, changes, (None, &[])).map(drop).map_err(|error| (error.code, error.reason))
    };
    let refused = |reason| Err((ErrorCode::InvalidGrant, reason));
    for bad in [json!("other"), Value::Null] {
        assert_eq!(reason(&world, &[("client_id", bad)]), refused(Reason::AssertionOfOtherClient));
    }
    assert_eq!(reason(&world, &[("client_id", json!(["app"]))]), refused(Reason::AssertionMalformed));
    assert_eq!(reason(&world, &[("iat", Value::Null)]), refused(Reason::AssertionMalformed));
    for cnf in [json!({ "jkt": "thumb" }), json!({ "x5t#S256": "x" }), json!({ "kid": "x" }), json!({})] {
        assert_eq!(reason(&world, &[("cnf", cnf)]), refused(Reason::AssertionKeyOther));
    }
}
