//! Processes with one store keep in step.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use symbolon_app::app::App;
use symbolon_app::issuer::IssuerState;
use symbolon_protocol::id::IssuerId;
use symbolon_server::jobs;
use symbolon_store::port::Changed;
use symbolon_testkit::{Options, TestServer, is_clustered};

fn default_issuer(app: &App) -> Arc<IssuerState> {
    Arc::clone(app.issuers.load().by_id(&IssuerId::default_issuer()).unwrap())
}

#[test]
fn what_changes_between_a_load_and_its_jobs_is_followed() {
    if is_clustered() {
        // There a change waits for every listener, and this one waits for the change.
        return;
    }
    let server = TestServer::start();
    let late = server.another(&server.issuer);
    server.block_on(late.load_issuers()).unwrap();
    let body = json!({ "lifetimes": { "access_token": 77 } });
    assert_eq!(server.admin("PATCH", "/settings", Some(body)).status, 200);
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let jobs = server.block_on(async { jobs::spawn(Arc::clone(&late), None, stopping) });
    let followed = || default_issuer(&late).settings.load().lifetimes.access_token == Duration::from_secs(77);
    let looks = (0..12_000).find(|_| {
        std::thread::sleep(Duration::from_millis(10));
        followed()
    });
    assert!(looks.is_some(), "it was not followed");
    stop.send_replace(true);
    server.block_on(jobs.finish());
}

#[test]
fn processes_with_different_urls_do_not_go_on_correcting_each_other() {
    let server = TestServer::start_with(Options::default().one_node());
    let other = server.another("https://moved.example");
    server.block_on(other.load_issuers()).unwrap();
    server.block_on(server.app.follow(&Changed::Everything)).unwrap();
    let stored = server.block_on(server.app.store.issuers()).unwrap();
    assert_eq!(stored.first().unwrap().url, "https://moved.example");
    assert_eq!(&*default_issuer(&server.app).url, "https://moved.example");
}

/// Whatever is in flight goes on with the issuer that it holds: it must see that a key was revoked.
#[test]
fn an_issuer_stays_the_same_when_all_are_read_again() {
    let server = TestServer::start();
    let held = default_issuer(&server.app);
    server.block_on(server.app.follow(&Changed::Everything)).unwrap();
    assert!(Arc::ptr_eq(&held, &default_issuer(&server.app)));
}
