//! What becomes of a logout token that an application does not take, and where none is ever sent.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_store_cluster::engines::Port;
use symbolon_testkit::{Options, RelyingParty, TestServer};

use super::application::{Application, SILENCE, happened, options, records, sid, wait_for};

/// Signs a person in at a client, and ends their sessions; the `sid` of what ended.
fn end_one(server: &TestServer, client: &RelyingParty, email: &str) -> String {
    let (user, browser) = server.signed_in(email);
    let tokens = client.sign_in(&browser);
    assert!(server.admin("DELETE", &format!("/users/{user}/sessions"), None).status < 300);
    sid(tokens.id_token.as_deref().unwrap())
}

/// How the attempts of the given-up notices ended.
fn given_up(server: &TestServer) -> Vec<(Value, Value)> {
    let records = records(server, "logout.given_up");
    records
        .iter()
        .map(|record| (record["detail"]["reason"].clone(), record["detail"]["failure"].clone()))
        .collect()
}

#[test]
fn what_is_not_taken_comes_again_after_its_pause() {
    let answers = ["500 Internal Server Error", "302 Found", "400 Bad Request", "204 No Content"];
    let application = Application::answering(&answers);
    let server = TestServer::start_with(options());
    end_one(&server, &application.register(&server), "ann@example.com");
    for attempt in 1..4 {
        wait_for("a refusal", || happened(&server, "logout.postponed") == attempt);
        // Each pause is twice as long as the one before it.
        server.clock.advance(Duration::from_secs(40));
    }
    wait_for("its end", || happened(&server, "logout.delivered") == 1);
    let claims = application.claims(4);
    assert_eq!(claims.len(), 4);
    assert_ne!(claims[0]["jti"], claims[1]["jti"], "each attempt has a token of its own");
    assert_eq!(claims[3]["iat"], server.now().seconds());
    assert_eq!(records(&server, "logout.delivered")[0]["detail"]["attempts"], 4);
}

#[test]
fn an_application_that_is_down_is_told_over_a_restart() {
    let port = Port::reserve();
    let address = SocketAddr::from(([127, 0, 0, 1], port.number()));
    let server = TestServer::start_with(options());
    let uri = format!("http://{address}/logout");
    let client = RelyingParty::register(&server, json!({ "backchannel_logout_uri": uri }));
    end_one(&server, &client, "ann@example.com");
    wait_for("a failure", || happened(&server, "logout.postponed") > 0);
    let issuer = server.issuer.clone();
    let server = server.restart(options().issuer(&issuer));
    let application = Application::at(address, &[]);
    server.clock.advance(Duration::from_secs(60));
    assert_eq!(application.claims(1).len(), 1);
    wait_for("its end", || happened(&server, "logout.delivered") == 1);
}

/// The provider is restarted twice, and the application comes back, fails after two, and comes back again.
#[test]
fn every_end_is_taken_once_over_restarts_of_both() {
    let port = Port::reserve();
    let address = SocketAddr::from(([127, 0, 0, 1], port.number()));
    let server = TestServer::start_with(options());
    let issuer = server.issuer.clone();
    let uri = format!("http://{address}/logout");
    let client = RelyingParty::register(&server, json!({ "backchannel_logout_uri": uri }));
    let (_, stays) = server.signed_in("stays@example.com");
    client.sign_in(&stays);
    let mut ended: Vec<String> =
        (0..5).map(|number| end_one(&server, &client, &format!("user{number}@example.com"))).collect();
    ended.sort_unstable();
    wait_for("a failure", || happened(&server, "logout.postponed") > 0);
    let server = server.restart(options().issuer(&issuer));
    let answers = [["200 OK"; 2].as_slice(), &["503 Service Unavailable"; 64]].concat();
    let application = Application::at(address, &answers);
    server.clock.advance(Duration::from_secs(60));
    wait_for("two ends", || happened(&server, "logout.delivered") == 2);
    wait_for("a refusal", || happened(&server, "logout.postponed") > 0);
    let server = server.restart(options().issuer(&issuer));
    application.recovers();
    server.clock.advance(Duration::from_secs(60));
    wait_for("the others", || happened(&server, "logout.delivered") == 3);
    assert_eq!(application.taken(), ended);
}

