//! Session Management: `session_state`, the browser's state, and the page in the frame.

use serde_json::json;
use symbolon_crypto::{digest, encoding};
use symbolon_testkit::{Browser, RelyingParty, TestServer};

use super::application::sid;

const STATE: &str = "symbolon_browser_state";

/// A server where applications may watch the browser's state.
fn watched() -> TestServer {
    let server = TestServer::start();
    let on = json!({ "session_management": true });
    assert_eq!(server.admin("PATCH", "/settings", Some(on)).status, 200);
    server
}

#[test]
fn where_it_is_off_nothing_of_it_is_there() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("ann@example.com");
    let answer = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert!(answer.redirected("code").is_some());
    assert_eq!((answer.redirected("session_state"), browser.cookie(STATE)), (None, None));
    assert_eq!(browser.get("/check-session").status, 404);
    let discovery = browser.get("/.well-known/openid-configuration").json();
    assert!(discovery["check_session_iframe"].is_null());
}

/// What the script of the frame computes.
fn is_unchanged(client: &str, origin: &str, browser: &Browser, session_state: &str) -> bool {
    let (found, salt) = session_state.split_once('.').unwrap();
    let state = browser.cookie(STATE).unwrap_or_default();
    let text = format!("{client} {origin} {state} {salt}");
    encoding::encode(&digest::sha256(&[text.as_bytes()])) == found
}

#[test]
fn an_application_sees_that_the_person_is_signed_in_as_before() {
    let server = watched();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("ann@example.com");
    let silent = |browser: &Browser| browser.get(&rp.authorization_request().with("prompt", "none").path());
    let answer = silent(&browser);
    let state = answer.redirected("session_state").unwrap();
    assert!(is_unchanged(&rp.client_id, "https://rp.example", &browser, &state));
    assert!(!is_unchanged(&rp.client_id, "https://evil.example", &browser, &state));
    assert!(!is_unchanged("another", "https://rp.example", &browser, &state));
    // The script asks the provider where the browser has no digests.
    let asked = |browser: &Browser, origin: &str| {
        let query = format!("client_id={}&origin={origin}&session_state={state}", rp.client_id);
        let answer = browser.get(&format!("/check-session?{query}"));
        assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{answer:?}");
        answer.json()["state"].clone()
    };
    assert_eq!(asked(&browser, "https://rp.example"), "unchanged");
    assert_eq!(asked(&browser, "https://evil.example"), "changed");
    assert_eq!(asked(&server.browser(), "https://rp.example"), "changed");
    assert_eq!(browser.get(&format!("/check-session?session_state={state}")).status, 400);
    // It stands last, after what every client knows.
    let location = answer.location();
    assert!(location.find("iss=").unwrap() < location.find("session_state=").unwrap(), "{location}");
    let set = answer.header("set-cookie").unwrap().to_owned();
    assert!(set.starts_with(&format!("{STATE}=")) && !set.contains("HttpOnly"), "{set}");
    // The next answer has another salt, and says nothing new to the browser.
    let next = silent(&browser);
    assert_ne!(next.redirected("session_state"), Some(state.clone()));
    assert_eq!(next.header("set-cookie"), None);
    let hint = rp.sign_in(&browser).id_token.unwrap();
    assert_eq!(browser.cookie(STATE), Some(sid(&hint)));
    // After the logout it is another state.
    assert_eq!(browser.get(&format!("/logout?id_token_hint={hint}")).status, 200);
    assert_eq!(browser.cookie(STATE), None);
    assert!(!is_unchanged(&rp.client_id, "https://rp.example", &browser, &state));
}

/// An administrator ended the session: the browser hears of it at its next request.
#[test]
fn a_session_that_ended_elsewhere_changes_the_state_at_its_next_use() {
    let server = watched();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("ann@example.com");
    rp.sign_in(&browser);
    assert!(browser.cookie(STATE).is_some());
    server.admin("DELETE", &format!("/users/{user}/sessions"), None);
    let silent = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"));
    assert_eq!((browser.cookie(STATE), silent.redirected("session_state")), (None, None));
}

#[test]
fn the_page_in_the_frame_may_be_framed_by_anybody_and_has_one_script() {
    let server = watched();
    let metadata = server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(metadata["check_session_iframe"], format!("{}/check-session", server.issuer));
    for name in [
        "backchannel_logout_supported",
        "backchannel_logout_session_supported",
        "frontchannel_logout_supported",
        "frontchannel_logout_session_supported",
    ] {
        assert_eq!(metadata[name], true, "{name}");
    }
    let page = server.browser().get("/check-session");
    assert_eq!((page.status, page.header("x-frame-options")), (200, None));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors *") && policy.contains("script-src 'self'"), "{policy}");
    assert!(page.body.contains(&format!("data-cookie=\"{STATE}\"")), "{}", page.body);
    let script = page.body.split_once("src=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(server.browser().get(script).body.contains("\"unchanged\""));
}

#[test]
fn a_native_application_has_no_origin_and_no_state() {
    let server = watched();
    let rp = RelyingParty::register(&server, json!({ "redirect_uris": ["com.example.app:/callback"] }));
    let (_, browser) = server.signed_in("ann@example.com");
    let answer = browser.get(&rp.authorization_request().path());
    assert!(
        answer.location().contains("code=") && !answer.location().contains("session_state"),
        "{answer:?}"
    );
}
