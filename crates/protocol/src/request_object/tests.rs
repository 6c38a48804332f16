use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::SigningKey;

use super::*;
use crate::token::fixture;

const ISSUER: &str = "https://op.example";
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

struct Signer {
    key: SigningKey,
    client: Client,
}

impl Signer {
    fn new(algorithm: Algorithm) -> Self {
        let key = SigningKey::generate(algorithm, Some("k1")).unwrap();
        let jwks = Some(JwkSet::new(vec![key.public().jwk().clone()]));
        Self { key, client: Client { jwks, ..fixture::client("app") } }
    }

    fn sign(&self, typ: Option<&str>, claims: &Value) -> String {
        let header = EncodedHeader::for_key(&self.key, typ);
        let input = signing_input(header.as_str(), &serde_json::to_vec(claims).unwrap());
        let signature = self.key.sign(input.as_bytes()).unwrap();
        finish(input, &signature)
    }

    fn read(&self, object: &str) -> Result<Option<String>, OAuthError> {
        // What stands beside the object does not count.
        let query = format!("client_id=app&state=beside&scope=admin&request={object}");
        let params = Params::parse(query.as_bytes()).unwrap();
        parameters(&params, &self.client, self.client.verifying_keys(None), ISSUER, NOW)
    }

    fn reason(&self, changes: Value) -> Option<Reason> {
        let mut claims = claims();
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        self.read(&self.sign(None, &claims)).err().map(|error| {
            assert_eq!(error.code.as_str(), "invalid_request_object");
            error.reason
        })
    }
}

fn claims() -> Value {
    let now = NOW.seconds();
    json!({
        "iss": "app", "aud": ISSUER, "exp": now + 60, "nbf": now, "iat": now, "jti": "j-1", "client_id": "app",
        "response_type": "code", "redirect_uri": "https://app.example.com/cb", "scope": "openid", "state": "a&b",
        "max_age": 300, "claims": { "id_token": { "acr": null } }, "resource": ["https://a.example", "https://b.example"],
    })
}

#[test]
fn what_is_signed_is_the_request_and_nothing_else() {
    for algorithm in Algorithm::ALL {
        let signer = Signer::new(algorithm);
        for typ in [None, Some("JWT"), Some("oauth-authz-req+jwt")] {
            let form = signer.read(&signer.sign(typ, &claims())).unwrap().unwrap();
            let params = Params::parse(form.as_bytes()).unwrap();
            let of = |name: &str| params.get_all(name).collect::<Vec<_>>().join(" ");
            assert_eq!((&*of("client_id"), &*of("scope"), &*of("state")), ("app", "openid", "a&b"));
            assert_eq!((&*of("max_age"), &*of("claims")), ("300", r#"{"id_token":{"acr":null}}"#));
            assert_eq!(of("resource"), "https://a.example https://b.example");
            assert!(["iss", "aud", "exp", "jti"].iter().all(|name| of(name).is_empty()), "{form}");
        }
    }
    let signer = Signer::new(Algorithm::Es256);
    let both = format!("client_id=app&request_uri=urn%3Ax&request={}", signer.sign(None, &claims()));
    let both = Params::parse(both.as_bytes()).unwrap();
    let keys = signer.client.verifying_keys(None);
    let refused = parameters(&both, &signer.client, keys, ISSUER, NOW).map_err(|error| error.code.as_str());
    assert_eq!(refused, Err("invalid_request"), "RFC 9101 5");
    let without = Params::parse(b"client_id=app").unwrap();
    assert_eq!(parameters(&without, &Signer::new(Algorithm::Es256).client, &[], ISSUER, NOW), Ok(None));
}

#[test]
fn only_the_client_can_have_signed_it_for_this_issuer_and_now() {
    use Reason::*;
    let (signer, now) = (Signer::new(Algorithm::Es256), NOW.seconds());
    for (changes, reason) in [
        (json!({}), None),
        (json!({ "iss": null, "aud": null, "exp": null, "nbf": null, "client_id": null }), None),
        (json!({ "aud": ["https://other.example", ISSUER] }), None),
        (json!({ "aud": "https://other.example" }), Some(RequestObjectAudienceWrong)),
        (json!({ "iss": "other" }), Some(RequestObjectOfOther)),
        (json!({ "client_id": "other" }), Some(RequestObjectOfOther)),
        (json!({ "client_id": 7 }), Some(RequestObjectOfOther)),
        (json!({ "sub": "app" }), Some(RequestObjectOfOther)),
        (json!({ "exp": now - 31 }), Some(RequestObjectExpired)),
        (json!({ "exp": "soon" }), Some(RequestObjectExpired)),
        // FAPI 2.0 Security Profile 5.3.2.1: 10 seconds ahead are taken, and 60 are not.
        (json!({ "nbf": now + 10, "iat": now + 10 }), None),
        (json!({ "nbf": now + 31 }), Some(RequestObjectTimeWrong)),
        (json!({ "resource": ["https://a.example", 5] }), Some(RequestObjectMalformed)),
        (json!({ "request": "e.y.J" }), Some(RequestObjectMalformed)),
        (json!({ "request_uri": "urn:x" }), Some(RequestObjectMalformed)),
    ] {
        assert_eq!(signer.reason(changes.clone()), reason, "{changes}");
    }
    let good = signer.sign(None, &claims());
    let other = Signer::new(Algorithm::Es256);
    let none = "eyJhbGciOiJub25lIn0.e30.";
    for (text, reason) in [
        (other.sign(None, &claims()), RequestObjectNotSigned),
        (signer.sign(Some("client-authentication+jwt"), &claims()), RequestObjectTypWrong),
        (signer.sign(None, &json!(["no object"])), RequestObjectMalformed),
        (none.to_owned(), RequestObjectMalformed),
        (good.replace('.', ""), RequestObjectMalformed),
    ] {
        assert_eq!(signer.read(&text).map_err(|error| error.reason), Err(reason), "{text}");
    }
    let only = Client { request_object_signing_alg: Some(Algorithm::Ps256), ..signer.client.clone() };
    let signer = Signer { client: only, ..signer };
    assert_eq!(signer.reason(json!({})), Some(RequestObjectAlgorithmOther));
}

#[test]
fn where_it_is_required_it_is_short_lived_and_never_missing() {
    use Reason::*;
    let (signer, now) = (Signer::new(Algorithm::Es256), NOW.seconds());
    let client = Client { require_signed_request_object: true, ..signer.client.clone() };
    let signer = Signer { client, ..signer };
    for (changes, reason) in [
        (json!({}), None),
        (json!({ "exp": null }), Some(RequestObjectExpired)),
        (json!({ "nbf": null }), Some(RequestObjectTimeWrong)),
        (json!({ "nbf": now - 3_601 }), Some(RequestObjectTimeWrong)),
        (json!({ "exp": now + 3_601 }), Some(RequestObjectTimeWrong)),
        (json!({ "aud": null }), Some(RequestObjectAudienceWrong)),
        (json!({ "scope": null }), Some(RequestObjectMalformed)),
        (json!({ "scope": null, "authorization_details": "[]" }), None),
    ] {
        assert_eq!(signer.reason(changes.clone()), reason, "{changes}");
    }
    let without = Params::parse(b"client_id=app&scope=openid").unwrap();
    let missing = parameters(&without, &signer.client, &[], ISSUER, NOW).map_err(|error| error.reason);
    assert_eq!(missing, Err(RequestObjectMissing));
}
