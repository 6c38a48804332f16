//! Parameters that nobody knows, that contradict each other, or that are left out to weaken a request.

use serde_json::json;
use symbolon_testkit::{RelyingParty, TestServer};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// RFC 6749 3.1 and 3.2: what is not known is ignored, what is empty was not sent.
#[test]
fn unknown_parameters_are_ignored_and_empty_ones_were_not_sent() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp
        .authorization_request()
        .with("acr", "x")
        .with("redirect_url", "https://attacker.example/")
        .with("__proto__", "x")
        .with("claims", "")
        .with("request", "");
    let answer = browser.get(&request.path());
    let code = answer.redirected("code").unwrap_or_else(|| panic!("{answer:?}"));
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("redirect_uri", &*rp.redirect_uri),
        ("code_verifier", &*request.verifier),
        ("user_id", "somebody"),
        ("scope", ""),
    ];
    let tokens = rp.token(&form);
    assert_eq!(tokens.status, 200, "{tokens:?}");
}

/// RFC 6749 2.3, RFC 7521 4.2: of credentials that contradict each other none is chosen, whatever is asked for.
#[test]
fn credentials_that_contradict_each_other_are_refused() {
    let server = TestServer::start();
    let (rp, other) =
        (RelyingParty::register(&server, json!({})), RelyingParty::register(&server, json!({})));
    let (basic, secret) = (rp.basic(), rp.client_secret.clone().unwrap());
    let request = rp.authorization_request().without("scope").without("client_id");
    for path in ["/token", "/introspect", "/revoke", "/par"] {
        let send = |more: &[(&str, &str)]| {
            let mut form = vec![("grant_type", "client_credentials"), ("token", "x")];
            form.extend(request.parameters.iter().map(|(name, value)| (&**name, &**value)));
            form.extend_from_slice(more);
            server.browser().post_with(path, &form, &[("authorization", &basic)])
        };
        let own = ("client_id", &*rp.client_id);
        let good = send(&[own]);
        assert!(matches!(good.status, 200 | 201), "{path}: {good:?}");
        for more in [
            &[own, ("client_secret", &*secret)][..],
            &[("client_id", &*other.client_id)],
            &[own, ("client_assertion", "a.b.c"), ("client_assertion_type", JWT_BEARER)],
            &[own, ("client_assertion_type", JWT_BEARER)],
            &[own, own],
        ] {
            let refused = send(more);
            let told = (refused.status, &*refused.error());
            assert_eq!(told, (400, "invalid_request"), "{path} {more:?}: {refused:?}");
        }
    }
}

/// OpenID Connect Core 3.1.2.1, RFC 7636 4.3: a request that contradicts itself is refused, and nothing is chosen of it.
#[test]
fn a_request_that_contradicts_itself_is_refused() {
    let server = TestServer::start();
    let hybrid = json!({
        "response_types": ["code", "code id_token"],
        "grant_types": ["authorization_code", "implicit", "refresh_token"],
    });
    let rp = RelyingParty::register(&server, hybrid);
    let (_, browser) = server.signed_in("a@example.com");
    let good = || rp.authorization_request();
    let object = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA";
    for (told, request) in [
        ("silently, and with a page", good().with("prompt", "none login")),
        ("silently, and with consent", good().with("prompt", "consent none")),
        ("a method without a challenge", good().without("code_challenge")),
        ("tokens in the query", good().with("response_type", "code id_token").with("response_mode", "query")),
        (
            "two requests",
            good().with("request", object).with("request_uri", "https://rp.example/request.jwt"),
        ),
    ] {
        let answer = browser.get(&request.path());
        assert_eq!(answer.redirected("error").as_deref(), Some("invalid_request"), "{told}: {answer:?}");
        assert_eq!(answer.redirected("code"), None, "{told}: {answer:?}");
    }
    assert!(browser.get(&good().path()).redirected("code").is_some());
}

/// RFC 7636 4.6, RFC 9700 2.1.1: neither side of PKCE can be left out.
#[test]
fn pkce_cannot_be_left_out_on_one_side() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "pkce": "optional" }));
    let (_, browser) = server.signed_in("a@example.com");
    let redeem = |code: &str, more: &[(&str, &str)]| {
        let mut form =
            vec![("grant_type", "authorization_code"), ("code", code), ("redirect_uri", &*rp.redirect_uri)];
        form.extend_from_slice(more);
        let answer = rp.token(&form);
        (answer.status, answer.error())
    };
    let refused = (400, "invalid_grant".to_owned());

    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    assert_eq!(redeem(&code, &[]), refused, "a challenge, and no verifier");

    // The attacker took the challenge out of the victim's request.
    let stripped = rp.authorization_request().without("code_challenge").without("code_challenge_method");
    let code = browser.get(&stripped.path()).redirected("code").unwrap();
    let outcome = redeem(&code, &[("code_verifier", &*stripped.verifier)]);
    assert_eq!(outcome, refused, "a verifier, and no challenge");

    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    let challenge = request.parameters.iter().find(|(name, _)| name == "code_challenge").unwrap().1.clone();
    assert_eq!(redeem(&code, &[("code_verifier", &*challenge)]), refused, "the challenge as the verifier");

    // `plain` would show the verifier to whoever reads the request.
    let plain =
        rp.authorization_request().without("code_challenge_method").with("code_challenge_method", "plain");
    assert_eq!(browser.get(&plain.path()).redirected("error").as_deref(), Some("invalid_request"));
    let unnamed = rp.authorization_request().without("code_challenge_method");
    assert_eq!(browser.get(&unnamed.path()).redirected("error").as_deref(), Some("invalid_request"));
}

/// RFC 9207 2, RFC 9700 4.4: each answer says whose it is, an error too, and a code is worth nothing elsewhere.
#[test]
fn an_answer_names_its_issuer_and_its_code_is_worth_nothing_at_another() {
    let server = TestServer::start();
    let other = json!({ "id": "other", "url": format!("{}/other", server.url) });
    let made = server.admin("POST", "/issuers", Some(other));
    assert_eq!(made.status, 201, "{made:?}");
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request();
    let answer = browser.get(&request.path());
    assert_eq!(answer.redirected("iss").as_deref(), Some(&*server.issuer), "{answer:?}");
    let code = answer.redirected("code").unwrap();
    let refused = server.browser().get(&rp.authorization_request().with("prompt", "none").path());
    assert_eq!(refused.redirected("error").as_deref(), Some("login_required"));
    assert_eq!(refused.redirected("iss").as_deref(), Some(&*server.issuer), "{refused:?}");

    // The same client, as far as an attacker can make it so, at the other issuer.
    let elsewhere = RelyingParty::register_at(&server, "/issuers/other", json!({}));
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("redirect_uri", &*rp.redirect_uri),
        ("code_verifier", &*request.verifier),
    ];
    let stolen = server.browser().post_with("/other/token", &form, &[("authorization", &elsewhere.basic())]);
    assert_eq!((stolen.status, &*stolen.error()), (400, "invalid_grant"), "{stolen:?}");
    let foreign = server.browser().post_with("/other/token", &form, &[("authorization", &rp.basic())]);
    assert_eq!((foreign.status, &*foreign.error()), (401, "invalid_client"), "{foreign:?}");
    assert_eq!(rp.redeem(&code, &request.verifier).status, 200, "at home it is still good");
}