#[test]
fn whoever_does_not_answer_for_a_day_is_given_up() {
    let application = Application::answering(&["503 Service Unavailable"; 2]);
    let server = TestServer::start_with(options());
    end_one(&server, &application.register(&server), "ann@example.com");
    wait_for("a refusal", || happened(&server, "logout.postponed") == 1);
    server.clock.advance(Duration::from_secs(86_400));
    wait_for("its end", || happened(&server, "logout.given_up") == 1);
    assert_eq!(given_up(&server)[0].0, "expired");
    assert_eq!(application.requests().len(), 1);
}

/// One application hangs, and others are told all the same. Each node has its own calls under way.
#[test]
fn nobody_waits_for_an_application_that_is_silent() {
    let silent = Application::answering(&[SILENCE; 64]);
    let application = Application::start();
    let server = TestServer::start_with(options().one_node());
    let (hanging, client) = (silent.register(&server), application.register(&server));
    for number in 0..20 {
        end_one(&server, &hanging, &format!("user{number}@example.com"));
    }
    end_one(&server, &client, "ann@example.com");
    assert_eq!(application.claims(1).len(), 1);
    // The clock stands still: after a call that failed, none is tried.
    assert!(silent.requests().len() <= 4, "{}", silent.requests().len());
}

/// The client was deleted, or wants no such calls any more, while its notice waited.
#[test]
fn whoever_wants_no_calls_any_more_gets_none() {
    let application = Application::answering(&["503 Service Unavailable"]);
    let server = TestServer::start_with(options());
    let client = application.register(&server);
    end_one(&server, &client, "ann@example.com");
    wait_for("a refusal", || happened(&server, "logout.postponed") == 1);
    let path = format!("/clients/{}", client.client_id);
    let changed = server.admin("PATCH", &path, Some(json!({ "backchannel_logout_uri": null })));
    assert_eq!(changed.status, 200, "{changed:?}");
    server.clock.advance(Duration::from_secs(60));
    wait_for("its end", || happened(&server, "logout.given_up") == 1);
    assert_eq!((given_up(&server)[0].0.clone(), application.requests().len()), (json!("no_address"), 1));
}

/// Unless the configuration allows it, nothing inside the provider's network is called (SSRF).
#[test]
fn private_addresses_are_not_called() {
    let application = Application::start();
    let server = TestServer::start_with(Options::default());
    let port = application.address.port();
    let mut number = 0;
    for (uri, forms) in [
        (format!("http://127.0.0.1:{port}/"), json!([])),
        (format!("http://localhost:{port}/"), json!([])),
        (format!("https://localhost:{port}/"), json!([])),
        (format!("https://127.0.0.1:{port}/"), json!([])),
        (format!("https://127.1:{port}/"), json!([])),
        (format!("https://2130706433:{port}/"), json!([])),
        (format!("https://[::ffff:127.0.0.1]:{port}/"), json!([])),
        (format!("https://[::1]:{port}/"), json!([])),
        ("https://169.254.169.254/latest/meta-data".to_owned(), json!([])),
        ("http://10.0.0.1/".to_owned(), json!(["http_private_host"])),
    ] {
        let metadata = json!({
            "client_name": "A relying party", "redirect_uris": ["https://rp.example/callback"], "skip_consent": true,
            "backchannel_logout_uri": uri, "redirect_uri_forms": forms,
        });
        let made = server.admin("POST", "/clients", Some(metadata));
        if made.status == 400 {
            // Some forms are refused when they are registered.
            continue;
        }
        let made = made.json()["client"].clone();
        let client = RelyingParty::known(
            &server,
            made["client_id"].as_str().unwrap(),
            made["client_secret"].as_str(),
            "https://rp.example/callback",
        );
        end_one(&server, &client, &format!("user{number}@example.com"));
        number += 1;
        wait_for(&uri, || happened(&server, "logout.postponed") == number);
    }
    assert!(number >= 6, "{number}");
    assert!(application.requests().is_empty());
    server.clock.advance(Duration::from_secs(86_400));
    wait_for("their ends", || happened(&server, "logout.given_up") == number);
}

/// An application may redirect the provider wherever it likes; nobody goes there.
#[test]
fn a_redirect_leads_nowhere() {
    let inner = Application::start();
    let redirect: &'static str = Box::leak(
        format!("307 Temporary Redirect\r\nLocation: http://{}/secret", inner.address).into_boxed_str(),
    );
    let application = Application::answering(&[redirect]);
    let server = TestServer::start_with(options());
    end_one(&server, &application.register(&server), "ann@example.com");
    wait_for("a refusal", || happened(&server, "logout.postponed") == 1);
    assert!(inner.requests().is_empty());
}
