//! Cookies of issuers that share a host name: browsers send them to every port of it.

use serde_json::json;
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer};

/// `default`, and an issuer on another port of its host.
const PLACES: [(&str, &str); 2] = [("", "op.example"), ("/issuers/side", "op.example:8443")];

/// The issuers, with a client each.
fn scene() -> (TestServer, [RelyingParty; 2]) {
    let server = TestServer::start_with(Options::default().issuer("https://op.example"));
    let made =
        server.admin("POST", "/issuers", Some(json!({ "id": "side", "url": "https://op.example:8443" })));
    assert_eq!(made.status, 201, "{made:?}");
    let parties = PLACES.map(|(admin, _)| RelyingParty::register_at(&server, admin, json!({})));
    (server, parties)
}

/// A new session's cookie at an issuer.
fn session(server: &TestServer, admin: &str) -> (String, String) {
    let user = server.admin("POST", &format!("{admin}/users"), Some(json!({ "email": "a@example.com" })));
    let body = json!({ "user_id": user.json()["user"]["id"] });
    let made = server.admin("POST", &format!("{admin}/test/sessions"), Some(body)).json();
    let cookie = made["cookie_value"].as_str().unwrap();
    let (name, value) = cookie.split_once(';').unwrap().0.split_once('=').unwrap();
    (name.to_owned(), value.to_owned())
}

fn at(browser: &Browser, host: &str, path: &str) -> Answer {
    browser.get_with(path, &[("host", host)])
}

#[test]
fn a_sign_in_on_another_port_of_the_host_is_another_one() {
    let (server, parties) = scene();
    let browser = server.browser();
    let names = PLACES.map(|(admin, _)| {
        let (name, value) = session(&server, admin);
        browser.set_cookie(&name, &value);
        name
    });
    assert_eq!(names, ["__Host-symbolon_session", "__Host-symbolon_session_side"]);
    for ((_, host), party) in PLACES.into_iter().zip(&parties) {
        let silent = at(&browser, host, &party.authorization_request().with("prompt", "none").path());
        assert!(silent.redirected("code").is_some(), "{host}: {silent:?}");
    }
    // Logins that wait in two tabs do not push each other out either.
    let browser = server.browser();
    let pages = PLACES.map(|(_, host)| {
        let party = &parties[usize::from(host != PLACES[0].1)];
        at(&browser, host, &party.authorization_request().path()).location()
    });
    for ((_, host), page) in PLACES.into_iter().zip(&pages) {
        assert_eq!(at(&browser, host, page).status, 200, "{host}");
    }
}

#[test]
fn a_logout_leaves_the_session_of_another_issuer_alone() {
    let (server, [party, _]) = scene();
    let (name, value) = session(&server, "");
    let browser = server.browser();
    browser.set_cookie(&name, &value);
    // Were it named as here, it would not be ours all the same.
    browser.set_cookie("__Host-symbolon_session_side", &value);
    let out = at(&browser, "op.example:8443", "/logout");
    assert_eq!((out.status, out.header("set-cookie")), (200, None), "{out:?}");
    let silent = at(&browser, "op.example", &party.authorization_request().with("prompt", "none").path());
    assert!(silent.redirected("code").is_some(), "{silent:?}");
}
