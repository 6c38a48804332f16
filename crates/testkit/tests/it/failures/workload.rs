//! Clients that authenticate by assertions of a trusted issuer.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty, Signing, TestServer};

use super::{Case, run};
use crate::upstream::fake::Fake;
use crate::upstream::options;

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const REFUSED: (u16, &str) = (401, "invalid_client");

/// A server, and a platform that it trusts.
pub(super) struct Bench {
    server: TestServer,
    platform: Fake,
    key: Signing,
}

impl Bench {
    fn new() -> Self {
        let key = Signing::generate(Algorithm::Es256);
        let (server, platform) = (TestServer::start_with(options()), Fake::start(&key.jwks()));
        let down = format!("{}/down", platform.issuer);
        let uses = ["client_authentication"];
        let all = ["client_authentication", "jwt_bearer", "id_jag"];
        let trusted = json!([
            { "issuer": platform.issuer, "for": all, "subject": "user_id" }, { "issuer": down, "for": uses },
        ]);
        let answer = server.admin("PATCH", "/settings", Some(json!({ "trusted_issuers": trusted })));
        assert_eq!(answer.status, 200, "{answer:?}");
        platform.set("/down/.well-known/openid-configuration", ("503 Down".to_owned(), String::new()));
        Self { server, platform, key }
    }

    /// Presents an ID-JAG with further claims, made for the client's id.
    fn present_id_jag(&self, id: &str, more: impl FnOnce(&str) -> Value) -> Answer {
        let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
        let rp = RelyingParty::register(&self.server, json!({ "grant_types": [grant] }));
        let user = self.server.create_user(&format!("{id}@example.com"));
        let now = self.server.now().seconds();
        let mut claims = json!({
            "iss": self.platform.issuer, "sub": user, "aud": self.server.issuer, "iat": now, "exp": now + 60, "jti": id,
        });
        claims.as_object_mut().unwrap().extend(more(&rp.client_id).as_object().unwrap().clone());
        let assertion = self.key.jwt("oauth-id-jag+jwt", &claims);
        let form = [("grant_type", grant), ("assertion", &*assertion)];
        let headers = [("x-request-id", id), ("authorization", &*rp.basic())];
        self.server.browser().post_with("/token", &form, &headers)
    }

    /// Presents the token of a workload of this issuer, as the client that is another's workload.
    fn present(&self, id: &str, iss: &str) -> Answer {
        let entry = |issuer: &str| json!({ "issuer": issuer, "sub": "repo:acme/other" });
        let down = format!("{}/down", self.platform.issuer);
        let metadata = json!({
            "token_endpoint_auth_method": "private_key_jwt", "assertion_issuers": [entry(&self.platform.issuer), entry(&down)],
        });
        let client = RelyingParty::register(&self.server, metadata);
        let now = self.server.now().seconds();
        let claims = json!({
            "iss": iss, "sub": "repo:acme/shop", "aud": self.server.issuer, "iat": now, "exp": now + 60, "jti": id,
        });
        let assertion = self.key.jwt("JWT", &claims);
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", &*client.client_id),
            ("client_assertion_type", JWT_BEARER),
            ("client_assertion", &*assertion),
        ];
        self.server.browser().post_with("/token", &form, &[("x-request-id", id)])
    }
}

pub(super) const CASES: [Case<Bench>; 6] = [
    Case::new(
        Reason::AssertionIssuerUntrusted,
        REFUSED,
        &["`iss` was https://ci.example, registered are http://127.0.0.1"],
        |bench, id| bench.present(id, "https://ci.example"),
    ),
    Case::new(
        Reason::AssertionConditionUnmet,
        REFUSED,
        &["`sub` was repo:acme/shop, registered is repo:acme/other"],
        |bench, id| bench.present(id, &bench.platform.issuer),
    ),
    Case::new(
        Reason::TrustedIssuerKeysUnreachable,
        REFUSED,
        &["/down: its metadata: it answered 503"],
        |bench, id| bench.present(id, &format!("{}/down", bench.platform.issuer)),
    ),
    Case::new(
        Reason::AssertionOfOtherClient,
        (400, "invalid_grant"),
        &["`client_id` was another"],
        |bench, id| bench.present_id_jag(id, |_| json!({ "client_id": "another" })),
    ),
    Case::new(Reason::AssertionKeyOther, (400, "invalid_grant"), &[], |bench, id| {
        bench.present_id_jag(id, |own| json!({ "client_id": own, "cnf": { "jkt": "another" } }))
    }),
    Case::new(
        Reason::AssertionSubjectUnknown,
        (400, "invalid_grant"),
        &["`sub` was somebody"],
        |bench, id| {
            let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
            let rp = RelyingParty::register(&bench.server, json!({ "grant_types": [grant] }));
            let now = bench.server.now().seconds();
            let claims = json!({
                "iss": bench.platform.issuer, "sub": "somebody", "aud": bench.server.issuer, "exp": now + 60, "jti": id,
            });
            let assertion = bench.key.jwt("JWT", &claims);
            let form = [("grant_type", grant), ("assertion", &*assertion)];
            let headers = [("x-request-id", id), ("authorization", &*rp.basic())];
            bench.server.browser().post_with("/token", &form, &headers)
        },
    ),
];

#[test]
fn assertions_of_trusted_issuers() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
}
