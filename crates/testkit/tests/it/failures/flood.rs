//! Floods of refused requests: one client's hide nothing of another's, and what is kept is bounded.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_testkit::{Options, RelyingParty, TestServer};

use super::explained;

const WRONG: &str = "a-wrong-secret-of-thirty-two-chars";
const CREDENTIALS: [(&str, &str); 1] = [("grant_type", "client_credentials")];

/// A request of a client with a wrong secret.
fn refused(server: &TestServer, client_id: &str, id: &str) {
    let posing = RelyingParty::known(server, client_id, Some(WRONG), "");
    let headers = [("x-request-id", id), ("authorization", &posing.basic())];
    assert_eq!(server.browser().post_with("/token", &CREDENTIALS, &headers).status, 401);
}

fn failures(server: &TestServer, path: &str) -> Vec<Value> {
    let answer = server.admin("GET", path, None);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["failures"].as_array().unwrap().clone()
}

fn of_client(server: &TestServer, client_id: &str, query: &str) -> Vec<Value> {
    failures(server, &format!("/clients/{client_id}/failures{query}"))
}

#[test]
fn a_flood_at_one_client_hides_nothing_of_another_and_is_counted() {
    let server = TestServer::start_with(Options::default().one_node());
    let [flooded, calm] = [0, 1].map(|_| RelyingParty::register(&server, json!({})).client_id);
    refused(&server, &calm, "before-the-flood");
    for number in 0..300 {
        refused(&server, &flooded, &format!("flood-{number:05}"));
        refused(&server, &format!("invented-{number}"), &format!("inventor-{number:05}"));
    }
    refused(&server, &calm, "after-the-flood");
    let of_calm = of_client(&server, &calm, "");
    let ids: Vec<&str> = of_calm.iter().map(|failure| failure["request_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["after-the-flood", "before-the-flood"], "newest first");
    let of_flooded = of_client(&server, &flooded, "?limit=100").len();
    assert!((10..=60).contains(&of_flooded), "{of_flooded}");
    let all = failures(&server, "/failures?limit=100");
    let invented = all.iter().filter(|failure| failure["reason"] == "client_unknown").count();
    assert!((10..=60).contains(&invented), "names that are no client's share a bound: {invented}");
    server.clock.advance(Duration::from_secs(60));
    refused(&server, &flooded, "a-minute-later");
    let later = explained(&server, "", "a-minute-later");
    let unrecorded = later["unrecorded"].as_u64().unwrap();
    assert_eq!(unrecorded + of_flooded as u64, 300, "{later}");
    let page = server.app.registry.render(&[]);
    let counted = |reason: &str| format!("symbolon_refused_requests_total{{reason=\"{reason}\"}}");
    assert!(page.contains(&format!("{} 303", counted("client_secret_wrong"))), "{page}");
    assert!(page.contains(&format!("{} 300", counted("client_unknown"))));
    assert!(!page.contains(&counted("code_used")), "what did not occur is left out");
    assert_eq!(server.app.audit.events(Event::RequestRefused), 603);
    let missing = server.admin("GET", "/failures/flood-00299", None);
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("request log"), "{missing:?}");
}

#[test]
fn a_failure_survives_a_restart_and_is_found_for_so_long() {
    let server = TestServer::start();
    let client = RelyingParty::register(&server, json!({})).client_id;
    refused(&server, &client, "before-the-restart");
    let since = server.now().millis();
    server.drain_audit();
    let server = server.restart(Options::default());
    assert_eq!(explained(&server, "", "before-the-restart")["reason"], "client_secret_wrong");
    server.clock.advance(Duration::from_secs(8 * 86_400));
    assert_eq!(of_client(&server, &client, ""), Vec::<Value>::new(), "the last week");
    assert_eq!(of_client(&server, &client, &format!("?from={since}")).len(), 1);
    assert_eq!(explained(&server, "", "before-the-restart")["at"], since);
    let later = server.now().millis();
    assert_eq!(of_client(&server, &client, &format!("?from={later}")), Vec::<Value>::new());
}

#[test]
fn what_is_asked_for_is_checked() {
    let server = TestServer::start();
    for (path, status) in [
        ("/clients/nobody/failures", 404),
        ("/failures/no%20id", 404),
        ("/failures/not-there-at-all", 404),
        ("/failures?limit=0", 400),
        ("/failures?since=1", 400),
        ("/failures", 200),
    ] {
        assert_eq!(server.admin("GET", path, None).status, status, "{path}");
    }
    let nobody = server.admin_with("GET", "/failures", None, "a wrong secret");
    assert_eq!(nobody.status, 401);
}

/// One request id may stand for many requests: a client chooses it.
#[test]
fn a_request_id_that_came_twice_is_explained_twice() {
    let server = TestServer::start_with(Options::default().one_node());
    let client = RelyingParty::register(&server, json!({})).client_id;
    refused(&server, &client, "the-same-id");
    server.clock.advance(Duration::from_secs(1));
    refused(&server, "nobody", "the-same-id");
    let found = failures(&server, "/failures/the-same-id");
    let reasons: Vec<&str> = found.iter().map(|failure| failure["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["client_unknown", "client_secret_wrong"]);
}
