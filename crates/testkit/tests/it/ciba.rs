//! Clients that ask people for an authentication elsewhere (CIBA Core 1.0).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, Signing, TestServer, TokenSet, decode_jwt};

pub(crate) const CIBA: &str = "urn:openid:params:grant-type:ciba";
const PATH: &str = "/bc-authorize";
const REQUESTS: &str = "/account/requests";
/// The token by which a client in ping mode wants to be called.
const TOKEN: &str = "8d67dc78-7faa-4d41-aabd-67707b374255";

/// A till in a shop: a confidential client that polls.
pub(crate) fn till(server: &TestServer, metadata: Value) -> RelyingParty {
    let mut body = json!({
        "client_name": "Till", "redirect_uris": [], "grant_types": [CIBA, "refresh_token"],
        "backchannel_token_delivery_mode": "poll", "token_exchange_allowed": false,
    });
    for (name, value) in metadata.as_object().unwrap() {
        body[name] = value.clone();
    }
    RelyingParty::register(server, body)
}

/// The `auth_req_id` of a request to a person.
pub(crate) fn ask(rp: &RelyingParty, email: &str) -> String {
    let answer = rp.post(PATH, &[("scope", "openid offline_access"), ("login_hint", email)]);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["auth_req_id"].as_str().unwrap().to_owned()
}

/// The id by which it is decided.
pub(crate) fn request_of(auth_req_id: &str) -> &str {
    &auth_req_id[3..25]
}

pub(crate) fn poll(rp: &RelyingParty, auth_req_id: &str) -> Answer {
    rp.token(&[("grant_type", CIBA), ("auth_req_id", auth_req_id)])
}

/// Decides on the page.
pub(crate) fn decide(browser: &Browser, auth_req_id: &str, decision: &str) -> Answer {
    let page = browser.get(REQUESTS);
    assert_eq!(page.status, 200, "{page:?}");
    send(browser, &page, auth_req_id, decision)
}

fn send(browser: &Browser, page: &Answer, auth_req_id: &str, decision: &str) -> Answer {
    let csrf = page.field("csrf_token").unwrap_or_default();
    let request = request_of(auth_req_id);
    browser.post(REQUESTS, &[("request", request), ("csrf_token", &csrf), ("decision", decision)])
}

fn decide_by_admin(server: &TestServer, auth_req_id: &str, action: &str) -> u16 {
    server.admin("POST", &format!("/ciba/requests/{}/{action}", request_of(auth_req_id)), None).status
}

fn assert_told(answer: &Answer, error: &str) {
    assert_eq!((answer.status, answer.error()), (400, error.to_owned()), "{answer:?}");
}

fn userinfo(server: &TestServer, tokens: &TokenSet) -> Answer {
    let bearer = format!("Bearer {}", tokens.access_token);
    server.browser().get_with("/userinfo", &[("authorization", &bearer)])
}

