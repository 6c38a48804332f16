//! Clients that are named by the URL of their metadata.

use serde_json::{Value, json};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, TestServer};

use super::{Bench, Case, run};
use crate::upstream::fake::{Fake, ok};
use crate::upstream::options;

const REFUSED: (u16, &str) = (401, "invalid_client");

/// A bench whose server may call the test's own, which publishes documents.
pub(super) struct Published {
    bench: Bench,
    fake: Fake,
}

impl Published {
    fn new() -> Self {
        let published =
            Self { bench: Bench::at(TestServer::start_with(options())), fake: Fake::start(&json!({})) };
        let host = published.fake.issuer.strip_prefix("http://").unwrap();
        published
            .bench
            .patch("/settings", json!({ "client_id_metadata_documents": [host, "named.example"] }));
        published
    }

    /// Identifies itself as the client at a path of the test's server.
    fn identify(&self, id: &str, url: &str) -> Answer {
        self.bench.bare(id, "/token", &[("grant_type", "client_credentials"), ("client_id", url)])
    }
}

pub(super) const CASES: [Case<Published>; 3] = [
    Case::new(
        Reason::ClientIdUrlRefused,
        REFUSED,
        &["other.example is not in client_id_metadata_documents"],
        |published, id| published.identify(id, "https://other.example/client"),
    ),
    Case::new(Reason::ClientDocumentUnreachable, REFUSED, &["it answered 404"], |published, id| {
        published.identify(id, &format!("{}/nothing", published.fake.issuer))
    }),
    Case::new(
        Reason::ClientDocumentInvalid,
        REFUSED,
        &["client_id must be the URL of the document"],
        |published, id| {
            let document: Value = json!({ "client_id": "https://named.example/client" });
            published.fake.set("/client", ok(&document));
            published.identify(id, &format!("{}/client", published.fake.issuer))
        },
    ),
];

#[test]
fn documents_of_clients() {
    let published = Published::new();
    run(&published, &published.bench.server, &CASES);
}
