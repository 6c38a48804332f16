use serde_json::json;
use symbolon_crypto::Algorithm;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::SigningKey;

use super::super::tests::trusted;
use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const OP: &str = "https://op.example";
const TOKEN_ENDPOINT: &str = "https://op.example/token";

/// The claims of a Kubernetes service account token, which lives an hour.
fn claims() -> Value {
    let now = NOW.seconds();
    json!({
        "iss": "https://k8s.example", "sub": "system:serviceaccount:shop:api", "aud": [OP],
        "iat": now, "nbf": now, "exp": now + 3_600, "jti": "j1",
        "kubernetes.io": { "namespace": "shop" },
    })
}

fn with(changes: &[(&str, Value)]) -> Value {
    let mut changed = claims();
    for (name, value) in changes {
        changed[*name] = value.clone();
        if value.is_null() {
            changed.as_object_mut().unwrap().remove(*name);
        }
    }
    changed
}

struct Issuer {
    key: SigningKey,
    keys: Vec<Jwk>,
    trusted: TrustedIssuer,
}

impl Issuer {
    fn new() -> Self {
        let key = SigningKey::generate(Algorithm::Es256, Some("k1")).unwrap();
        let keys = vec![key.public().jwk().clone()];
        Self { key, keys, trusted: trusted(json!({ "for": ["client_authentication", "jwt_bearer"] })) }
    }

    fn sign_as(&self, typ: Option<&str>, claims: &Value) -> String {
        let header = EncodedHeader::for_key(&self.key, typ);
        let input = signing_input(header.as_str(), &serde_json::to_vec(claims).unwrap());
        let signature = self.key.sign(input.as_bytes()).unwrap();
        finish(input, &signature)
    }

    fn verify_for(&self, purpose: TrustedUse, token: &str) -> Result<Vouched, Reason> {
        let assertion = IssuedAssertion::read(token).ok_or(Reason::AssertionMalformed)?;
        let expected = Expected {
            trusted: &self.trusted,
            purpose,
            issuer: OP,
            token_endpoint: Some(TOKEN_ENDPOINT),
            now: NOW,
        };
        assertion.verify(&self.keys, &expected).map_err(|refusal| refusal.reason)
    }

    fn verify(&self, token: &str) -> Result<Vouched, Reason> {
        self.verify_for(TrustedUse::ClientAuthentication, token)
    }

    fn says(&self, changes: &[(&str, Value)]) -> Option<Reason> {
        self.verify(&self.sign_as(None, &with(changes))).err()
    }
}

#[test]
fn claims_of_another_issuer() {
    use Reason as R;
    let issuer = Issuer::new();
    let now = NOW.seconds();
    let good: &[&[(&str, Value)]] = &[
        &[],
        &[("aud", json!(OP))],
        &[("aud", json!([TOKEN_ENDPOINT]))],
        &[("jti", Value::Null)],
        &[("iat", Value::Null), ("nbf", Value::Null)],
        &[("iat", json!(now + 30)), ("nbf", json!(now + 30))],
        &[("exp", json!(now - 29))],
        &[("exp", json!(now + 24 * 3_600 + 30))],
        &[("iat", json!(now - 80_000))],
    ];
    for changes in good {
        assert_eq!(issuer.says(changes), None, "{changes:?}");
    }
    for (name, value, reason) in [
        ("iss", json!("https://other.example"), R::AssertionIssuerUntrusted),
        ("iss", json!("https://k8s.example/"), R::AssertionIssuerUntrusted),
        ("iss", Value::Null, R::AssertionMalformed),
        ("sub", Value::Null, R::AssertionMalformed),
        ("aud", json!("https://other.example"), R::AssertionAudienceWrong),
        ("aud", json!("https://op.example/"), R::AssertionAudienceWrong),
        ("aud", json!([OP, "https://other.example"]), R::AssertionAudienceWrong),
        ("aud", json!([OP, OP]), R::AssertionAudienceWrong),
        ("aud", json!([]), R::AssertionAudienceWrong),
        ("aud", Value::Null, R::AssertionMalformed),
        ("exp", Value::Null, R::AssertionMalformed),
        ("exp", json!(now - 30), R::AssertionExpired),
        ("exp", json!(-5), R::AssertionExpired),
        ("exp", json!(now + 24 * 3_600 + 31), R::AssertionLivesTooLong),
        ("exp", json!(1e300), R::AssertionLivesTooLong),
        ("iat", json!(now + 31), R::AssertionNotYetValid),
        ("nbf", json!(now + 31), R::AssertionNotYetValid),
    ] {
        assert_eq!(issuer.says(&[(name, value.clone())]), Some(reason), "{name}: {value}");
    }
}

#[test]
fn an_audience_of_its_own_is_accepted_besides() {
    let mut issuer = Issuer::new();
    let named = [("aud", json!(["urn:op"]))];
    assert_eq!(issuer.says(&named), Some(Reason::AssertionAudienceWrong));
    issuer.trusted.audience = Some("urn:op".to_owned());
    assert_eq!((issuer.says(&named), issuer.says(&[])), (None, None));
    assert_eq!(issuer.says(&[("aud", json!(["urn:op", OP]))]), Some(Reason::AssertionAudienceWrong));
}

