//! Applications that register themselves.

use serde_json::{Value, json};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::Answer;

use super::{Bench, Case, explained, run};

const DENIED: (u16, &str) = (403, "access_denied");
const CHALLENGE: (u16, &str) = (401, "invalid_token");

/// Sends a registration, after the issuer's settings were changed.
fn register(bench: &Bench, id: &str, settings: Value, metadata: &Value) -> Answer {
    bench.patch("/settings", settings);
    let headers = [
        ("x-request-id", id),
        ("content-type", "application/json"),
        ("authorization", "Bearer iat_of-nobody"),
    ];
    bench.server.browser().send("POST", "/connect/register", &headers, metadata.to_string().as_bytes())
}

fn least() -> Value {
    json!({ "redirect_uris": ["https://rp.example/cb"] })
}

pub(super) const CASES: [Case<Bench>; 8] = [
    Case::new(Reason::ClientRegistrationOff, DENIED, &[], |bench, id| {
        register(bench, id, json!({ "client_registration": "off" }), &least())
    }),
    Case::new(Reason::InitialAccessTokenWrong, CHALLENGE, &[], |bench, id| {
        register(bench, id, json!({ "client_registration": "initial_access_token" }), &least())
    }),
    Case::new(
        Reason::ClientMetadataInvalid,
        (400, "invalid_client_metadata"),
        &["`application_type`"],
        |bench, id| {
            let mut metadata = least();
            metadata["application_type"] = json!("toaster");
            register(bench, id, json!({ "client_registration": "open" }), &metadata)
        },
    ),
    Case::new(
        Reason::SoftwareStatementUnapproved,
        (400, "unapproved_software_statement"),
        &["`software_statement`"],
        |bench, id| {
            let mut metadata = least();
            metadata["software_statement"] = json!("a.b.c");
            register(bench, id, json!({ "client_registration": "open" }), &metadata)
        },
    ),
    Case::new(
        Reason::SoftwareStatementInvalid,
        (400, "invalid_software_statement"),
        &["`software_statement`"],
        |bench, id| {
            let mut metadata = least();
            metadata["software_statement"] = json!(7);
            register(bench, id, json!({ "client_registration": "open" }), &metadata)
        },
    ),
    Case::new(Reason::ClientsTooMany, DENIED, &[], |bench, id| {
        let full = json!({ "client_registration": "open", "client_registration_most_clients": 1 });
        register(bench, id, full, &least())
    }),
    Case::new(
        Reason::SoftwareStatementMissing,
        (400, "invalid_client_metadata"),
        &["`software_statement`"],
        |bench, id| {
            let needed = json!({
                "client_registration": "open", "client_registration_require_software_statement": true,
            });
            register(bench, id, needed, &least())
        },
    ),
    Case::new(Reason::RegistrationAccessTokenWrong, CHALLENGE, &[], |bench, id| {
        bench.patch("/settings", json!({ "client_registration": "open" }));
        let headers = [("x-request-id", id), ("authorization", "Bearer rat_of-nobody")];
        let path = format!("/connect/register/{}", bench.rp.client_id);
        let answer = bench.server.browser().get_with(&path, &headers);
        assert_eq!(explained(&bench.server, "", id)["client_id"], json!(bench.rp.client_id));
        answer
    }),
];

#[test]
fn registrations() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
    bench.server.drain_audit();
    let all = bench.server.admin("GET", "/audit-logs?event=request.refused&limit=100", None).body;
    assert!(!all.contains("of-nobody"), "no token is kept: {all}");
}
