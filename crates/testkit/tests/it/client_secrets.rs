//! Client secrets: two at once, their ends, and what is shown of them.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_testkit::{Answer, Options, RelyingParty, TestServer};

use crate::admin::bulk;

const CREDENTIALS: (&str, &str) = ("grant_type", "client_credentials");

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn regenerate(server: &TestServer, rp: &RelyingParty, body: Option<Value>) -> Answer {
    server.admin("POST", &format!("/clients/{}/regenerate-secret", rp.client_id), body)
}

fn with_secret(rp: &RelyingParty, secret: &str) -> RelyingParty {
    let mut same = rp.clone();
    same.client_secret = Some(secret.to_owned());
    same
}

/// The same client with the secret of an answer.
fn with_secret_of(rp: &RelyingParty, answer: &Answer) -> RelyingParty {
    assert_eq!(answer.status, 200, "{answer:?}");
    with_secret(rp, answer.json()["client"]["client_secret"].as_str().expect("a secret"))
}

fn is_good(rp: &RelyingParty) -> bool {
    let answer = rp.token(&[CREDENTIALS]);
    assert!(answer.status == 200 || answer.error() == "invalid_client", "{answer:?}");
    answer.status == 200
}

/// What is shown of the client's secrets, the newest first.
fn shown(server: &TestServer, rp: &RelyingParty) -> Vec<Value> {
    let client = server.admin("GET", &format!("/clients/{}", rp.client_id), None).json()["client"].clone();
    client["client_secrets"].as_array().unwrap_or_else(|| panic!("no secrets: {client}")).clone()
}

#[test]
fn an_old_secret_stays_for_the_time_that_was_asked_for() {
    let server = TestServer::start();
    let old = RelyingParty::register(&server, json!({}));
    let made_at = server.now().millis();
    server.clock.advance(seconds(5));
    let answer = regenerate(&server, &old, Some(json!({ "keep_old_seconds": 600 })));
    let new = with_secret_of(&old, &answer);
    let now = server.now().millis();
    assert_eq!(answer.json()["client"]["client_secret_expires_at"], 0, "the new one stays");
    let secrets = shown(&server, &old);
    let times = |secret: &Value| (secret["created_at"].clone(), secret["expires_at"].clone());
    assert_eq!(
        secrets.iter().map(times).collect::<Vec<_>>(),
        [(json!(now), Value::Null), (json!(made_at), json!(now + 600_000))]
    );
    assert_ne!(secrets[0]["id"], secrets[1]["id"]);
    assert!(is_good(&old) && is_good(&new));
    server.clock.advance(seconds(600) - Duration::from_millis(1));
    assert!(is_good(&old) && is_good(&new));
    server.clock.advance(Duration::from_millis(1));
    assert!(!is_good(&old) && is_good(&new), "an expired secret does not authenticate");
    assert_eq!(shown(&server, &old).len(), 2, "it goes with the next change");
    let patched = server.admin("PATCH", &format!("/clients/{}", old.client_id), Some(json!({})));
    assert_eq!(patched.json()["client"]["client_secrets"].as_array().map(Vec::len), Some(1), "{patched:?}");
    assert!(is_good(&new));
}

#[test]
fn two_secrets_are_alive_at_most() {
    let server = TestServer::start();
    let first = RelyingParty::register(&server, json!({}));
    let keep = || Some(json!({ "keep_old_seconds": 600 }));
    let second = with_secret_of(&first, &regenerate(&server, &first, keep()));
    let third = with_secret_of(&first, &regenerate(&server, &first, keep()));
    assert!(!is_good(&first) && is_good(&second) && is_good(&third));
    for ends_at_once in [None, Some(json!({})), Some(json!({ "keep_old_seconds": 0 }))] {
        let before = with_secret_of(&first, &regenerate(&server, &first, keep()));
        let last = with_secret_of(&first, &regenerate(&server, &first, ends_at_once));
        assert!(!is_good(&before) && is_good(&last));
        assert_eq!(shown(&server, &first).len(), 1);
    }
    assert!(!is_good(&second) && !is_good(&third));
}

