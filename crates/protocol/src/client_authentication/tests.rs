use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use proptest::prelude::*;
use serde_json::{Value, json};
use symbolon_crypto::Algorithm;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::random::SeededRandom;
use symbolon_crypto::secret::SecretString;

use super::*;
use crate::client_metadata;
use crate::error::ErrorCode;
use crate::id::ClientId;
use crate::params::Params;
use crate::security_profile::SecurityProfile;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const SECRET: &str = "correct-horse-battery-staple-0123456789";
const ISSUER: &str = "https://op.example";
const TOKEN_ENDPOINT: &str = "https://op.example/token";
static KEY: LazyLock<HmacKey> = LazyLock::new(|| HmacKey::new(b"the issuer's key for client secrets"));
static EXPECTED: LazyLock<Expectation<'static>> = LazyLock::new(|| Expectation {
    issuer: ISSUER,
    token_endpoint: TOKEN_ENDPOINT,
    asked_endpoint: None,
    audience_is_issuer: false,
    trusted_issuer: None,
    certificate: None,
    secret_key: &KEY,
    now: NOW,
});

fn client(method: TokenEndpointAuthMethod, secrets: &[&str]) -> Client {
    let metadata = json!({"client_id": "rp", "client_name": "RP", "redirect_uris": ["https://rp.example/"]});
    let Value::Object(metadata) = metadata else { panic!("an object") };
    let made = client_metadata::create(metadata, &KEY, NOW, &SeededRandom::new(1)).unwrap().client;
    let random = SeededRandom::new(2);
    let of = |secret: &&str| ClientSecret::new(&SecretString::from(*secret), &KEY, NOW, &random);
    let client_secrets = secrets.iter().map(of).collect::<Vec<_>>().into();
    Client { token_endpoint_auth_method: method, client_secrets, ..made }
}

fn form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn basic(joined: &str) -> String {
    format!("Basic {}", STANDARD.encode(joined))
}

/// Reads and verifies against a client.
fn authenticate(header: Option<&str>, body: &str, client: &Client) -> Result<Verified, AuthenticationFailed> {
    let params = Params::parse(body.as_bytes()).unwrap();
    let presented = PresentedCredentials::read(header.map(str::as_bytes), &params)?;
    verify(&presented, Some(client), client.verifying_keys(None), &EXPECTED)
}

#[test]
fn a_short_secret_of_another_provider_authenticates_at_this_issuer_alone() {
    let short = "imported-secret1";
    let registered = client(TokenEndpointAuthMethod::ClientSecretBasic, &[short, SECRET]);
    let header = basic(&format!("rp:{short}"));
    assert!(authenticate(Some(&header), "", &registered).is_ok());
    let params = Params::parse(b"").unwrap();
    let presented = PresentedCredentials::read(Some(header.as_bytes()), &params).unwrap();
    let other = HmacKey::new(b"the key of another issuer");
    let elsewhere = Expectation { secret_key: &other, ..*EXPECTED };
    assert!(verify(&presented, Some(&registered), &[], &elsewhere).is_err());
    let wrong = basic("rp:imported-secret2");
    assert!(authenticate(Some(&wrong), "", &registered).is_err());
}

#[test]
fn an_expired_secret_does_not_authenticate() {
    let mut registered = client(TokenEndpointAuthMethod::ClientSecretBasic, &[SECRET]);
    let (new, old) = ("another-secret-another-secret-another", SECRET);
    let later = ClientSecret::new(&SecretString::from(new), &KEY, NOW, &SeededRandom::new(3));
    let minute = Duration::from_secs(60);
    registered.client_secrets = registered.client_secrets.renewed(later, minute, NOW);
    let at = |secret: &str, now: Timestamp| {
        let header = basic(&format!("rp:{secret}"));
        let params = Params::parse(b"").unwrap();
        let presented = PresentedCredentials::read(Some(header.as_bytes()), &params).unwrap();
        verify(&presented, Some(&registered), &[], &Expectation { now, ..*EXPECTED })
    };
    for (secret, now, good) in [
        (old, NOW, true),
        (old, NOW + (minute - Duration::from_millis(1)), true),
        (old, NOW + minute, false),
        (new, NOW, true),
        (new, NOW + minute * 1_000_000, true),
    ] {
        assert_eq!(at(secret, now).is_ok(), good, "{secret} at {now}");
    }
    let used = |secret: &str| at(secret, NOW).unwrap().secret_use.unwrap();
    assert_ne!(used(old), used(new), "each notes its own use");
}

