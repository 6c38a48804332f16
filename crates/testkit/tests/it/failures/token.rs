//! A presented access token: at UserInfo, introspection and revocation.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, Signing, decode_jwt};

use super::{Bench, Case, explained, of_client, run};

const CHALLENGE: (u16, &str) = (401, "invalid_token");
/// RFC 7662 2.2: the caller is told no more.
const INACTIVE: (u16, &str) = (200, "");

fn token(bench: &Bench) -> String {
    bench.rp.sign_in(&bench.session).access_token
}

/// A header that no client library sends.
fn malformed_header(bench: &Bench, id: &str) -> Answer {
    let host = bench.server.url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(host).unwrap();
    let head =
        format!("GET /userinfo HTTP/1.1\r\nhost: {host}\r\nx-request-id: {id}\r\nconnection: close\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(b"authorization: Bearer \xe4\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer { status, headers, body: body.to_owned() }
}

pub(super) const CASES: [Case<Bench>; 18] = [
    Case::new(Reason::TokenMissing, CHALLENGE, &[], |bench, id| {
        bench.server.browser().get_with("/userinfo", &[("x-request-id", id)])
    }),
    Case::new(Reason::TokenSentTwice, (400, "invalid_request"), &[], |bench, id| {
        let headers = [("x-request-id", id), ("authorization", "Bearer x")];
        bench.server.browser().post_with("/userinfo", &[("access_token", "x")], &headers)
    }),
    Case::new(Reason::AuthorizationHeaderMalformed, (400, "invalid_request"), &[], malformed_header),
    Case::new(Reason::TokenMalformed, CHALLENGE, &[], |bench, id| bench.userinfo(id, "x")),
    Case::new(Reason::TokenKeyUnknown, CHALLENGE, &[], |bench, id| {
        let (_, claims) = decode_jwt(&token(bench));
        bench.userinfo(id, &Signing::generate(Algorithm::Rs256).jwt("at+jwt", &claims))
    }),
    Case::new(Reason::TokenSignatureWrong, CHALLENGE, &[], |bench, id| {
        let [one, other] = [token(bench), token(bench)];
        let (input, _) = one.rsplit_once('.').unwrap();
        let (_, signature) = other.rsplit_once('.').unwrap();
        bench.userinfo(id, &format!("{input}.{signature}"))
    }),
    Case::new(Reason::TokenOfOtherKind, CHALLENGE, &[], |bench, id| {
        let id_token = bench.rp.sign_in(&bench.session).id_token.unwrap();
        bench.userinfo(id, &id_token)
    }),
    Case::new(Reason::TokenOfOtherIssuer, CHALLENGE, &["`iss` was https://other.example"], |bench, id| {
        bench.userinfo(id, &bench.signed_token(json!({ "iss": "https://other.example" })))
    }),
    Case::new(Reason::TokenExpired, CHALLENGE, &["on the provider's clock"], |bench, id| {
        let past = bench.server.now().seconds() - 1;
        bench.userinfo(id, &bench.signed_token(json!({ "exp": past })))
    }),
    Case::new(Reason::TokenNotYetValid, CHALLENGE, &["`nbf` was"], |bench, id| {
        let later = bench.server.now().seconds() + 100;
        bench.userinfo(id, &bench.signed_token(json!({ "nbf": later })))
    }),
    Case::new(Reason::TokenRevoked, CHALLENGE, &[], |bench, id| {
        let token = token(bench);
        assert_eq!(bench.rp.post("/revoke", &[("token", &token)]).status, 200);
        bench.userinfo(id, &token)
    }),
    Case::new(Reason::TokenAudienceOther, CHALLENGE, &["`aud` was https://api.example"], |bench, id| {
        bench.userinfo(id, &bench.signed_token(json!({ "aud": "https://api.example" })))
    }),
    Case::new(
        Reason::TokenScopeInsufficient,
        (403, "insufficient_scope"),
        &["`scope` was email, expected is openid"],
        |bench, id| bench.userinfo(id, &bench.signed_token(json!({ "scope": "email" }))),
    ),
    Case::new(Reason::TokenUserUnknown, CHALLENGE, &[], |bench, id| {
        bench.userinfo(id, &bench.signed_token(json!({ "sub": "nobody" })))
    }),
    Case::new(
        Reason::TokenOfOtherClient,
        INACTIVE,
        &["of client ", "registered are ", "https://api.example"],
        |bench, id| {
            let api = bench.client(json!({ "audiences": ["https://api.example"] }));
            let answer = bench.post(id, &api, "/introspect", &[("token", &token(bench))]);
            assert_eq!(answer.json(), json!({ "active": false }));
            // Which waits until the record of another node is there.
            explained(&bench.server, "", id);
            let failures = format!("/clients/{}/failures", api.client_id);
            let found = bench.server.admin("GET", &failures, None).json();
            assert_eq!(found["failures"][0]["request_id"], id, "it is the API that wants to know: {found}");
            answer
        },
    ),
    Case::new(Reason::TokenClientUnknown, INACTIVE, &["`client_id` was gone"], |bench, id| {
        let api = bench.client(json!({ "audiences": [bench.server.issuer] }));
        let strict = |on: bool| {
            bench.patch("/settings", json!({ "introspection_strict": on }));
        };
        strict(true);
        let token = bench.signed_token(json!({ "client_id": "gone" }));
        let answer = bench.post(id, &api, "/introspect", &[("token", &token)]);
        strict(false);
        answer
    }),
    Case::new(Reason::UserDeactivated, INACTIVE, &[], |bench, id| {
        let user = bench.server.create_user("deactivated@example.com");
        bench.patch(&format!("/users/{user}"), json!({ "active": false }));
        // Deactivating ends every token of before: this one is signed later.
        bench.server.clock.advance(Duration::from_secs(2));
        let now = bench.server.now().seconds();
        let later = bench.signed_token(json!({ "sub": user, "iat": now }));
        bench.post(id, &bench.rp, "/introspect", &[("token", &later)])
    }),
    Case::new(Reason::RefreshTokenReused, INACTIVE, &[], |bench, id| {
        let tokens = bench.rp.sign_in(&bench.session).refresh_token.unwrap();
        assert_eq!(bench.rp.refresh(&tokens).status, 200);
        bench.post(id, &bench.rp, "/introspect", &[("token", &tokens)])
    }),
];

#[test]
fn presented_tokens() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
    bench.server.drain_audit();
    let all = bench.server.admin("GET", "/audit-logs?event=request.refused&limit=100", None).body;
    assert!(!all.contains("eyJ"), "no token is kept: {all}");
}