#[test]
fn the_time_for_an_old_secret_is_bounded() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    for (bad, named) in [
        (json!({ "keep_old_seconds": 30 * 86_400 + 1 }), "keep_old_seconds must be 0 to 2592000"),
        (json!({ "keep_old_seconds": -1 }), "keep_old_seconds"),
        (json!({ "keep_old_seconds": "600" }), "keep_old_seconds"),
        (json!({ "keep_old": 600 }), "unknown member \"keep_old\""),
    ] {
        let refused = regenerate(&server, &rp, Some(bad));
        assert_eq!(refused.status, 400, "{refused:?}");
        let told = refused.json()["error_description"].as_str().unwrap().to_owned();
        assert!(told.contains(named), "{told}");
    }
    assert!(is_good(&rp), "nothing changed");
    assert_eq!(regenerate(&server, &rp, Some(json!({ "keep_old_seconds": 30 * 86_400 }))).status, 200);
    let public = RelyingParty::register(
        &server,
        json!({
            "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"],
            "token_exchange_allowed": false,
        }),
    );
    assert_eq!(regenerate(&server, &public, Some(json!({ "keep_old_seconds": 5 }))).status, 400);
}

/// Waits until the store has these uses, whichever node noted them, and asks a node for them.
fn last_uses(server: &TestServer, rp: &RelyingParty, expected: &[Option<u64>]) {
    let mut found = Vec::new();
    for _ in 0..100_000 {
        found = stored_uses(server, rp);
        if found == expected {
            break;
        }
    }
    assert_eq!(found, expected, "in the store");
    let shown: Vec<_> = shown(server, rp).iter().map(|secret| secret["last_used_at"].as_u64()).collect();
    assert_eq!(shown, expected);
}

/// The noted uses of the secrets, the newest secret first, in milliseconds.
fn stored_uses(server: &TestServer, rp: &RelyingParty) -> Vec<Option<u64>> {
    let id = ClientId::parse(&rp.client_id).expect("an id");
    let client = server.block_on(server.app.store.client(&IssuerId::default_issuer(), &id));
    let client = client.expect("read").expect("a client");
    client.client_secrets.iter().map(|secret| secret.last_used_at.map(|at| at.millis())).collect()
}

#[test]
fn each_secret_shows_when_it_was_used() {
    let server = TestServer::start();
    let old = RelyingParty::register(&server, json!({}));
    let new = with_secret_of(&old, &regenerate(&server, &old, Some(json!({ "keep_old_seconds": 86_400 }))));
    assert!(shown(&server, &old).iter().all(|secret| secret["last_used_at"].is_null()), "none was used");
    let (begin, updated) = (server.now().millis(), |server: &TestServer| {
        server.admin("GET", &format!("/clients/{}", old.client_id), None).json()["client"]["updated_at"]
            .clone()
    });
    let unchanged = updated(&server);
    assert!(is_good(&old));
    last_uses(&server, &old, &[None, Some(begin)]);
    server.clock.advance(seconds(599));
    assert!(is_good(&old) && is_good(&new));
    last_uses(&server, &old, &[Some(begin + 599_000), Some(begin)]);
    server.clock.advance(seconds(1));
    assert!(is_good(&old));
    last_uses(&server, &old, &[Some(begin + 599_000), Some(begin + 600_000)]);
    assert_eq!(updated(&server), unchanged, "a use is no change of the client");
    // A wrong secret is no use.
    let wrong = with_secret(&old, &"x".repeat(40));
    server.clock.advance(seconds(1_000));
    assert!(!is_good(&wrong));
    last_uses(&server, &old, &[Some(begin + 599_000), Some(begin + 600_000)]);
    // A change does not take it away.
    let patch = json!({ "client_name": "Another" });
    assert_eq!(server.admin("PATCH", &format!("/clients/{}", old.client_id), Some(patch)).status, 200);
    last_uses(&server, &old, &[Some(begin + 599_000), Some(begin + 600_000)]);
}