#[test]
fn secrets_in_header_and_form() {
    use TokenEndpointAuthMethod as Method;
    let registered = client(Method::ClientSecretBasic, &[SECRET]);
    let post = form(&[("client_id", "rp"), ("client_secret", SECRET)]);
    assert!(authenticate(Some(&basic(&format!("rp:{SECRET}"))), "", &registered).is_ok());
    assert!(authenticate(Some(&basic(&format!("rp:{SECRET}"))), "client_id=rp", &registered).is_ok());
    assert!(authenticate(None, &post, &registered).is_ok(), "both ways of a secret are one method");
    let old_and_new = client(Method::ClientSecretPost, &["another-secret-another-secret-another", SECRET]);
    assert!(authenticate(None, &post, &old_and_new).is_ok(), "every live secret counts");
    for method in [Method::PrivateKeyJwt, Method::None] {
        assert!(authenticate(None, &post, &client(method, &[SECRET])).is_err(), "{method:?}");
    }
    assert!(authenticate(None, &post, &client(Method::ClientSecretBasic, &[])).is_err(), "no live secret");
}

#[test]
fn a_wrong_secret_and_an_unknown_client_look_the_same() {
    let registered = client(TokenEndpointAuthMethod::ClientSecretBasic, &[SECRET]);
    for header in [true, false] {
        let body = form(&[("client_id", "rp"), ("client_secret", "wrong")]);
        let (head, body) = if header { (Some(basic("rp:wrong")), "") } else { (None, body.as_str()) };
        let params = Params::parse(body.as_bytes()).unwrap();
        let presented =
            PresentedCredentials::read(head.as_deref().map(str::as_bytes), &params).map_err(|_| ()).unwrap();
        let wrong = verify(&presented, Some(&registered), &[], &EXPECTED).unwrap_err();
        let unknown = verify(&presented, None, &[], &EXPECTED).unwrap_err();
        assert_eq!(wrong.error.told(), unknown.error.told());
        assert_eq!(wrong.basic_challenge, unknown.basic_challenge);
        assert_eq!(wrong.error.told(), OAuthError::invalid_client(Reason::ClientUnknown).told());
        let reasons = [wrong.error.reason, unknown.error.reason];
        assert_eq!(reasons, [Reason::ClientSecretWrong, Reason::ClientUnknown], "the operator knows");
        assert_eq!(wrong.basic_challenge, header, "RFC 6749 5.2");
    }
    let other = Client { client_id: crate::id::ClientId::trusted("other"), ..registered };
    assert!(authenticate(Some(&basic(&format!("rp:{SECRET}"))), "", &other).is_err());
}

#[test]
fn exactly_one_method() {
    let registered = client(TokenEndpointAuthMethod::ClientSecretBasic, &[SECRET]);
    let header = basic(&format!("rp:{SECRET}"));
    let assertion = [("client_assertion", "a.b.c"), ("client_assertion_type", CLIENT_ASSERTION_TYPE)];
    let table = [
        (Some(&header), form(&[("client_id", "rp"), ("client_secret", SECRET)])),
        (Some(&header), form(&assertion)),
        (None, form(&[assertion[0], assertion[1], ("client_secret", SECRET), ("client_id", "rp")])),
        (Some(&header), form(&[("client_id", "other")])),
        (None, form(&assertion[..1])),
        (None, form(&assertion[1..])),
        (None, form(&[assertion[0], ("client_assertion_type", "saml")])),
        (None, form(&[("client_id", "rp"), ("client_id", "rp"), ("client_secret", SECRET)])),
    ];
    for (header, body) in table {
        let failed = authenticate(header.map(String::as_str), &body, &registered).unwrap_err();
        assert_eq!(failed.error.code, ErrorCode::InvalidRequest, "{body}");
    }
}

#[test]
fn missing_and_unreadable_credentials_are_invalid_client() {
    let registered = client(TokenEndpointAuthMethod::ClientSecretBasic, &[SECRET]);
    let headers = ["Basic", "Basic ", "Basic !!!", "Bearer x", "Basic cnA", &basic("a b:x"), &basic("%zz:x")];
    for header in headers {
        let failed = authenticate(Some(header), "", &registered).unwrap_err();
        assert_eq!(failed.error.code, ErrorCode::InvalidClient, "{header}");
        assert!(failed.basic_challenge, "{header}");
    }
    for body in ["", "client_id=a+b", "client_secret=x"] {
        assert_eq!(authenticate(None, body, &registered).unwrap_err().error.code, ErrorCode::InvalidClient);
    }
}

