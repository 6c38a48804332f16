//! Users who have more groups or roles than tokens carry.

use serde_json::{Value, json};
use symbolon_protocol::entitlement::MOST_HELD;
use symbolon_testkit::{Browser, RelyingParty, TestServer, is_clustered};

use super::{ALL, alice, id_token, sign_in};
use crate::admin::bulk;

#[test]
fn what_is_left_out_of_tokens_is_said_to_administrators_and_counted() {
    let server = TestServer::start();
    let browser = alice(&server);
    let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
    server.admin("POST", "/groups", Some(json!({ "id": "staff", "name": "Staff" })));
    assert_eq!(server.admin("PUT", "/groups/staff/members/alice", None).status, 204);
    let half = MOST_HELD / 2 + 1;
    let roles = |from: usize| {
        (from..from + half).map(|n| json!({ "id": format!("r{n}"), "name": format!("Role {n:04}") }))
    };
    let given = |from: usize, holder: Value| {
        let line = move |n| {
            let mut line = holder.clone();
            line["role_id"] = json!(format!("r{n}"));
            line
        };
        (from..from + half).map(line).collect::<Vec<Value>>()
    };
    let all_good = |path: &str, lines: &[Value]| {
        let answers = bulk(&server, path, lines);
        assert!(answers.iter().all(|answer| answer.get("error").is_none()), "{:?}", answers.last());
    };
    let shown = || {
        let held = server.admin("GET", "/users/alice/entitlements", None).json();
        let preview = format!("/clients/{}/preview-tokens?user=alice&scope=openid%20roles", rp.client_id);
        let preview = server.admin("GET", &preview, None).json();
        [held["entitlements"]["is_cut"].clone(), preview["preview"]["is_cut"].clone()]
    };
    let counted = || {
        let page = Browser::new(&server.management).get("/metrics").body;
        let line = page.lines().find_map(|line| line.strip_prefix("symbolon_entitlements_cut_total "));
        line.expect("the counter").parse::<u64>().expect("a count")
    };
    all_good("/roles/bulk", &roles(0).chain(roles(half)).collect::<Vec<_>>());
    all_good("/given-roles/bulk", &given(0, json!({ "user_id": "alice" })));
    let tokens = sign_in(&rp, &browser, "openid roles");
    assert_eq!(id_token(&tokens)["roles"].as_array().map(Vec::len), Some(half));
    assert_eq!(shown(), [false, false]);
    // Which node answered is not known where there are several.
    assert!(is_clustered() || counted() == 0);

    all_good("/given-roles/bulk", &given(half, json!({ "group_id": "staff" })));
    assert_eq!(shown(), [true, true]);
    assert!(is_clustered() || counted() == 0, "nothing was told of her yet");
    let tokens = sign_in(&rp, &browser, "openid roles");
    assert_eq!(id_token(&tokens)["roles"].as_array().map(Vec::len), Some(MOST_HELD));
    assert!(is_clustered() || counted() == 1, "{}", counted());
}