#[test]
fn a_person_is_asked_and_allows() {
    let server = TestServer::start();
    let rp = till(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    assert!(!browser.get("/account").body.contains(REQUESTS), "nobody asks");
    let form = [
        ("scope", "openid email offline_access"),
        ("login_hint", "A@example.com"),
        ("binding_message", "Till 7: W4SCT"),
        ("requested_expiry", "120"),
    ];
    let answer = rp.post(PATH, &form);
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{answer:?}");
    let body = answer.json();
    assert_eq!((&body["expires_in"], &body["interval"]), (&json!(120), &json!(5)));
    let id = body["auth_req_id"].as_str().unwrap();
    assert_told(&poll(&rp, id), "authorization_pending");

    assert!(browser.get("/account").body.contains(REQUESTS));
    let page = browser.get(REQUESTS);
    for shown in ["Till", "Till 7: W4SCT", "offline_access", "Allow only what you began"] {
        assert!(page.body.contains(shown), "{shown}: {page:?}");
    }
    let allowed = send(&browser, &page, id, "allow");
    assert_eq!((allowed.status, &*allowed.location()), (303, "/account/requests?done=request_allowed"));
    assert!(browser.get(&allowed.location()).body.contains("No application waits"));
    // Sent twice: the same page, and the same decision.
    assert_eq!(send(&browser, &page, id, "deny").location(), "/account/requests?done=request_allowed");

    let tokens = TokenSet::of(&poll(&rp, id));
    assert_eq!(userinfo(&server, &tokens).json()["email"], json!("a@example.com"));
    let (_, claims) = decode_jwt(tokens.id_token.as_deref().unwrap());
    assert_eq!((&claims["sub"], &claims["aud"]), (&json!(user), &json!(rp.client_id)));
    assert!(claims["auth_time"].is_number() && claims["sid"].is_string());
    // CIBA Core 10.3.1: of pushed tokens alone.
    assert!(claims.get("urn:openid:params:jwt:claim:auth_req_id").is_none());
    assert_eq!(rp.refresh(tokens.refresh_token.as_deref().unwrap()).status, 200);
}

#[test]
fn a_client_learns_what_became_of_its_request() {
    let server = TestServer::start();
    let (rp, other) = (till(&server, json!({})), till(&server, json!({})));
    let (_, browser) = server.signed_in("a@example.com");
    let id = ask(&rp, "a@example.com");
    let after = |seconds| server.clock.advance(Duration::from_secs(seconds));
    assert_told(&poll(&rp, &id), "authorization_pending");
    after(2);
    assert_told(&poll(&rp, &id), "slow_down");
    after(15);
    assert_told(&poll(&rp, &id), "authorization_pending");
    assert_told(&poll(&other, &id), "invalid_grant");
    assert_eq!(decide(&browser, &id, "deny").location(), "/account/requests?done=request_denied");
    for _ in 0..2 {
        assert_told(&poll(&rp, &id), "access_denied");
    }
    let late = ask(&rp, "a@example.com");
    after(300);
    assert_told(&poll(&rp, &late), "expired_token");
    assert_eq!(decide(&browser, &late, "allow").status, 403, "there is no form any more");
    assert_eq!(decide_by_admin(&server, &late, "approve"), 404);
    assert_told(&poll(&rp, "ar_x.y"), "invalid_grant");
    assert_told(&rp.token(&[("grant_type", CIBA)]), "invalid_request");
}

#[test]
fn one_poll_gets_tokens_and_a_second_use_ends_what_came_of_it() {
    let server = TestServer::start();
    let rp = till(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let id = ask(&rp, "a@example.com");
    decide(&browser, &id, "allow");
    let tokens = TokenSet::of(&poll(&rp, &id));
    assert_eq!(userinfo(&server, &tokens).status, 200);
    assert_told(&poll(&rp, &id), "invalid_grant");
    assert_eq!(userinfo(&server, &tokens).status, 401);
    assert_told(&rp.refresh(tokens.refresh_token.as_deref().unwrap()), "invalid_grant");
}

#[test]
fn a_request_is_decided_by_its_own_person_on_the_issuers_own_page() {
    let server = TestServer::start();
    let rp = till(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let (_, stranger) = server.signed_in("b@example.com");
    let (id, of_stranger) = (ask(&rp, "a@example.com"), ask(&rp, "b@example.com"));
    let page = browser.get(REQUESTS);
    assert!(page.body.contains(request_of(&id)) && !page.body.contains(request_of(&of_stranger)));
    assert_eq!(decide(&stranger, &id, "allow").status, 409, "it is none of this person's");
    assert_eq!(send(&stranger, &page, &of_stranger, "allow").status, 403, "the form of another browser");
    let csrf = page.field("csrf_token").unwrap();
    let form = [("request", request_of(&id)), ("csrf_token", &*csrf), ("decision", "allow")];
    let foreign = browser.post_with(REQUESTS, &form, &[("sec-fetch-site", "cross-site")]);
    assert_eq!(foreign.status, 403, "{foreign:?}");
    for id in [&id, &of_stranger] {
        assert_told(&poll(&rp, id), "authorization_pending");
    }
}

#[test]
fn an_administrator_decides_in_place_of_the_person() {
    let server = TestServer::start();
    let rp = till(&server, json!({}));
    let user = server.create_user("a@example.com");
    let id = ask(&rp, "a@example.com");
    let listed = server.admin("GET", &format!("/ciba/requests?user_id={user}"), None).json();
    let request = &listed["requests"][0];
    assert_eq!((&request["id"], &request["client_id"]), (&json!(request_of(&id)), &json!(rp.client_id)));
    assert_eq!((&request["scope"], &request["decision"]), (&json!("openid offline_access"), &Value::Null));
    assert_eq!(server.admin("GET", "/ciba/requests", None).status, 400);
    assert_eq!(decide_by_admin(&server, &id, "approve"), 204);
    assert_eq!(decide_by_admin(&server, &id, "deny"), 409);
    let shown = server.admin("GET", &format!("/ciba/requests/{}", request_of(&id)), None).json();
    assert_eq!(shown["request"]["decision"], json!("approved"));
    let tokens = TokenSet::of(&poll(&rp, &id));
    let (_, claims) = decode_jwt(tokens.id_token.as_deref().unwrap());
    // Nobody proved anything, and no session has it.
    assert_eq!(claims["auth_time"], json!(server.now().seconds()));
    for absent in ["sid", "amr", "acr"] {
        assert!(claims.get(absent).is_none(), "{absent}: {claims}");
    }
    assert_eq!(userinfo(&server, &tokens).status, 200);
    let refreshed = TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
    assert!(server.admin("DELETE", &format!("/users/{user}/grants"), None).status < 300);
    assert_eq!(userinfo(&server, &refreshed).status, 401);

    let denied = ask(&rp, "a@example.com");
    assert_eq!(decide_by_admin(&server, &denied, "deny"), 204);
    assert_told(&poll(&rp, &denied), "access_denied");
    let strict = till(&server, json!({ "settings": { "second_factor": "required" } }));
    let of_strict = ask(&strict, "a@example.com");
    assert_eq!(decide_by_admin(&server, &of_strict, "approve"), 409, "only the person can prove it");
}

#[test]
fn who_is_meant_is_said_once_and_by_what_this_issuer_knows() {
    let server = TestServer::start();
    let rp = till(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let asked = |form: &[(&str, &str)]| {
        let answer = rp.post(PATH, &[&[("scope", "openid")][..], form].concat());
        (answer.status, if answer.status == 200 { String::new() } else { answer.error() })
    };
    let bad = |error: &str| (400, error.to_owned());
    assert_eq!(asked(&[]), bad("invalid_request"));
    assert_eq!(asked(&[("login_hint", "nobody@example.com")]), bad("unknown_user_id"));
    assert_eq!(asked(&[("login_hint_token", "a.b.c")]), bad("invalid_request"));
    assert_eq!(asked(&[("id_token_hint", "a.b.c")]), bad("unknown_user_id"));
    let id = ask(&rp, "a@example.com");
    decide(&browser, &id, "allow");
    let own = TokenSet::of(&poll(&rp, &id)).id_token.unwrap();
    assert_eq!(asked(&[("id_token_hint", &own)]), (200, String::new()));
    assert_eq!(asked(&[("id_token_hint", &own), ("login_hint", "a@example.com")]), bad("invalid_request"));
    let others = RelyingParty::register(&server, json!({})).sign_in(&browser).id_token.unwrap();
    assert_eq!(asked(&[("id_token_hint", &others)]), bad("unknown_user_id"));
    let off = server.admin("PATCH", &format!("/users/{user}"), Some(json!({ "active": false })));
    assert_eq!(off.status, 200, "{off:?}");
    assert_eq!(asked(&[("login_hint", "a@example.com")]), bad("unknown_user_id"));
}

#[test]
fn only_so_many_requests_of_a_client_wait_for_a_person() {
    let server = TestServer::start();
    let (rp, other) = (till(&server, json!({})), till(&server, json!({})));
    let (_, browser) = server.signed_in("a@example.com");
    let ids: Vec<String> = (0..10).map(|_| ask(&rp, "a@example.com")).collect();
    let one_more = rp.post(PATH, &[("scope", "openid"), ("login_hint", "a@example.com")]);
    assert_eq!((one_more.status, one_more.header("retry-after")), (429, Some("30")), "{one_more:?}");
    ask(&other, "a@example.com");
    decide(&browser, &ids[0], "deny");
    ask(&rp, "a@example.com");
}

#[test]
fn a_signed_request_counts_alone_and_once() {
    let server = TestServer::start();
    let key = Signing::generate(Algorithm::Es256);
    let rp = till(
        &server,
        json!({ "jwks": key.jwks(), "backchannel_authentication_request_signing_alg": "ES256" }),
    );
    server.create_user("a@example.com");
    let request = |jti: &str, more: Value| {
        let now = server.now().seconds();
        let mut claims = json!({
            "iss": rp.client_id, "aud": server.issuer, "iat": now, "nbf": now, "exp": now + 60, "jti": jti,
            "scope": "openid", "login_hint": "a@example.com", "requested_expiry": "30",
        });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        key.jwt("oauth-authz-req+jwt", &claims)
    };
    let first = request("j-1", json!({}));
    let answer = rp.post(PATH, &[("request", &first)]);
    assert_eq!((answer.status, &answer.json()["expires_in"]), (200, &json!(30)), "{answer:?}");
    assert_told(&rp.post(PATH, &[("request", &first)]), "invalid_request");
    let beside = request("j-2", json!({}));
    assert_told(&rp.post(PATH, &[("request", &beside), ("scope", "openid")]), "invalid_request");
    for wrong in
        [json!({ "aud": "https://other.example" }), json!({ "nbf": null }), json!({ "iss": "other" })]
    {
        assert_told(&rp.post(PATH, &[("request", &request("j-3", wrong))]), "invalid_request");
    }
    assert_told(&rp.post(PATH, &[("request", "a.b.c")]), "invalid_request");
    let unsigned = [("scope", "openid"), ("login_hint", "a@example.com")];
    assert_told(&rp.post(PATH, &unsigned), "invalid_request");
}

/// A notification endpoint of the test's own: gives out what it is sent.
fn listen(answer: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            if sender.send(head + &String::from_utf8(body).unwrap()).is_err() {
                return;
            }
        }
    });
    (format!("http://{address}/ciba"), receiver)
}

#[test]
fn a_client_is_told_when_to_ask() {
    let server = TestServer::start_with(Options::default().env("SYMBOLON_OUTBOUND_ALLOW_PRIVATE", "true"));
    let (endpoint, told) = listen("204 No Content");
    let rp = till(
        &server,
        json!({
            "backchannel_token_delivery_mode": "ping",
            "backchannel_client_notification_endpoint": endpoint,
        }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let without = rp.post(PATH, &[("scope", "openid"), ("login_hint", "a@example.com")]);
    assert_told(&without, "invalid_request");
    for decision in ["allow", "deny"] {
        let form =
            [("scope", "openid"), ("login_hint", "a@example.com"), ("client_notification_token", TOKEN)];
        let answer = rp.post(PATH, &form).json();
        let id = answer["auth_req_id"].as_str().unwrap();
        decide(&browser, id, decision);
        let call = told.recv_timeout(Duration::from_secs(30)).expect("a call");
        assert!(call.starts_with("POST /ciba HTTP/1.1\r\n"), "{call}");
        assert!(call.contains(&format!("authorization: Bearer {TOKEN}\r\n")), "{call}");
        let (_, body) = call.split_once("\r\n\r\n").unwrap();
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), json!({ "auth_req_id": id }));
        match decision {
            "allow" => assert_eq!(poll(&rp, id).status, 200),
            _ => assert_told(&poll(&rp, id), "access_denied"),
        }
    }
}

#[test]
fn what_a_client_may_not_register_or_ask_for_is_refused() {
    let server = TestServer::start();
    let made = |more: Value| {
        let mut body = json!({
            "client_name": "Till", "redirect_uris": [], "grant_types": [CIBA],
            "backchannel_token_delivery_mode": "poll",
        });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        server.admin("POST", "/clients", Some(body)).status
    };
    for (more, status) in [
        (json!({}), 201),
        (json!({ "backchannel_user_code_parameter": false }), 201),
        (json!({ "backchannel_user_code_parameter": true }), 400),
        (json!({ "backchannel_token_delivery_mode": null }), 400),
        (json!({ "backchannel_token_delivery_mode": "push" }), 400),
        (json!({ "backchannel_token_delivery_mode": "ping" }), 400),
        (json!({ "backchannel_client_notification_endpoint": "https://rp.example/ciba" }), 400),
        (
            json!({
                "backchannel_token_delivery_mode": "ping",
                "backchannel_client_notification_endpoint": "http://rp.example/ciba",
            }),
            400,
        ),
        (json!({ "backchannel_authentication_request_signing_alg": "none" }), 400),
        (json!({ "token_endpoint_auth_method": "none" }), 400),
        (json!({ "grant_types": ["client_credentials"] }), 400),
    ] {
        assert_eq!(made(more.clone()), status, "{more}");
    }
    let strangers = json!({ "client_registration_grant_types": ["authorization_code", CIBA] });
    assert_eq!(server.admin("PATCH", "/settings", Some(strangers)).status, 400);

    server.create_user("a@example.com");
    let without = RelyingParty::register(&server, json!({}));
    let hint = [("scope", "openid"), ("login_hint", "a@example.com")];
    assert_told(&without.post(PATH, &hint), "unauthorized_client");
    assert_told(&without.token(&[("grant_type", CIBA), ("auth_req_id", "x")]), "unauthorized_client");
    let rp = till(&server, json!({}));
    let posing = RelyingParty::known(&server, &rp.client_id, None, "");
    assert_eq!((posing.post(PATH, &hint).status, server.browser().get(PATH).status), (401, 405));
    let long = "x".repeat(101);
    let message = [hint[0], hint[1], ("binding_message", &*long)];
    assert_told(&rp.post(PATH, &message), "invalid_binding_message");

    let discovery = server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(discovery["backchannel_authentication_endpoint"], json!(format!("{}{PATH}", server.issuer)));
    assert_eq!(discovery["backchannel_token_delivery_modes_supported"], json!(["poll", "ping"]));
    assert!(discovery["grant_types_supported"].as_array().unwrap().contains(&json!(CIBA)));
}
