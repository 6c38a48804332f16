//! Messages that are sent once more by whoever saw them, and clocks that differ.

use std::time::Duration;

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::{digest, encoding};
use symbolon_testkit::{Browser, RelyingParty, Signing, TestServer};

/// RFC 9101 10: an object stands in an address that others may see. Sent again it says the same, to its client alone, until it ends.
#[test]
fn a_request_object_serves_its_client_alone_until_it_ends() {
    let server = TestServer::start();
    let key = Signing::generate(Algorithm::Es256);
    let rp = RelyingParty::register(&server, json!({ "jwks": key.jwks() }));
    // Another client that says of the same key that it is its own.
    let alike = RelyingParty::register(&server, json!({ "jwks": key.jwks() }));
    let (_, browser) = server.signed_in("ann@example.com");
    let (_, thief) = server.signed_in("thief@example.com");
    let request = rp.authorization_request();
    let now = server.now().seconds();
    let mut claims = json!({ "iss": rp.client_id, "aud": server.issuer, "nbf": now, "exp": now + 300 });
    for (name, value) in &request.parameters {
        claims[name] = json!(value);
    }
    let object = key.jwt("oauth-authz-req+jwt", &claims);
    let ask = |browser: &Browser, client: &str| {
        let parameters = [("client_id", client), ("request", &*object)];
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        browser.get(&format!("/authorize?{query}"))
    };
    let has_code = |browser: &Browser, client: &str| {
        let answer = ask(browser, client);
        answer.status == 302 && answer.redirected("code").is_some()
    };

    // A code comes of it, at the client alone, which nobody redeems without the verifier of the request.
    let stolen = ask(&thief, &rp.client_id);
    assert!(stolen.location().starts_with(&rp.redirect_uri), "{stolen:?}");
    let code = stolen.redirected("code").unwrap();
    let guessed = rp.redeem(&code, &rp.authorization_request().verifier);
    assert_eq!((guessed.status, &*guessed.error()), (400, "invalid_grant"), "{guessed:?}");
    let own = ask(&browser, &rp.client_id).redirected("code").unwrap();
    assert_eq!(rp.redeem(&own, &request.verifier).status, 200, "nothing was used up");

    assert!(!has_code(&browser, &alike.client_id), "it is of another client");
    let pushed = alike.post("/par", &[("client_id", &*alike.client_id), ("request", &*object)]);
    assert_eq!((pushed.status, &*pushed.error()), (400, "invalid_request_object"), "{pushed:?}");

    server.clock.advance(Duration::from_secs(329));
    assert!(has_code(&browser, &rp.client_id), "clocks may differ by 30 seconds");
    server.clock.advance(Duration::from_secs(1));
    assert!(!has_code(&browser, &rp.client_id), "it is over");
    let pushed = rp.post("/par", &[("client_id", &*rp.client_id), ("request", &*object)]);
    assert_eq!((pushed.status, &*pushed.error()), (400, "invalid_request_object"), "{pushed:?}");
}

/// A client's key, a token that is bound to it, and how both are presented.
struct Holder {
    server: TestServer,
    rp: RelyingParty,
    key: Signing,
    token: String,
}

impl Holder {
    fn new() -> Self {
        let server = TestServer::start();
        let rp = RelyingParty::register(&server, json!({}));
        let (_, browser) = server.signed_in("ann@example.com");
        let mut holder = Self { server, rp, key: Signing::generate(Algorithm::Es256), token: String::new() };
        let request = holder.rp.authorization_request();
        let code = browser.get(&request.path()).redirected("code").unwrap();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("redirect_uri", &*holder.rp.redirect_uri),
            ("code_verifier", &*request.verifier),
        ];
        let (basic, proof) = (holder.rp.basic(), holder.proof("/token", 0, "first"));
        let headers = [("authorization", &*basic), ("dpop", &*proof)];
        let tokens = holder.server.browser().post_with("/token", &form, &headers).json();
        assert_eq!(tokens["token_type"], "DPoP", "{tokens}");
        holder.token = tokens["access_token"].as_str().unwrap().to_owned();
        holder
    }

    /// A proof that was made so many seconds from now, by another clock.
    fn proof(&self, path: &str, offset: i64, jti: &str) -> String {
        let method = if path == "/userinfo" { "GET" } else { "POST" };
        let mut claims = json!({
            "jti": jti, "htm": method, "htu": format!("{}{path}", self.server.issuer),
            "iat": self.server.now().seconds().saturating_add_signed(offset),
        });
        if path == "/userinfo" {
            claims["ath"] = json!(encoding::encode(&digest::sha256(&[self.token.as_bytes()])));
        }
        self.key.jws(&self.key.dpop_header(), &claims)
    }

    /// Whether a proof is taken.
    fn is_taken(&self, path: &str, proof: &str) -> bool {
        let (browser, basic) = (self.server.browser(), self.rp.basic());
        let headers = [("authorization", &*basic), ("dpop", proof)];
        let answer = match path {
            "/token" => browser.post_with(path, &[("grant_type", "client_credentials")], &headers),
            "/par" => {
                let request = self.rp.authorization_request();
                let form: Vec<(&str, &str)> =
                    request.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
                browser.post_with(path, &form, &headers)
            }
            _ => {
                let bound = format!("DPoP {}", self.token);
                browser.get_with(path, &[("authorization", &bound), ("dpop", proof)])
            }
        };
        let is_taken = matches!(answer.status, 200 | 201);
        assert!(is_taken || answer.error() == "invalid_dpop_proof", "{path}: {answer:?}");
        is_taken
    }
}

/// RFC 9449 4.3, 11.1: clocks may differ by 30 seconds, a proof is good for five minutes, and once.
#[test]
fn a_dpop_proof_is_good_once_and_near_its_time() {
    let holder = Holder::new();
    for path in ["/token", "/par", "/userinfo"] {
        for (offset, is_good) in [(-330, false), (-329, true), (30, true), (31, false)] {
            let proof = holder.proof(path, offset, &format!("{path}{offset}"));
            assert_eq!(holder.is_taken(path, &proof), is_good, "{path} {offset}");
            // With a pushed request it only binds the code to its key: sent again, it binds another one to the same (decision 076).
            let is_good_again = is_good && path == "/par";
            assert_eq!(holder.is_taken(path, &proof), is_good_again, "{path} {offset}, once more");
        }
    }
    // Its mark stays for as long as its time would let it in: here by a clock that is ahead.
    let [used, unused, late] = ["used", "unused", "late"].map(|jti| holder.proof("/token", 30, jti));
    assert!(holder.is_taken("/token", &used));
    for seconds in [1, 299, 59] {
        holder.server.clock.advance(Duration::from_secs(seconds));
        assert!(!holder.is_taken("/token", &used), "{seconds} seconds later");
    }
    assert!(holder.is_taken("/token", &unused), "its time is not over");
    holder.server.clock.advance(Duration::from_secs(1));
    assert!(!holder.is_taken("/token", &late), "now it is");
}