#[test]
fn only_public_clients_come_without_proof() {
    assert!(authenticate(None, "client_id=rp", &client(TokenEndpointAuthMethod::None, &[])).is_ok());
    let confidential = client(TokenEndpointAuthMethod::ClientSecretBasic, &[SECRET]);
    assert!(authenticate(None, "client_id=rp", &confidential).is_err());
    // An empty secret beside the id is none.
    let empty = basic("rp:");
    assert!(authenticate(Some(&empty), "", &client(TokenEndpointAuthMethod::None, &[])).is_ok());
    assert!(authenticate(Some(&basic("rp:x")), "", &client(TokenEndpointAuthMethod::None, &[])).is_err());
    assert!(authenticate(Some(&empty), "", &confidential).is_err_and(|failed| failed.basic_challenge));
}

#[test]
fn basic_is_read_encoded_and_as_it_stands() {
    let secret = "sl/ash+plus%41=and:colon-and-more-characters";
    let registered = client(TokenEndpointAuthMethod::ClientSecretBasic, &[secret]);
    let encoded = form_urlencoded::byte_serialize(secret.as_bytes()).collect::<String>();
    assert!(authenticate(Some(&basic(&format!("rp:{encoded}"))), "", &registered).is_ok(), "RFC 6749 2.3.1");
    assert!(authenticate(Some(&basic(&format!("rp:{secret}"))), "", &registered).is_ok(), "not encoded");
    let unpadded = format!("bAsIc  {}", STANDARD_NO_PAD.encode(format!("rp:{secret}")));
    assert!(authenticate(Some(&unpadded), "", &registered).is_ok());
}

#[test]
fn an_id_in_basic_is_read_as_it_stands_where_decoding_makes_none() {
    for id in ["team+app", "50%off", "a%41"] {
        let id = ClientId::parse(id).unwrap();
        let registered =
            Client { client_id: id.clone(), ..client(TokenEndpointAuthMethod::ClientSecretBasic, &[SECRET]) };
        let encoded = form_urlencoded::byte_serialize(id.as_str().as_bytes()).collect::<String>();
        let good =
            |written: &str| authenticate(Some(&basic(&format!("{written}:{SECRET}"))), "", &registered);
        assert!(good(&encoded).is_ok(), "{id:?} by RFC 6749 2.3.1");
        assert_eq!(good(id.as_str()).is_ok(), id.as_str() != "a%41", "{id:?} as it stands");
    }
}

struct Signer {
    key: SigningKey,
    client: Client,
}

fn signer(algorithm: Algorithm) -> Signer {
    let key = SigningKey::generate(algorithm, Some("k1")).unwrap();
    let jwk = key.public().jwk().clone();
    let jwks = Some(JwkSet::new(vec![jwk]));
    Signer { key, client: Client { jwks, ..client(TokenEndpointAuthMethod::PrivateKeyJwt, &[]) } }
}

fn claims() -> Value {
    json!({"iss": "rp", "sub": "rp", "aud": ISSUER, "exp": NOW.seconds() + 60, "iat": NOW.seconds(), "jti": "j1"})
}

impl Signer {
    fn sign_as(&self, header: &EncodedHeader, claims: &Value) -> String {
        let input = signing_input(header.as_str(), &serde_json::to_vec(claims).unwrap());
        let signature = self.key.sign(input.as_bytes()).unwrap();
        finish(input, &signature)
    }

    fn sign(&self, claims: &Value) -> String {
        self.sign_as(&EncodedHeader::for_key(&self.key, None), claims)
    }

    fn authenticate(&self, assertion: &str) -> Result<Verified, AuthenticationFailed> {
        let pairs = [("client_assertion", assertion), ("client_assertion_type", CLIENT_ASSERTION_TYPE)];
        authenticate(None, &form(&pairs), &self.client)
    }

    fn accepts(&self, changes: &[(&str, Value)]) -> bool {
        let mut changed = claims();
        for (name, value) in changes {
            changed[*name] = value.clone();
            if value.is_null() {
                changed.as_object_mut().unwrap().remove(*name);
            }
        }
        self.authenticate(&self.sign(&changed)).is_ok()
    }
}

#[test]
fn assertions_of_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let signer = signer(algorithm);
        let verified = signer.authenticate(&signer.sign(&claims())).unwrap();
        let mark = verified.assertion_use.unwrap();
        assert_eq!(mark.jti.as_str(), "j1");
        assert!(mark.expires_at >= NOW + Duration::from_secs(60), "{algorithm}");
    }
}

