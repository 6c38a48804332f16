//! Forms of redirect URIs that a client may use only where an administrator allowed them.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, RelyingParty, TestServer, TokenSet};

/// A client with these redirect URIs and forms.
fn client(forms: &[&str], uris: &[&str]) -> Value {
    json!({ "redirect_uris": uris, "redirect_uri_forms": forms })
}

/// The same client, which sends people back to another URI.
fn returning_to(rp: &RelyingParty, uri: &str) -> RelyingParty {
    let mut same = rp.clone();
    same.redirect_uri = uri.to_owned();
    same
}

fn authorize(rp: &RelyingParty, browser: &Browser) -> Answer {
    browser.get(&rp.authorization_request().path())
}

#[test]
fn none_of_them_is_registered_unless_it_is_allowed() {
    let server = TestServer::start();
    let all = ["private_use_scheme_without_dot", "http_private_host", "any_localhost_port", "wildcard_host"];
    for (form, uri) in [
        ("private_use_scheme_without_dot", "myapp:/cb"),
        ("http_private_host", "http://10.0.0.5:8080/cb"),
        ("wildcard_host", "https://*.preview.example.com/cb"),
    ] {
        let register = |forms: &[&str]| {
            let mut body = client(forms, &[uri]);
            body["client_name"] = json!("x");
            server.admin("POST", "/clients", Some(body))
        };
        let others: Vec<&str> = all.into_iter().filter(|other| *other != form).collect();
        for refused in [register(&[]), register(&others)] {
            assert_eq!(refused.status, 400, "{refused:?}");
            assert!(refused.body.contains(uri), "{refused:?}");
        }
        let made = register(&[form]);
        assert_eq!((made.status, &made.json()["client"]["redirect_uri_forms"]), (201, &json!([form])));
        let warned = made.json()["warnings"][0].as_str().is_some_and(|told| told.contains(form));
        assert!(warned, "{made:?}");
    }
    let misspelt =
        json!({ "client_name": "x", "redirect_uris": ["https://x.example/"], "redirect_uri_forms": ["any"] });
    assert_eq!(server.admin("POST", "/clients", Some(misspelt)).status, 400);
}

#[test]
fn each_preview_signs_in_and_nobody_else() {
    let server = TestServer::start();
    let metadata = client(&["wildcard_host"], &["https://*.preview.example.com/cb"]);
    let rp = RelyingParty::register(&server, metadata);
    let (_, browser) = server.signed_in("ann@example.com");
    let preview = returning_to(&rp, "https://pr-17.preview.example.com/cb");
    let request = preview.authorization_request();
    let answer = browser.get(&request.path());
    let code = answer.redirected("code").unwrap_or_else(|| panic!("{answer:?}"));
    assert!(
        answer.header("location").unwrap().starts_with("https://pr-17.preview.example.com/cb?"),
        "{answer:?}"
    );
    let other = returning_to(&rp, "https://pr-18.preview.example.com/cb");
    assert_eq!(
        other.redeem(&code, &request.verifier).error(),
        "invalid_grant",
        "the code was sent to another host"
    );
    TokenSet::of(&preview.redeem(&code, &request.verifier));
    for hostile in [
        "https://*.preview.example.com/cb",
        "https://preview.example.com/cb",
        "https://a.b.preview.example.com/cb",
        "https://evil.com#.preview.example.com/cb",
        "https://evil.com/.preview.example.com/cb",
        "https://user@a.preview.example.com/cb",
        "https://a%2epreview.example.com/cb",
        "https://a.preview.example.com.evil.com/cb",
        "https://xn--a-0ga.preview.example.com/cb",
    ] {
        let answer = authorize(&returning_to(&rp, hostile), &browser);
        assert_eq!((answer.status, answer.header("location")), (400, None), "{hostile}");
    }
    // Pages of a preview may read the answers of the token endpoint.
    for (origin, allowed) in [
        ("https://pr-17.preview.example.com", true),
        ("https://a.b.preview.example.com", false),
        ("https://preview.example.com", false),
    ] {
        let headers = [("origin", origin), ("authorization", &*rp.basic())];
        let answer = server.browser().post_with("/token", &[("grant_type", "client_credentials")], &headers);
        assert_eq!(answer.header("access-control-allow-origin"), allowed.then_some(origin), "{answer:?}");
    }
}

#[test]
fn localhost_has_any_port_where_that_is_allowed() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("ann@example.com");
    let uri = "http://localhost:3000/cb";
    let usual = RelyingParty::register(&server, client(&[], &[uri]));
    let any = RelyingParty::register(&server, client(&["any_localhost_port"], &[uri]));
    for (rp, port, status) in
        [(&usual, 3000, 302), (&usual, 3001, 400), (&any, 3000, 302), (&any, 51_004, 302)]
    {
        let answer = authorize(&returning_to(rp, &format!("http://localhost:{port}/cb")), &browser);
        assert_eq!(answer.status, status, "{port}: {answer:?}");
    }
    let forbidden = json!({ "redirect_uri_forms": [] });
    assert_eq!(server.admin("PATCH", &format!("/clients/{}", any.client_id), Some(forbidden)).status, 200);
    assert_eq!(authorize(&returning_to(&any, "http://localhost:51004/cb"), &browser).status, 400, "at once");
}

#[test]
fn codes_go_to_a_scheme_without_a_dot_and_to_a_private_host() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("ann@example.com");
    let forms = ["private_use_scheme_without_dot", "http_private_host"];
    let uris = ["myapp:/cb", "http://nas.local:5000/cb"];
    let rp = RelyingParty::register(&server, client(&forms, &uris));
    for uri in uris {
        let rp = returning_to(&rp, uri);
        let answer = authorize(&rp, &browser);
        assert!(answer.header("location").is_some_and(|to| to.starts_with(uri)), "{answer:?}");
        rp.sign_in(&browser);
    }
    for hostile in [
        "myapp:/cb2",
        "myapp://cb",
        "javascript:/cb",
        "http://nas.local/cb",
        "http://nas.local:5000@evil.example/cb",
    ] {
        let answer = authorize(&returning_to(&rp, hostile), &browser);
        assert_eq!((answer.status, answer.header("location")), (400, None), "{hostile}");
    }
}
