//! TLS certificates of clients.

use serde_json::{Value, json};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty, TestServer};

use super::{Bench, Case, run};
use crate::mutual_tls::{HEADER, Holder, behind_a_proxy};

const REFUSED: (u16, &str) = (401, "invalid_client");
const CHALLENGE: (u16, &str) = (401, "invalid_token");
const CREDENTIALS: [(&str, &str); 1] = [("grant_type", "client_credentials")];

fn own_making(holder: &Holder) -> Value {
    json!({ "token_endpoint_auth_method": "self_signed_tls_client_auth", "jwks": holder.jwks() })
}

/// A token request of a client that is registered so, with this header.
fn post(bench: &Bench, id: &str, metadata: Value, header: Option<&str>) -> Answer {
    let rp = bench.client(metadata);
    let form = [CREDENTIALS[0], ("client_id", &*rp.client_id)];
    let mut headers = vec![("x-request-id", id)];
    headers.extend(header.map(|value| (HEADER, value)));
    bench.server.browser().post_with("/token", &form, &headers)
}

/// A call of UserInfo with a token that is bound to a certificate.
fn userinfo(bench: &Bench, id: &str, header: Option<&str>) -> Answer {
    let token = bench.signed_token(json!({ "cnf": { "x5t#S256": "of-another" } }));
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("x-request-id", id), ("authorization", &*bearer)];
    headers.extend(header.map(|value| (HEADER, value)));
    bench.server.browser().get_with("/userinfo", &headers)
}

pub(super) const CASES: [Case<Bench>; 5] = [
    Case::new(Reason::ClientCertificateMissing, REFUSED, &[], |bench, id| {
        post(bench, id, own_making(&Holder::new("bank")), None)
    }),
    Case::new(Reason::ClientCertificateUnreadable, (400, "invalid_request"), &[], |bench, id| {
        post(bench, id, own_making(&Holder::new("bank")), Some("(null)"))
    }),
    Case::new(Reason::ClientCertificateOther, REFUSED, &["`jwks` was"], |bench, id| {
        post(bench, id, own_making(&Holder::new("bank")), Some(&Holder::new("other").header()))
    }),
    Case::new(Reason::TokenCertificateMissing, CHALLENGE, &[], |bench, id| userinfo(bench, id, None)),
    Case::new(Reason::TokenCertificateOther, CHALLENGE, &[], |bench, id| {
        userinfo(bench, id, Some(&Holder::new("bank").header()))
    }),
];

/// Where authorities are configured, and the certificate is of none of them.
pub(super) const OF_NO_AUTHORITY: [Case<TestServer>; 1] = [Case::new(
    Reason::ClientCertificateUntrusted,
    REFUSED,
    &["CN=bank"],
    |server, id| {
        let metadata = json!({ "token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_subject_dn": "CN=bank" });
        let rp = RelyingParty::register(server, metadata);
        let form = [CREDENTIALS[0], ("client_id", &*rp.client_id)];
        let header = Holder::new("bank").header();
        server.browser().post_with("/token", &form, &[("x-request-id", id), (HEADER, &*header)])
    },
)];

#[test]
fn certificates_and_tokens_that_are_bound_to_them() {
    let bench = Bench::at(TestServer::start_with(behind_a_proxy().env("SYMBOLON_TEST_ENDPOINTS", "true")));
    run(&bench, &bench.server, &CASES);
}

#[test]
fn certificates_of_no_authority() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("authorities.pem");
    std::fs::write(&file, Holder::new("authority").pem()).unwrap();
    let options = behind_a_proxy().env("SYMBOLON_TLS_CLIENT_CA_FILE", file.to_str().unwrap());
    let server = TestServer::start_with(options);
    run(&server, &server, &OF_NO_AUTHORITY);
}