/// RFC 9126 2: the endpoint for pushed requests accepts its own URL too.
#[test]
fn the_endpoint_that_is_asked_is_an_audience_where_it_may_be_one() {
    const ASKED: &str = "https://op.example/par";
    let mut signer = signer(Algorithm::Es256);
    let mut changed = claims();
    changed["aud"] = json!(ASKED);
    let assertion = signer.sign(&changed);
    let body = form(&[("client_assertion", &assertion), ("client_assertion_type", CLIENT_ASSERTION_TYPE)]);
    let accepts = |client: &Client, asked_endpoint: Option<&str>| {
        let params = Params::parse(body.as_bytes()).unwrap();
        let Ok(presented) = PresentedCredentials::read(None, &params) else { panic!("it is one") };
        let expected = Expectation {
            issuer: ISSUER,
            token_endpoint: TOKEN_ENDPOINT,
            asked_endpoint,
            audience_is_issuer: false,
            trusted_issuer: None,
            certificate: None,
            secret_key: &KEY,
            now: NOW,
        };
        verify(&presented, Some(client), client.verifying_keys(None), &expected).is_ok()
    };
    assert!(accepts(&signer.client, Some(ASKED)));
    assert!(!accepts(&signer.client, None));
    assert!(!accepts(&signer.client, Some("https://op.example/other")));
    signer.client.settings.audience_is_issuer = Some(true);
    assert!(!accepts(&signer.client, Some(ASKED)));
}

/// FAPI 2.0 Security Profile 5.3.2.1: the issuer's URL as a text, whatever settings say.
#[test]
fn under_a_profile_the_audience_is_the_issuer_as_a_text() {
    let mut signer = signer(Algorithm::Es256);
    signer.client.settings.profile = Some(SecurityProfile::Fapi2Security);
    assert!(signer.accepts(&[]));
    for aud in [json!([ISSUER]), json!(TOKEN_ENDPOINT), json!([]), json!([ISSUER, TOKEN_ENDPOINT])] {
        assert!(!signer.accepts(&[("aud", aud.clone())]), "{aud}");
    }
}

/// FAPI 2.0 Security Profile 5.4.
#[test]
fn under_a_profile_no_assertion_is_signed_by_rs256() {
    let mut signer = signer(Algorithm::Rs256);
    assert!(signer.accepts(&[]));
    signer.client.settings.profile = Some(SecurityProfile::Fapi2Security);
    let refused = signer.authenticate(&signer.sign(&claims())).unwrap_err();
    assert_eq!(refused.error.reason, Reason::AssertionAlgorithmOther);
}

#[test]
fn claims_of_rfc_7523() {
    let signer = signer(Algorithm::Es256);
    let seconds = NOW.seconds();
    let good: &[&[(&str, Value)]] = &[
        &[],
        &[("aud", json!(TOKEN_ENDPOINT))],
        &[("aud", json!([ISSUER]))],
        &[("aud", json!([TOKEN_ENDPOINT]))],
        &[("aud", json!([ISSUER, TOKEN_ENDPOINT]))],
        &[("iat", Value::Null)],
        &[("exp", json!(seconds as f64 + 59.5))],
        &[("exp", json!(seconds + 300)), ("iat", Value::Null)],
        &[("exp", json!(seconds + 3_600))],
        &[("exp", json!(1e300)), ("iat", json!(seconds - 300))],
        &[("nbf", json!(seconds))],
        // FAPI 2.0 Security Profile 5.3.2.1: 10 seconds ahead are taken, and 60 are not.
        &[("nbf", json!(seconds + 10)), ("iat", json!(seconds + 10))],
        &[("extra", json!({"a": 1}))],
    ];
    let bad: &[&[(&str, Value)]] = &[
        &[("iss", json!("other"))],
        &[("iss", Value::Null)],
        &[("sub", json!("other"))],
        &[("sub", Value::Null)],
        &[("aud", json!("https://other.example"))],
        &[("aud", json!([]))],
        &[("aud", Value::Null)],
        &[("aud", json!("https://op.example/"))],
        &[("aud", json!(["https://other.example", ISSUER]))],
        &[("aud", json!([TOKEN_ENDPOINT, "https://other.example"]))],
        &[("aud", json!([ISSUER, TOKEN_ENDPOINT, "https://other.example"]))],
        &[("exp", Value::Null)],
        &[("exp", json!("60"))],
        &[("exp", json!(seconds - 31))],
        &[("exp", json!(-5))],
        &[("exp", json!(seconds + 331)), ("iat", Value::Null)],
        &[("exp", json!(1e300)), ("iat", Value::Null)],
        &[("exp", json!(seconds + 3_600)), ("iat", json!(seconds - 331))],
        &[("exp", json!(seconds + 3_600)), ("iat", json!(1e300))],
        &[("nbf", json!(seconds + 31))],
        &[("iat", json!(seconds + 31))],
        &[("jti", Value::Null)],
        &[("jti", json!(""))],
        &[("jti", json!("x".repeat(513)))],
    ];
    for changes in good {
        assert!(signer.accepts(changes), "{changes:?}");
    }
    for changes in bad {
        assert!(!signer.accepts(changes), "{changes:?}");
    }
}

