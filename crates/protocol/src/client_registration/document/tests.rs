use serde_json::json;
use symbolon_crypto::Algorithm;
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::random::SeededRandom;

use super::*;
use crate::client::GrantType;
use crate::settings::IssuerSettings;

const ID: &str = "https://app.example/oauth/client.json";

fn metadata() -> Value {
    json!({
        "client_id": ID, "client_name": "Tools", "redirect_uris": ["https://app.example/callback", "http://127.0.0.1/cb"],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
    })
}

fn read_bytes(document: &[u8]) -> Result<Client, OAuthError> {
    let url = ClientIdUrl::parse(&ClientId::parse(ID).unwrap(), false).unwrap();
    let policy = Policy::of(&IssuerSettings::default(), vec![Algorithm::Rs256]);
    let key = HmacKey::new(b"the issuer's key for client secrets");
    read(&url, document, &policy, &key, Timestamp::from_seconds(1_800_000_000), &SeededRandom::new(7))
}

/// The metadata with these members in place of others; `null` leaves one out.
fn with(changes: &Value) -> Result<Client, OAuthError> {
    let mut document = metadata();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(document.as_object_mut().unwrap().remove(name)),
            value => document[name] = value.clone(),
        }
    }
    read_bytes(document.to_string().as_bytes())
}

fn told(changes: &Value) -> String {
    match with(changes) {
        Ok(_) => panic!("{changes} was taken"),
        Err(error) => error.description.into_owned(),
    }
}

fn taken(changes: &Value) -> Client {
    with(changes).unwrap_or_else(|error| panic!("{changes}: {error}"))
}

#[test]
fn a_document_describes_a_stranger_without_a_secret() {
    let client = taken(
        &json!({ "skip_consent": true, "is_trusted": true, "settings": { "pkce": "optional" }, "contacts": ["x"] }),
    );
    assert_eq!((client.client_id.as_str(), client.display_name()), (ID, "Tools"));
    assert!(client.is_from_document && client.is_of_stranger() && client.is_public());
    assert!(!client.skip_consent && !client.is_trusted && client.client_secrets.is_empty());
    assert_eq!(client.settings, crate::settings::ClientOverrides::default());
    assert_eq!(client.document_host().as_deref(), Some("app.example"));
    assert_eq!(client.grant_types, [GrantType::AuthorizationCode, GrantType::RefreshToken]);
    // What is left out.
    let least =
        taken(&json!({ "client_name": null, "token_endpoint_auth_method": null, "grant_types": null }));
    assert_eq!((least.display_name(), least.is_public()), ("app.example", true));
}

