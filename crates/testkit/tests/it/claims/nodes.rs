//! What an administrator changes at one node is in the next tokens of every other node.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use symbolon_testkit::{ADMIN_SECRET, Browser, RelyingParty, TestServer, TokenSet};

use super::{ALL, alice, id_token, refreshed, sign_in};

/// How long a node may know the state of before. Nodes tell each other within milliseconds; the rest is for a busy
/// machine. No entry of a cache ends by itself (`crates/store/src/cache.rs`): a node that is told nothing would keep the
/// old state for as long as it runs.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// What one node tells of alice.
struct Asked {
    rp: RelyingParty,
    tokens: TokenSet,
}

impl Asked {
    /// Refreshes; the groups and roles of the new ID token.
    fn told(&mut self) -> (Value, Value) {
        self.tokens = refreshed(&self.rp, &self.tokens);
        let claims = id_token(&self.tokens);
        (claims["groups"].clone(), claims["roles"].clone())
    }

    /// Refreshes until the tokens tell this; how long that took, and how often it asked.
    fn until(&mut self, told: &(Value, Value)) -> (Duration, u32) {
        let (since, mut asked) = (now(), 1);
        while self.told() != *told {
            assert!(since.elapsed() < TOLD_WITHIN, "a node still tells what was before {told:?}");
            asked += 1;
        }
        (since.elapsed(), asked)
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures how long nodes take")]
fn now() -> Instant {
    Instant::now()
}

/// Changes something by one node's admin API.
fn change_at(node: &str, method: &str, path: &str) {
    let authorization = format!("Bearer {ADMIN_SECRET}");
    let headers = [("authorization", &*authorization)];
    let answer = Browser::new(node).send(method, &format!("/api/admin{path}"), &headers, b"");
    assert_eq!(answer.status, 204, "{method} {path}: {answer:?}");
}

#[test]
fn groups_and_roles_that_change_at_one_node_are_in_the_next_tokens_of_all() {
    let server = TestServer::start();
    let browser = alice(&server);
    let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
    for (path, body) in [
        ("/groups", json!({ "id": "staff", "name": "Staff" })),
        ("/roles", json!({ "id": "admin", "name": "Admin" })),
        ("/roles", json!({ "id": "buyer", "name": "Buyer", "client_id": rp.client_id })),
    ] {
        assert_eq!(server.admin("POST", path, Some(body)).status, 201, "{path}");
    }
    let nodes = server.node_urls();
    let ask = |node: &String| Asked { rp: rp.clone().served_at(node), tokens: sign_in(&rp, &browser, ALL) };
    let mut asked: Vec<Asked> = nodes.iter().map(ask).collect();
    let changes = [
        ("PUT", "/groups/staff/members/alice", json!(["Staff"]), json!([])),
        ("PUT", "/users/alice/roles/buyer", json!(["Staff"]), json!(["Buyer"])),
        ("PUT", "/groups/staff/roles/admin", json!(["Staff"]), json!(["Admin", "Buyer"])),
        ("DELETE", "/users/alice/roles/buyer", json!(["Staff"]), json!(["Admin"])),
        ("DELETE", "/groups/staff/members/alice", json!([]), json!([])),
        ("PUT", "/groups/staff/members/alice", json!(["Staff"]), json!(["Admin"])),
        ("DELETE", "/groups/staff/roles/admin", json!(["Staff"]), json!([])),
    ];
    let mut longest = Duration::ZERO;
    for (turn, (method, path, groups, roles)) in changes.into_iter().enumerate() {
        // Every node has the state of before in its cache.
        asked.iter_mut().for_each(|asked| drop(asked.told()));
        let changing = turn % nodes.len();
        change_at(&nodes[changing], method, path);
        let told = (groups, roles);
        let waits: Vec<(Duration, u32)> = std::thread::scope(|scope| {
            let told = &told;
            let asking: Vec<_> =
                asked.iter_mut().map(|asked| scope.spawn(move || asked.until(told))).collect();
            asking.into_iter().map(|asking| asking.join().expect("told")).collect()
        });
        assert_eq!(waits[changing].1, 1, "{method} {path}: the node itself knows at once");
        longest = waits.iter().map(|(wait, _)| *wait).fold(longest, Duration::max);
    }
    println!("{} nodes told of a change after {longest:?} at most, a refresh included", nodes.len());
}