#[test]
fn signatures_by_other_keys_and_headers_are_refused() {
    let (own, other) = (signer(Algorithm::Es256), signer(Algorithm::Es256));
    let refused = |text: &str| {
        let failed = own.authenticate(text).unwrap_err();
        assert_eq!(failed.error.told(), OAuthError::invalid_client(Reason::ClientUnknown).told(), "{text}");
    };
    refused(&other.sign(&claims()));
    refused(&own.sign_as(&EncodedHeader::new(Algorithm::Es256, "k2", None), &claims()));
    refused(&own.sign_as(&EncodedHeader::new(Algorithm::Rs256, "k1", None), &claims()));
    refused("a.b.c");
    let unsigned = own.sign(&claims());
    refused(unsigned.rsplit_once('.').map(|(input, _)| format!("{input}.")).as_deref().unwrap());
    let at_jwt = own.sign_as(&EncodedHeader::for_key(&own.key, Some("at+jwt")), &claims());
    assert!(own.authenticate(&at_jwt).is_err());
    let typed = own.sign_as(&EncodedHeader::for_key(&own.key, Some("client-authentication+jwt")), &claims());
    assert!(own.authenticate(&typed).is_ok());
}

#[test]
fn a_client_id_beside_the_assertion_must_be_the_same() {
    let signer = signer(Algorithm::EdDsa);
    let assertion = signer.sign(&claims());
    let pairs = |id| {
        form(&[
            ("client_assertion", &assertion),
            ("client_assertion_type", CLIENT_ASSERTION_TYPE),
            ("client_id", id),
        ])
    };
    assert!(authenticate(None, &pairs("rp"), &signer.client).is_ok());
    let failed = authenticate(None, &pairs("other"), &signer.client).unwrap_err();
    assert_eq!(failed.error.code, ErrorCode::InvalidRequest);
}

#[test]
fn a_key_for_another_algorithm_does_not_verify() {
    let mut signer = signer(Algorithm::Rs256);
    let assertion = signer.sign(&claims());
    let mut jwk = signer.key.public().jwk().clone();
    jwk.alg = Some("PS256".into());
    signer.client.jwks = Some(JwkSet::new(vec![jwk]));
    assert!(signer.authenticate(&assertion).is_err(), "RFC 8725 3.1");
}

#[test]
fn only_the_registered_algorithm_authenticates() {
    let mut signer = signer(Algorithm::Rs256);
    let assertion = signer.sign(&claims());
    for (registered, good) in [(None, true), (Some(Algorithm::Rs256), true), (Some(Algorithm::Ps256), false)]
    {
        signer.client.token_endpoint_auth_signing_alg = registered;
        assert_eq!(signer.authenticate(&assertion).is_ok(), good, "{registered:?}");
    }
}

proptest! {
    #[test]
    fn any_header_and_form_never_panic(header: Option<Vec<u8>>, body in "[a-z_=&%+:.0-9]{0,80}") {
        if let Ok(params) = Params::parse(body.as_bytes()) {
            let _ = PresentedCredentials::read(header.as_deref(), &params);
        }
    }

    #[test]
    fn encoded_credentials_round_trip(id in "[!-~]{1,40}", secret in ".{1,60}") {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let header = basic(&format!("{}:{}", encode(&id), encode(&secret)));
        let params = Params::parse(b"").unwrap();
        let Ok(PresentedCredentials::Secret { client_id, digest, .. }) = PresentedCredentials::read(Some(header.as_bytes()), &params)
        else {
            panic!("not read: {id}")
        };
        prop_assert_eq!(client_id.as_str(), id.as_str());
        prop_assert!(digest == secret_digest(&secret));
    }

    #[test]
    fn any_payload_never_panics(payload in ".{0,60}", known in any::<bool>()) {
        let input = signing_input(EncodedHeader::new(Algorithm::Es256, "k1", None).as_str(), payload.as_bytes());
        let text = format!("{input}.AAAA");
        let text = if known { text } else { payload };
        let client = client(TokenEndpointAuthMethod::PrivateKeyJwt, &[]);
        for named in [None, Some("rp")] {
            if let Ok(presented) = presented::read_assertion(&text, named) {
                prop_assert!(verify(&presented, Some(&client), &[], &EXPECTED).is_err());
            }
        }
    }
}