#[test]
fn only_a_signature_by_a_key_of_the_issuer_counts() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    assert_eq!(issuer.verify(&other.sign_as(None, &claims())), Err(Reason::AssertionSignatureWrong));
    let retired = Issuer { keys: Vec::new(), ..Issuer::new() };
    assert_eq!(retired.verify(&retired.sign_as(None, &claims())), Err(Reason::AssertionKeyUnknown));
    let good = issuer.sign_as(None, &claims());
    let (input, signature) = good.rsplit_once('.').unwrap();
    let payload = input.split_once('.').unwrap().1;
    assert!(issuer.verify(&format!("{input}.")).is_err());
    // RFC 8725 3.1, 3.2: the token does not choose how it is verified.
    for header in
        [r#"{"alg":"none"}"#, r#"{"alg":"None"}"#, r#"{"alg":"HS256","kid":"k1"}"#, r#"{"kid":"k1"}"#]
    {
        let header = symbolon_crypto::encoding::encode(header.as_bytes());
        for signature in ["", signature] {
            let token = format!("{header}.{payload}.{signature}");
            assert_eq!(issuer.verify(&token), Err(Reason::AssertionMalformed), "{token}");
        }
    }
    let other_algorithm = EncodedHeader::new(Algorithm::Rs256, "k1", None);
    let token = format!("{}.{payload}.{signature}", other_algorithm.as_str());
    assert_eq!(issuer.verify(&token), Err(Reason::AssertionKeyUnknown));
}

#[test]
fn a_token_for_another_purpose_is_refused() {
    let issuer = Issuer::new();
    let good = |purpose, typ| {
        let claims = with(&[("exp", json!(NOW.seconds() + 60))]);
        issuer.verify_for(purpose, &issuer.sign_as(Some(typ), &claims)).is_ok()
    };
    let (client, grant) = (TrustedUse::ClientAuthentication, TrustedUse::JwtBearer);
    for typ in ["JWT", "at+jwt", "application/at+jwt"] {
        assert!(good(client, typ) && good(grant, typ), "{typ}");
    }
    assert!(good(client, "client-authentication+jwt") && !good(grant, "client-authentication+jwt"));
    assert!(good(grant, "authorization-grant+jwt") && !good(client, "authorization-grant+jwt"));
    for typ in ["dpop+jwt", "logout+jwt", "secevent+jwt", "oauth-authz-req+jwt"] {
        assert!(!good(client, typ) && !good(grant, typ), "{typ}");
    }
    let (id_jag, exchange) = (TrustedUse::IdJag, TrustedUse::TokenExchange);
    assert!(good(exchange, "JWT") && good(exchange, "at+jwt") && !good(exchange, "authorization-grant+jwt"));
    for typ in ["oauth-id-jag+jwt", "application/oauth-id-jag+jwt"] {
        assert!(good(id_jag, typ), "{typ}");
        assert!([client, grant, exchange].into_iter().all(|other| !good(other, typ)), "{typ}");
    }
    for typ in ["JWT", "at+jwt", "authorization-grant+jwt"] {
        assert!(!good(id_jag, typ), "{typ}");
    }
    let untyped = issuer.sign_as(None, &with(&[("exp", json!(NOW.seconds() + 60))]));
    assert_eq!(issuer.verify_for(id_jag, &untyped), Err(Reason::AssertionTypWrong));
    assert!(issuer.verify_for(exchange, &untyped).is_ok());
}

#[test]
fn an_id_jag_is_for_the_issuer_itself() {
    let mut issuer = Issuer::new();
    issuer.trusted.audience = Some("urn:op".to_owned());
    for (aud, is_good) in [(OP, true), (TOKEN_ENDPOINT, false), ("urn:op", false)] {
        let claims = with(&[("aud", json!(aud)), ("exp", json!(NOW.seconds() + 60))]);
        let token = issuer.sign_as(Some("oauth-id-jag+jwt"), &claims);
        let expected = if is_good { None } else { Some(Reason::AssertionAudienceWrong) };
        assert_eq!(issuer.verify_for(TrustedUse::IdJag, &token).err(), expected, "{aud}");
    }
}

#[test]
fn what_lives_five_minutes_and_has_a_jti_counts_once() {
    let issuer = Issuer::new();
    let now = NOW.seconds();
    let vouched = |changes: &[(&str, Value)]| issuer.verify(&issuer.sign_as(None, &with(changes))).unwrap();
    let short = ("exp", json!(now + 300));
    let mark = vouched(std::slice::from_ref(&short)).mark_if_short().unwrap().unwrap();
    assert_eq!((mark.client_id.as_str(), mark.jti.as_str()), ("https://k8s.example", "j1"));
    assert_eq!(mark.expires_at, NOW + Duration::from_secs(330));
    assert_eq!(mark.key_thumbprint, issuer.keys[0].thumbprint());
    for again in [
        vec![],
        vec![("exp", json!(now + 301))],
        vec![short.clone(), ("jti", Value::Null)],
        // Its end is near, and it was presented before.
        vec![short.clone(), ("iat", json!(now - 3_300)), ("nbf", Value::Null)],
        vec![short.clone(), ("iat", Value::Null), ("nbf", Value::Null)],
    ] {
        assert_eq!(vouched(&again).mark_if_short(), Ok(None), "{again:?}");
    }
    let by_nbf = vouched(&[short.clone(), ("iat", Value::Null)]).mark_if_short().unwrap();
    assert!(by_nbf.is_some());
    let unusable = vouched(&[short, ("jti", json!("a b"))]).mark_if_short().unwrap_err();
    assert_eq!(unusable.reason, Reason::AssertionJtiMissing);
    assert!(vouched(&[("jti", Value::Null)]).mark().is_err() && vouched(&[]).mark().is_ok());
}