#[test]
fn a_document_is_of_its_own_address_and_has_no_secret() {
    for (changes, about) in [
        (json!({ "client_id": null }), "client_id"),
        (json!({ "client_id": "https://app.example/oauth/other.json" }), "client_id"),
        (json!({ "client_id": "https://app.example:443/oauth/client.json" }), "client_id"),
        (json!({ "client_id": "https://APP.example/oauth/client.json" }), "client_id"),
        (json!({ "client_id": [ID] }), "client_id"),
        (json!({ "client_secret": "a secret" }), "client_secret"),
        (json!({ "client_secret_expires_at": 0 }), "client_secret_expires_at"),
        (json!({ "token_endpoint_auth_method": "client_secret_basic" }), "token_endpoint_auth_method"),
        (json!({ "token_endpoint_auth_method": "client_secret_post" }), "token_endpoint_auth_method"),
        (json!({ "token_endpoint_auth_method": "private_key_jwt" }), "jwks"),
        (json!({ "software_statement": "a.b.c" }), "no issuer of software statements"),
    ] {
        assert!(told(&changes).starts_with(about), "{changes}: {}", told(&changes));
    }
    for bad in ["", "[]", "\"x\"", "<html>", "{"] {
        assert!(read_bytes(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn it_signs_by_keys_that_are_its_own() {
    let key = SigningKey::generate(Algorithm::Es256, Some("k")).unwrap();
    let jwks = json!({ "keys": [key.public().jwk()] });
    let signs = |more: Value| {
        let mut changes = json!({ "token_endpoint_auth_method": "private_key_jwt" });
        changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(&changes)
    };
    assert!(signs(json!({ "jwks": jwks })).is_ok_and(|client| !client.is_public() && client.jwks.is_some()));
    assert!(signs(json!({ "jwks_uri": "https://app.example/jwks" })).is_ok());
    assert!(signs(json!({ "jwks_uri": "https://other.example/jwks" })).is_err());
    // A private key in it is refused, as in every set of a client.
    let private = json!({ "keys": [{ "kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB" }] });
    assert!(signs(json!({ "jwks": private })).is_err());
}

#[test]
fn codes_go_to_its_origin_or_to_the_persons_device() {
    for good in [
        "https://app.example/",
        "http://127.0.0.1:8080/cb",
        "http://[::1]/cb",
        "http://localhost:33418/",
        "com.example.app:/cb",
    ] {
        taken(
            &json!({ "redirect_uris": [good], "application_type": if good.starts_with("https") { "web" } else { "native" } }),
        );
    }
    for bad in [
        "https://other.example/cb",
        "https://app.example:8443/cb",
        "https://app.example.evil.example/cb",
        "http://app.example/cb",
        "javascript:alert(1)",
    ] {
        let error = with(&json!({ "redirect_uris": ["https://app.example/cb", bad] })).err();
        assert_eq!(error.map(|error| error.code), Some(ErrorCode::InvalidRedirectUri), "{bad}");
    }
    for name in ["initiate_login_uri", "frontchannel_logout_uri", "jwks_uri"] {
        assert!(told(&json!({ name: "https://other.example/x" })).starts_with(name), "{name}");
    }
    assert!(with(&json!({ "post_logout_redirect_uris": ["https://other.example/bye"] })).is_err());
    // A link under its name leads nowhere else.
    let client =
        taken(&json!({ "client_uri": "https://bank.example", "client_uri#de": "https://app.example/de" }));
    assert_eq!(
        (client.displayed("client_uri"), client.displayed_in("client_uri", "de")),
        (None, Some("https://app.example/de".to_owned()))
    );
}

#[test]
fn it_is_bounded_by_what_strangers_may_have_and_gets_no_answers_of_its_own_kind() {
    let client = taken(&json!({
        "scope": "openid email admin", "grant_types": ["authorization_code", "client_credentials"],
        "userinfo_signed_response_alg": "RS256", "introspection_signed_response_alg": "RS256",
        "backchannel_logout_uri": "https://app.example/logout", "backchannel_logout_session_required": true,
    }));
    assert_eq!(
        (client.scope.as_str(), &*client.grant_types),
        ("openid email", &[GrantType::AuthorizationCode][..])
    );
    assert_eq!((client.userinfo_signed_response_alg, client.introspection_signed_response_alg), (None, None));
    assert_eq!(client.logout, crate::client::LogoutUris::default());
}

#[test]
fn a_refusal_tells_the_operator_why_and_strangers_nothing_of_the_network() {
    let id = ClientId::parse(ID).unwrap();
    let unreachable = Unusable::unreachable(&id, "it answered 302 Found".to_owned());
    for error in [unreachable.of_authorization(), unreachable.of_authentication()] {
        assert!(!error.description.contains("302"), "{error}");
        assert_eq!(error.reason, Reason::ClientDocumentUnreachable);
        assert!(
            error.details.and_then(|details| details.sentence()).unwrap().ends_with("it answered 302 Found.")
        );
    }
    let invalid = Unusable::invalid(&id, "client_id must be the URL".to_owned()).of_authorization();
    assert!(invalid.description.ends_with("client_id must be the URL"), "{invalid}");
    let plain = OAuthError::invalid_client(Reason::ClientUnknown);
    assert_eq!(Unusable::refused(&id, String::new()).of_authentication().told(), plain.told());
}

/// OpenID Connect Core 8.1: nobody reads a list that would let the document into the sector of others.
#[test]
fn the_sector_of_a_document_is_its_own_host() {
    let own = with(&json!({
        "redirect_uris": ["https://app.example/callback"], "subject_type": "pairwise",
        "sector_identifier_uri": "https://bank.example/list",
    }));
    assert_eq!(own.unwrap().sector.as_deref(), Some("app.example"));
}
