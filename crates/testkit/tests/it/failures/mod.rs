//! Why it failed: each reason is provoked over HTTP, what the client is told stays what it was, and the explanation names
//! cause, values and mend.

mod authorization;
mod ciba;
mod client;
mod client_document;
mod device;
mod dpop;
mod encryption;
mod exchange;
mod flood;
mod grant;
mod identity_provider;
mod limits;
mod login_api;
mod logout;
mod mutual_tls;
mod registration;
mod request;
mod request_object;
mod sign_in;
mod token;
mod workload;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, RelyingParty, Signing, TestServer, decode_jwt,
};

/// One kind of failure at a bench.
struct Case<B> {
    reason: Reason,
    /// Status and error code of the answer; no code for a page.
    outside: (u16, &'static str),
    /// Texts in the explanation.
    values: &'static [&'static str],
    /// Sends the request that is refused, with this request id.
    provoke: fn(&B, &str) -> Answer,
}

impl<B> Case<B> {
    const fn new(
        reason: Reason,
        outside: (u16, &'static str),
        values: &'static [&'static str],
        provoke: fn(&B, &str) -> Answer,
    ) -> Self {
        Self { reason, outside, values, provoke }
    }
}

/// Provokes each case, and reads its explanation and, where it names a client, that client's failures.
fn run<B>(bench: &B, server: &TestServer, cases: &[Case<B>]) {
    for case in cases {
        let id = format!("case-{}", case.reason.name());
        let answer = (case.provoke)(bench, &id);
        let (status, error) = case.outside;
        assert_eq!(told(&answer), (status, error.to_owned()), "{id}: {answer:?}");
        let failure = explained(server, "", &id);
        assert_eq!(failure["reason"], case.reason.name(), "{failure}");
        assert_eq!(failure["mend"], case.reason.mend(), "{failure}");
        let explanation = failure["explanation"].as_str().unwrap();
        assert!(explanation.starts_with(case.reason.cause()), "{explanation}");
        for value in case.values {
            assert!(explanation.contains(value), "{id} lacks {value}: {explanation}");
        }
        assert_eq!(failure["address"], "127.0.0.1", "{failure}");
        if let Some(client) = failure["client_id"].as_str() {
            assert_eq!(of_client(server, client, &id), failure, "the failures of {client}");
        }
    }
}

/// What the list of a client's failures says of a request.
fn of_client(server: &TestServer, client: &str, id: &str) -> Value {
    // An id may be a URL.
    let client: String = form_urlencoded::byte_serialize(client.as_bytes()).collect();
    let answer = server.admin("GET", &format!("/clients/{client}/failures?limit=100"), None);
    assert_eq!(answer.status, 200, "{answer:?}");
    let failures = answer.json()["failures"].as_array().unwrap().clone();
    let times: Vec<_> = failures.iter().map(|failure| failure["at"].as_u64().unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older), "newest first: {times:?}");
    failures.into_iter().find(|failure| failure["request_id"] == id).unwrap_or_default()
}

/// The only failure of a request.
fn explained(server: &TestServer, issuer_path: &str, id: &str) -> Value {
    let answer = server.admin("GET", &format!("{issuer_path}/failures/{id}"), None);
    assert_eq!(answer.status, 200, "{id}: {answer:?}");
    let failures = answer.json()["failures"].clone();
    assert_eq!(failures.as_array().unwrap().len(), 1, "{failures}");
    assert_eq!(failures[0]["request_id"], id, "{failures}");
    failures[0].clone()
}

/// Status and error code of an answer.
fn told(answer: &Answer) -> (u16, String) {
    let is_json = answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    let error = match answer.header("location") {
        Some(location) if location.contains("://") || location.starts_with("com.") => {
            answer.redirected("error").unwrap_or_default()
        }
        None if is_json => answer.error(),
        _ => String::new(),
    };
    (answer.status, error)
}

/// A server with a client and a person who is signed in.
struct Bench {
    server: TestServer,
    rp: RelyingParty,
    user: String,
    session: Browser,
}

impl Bench {
    fn new() -> Self {
        Self::at(TestServer::start())
    }

    fn at(server: TestServer) -> Self {
        let rp = RelyingParty::register(&server, json!({}));
        let (user, session) = server.signed_in("person@example.com");
        Self { server, rp, user, session }
    }

    fn client(&self, metadata: Value) -> RelyingParty {
        RelyingParty::register(&self.server, metadata)
    }

    fn public(&self) -> RelyingParty {
        let grants = ["authorization_code", "refresh_token"];
        self.client(json!({ "token_endpoint_auth_method": "none", "grant_types": grants }))
    }