/// What an API that introspects must be able to find out: it is told `{"active": false}` whatever the reason.
#[test]
fn an_api_that_introspects_finds_out_why_a_token_is_not_active() {
    let bench = Bench::new();
    let issuer = bench.server.issuer.as_str();
    let api = bench.client(json!({ "audiences": [issuer] }));
    let now = bench.server.now().seconds();
    let of_other = Signing::generate(Algorithm::Es256);
    let (_, claims) = decode_jwt(&token(&bench));
    let elsewhere = json!({ "iss": "https://other.example", "aud": issuer, "sub": "a", "exp": now + 60 });
    let revoked = token(&bench);
    assert_eq!(bench.rp.post("/revoke", &[("token", &revoked)]).status, 200);
    let refresh_token = bench.rp.sign_in(&bench.session).refresh_token.unwrap();
    let id_token = bench.rp.sign_in(&bench.session).id_token.unwrap();
    for (token, reason, said) in [
        (bench.signed_token(json!({ "exp": now - 1 })), Reason::TokenExpired, "`exp` was"),
        (bench.signed_token(json!({ "nbf": now + 100 })), Reason::TokenNotYetValid, "`nbf` was"),
        (revoked, Reason::TokenRevoked, "has ended"),
        (
            bench.signed_token(json!({ "aud": "https://api.example" })),
            Reason::TokenOfOtherClient,
            "`aud` was https://api.example, of client ",
        ),
        (of_other.jwt("at+jwt", &elsewhere), Reason::TokenOfOtherIssuer, "`iss` was https://other.example"),
        (of_other.jwt("at+jwt", &claims), Reason::TokenKeyUnknown, "`kid` was "),
        ("nothing-of-ours".to_owned(), Reason::TokenMalformed, "not a signed JWT"),
        (id_token, Reason::TokenOfOtherKind, "ID token"),
        (refresh_token, Reason::RefreshTokenOfOtherClient, "another client"),
    ] {
        let id = format!("asked-{}", reason.name());
        let answer = bench.post(&id, &api, "/introspect", &[("token", &token)]);
        assert_eq!((answer.status, answer.json()), (200, json!({ "active": false })), "{id}");
        let failure = explained(&bench.server, "", &id);
        assert_eq!(
            of_client(&bench.server, &api.client_id, &id),
            failure,
            "it is the API that wants to know"
        );
        assert_eq!((&failure["reason"], &failure["endpoint"]), (&json!(reason.name()), &json!("introspect")));
        assert!(failure["explanation"].as_str().unwrap().contains(said), "{said}: {failure}");
        assert_eq!(failure["mend"], reason.mend(), "{failure}");
    }
    let good = bench.post("asked-good", &api, "/introspect", &[("token", &token(&bench))]);
    assert_eq!(good.json()["active"], true, "{good:?}");
    assert_eq!(bench.server.admin("GET", "/failures/asked-good", None).status, 404);
}
