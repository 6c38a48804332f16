//! Answers that should be encrypted for the client, and cannot be.

use serde_json::json;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::TestServer;

use super::{Bench, Case, run};
use crate::upstream::fake::Fake;
use crate::upstream::options;

/// A bench whose server may call the test's own, which publishes a set without keys.
pub(super) struct Keyless {
    bench: Bench,
    fake: Fake,
}

pub(super) const CASES: [Case<Keyless>; 1] = [Case::new(
    Reason::EncryptionKeyMissing,
    (400, "invalid_request"),
    &["`alg` was ECDH-ES"],
    |Keyless { bench, fake }, id| {
        let uri = format!("{}/jwks", fake.issuer);
        let rp = bench.client(json!({ "jwks_uri": uri, "id_token_encrypted_response_alg": "ECDH-ES" }));
        let (code, verifier) = bench.code(&rp);
        let more = [("redirect_uri", &*rp.redirect_uri), ("code_verifier", &*verifier)];
        bench.redeem(id, &rp, &code, &more)
    },
)];

#[test]
fn encrypted_answers() {
    let bench = Bench::at(TestServer::start_with(options()));
    let keyless = Keyless { bench, fake: Fake::start(&json!({ "keys": [] })) };
    run(&keyless, &keyless.bench.server, &CASES);
}
