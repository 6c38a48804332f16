//! Clients' credentials, and requests to the token endpoint.

use std::sync::LazyLock;

use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::{SeededRandom, digest};
use symbolon_protocol::client::Client;
use symbolon_protocol::client_authentication::{
    CLIENT_ASSERTION_TYPE, Expectation, MAX_ASSERTION_LIFE, PresentedCredentials, Transport, secret_digest,
    verify,
};
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{IssuerId, Sid, UserId};
use symbolon_protocol::params::Params;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::Amr;
use symbolon_protocol::token::token_exchange::ExchangeRequest;
use symbolon_protocol::token::{authorization_code, client_credentials, refresh_token, token_exchange};

use super::fixture::{CLIENT_KEY, CLIENTS, NOW, SECRET, SECRET_KEY, URL, base64, context, form, two_lines};

static EXPECTED: LazyLock<Expectation<'static>> = LazyLock::new(|| Expectation {
    issuer: URL,
    token_endpoint: "https://op.example.com/token",
    asked_endpoint: None,
    audience_is_issuer: false,
    trusted_issuer: None,
    certificate: None,
    secret_key: &SECRET_KEY,
    now: NOW,
});
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// An `Authorization` header (one line, `-` for none) and a form: no client passes without its secret, and a grant's
/// rule gives nothing beyond what was granted.
pub fn token_request(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (header, rest) = data.split_at(at);
    let Ok(form) = Params::parse(rest.get(1..).unwrap_or_default()) else { return };
    let Ok(presented) = PresentedCredentials::read((header != b"-").then_some(header), &form) else { return };
    let client = CLIENTS.find(presented.client_id().as_str());
    let keys = client.map(|client| client.verifying_keys(None)).unwrap_or_default();
    let verified = verify(&presented, client, keys, &EXPECTED);
    if let (Ok(verified), Some(client)) = (&verified, client) {
        let good = match &presented {
            PresentedCredentials::Secret { digest, verbatim, .. } => {
                let own = secret_digest(SECRET);
                *digest == own || verbatim.as_ref() == Some(&own)
            }
            // No corpus can contain a signature by a key that was drawn in this process.
            PresentedCredentials::Assertion(_) | PresentedCredentials::Issued { .. } => false,
            PresentedCredentials::Public { .. } => client.is_public(),
        };
        assert!(good && verified.assertion_use.is_none(), "somebody else passed for {:?}", client.client_id);
    }
    assert!(verified.is_err() || client.is_some(), "an unknown client passed");
    // The rules are tried for every client, because they do not depend on the authentication.
    for client in CLIENTS.all() {
        redeem(&form, client);
        refresh(&form, client);
        exchange(&form, client);
        credentials(&form, client);
    }
}

fn redeem(form: &Params<'_>, client: &Client) {
    let (Ok(redirect_uri), Ok(code_verifier)) = (form.get("redirect_uri"), form.get("code_verifier")) else {
        return;
    };
    let presented = authorization_code::PresentedCode { redirect_uri, code_verifier, thumbprint: None };
    let mut code = code(client);
    if authorization_code::check(&code, client, presented).is_ok() {
        assert_eq!((redirect_uri, code_verifier), (Some("https://app.example.com/cb"), Some(VERIFIER)));
    }
    code.code_challenge = None;
    if authorization_code::check(&code, client, presented).is_ok() {
        assert!(code_verifier.is_none() && !client.is_public(), "PKCE was stripped");
    }
}

fn code(client: &Client) -> CodeGrant {
    let user = UserId::trusted("u-1");
    CodeGrant {
        grant: GrantId::draw(&IssuerId::default_issuer(), user.as_str(), NOW, &SeededRandom::new(9)),
        client: client.client_id.clone(),
        user,
        sid: Sid::trusted("1_2_aaaaaaaaaaaaaaaaaaaaaa"),
        redirect_uri: "https://app.example.com/cb".to_owned(),
        scope: Scope::parse("openid api").expect("a scope"),
        nonce: None,
        code_challenge: Some(digest::sha256(&[VERIFIER.as_bytes()])),
        auth_time: NOW,
        amr: Amr::default(),
        session_expires_at: NOW + MAX_ASSERTION_LIFE,
        expires_at: NOW + MAX_ASSERTION_LIFE,
        resources: Vec::new(),
        authorization_details: Default::default(),
        acr: None,
        dpop_jkt: None,
    }
}

fn refresh(form: &Params<'_>, client: &Client) {
    let Ok(scope) = form.get("scope") else { return };
    let code = code(client);
    let random = SeededRandom::new(3);
    let context = context(client, &random);
    let Some(family) = authorization_code::issue(&context, &code, code.session_expires_at).family else {
        return;
    };
    let presented = refresh_token::PresentedRefreshToken { scope, thumbprint: None, certificate: None };
    if let Ok(granted) = refresh_token::check(&family, client, presented, NOW) {
        assert!(family.scope.covers(&granted), "a refresh widened the scope");
    }
}

