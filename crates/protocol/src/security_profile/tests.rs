use serde_json::{Value, json};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::random::SeededRandom;

use super::*;
use crate::authorize::pushed_request;
use crate::client_metadata::{self, Metadata};
use crate::error::OAuthError;
use crate::settings::{ClientOverrides, IssuerSettings, Lifetimes};
use crate::time::Timestamp;
use crate::token::fixture;

const PROFILES: [SecurityProfile; 2] = [SecurityProfile::Fapi2Security, SecurityProfile::Fapi2MessageSigning];
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn object(value: Value) -> Metadata {
    let Value::Object(object) = value else { panic!("an object") };
    object
}

/// The metadata of a client that keeps to a profile, with members changed.
fn metadata(profile: SecurityProfile, changes: &Value) -> Metadata {
    let key = SigningKey::generate(Algorithm::Es256, Some("k1")).unwrap();
    let mut all = object(json!({
        "client_name": "A bank", "redirect_uris": ["https://rp.example/cb"], "profile": profile,
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "private_key_jwt",
        "jwks": { "keys": [key.public().jwk()] }, "id_token_signed_response_alg": "ES256",
    }));
    all.extend(object(changes.clone()));
    all
}

fn create(metadata: Metadata) -> Result<Client, OAuthError> {
    let made = client_metadata::create(metadata, &HmacKey::new(b"key"), NOW, &SeededRandom::new(1));
    made.map(|made| made.client)
}

fn client(profile: Option<SecurityProfile>) -> Client {
    Client { settings: ClientOverrides { profile, ..ClientOverrides::default() }, ..fixture::client("app") }
}

#[test]
fn a_profile_is_read_by_its_name_and_kept() {
    for (profile, name) in PROFILES.into_iter().zip(SecurityProfile::NAMES) {
        assert_eq!((json!(profile), profile.as_str()), (json!(name), name));
        let client = create(metadata(profile, &json!({}))).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(client.settings.profile, Some(profile));
        assert_eq!(client_metadata::view(&client)["settings"]["profile"], name);
    }
    let error = create(metadata(PROFILES[0], &json!({ "profile": "fapi1" }))).err().unwrap();
    assert!(error.description.starts_with("settings is not valid"), "{error}");
    // Nodes of earlier versions read the records of clients without one.
    assert_eq!(json!(ClientOverrides::default()).get("profile"), None);
}

#[test]
fn what_contradicts_a_profile_is_refused_by_its_name() {
    let of_both = [
        ("token_endpoint_auth_method", json!({ "token_endpoint_auth_method": "client_secret_basic" })),
        ("token_endpoint_auth_method", json!({ "token_endpoint_auth_method": "none" })),
        (
            "assertion_issuers",
            json!({ "assertion_issuers": [{ "issuer": "https://ci.example", "sub": "job" }] }),
        ),
        (
            "response_types",
            json!({ "response_types": ["code", "code id_token"], "grant_types": ["authorization_code", "implicit"] }),
        ),
        ("redirect_uri_forms", json!({ "redirect_uri_forms": ["http_private_host"] })),
        ("redirect_uris", json!({ "redirect_uris": ["https://rp.example/cb", "http://127.0.0.1/cb"] })),
        ("require_pushed_authorization_requests", json!({ "require_pushed_authorization_requests": false })),
        ("dpop_bound_access_tokens", json!({ "dpop_bound_access_tokens": false })),
        ("settings.pkce", json!({ "pkce": "or_nonce" })),
        ("settings.pkce", json!({ "require_pkce": false })),
        ("settings.audience_is_issuer", json!({ "audience_is_issuer": false })),
        ("settings.code_lifetime", json!({ "code_lifetime": 61 })),
        ("settings.refresh_token_rotation", json!({ "refresh_token_rotation": true })),
        ("id_token_signed_response_alg", json!({ "id_token_signed_response_alg": null })),
        ("id_token_signed_response_alg", json!({ "id_token_signed_response_alg": "RS256" })),
        ("access_token_signed_response_alg", json!({ "access_token_signed_response_alg": "RS256" })),
        ("authorization_signed_response_alg", json!({ "authorization_signed_response_alg": "RS256" })),
        ("userinfo_signed_response_alg", json!({ "userinfo_signed_response_alg": "RS256" })),
        ("introspection_signed_response_alg", json!({ "introspection_signed_response_alg": "RS256" })),
        ("token_endpoint_auth_signing_alg", json!({ "token_endpoint_auth_signing_alg": "RS256" })),
        ("request_object_signing_alg", json!({ "request_object_signing_alg": "RS256" })),
    ];
    for profile in PROFILES {
        for (member, changes) in &of_both {
            let error = create(metadata(profile, changes)).err().unwrap_or_else(|| panic!("{changes}"));
            assert_eq!(error.code.as_str(), "invalid_request");
            let (begin, end) = (format!("{member} must"), format!("has the profile {}", profile.as_str()));
            assert!(error.description.starts_with(&begin) && error.description.ends_with(&end), "{error}");
        }
        let unsigned = create(metadata(profile, &json!({ "require_signed_request_object": false })));
        assert_eq!(unsigned.is_err(), profile == SecurityProfile::Fapi2MessageSigning);
    }
}