#[test]
fn a_use_is_in_the_store_and_there_after_a_restart() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    assert!(is_good(&rp));
    let used = server.now().millis();
    // Written after the answer: at once, but not before it.
    last_uses(&server, &rp, &[Some(used)]);
    let options = Options { seed: 2_000, ..Options::default() }.issuer(&server.issuer);
    let server = server.restart(options);
    assert_eq!(shown(&server, &rp)[0]["last_used_at"], used);
}

/// A change by two administrators at once: each answer's secret was one of the two, none is left over.
#[test]
fn raced_regenerations_leave_two_secrets() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| regenerate(&server, &rp, Some(json!({ "keep_old_seconds": 600 })))))
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("answered")).collect()
    });
    let done: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert!(
        answers.iter().all(|answer| matches!(answer.status, 200 | 503)) && !done.is_empty(),
        "{answers:?}"
    );
    assert_eq!(shown(&server, &rp).len(), 2);
    let good = done.iter().filter(|answer| is_good(&with_secret_of(&rp, answer))).count();
    let first = usize::from(is_good(&rp));
    assert_eq!(good + first, 2, "two of {} secrets are alive", done.len() + 1);
}

#[test]
fn the_audit_log_says_which_secrets_came_and_went() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let answer = regenerate(&server, &rp, Some(json!({ "keep_old_seconds": 600 })));
    let secrets = shown(&server, &rp);
    let found = server.admin("GET", "/audit-logs?event=client.updated", None);
    let secret = answer.json()["client"]["client_secret"].as_str().unwrap().to_owned();
    assert!(!found.body.contains(&secret), "{}", found.body);
    let detail = &found.json()["audit_logs"][0]["detail"];
    let ending = json!([{ "id": secrets[1]["id"], "at": secrets[1]["expires_at"] }]);
    let expected = json!({ "added": [secrets[0]["id"]], "ended": [], "ending": ending });
    assert_eq!((&detail["new_secret"], &detail["secrets"]), (&json!(true), &expected));
    // A change of something else says nothing of secrets. Later, so that it is listed first.
    server.clock.advance(seconds(1));
    let path = format!("/clients/{}", rp.client_id);
    assert_eq!(server.admin("PATCH", &path, Some(json!({ "client_name": "x" }))).status, 200);
    let found = server.admin("GET", "/audit-logs?event=client.updated", None).json();
    assert_eq!(found["audit_logs"][0]["detail"].get("secrets"), None);
}

/// Sixteen characters, as another provider drew them.
const IMPORTED: &str = "kT4w-9xQ.v7Zb2Lr";

fn importing(client_id: &str, secret: &str) -> Value {
    json!({
        "client_id": client_id, "client_name": "Moved in", "grant_types": ["client_credentials"],
        "client_secret": secret,
    })
}

#[test]
fn a_secret_of_another_provider_is_taken_with_a_warning() {
    let server = TestServer::start();
    let made = server.admin("POST", "/clients", Some(importing("one", IMPORTED)));
    assert_eq!((made.status, made.json()["client"]["client_secret"].as_str()), (201, Some(IMPORTED)));
    let warning = made.json()["warnings"][0].as_str().expect("a warning").to_owned();
    assert!(warning.contains("16 characters") && !warning.contains(IMPORTED), "{warning}");
    let lines = bulk(
        &server,
        "/clients/bulk",
        &[
            importing("two", IMPORTED),
            importing("three", "fifteen-letters"),
            importing("four", "abababababababababababab"),
            importing("five", "0123456789abcdef0123456789abcdef"),
        ],
    );
    assert!(lines[0]["warnings"][0].as_str().is_some_and(|told| told.contains("16 characters")), "{lines:?}");
    for (line, why) in [(&lines[1], "16 to 512"), (&lines[2], "8 different characters")] {
        assert!(line["error_description"].as_str().is_some_and(|told| told.contains(why)), "{line}");
    }
    assert!(lines[3].get("warnings").is_none(), "{lines:?}");
    let known = |server: &TestServer, id: &str, secret| RelyingParty::known(server, id, Some(secret), "");
    for id in ["one", "two"] {
        assert!(is_good(&known(&server, id, IMPORTED)), "{id}");
        assert!(!is_good(&known(&server, id, "kT4w-9xQ.v7Zb2Ls")), "{id}");
    }
    // The key of the digest is the issuer's, and as lasting as its other keys.
    let options = Options { seed: 2_000, ..Options::default() }.issuer(&server.issuer);
    let server = server.restart(options);
    let imported = known(&server, "one", IMPORTED);
    assert!(is_good(&imported));
    let new =
        with_secret_of(&imported, &regenerate(&server, &imported, Some(json!({ "keep_old_seconds": 60 }))));
    assert!(is_good(&imported) && is_good(&new), "a drawn one may take over in the usual way");
    server.clock.advance(seconds(60));
    assert!(!is_good(&imported) && is_good(&new));
}

