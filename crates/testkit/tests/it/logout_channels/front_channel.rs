//! Front-Channel Logout: the signed-out page loads a frame for each application, and leads on.

use serde_json::json;
use symbolon_testkit::{Answer, Browser, RelyingParty, TestServer, TokenSet};

use super::application::sid;
use crate::login::hidden;

const AFTER: &str = "https://a.example/signed-out";

/// Two clients with frames on hosts of their own, and one without.
fn clients(server: &TestServer) -> [RelyingParty; 3] {
    let client = |host: &str, metadata: serde_json::Value| {
        let mut all = json!({
            "client_name": host, "redirect_uris": [format!("https://{host}/callback")],
            "post_logout_redirect_uris": [AFTER],
        });
        for (name, value) in metadata.as_object().unwrap() {
            all[name] = value.clone();
        }
        RelyingParty::register(server, all)
    };
    [
        client("a.example", json!({ "frontchannel_logout_uri": "https://a.example/out?x=1" })),
        client("b.example:8443", json!({ "frontchannel_logout_uri": "https://b.example:8443/out" })),
        client("c.example", json!({})),
    ]
}

fn frames(answer: &Answer) -> Vec<String> {
    let sources = answer.body.split("<iframe src=\"").skip(1);
    // The template escapes ampersands.
    sources.map(|rest| rest.split_once('"').unwrap().0.replace("&#38;", "&").replace("&amp;", "&")).collect()
}

fn policy(answer: &Answer) -> String {
    let policy = answer.header("content-security-policy").unwrap().to_owned();
    policy.split("; ").find(|part| part.starts_with("frame-src")).unwrap_or_default().to_owned()
}

fn signed_in(server: &TestServer, clients: &[RelyingParty]) -> (Browser, TokenSet) {
    let (_, browser) = server.signed_in("ann@example.com");
    let mut tokens = clients.iter().map(|client| client.sign_in(&browser)).collect::<Vec<_>>();
    (browser, tokens.remove(0))
}

#[test]
fn each_application_has_a_frame_and_the_page_leads_on() {
    let server = TestServer::start();
    let clients = clients(&server);
    let (browser, tokens) = signed_in(&server, &clients);
    let hint = tokens.id_token.clone().unwrap();
    let path = format!(
        "/logout?id_token_hint={hint}&state=s1&post_logout_redirect_uri=https%3A%2F%2Fa.example%2Fsigned-out"
    );
    let page = browser.get(&path);
    assert_eq!(page.status, 200, "{page:?}");
    let iss: String = form_urlencoded::byte_serialize(server.issuer.as_bytes()).collect();
    let sid = sid(&hint);
    assert_eq!(
        frames(&page),
        [
            format!("https://a.example/out?x=1&iss={iss}&sid={sid}"),
            format!("https://b.example:8443/out?iss={iss}&sid={sid}"),
        ]
    );
    assert_eq!(policy(&page), "frame-src https://a.example https://b.example:8443");
    let to = format!("{AFTER}?state=s1");
    assert_eq!(page.header("refresh"), Some(&*format!("2;url={to}")));
    assert!(page.body.contains(&format!("data-leads-on-to=\"{to}\"")), "{}", page.body);
    assert!(page.body.contains(&format!("id=\"return\" href=\"{to}\"")), "{}", page.body);
    assert!(browser.cookie("symbolon_session").is_none());
    // Again: nothing is left to end, so nobody waits.
    let again = browser.get(&path);
    assert_eq!((again.status, again.location()), (302, to));
}

#[test]
fn after_the_question_it_is_the_same() {
    let server = TestServer::start();
    let clients = clients(&server);
    let (browser, _) = signed_in(&server, &clients);
    let asked = browser.get("/logout?client_id=nobody");
    let named = asked.body.split_once("id=\"applications\"").expect("a list").1;
    let named = named.split_once("</ul>").unwrap().0;
    assert!(named.contains("<bdi>a.example</bdi>") && named.contains("<bdi>b.example:8443</bdi>"), "{named}");
    assert!(!named.contains("c.example"), "it is told by nobody: {named}");
    let (transaction, csrf) = hidden(&asked);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "confirm")];
    let page = browser.post("/logout/confirm", &form);
    assert_eq!((page.status, frames(&page).len()), (200, 2));
    assert_eq!(page.header("refresh"), None);
}

#[test]
fn without_frames_nobody_waits() {
    let server = TestServer::start();
    let [.., client] = clients(&server);
    let (browser, tokens) = signed_in(&server, std::slice::from_ref(&client));
    let hint = tokens.id_token.unwrap();
    let path =
        format!("/logout?id_token_hint={hint}&post_logout_redirect_uri=https%3A%2F%2Fa.example%2Fsigned-out");
    let answer = browser.get(&path);
    assert_eq!((answer.status, answer.location()), (302, AFTER.to_owned()));
}