#[test]
fn what_a_profile_implies_may_be_said_too() {
    let said = json!({
        "require_pushed_authorization_requests": true, "dpop_bound_access_tokens": true,
        "require_signed_request_object": true, "response_types": ["code"], "pkce": "required",
        "audience_is_issuer": true, "code_lifetime": 60, "refresh_token_rotation": false,
        "id_token_signed_response_alg": "EdDSA", "access_token_signed_response_alg": "PS256",
        "token_endpoint_auth_signing_alg": "ES256", "request_object_signing_alg": "ES256",
    });
    for profile in PROFILES {
        create(metadata(profile, &said)).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_later_change_must_keep_to_the_profile_too() {
    let made = create(metadata(PROFILES[0], &json!({}))).unwrap_or_else(|error| panic!("{error}"));
    let changed = |change: Value| {
        let (key, random) = (HmacKey::new(b"key"), SeededRandom::new(2));
        client_metadata::patch(&made, object(change), &key, NOW, &random).map(|made| made.client)
    };
    for (change, is_good) in [
        (json!({ "client_name": "Another" }), true),
        (json!({ "dpop_bound_access_tokens": false }), false),
        (json!({ "redirect_uris": ["http://localhost/cb"] }), false),
        (json!({ "profile": null, "redirect_uris": ["http://localhost/cb"] }), true),
        (json!({ "settings": { "profile": null, "pkce": "optional" } }), true),
        (json!({ "profile": "fapi2_message_signing" }), true),
    ] {
        assert_eq!(changed(change.clone()).is_ok(), is_good, "{change}");
    }
}

#[test]
fn each_rule_holds_whatever_issuer_and_client_say() {
    let settings = IssuerSettings {
        pkce: PkcePolicy::Optional,
        lifetimes: Lifetimes { code: Duration::from_secs(600), ..Lifetimes::default() },
        ..IssuerSettings::default()
    };
    let rules = |profile: Option<SecurityProfile>| {
        let client = client(profile);
        let own = &client.settings;
        (
            [
                pushed_request::is_required(&client, &settings),
                client.requires_bound_tokens(),
                own.requires_issuer_audience(false),
                !settings.rotates_for(own),
                settings.pkce_for(own) == PkcePolicy::Required,
                !allows(profile, Algorithm::Rs256),
            ],
            settings.lifetimes_for(own).code.as_secs(),
            client.requires_signed_requests(),
        )
    };
    assert_eq!(rules(None), ([false; 6], 600, false));
    assert_eq!(rules(Some(SecurityProfile::Fapi2Security)), ([true; 6], 60, false));
    assert_eq!(rules(Some(SecurityProfile::Fapi2MessageSigning)), ([true; 6], 60, true));
    // Whether its tokens are bound stands in its own metadata.
    let of_fapi_1 = [false, false, false, false, false, true];
    assert_eq!(rules(Some(SecurityProfile::Fapi1Advanced)), (of_fapi_1, 600, true));
    let short = ClientOverrides { code_lifetime: Some(20), ..client(Some(PROFILES[0])).settings };
    assert_eq!(settings.lifetimes_for(&short).code.as_secs(), 20, "a shorter life stays");
    assert!(PROFILES.into_iter().all(|own| ALGORITHMS.into_iter().all(|alg| allows(Some(own), alg))));
}

#[test]
fn what_has_no_algorithm_is_signed_as_id_tokens_are() {
    let own = Some(Algorithm::EdDsa);
    for (profile, named, signs) in [
        (None, None, Algorithm::Rs256),
        (None, own, Algorithm::EdDsa),
        (Some(PROFILES[0]), None, Algorithm::Es256),
        (Some(PROFILES[0]), own, Algorithm::EdDsa),
    ] {
        let client = Client { id_token_signed_response_alg: Some(Algorithm::Es256), ..client(profile) };
        assert_eq!(client.signing_algorithm(named, Algorithm::Rs256), signs);
    }
}

#[test]
fn a_certificate_may_stand_in_for_assertions_and_for_dpop() {
    let by_certificate = json!({
        "token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_san_dns": "bank.example",
    });
    let bound =
        json!({ "tls_client_certificate_bound_access_tokens": true, "dpop_bound_access_tokens": false });
    for profile in PROFILES {
        let client = create(metadata(profile, &by_certificate)).unwrap_or_else(|error| panic!("{error}"));
        assert!(client.requires_proof(), "tokens are bound by DPoP where nothing else is said");
        let client = create(metadata(profile, &bound)).unwrap_or_else(|error| panic!("{error}"));
        assert!(client.requires_bound_tokens() && !client.requires_proof());
    }
}

/// Metadata that keeps to FAPI 1.0 Advanced, with members changed.
fn of_fapi_1(changes: &Value) -> Metadata {
    let mut all = metadata(
        SecurityProfile::Fapi1Advanced,
        &json!({
            "tls_client_certificate_bound_access_tokens": true, "response_types": ["code", "code id_token"],
            "grant_types": ["authorization_code", "refresh_token", "implicit"],
        }),
    );
    all.extend(object(changes.clone()));
    all
}

#[test]
fn fapi_1_has_rules_of_its_own() {
    for good in [
        json!({}),
        // Unlike under FAPI 2.0.
        json!({ "require_pushed_authorization_requests": false, "dpop_bound_access_tokens": false }),
        json!({ "audience_is_issuer": false, "code_lifetime": 300, "refresh_token_rotation": true, "pkce": "or_nonce" }),
        json!({ "token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_san_dns": "bank.example", "jwks": null }),
    ] {
        let client = create(of_fapi_1(&good)).unwrap_or_else(|error| panic!("{good}: {error}"));
        assert!(
            client.requires_signed_requests() && client.requires_bound_tokens() && !client.requires_proof()
        );
    }
    for (member, bad) in [
        ("token_endpoint_auth_method", json!({ "token_endpoint_auth_method": "client_secret_basic" })),
        ("response_types", json!({ "response_types": ["code id_token token"] })),
        ("redirect_uris", json!({ "redirect_uris": ["http://127.0.0.1/cb"] })),
        ("require_signed_request_object", json!({ "require_signed_request_object": false })),
        (
            "tls_client_certificate_bound_access_tokens",
            json!({ "tls_client_certificate_bound_access_tokens": false }),
        ),
        ("id_token_signed_response_alg", json!({ "id_token_signed_response_alg": "EdDSA" })),
        ("request_object_signing_alg", json!({ "request_object_signing_alg": "EdDSA" })),
    ] {
        let error = create(of_fapi_1(&bad)).err().unwrap_or_else(|| panic!("{bad}"));
        assert!(error.description.starts_with(&format!("{member} must")), "{error}");
    }
}

#[test]
fn fapi_1_takes_codes_in_signed_answers_or_with_an_id_token() {
    let check = |profile, response_type, response_mode, (has_openid, nonce, state)| {
        check_request(&client(profile), Asked { response_type, response_mode, has_openid, nonce, state })
            .map_err(|error| error.description)
    };
    let fapi_1 = Some(SecurityProfile::Fapi1Advanced);
    let (code, hybrid) = (ResponseType::Code, ResponseType::CodeIdToken);
    let (query, jwt, fragment) = (ResponseMode::Query, ResponseMode::QueryJwt, ResponseMode::Fragment);
    let sent = (true, Some("n"), None);
    for (response_type, response_mode) in [(code, jwt), (hybrid, fragment)] {
        assert!(check(fapi_1, response_type, response_mode, sent).is_ok());
        let error = check(fapi_1, response_type, response_mode, (true, None, Some("s"))).unwrap_err();
        assert!(error.starts_with("nonce is required"), "{error}");
        let error = check(fapi_1, response_type, response_mode, (false, Some("n"), None)).unwrap_err();
        assert!(error.starts_with("state is required"), "{error}");
        assert!(check(fapi_1, response_type, response_mode, (false, None, Some("s"))).is_ok());
    }
    let error = check(fapi_1, code, query, sent).unwrap_err();
    assert!(error.starts_with("response_type=code needs response_mode=jwt"), "{error}");
    for profile in [None, Some(PROFILES[0]), Some(PROFILES[1])] {
        assert!(check(profile, code, query, (true, None, None)).is_ok());
    }
}