#[test]
fn a_weak_secret_is_refused_wherever_it_is_given() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "client_id": "app" }));
    for weak in [
        "",
        "fifteen-letters",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "a secret of many letters",
        "sécret-sécret-1234",
    ] {
        for (method, path, id) in
            [("POST", "/clients", "new"), ("PUT", "/clients/app", "app"), ("PATCH", "/clients/app", "app")]
        {
            let refused = server.admin(method, path, Some(importing(id, weak)));
            let told = refused.json()["error_description"].as_str().unwrap_or_default().to_owned();
            assert!(
                refused.status == 400 && told.starts_with("client_secret"),
                "{method} {weak}: {refused:?}"
            );
            assert!(weak.is_empty() || !told.contains(weak), "{told}");
        }
    }
    assert!(is_good(&rp), "the client is as it was");
}

/// Each issuer has a key of its own: a digest that is copied to another issuer is nobody's.
#[test]
fn a_short_secret_is_kept_by_a_digest_that_nobody_can_search() {
    let server = TestServer::start();
    assert_eq!(server.admin("POST", "/clients", Some(importing("app", IMPORTED))).status, 201);
    let url = format!("{}/acme", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url }))).status, 201);
    let (from, to) = (IssuerId::default_issuer(), IssuerId::parse("acme").expect("an id"));
    let id = ClientId::parse("app").expect("an id");
    let stored = server.block_on(server.app.store.client(&from, &id)).expect("read").expect("a client");
    let plain = symbolon_crypto::digest::sha256(&[IMPORTED.as_bytes()]);
    assert!(stored.client_secrets.iter().all(|secret| secret.is_keyed && secret.digest.0 != plain));
    server.block_on(server.app.store.create_client(&to, (*stored).clone())).expect("written");
    let there = RelyingParty::known(&server, "app", Some(IMPORTED), "").served_at(&url);
    assert!(is_good(&RelyingParty::known(&server, "app", Some(IMPORTED), "")) && !is_good(&there));
}

/// A client that was exported from one installation and registered at another goes on with its secret; that it was read stands in
/// the audit log.
#[test]
fn a_secret_goes_to_another_installation_by_its_digest() {
    let (from, to) = (TestServer::start(), TestServer::start());
    let rp = RelyingParty::register(&from, json!({ "client_id": "app" }));
    let exported = |query: &str| crate::groups::export(&from, &format!("/clients/export{query}"));
    assert!(exported("")[0].get("client_secret_digests").is_none());
    let clients = exported("?secret_digests=true");
    assert_eq!(clients[0]["client_secret_digests"].as_array().map(Vec::len), Some(1), "{clients:?}");
    from.drain_audit();
    let events = from.admin("GET", "/audit-logs?event=client.secret_digests_exported", None).json();
    assert_eq!(events["pagination"]["total"], 1, "{events}");

    let made = bulk(&to, "/clients/bulk", &clients);
    let client = &made[0]["client"];
    assert!(client["client_id"] == "app" && client.get("client_secret").is_none(), "{made:?}");
    let warning = made[0]["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.contains("strength cannot be judged"), "{made:?}");
    let moved = RelyingParty::known(&to, "app", rp.client_secret.as_deref(), &rp.redirect_uri);
    assert!(is_good(&moved) && !is_good(&with_secret(&moved, "another-secret-of-32-characters-or-so")));
    let digest = client["client_secrets"].to_string();
    assert!(!digest.contains("sha256"), "it is shown nowhere else: {digest}");
}