fn exchange(form: &Params<'_>, client: &Client) {
    let one = |name| form.get(name).ok().flatten();
    let (audience, resource): (Vec<_>, Vec<_>) =
        (form.get_all("audience").collect(), form.get_all("resource").collect());
    let request = ExchangeRequest {
        subject_token: one("subject_token"),
        subject_token_type: one("subject_token_type"),
        actor_token: one("actor_token"),
        actor_token_type: one("actor_token_type"),
        requested_token_type: one("requested_token_type"),
        scope: one("scope"),
        audience: &audience,
        resource: &resource,
    };
    let random = SeededRandom::new(4);
    let context = context(client, &random);
    let Ok(exchange) = token_exchange::check(&context, &request) else { return };
    assert!(!client.is_public(), "a public client exchanged a token");
    let subject = authorization_code::issue(&context, &code(client), NOW).access;
    let Ok(token) = exchange.issue(&context, &subject, None) else { return };
    assert!(subject.scope.covers(&token.scope), "an exchange widened the scope");
    assert!(token.exp <= subject.exp && token.gid == subject.gid && token.anc.last() == Some(&subject.jti));
    assert!(resource.iter().chain(&audience).all(|target| token.aud.contains(target)), "a target is missing");
}

fn credentials(form: &Params<'_>, client: &Client) {
    let Ok(scope) = form.get("scope") else { return };
    let random = SeededRandom::new(5);
    let (audience, resource): (Vec<_>, Vec<_>) =
        (form.get_all("audience").collect(), form.get_all("resource").collect());
    if let Ok(token) = client_credentials::issue(&context(client, &random), scope, &audience, &resource) {
        assert!(client.scope.covers(&token.scope) && !client.is_public() && token.user().is_none());
        assert!(
            resource.iter().chain(&audience).all(|target| token.aud.contains(target)),
            "a target is missing"
        );
    }
}

/// A Basic header as it is, and one made of an id and a secret on two lines: what a client writes is read unchanged.
pub fn basic_header(data: &[u8]) {
    let empty = Params::parse(b"").unwrap_or_else(|error| panic!("{error}"));
    match PresentedCredentials::read(Some(data), &empty) {
        Ok(PresentedCredentials::Secret { client_id, transport, .. }) => {
            assert_eq!(transport, Transport::Basic);
            assert!(client_id.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        }
        Ok(_) => panic!("a header was read as something else"),
        Err(failed) => assert_eq!(failed.error.code.status(), 401),
    }
    let Some((id, secret)) = two_lines(data) else { return };
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    let header = format!("Basic {}", base64(pair.as_bytes()));
    // What is not an id may be read as the text of another id that was not encoded.
    let valid = symbolon_protocol::id::ClientId::parse(id).is_ok();
    if let Ok(PresentedCredentials::Secret { client_id, digest, .. }) =
        PresentedCredentials::read(Some(header.as_bytes()), &empty)
    {
        let same = client_id.as_str() == id || !valid;
        assert!(same && digest == secret_digest(secret), "read otherwise than written");
    } else {
        assert!(!valid || header.len() > 8192, "a good header was refused");
    }
}

/// A client assertion as it is, and its claims signed by the client: the first never passes; the second passes only if
/// it is about the client, for this issuer, and short-lived.
pub fn client_assertion(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    present(text, |good| assert!(good.is_none(), "a foreign assertion passed"));
    let header = EncodedHeader::for_key(&CLIENT_KEY, Some("JWT"));
    let input = signing_input(header.as_str(), data);
    let signature = CLIENT_KEY.sign(input.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    present(&finish(input, &signature), |good| {
        let Some(used) = good else { return };
        let claims: serde_json::Value =
            serde_json::from_slice(data).unwrap_or_else(|error| panic!("{error}"));
        assert!(claims["iss"] == "signer" && claims["sub"] == "signer", "another's assertion passed");
        let leeway = std::time::Duration::from_secs(60);
        assert!(used.expires_at > NOW && used.expires_at <= NOW + MAX_ASSERTION_LIFE + leeway);
        assert_eq!(claims["jti"].as_str(), Some(used.jti.as_str()));
    });
}

fn present(
    assertion: &str,
    then: impl FnOnce(Option<symbolon_protocol::client_authentication::AssertionUse>),
) {
    let text = form(&[("client_assertion_type", CLIENT_ASSERTION_TYPE), ("client_assertion", assertion)]);
    let Ok(params) = Params::parse(text.as_bytes()) else { return };
    let Ok(presented) = PresentedCredentials::read(None, &params) else { return };
    let client = CLIENTS.find(presented.client_id().as_str());
    let keys = client.map(|client| client.verifying_keys(None)).unwrap_or_default();
    match verify(&presented, client, keys, &EXPECTED) {
        Ok(verified) => {
            assert!(
                matches!(presented, PresentedCredentials::Assertion(_)) && verified.assertion_use.is_some()
            );
            then(verified.assertion_use);
        }
        Err(failed) => {
            assert!(matches!(failed.error.code.status(), 400 | 401));
            then(None);
        }
    }
}