    fn patch(&self, path: &str, body: Value) {
        let answer = self.server.admin("PATCH", path, Some(body));
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// POST of a client with its secret.
    fn post(&self, id: &str, rp: &RelyingParty, path: &str, form: &[(&str, &str)]) -> Answer {
        let headers = [("x-request-id", id), ("authorization", &rp.basic())];
        self.server.browser().post_with(path, form, &headers)
    }

    /// POST without an `Authorization` header.
    fn bare(&self, id: &str, path: &str, form: &[(&str, &str)]) -> Answer {
        self.server.browser().post_with(path, form, &[("x-request-id", id)])
    }

    /// An authorization request in the browser of the person who is signed in.
    fn authorize(&self, id: &str, request: &AuthorizationRequest) -> Answer {
        self.session.get_with(&request.path(), &[("x-request-id", id)])
    }

    /// A code for a client, and its verifier.
    fn code(&self, rp: &RelyingParty) -> (String, String) {
        self.code_of(&rp.authorization_request())
    }

    fn code_of(&self, request: &AuthorizationRequest) -> (String, String) {
        let answer = self.session.get(&request.path());
        (answer.redirected("code").unwrap_or_else(|| panic!("{answer:?}")), request.verifier.clone())
    }

    fn redeem(&self, id: &str, rp: &RelyingParty, code: &str, more: &[(&str, &str)]) -> Answer {
        let mut form = vec![("grant_type", "authorization_code"), ("code", code)];
        form.extend_from_slice(more);
        self.post(id, rp, "/token", &form)
    }

    fn refresh(&self, id: &str, rp: &RelyingParty, token: &str, more: &[(&str, &str)]) -> Answer {
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
        form.extend_from_slice(more);
        self.post(id, rp, "/token", &form)
    }

    fn userinfo(&self, id: &str, token: &str) -> Answer {
        let headers = [("x-request-id", id), ("authorization", &format!("Bearer {token}"))];
        self.server.browser().get_with("/userinfo", &headers)
    }

    /// An access token with other claims, signed by the issuer's own key; `null` takes a claim away.
    fn signed_token(&self, changes: Value) -> String {
        let key = self.server.admin("GET", "/test/signing-key", None).json();
        let (kid, pem) = (key["kid"].as_str().unwrap(), key["privatePEM"].as_str().unwrap());
        let (_, mut claims) = decode_jwt(&self.rp.sign_in(&self.session).access_token);
        for lineage in ["gid", "sid"] {
            claims.as_object_mut().unwrap().remove(lineage);
        }
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        Signing::from_pem(kid, pem).jwt("at+jwt", &claims)
    }
}

/// Reasons that no request of a test provokes by itself.
const NOT_PROVOKED: [Reason; 3] = [
    // A store out of reach, a fault inside: `safety`.
    Reason::Unavailable,
    Reason::ServerFault,
    // A race: `login` provokes what is seen outside.
    Reason::SignInOvertaken,
];

#[test]
fn every_reason_has_a_case() {
    fn reasons<B>(cases: &[Case<B>]) -> impl Iterator<Item = &'static str> {
        cases.iter().map(|case| case.reason.name())
    }
    let provoked: BTreeSet<&str> = reasons(&authorization::CASES)
        .chain(reasons(&client::CASES))
        .chain(reasons(&client_document::CASES))
        .chain(reasons(&device::CASES))
        .chain(reasons(&ciba::CASES))
        .chain(reasons(&dpop::CASES))
        .chain(reasons(&encryption::CASES))
        .chain(reasons(&exchange::CASES))
        .chain(reasons(&grant::CASES))
        .chain(reasons(&identity_provider::CASES))
        .chain(reasons(&limits::CASES))
        .chain(reasons(&limits::SIGN_INS))
        .chain(reasons(&limits::BUSY))
        .chain(reasons(&login_api::CASES))
        .chain(reasons(&logout::CASES))
        .chain(reasons(&mutual_tls::CASES))
        .chain(reasons(&mutual_tls::OF_NO_AUTHORITY))
        .chain(reasons(&registration::CASES))
        .chain(reasons(&request::CASES))
        .chain(reasons(&request_object::CASES))
        .chain(reasons(&sign_in::CASES))
        .chain(reasons(&token::CASES))
        .chain(reasons(&workload::CASES))
        .chain(NOT_PROVOKED.iter().map(|reason| reason.name()))
        .collect();
    let all: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(all.difference(&provoked).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(all.len() - NOT_PROVOKED.len() >= 100);
}
