//! The page of applications.

use serde_json::json;
use symbolon_testkit::RelyingParty;

use super::{audited, send};
use crate::login::Scene;

#[test]
fn what_is_allowed_is_shown_and_ended() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let page = browser.get("/account/applications");
    assert!(page.body.contains("Symbolon walk-through"), "{}", page.body);
    assert!(page.body.contains("See your email address"), "{}", page.body);
    let id = page.body.split("name=\"end\" value=\"").nth(1).unwrap().split_once('"').unwrap().0.to_owned();
    for _ in 0..2 {
        let form = [("csrf_token", &*page.field("csrf_token").unwrap()), ("end", &*id)];
        let ended = browser.post("/account/applications", &form);
        assert_eq!((ended.status, &*ended.location()), (303, "/account/applications?done=access"));
    }
    let token = tokens.body["access_token"].as_str().unwrap();
    let bearer = format!("Bearer {token}");
    assert_eq!(browser.get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    let page = browser.get("/account/applications");
    assert!(page.body.contains("No application uses your account."), "{}", page.body);
    // The application has to ask again.
    let asked = browser.get(&scene.rp.authorization_request().path());
    assert!(asked.location().starts_with("/consent?"), "{asked:?}");
    let record = audited(&scene, "grant.ended");
    assert_eq!((&record["actor"], &record["client"]), (&"user".into(), &id.into()), "{record}");
}

#[test]
fn all_access_ends_at_once() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let other = RelyingParty::register(&scene.server, json!({ "skip_consent": true }));
    let others =
        other.sign_in_with(&browser, other.authorization_request().with("scope", "openid offline_access"));
    let statuses = || {
        [&tokens, &others].map(|tokens| {
            let bearer = format!("Bearer {}", tokens.access_token);
            scene.server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status
        })
    };
    assert_eq!(statuses(), [200, 200]);
    assert_eq!(send(&browser, "/account/applications", &[("end_all", "true")]).status, 303);
    assert_eq!(statuses(), [401, 401], "the access tokens of every application are dead");
    let refreshed = other.refresh(others.refresh_token.as_deref().expect("a refresh token"));
    assert_eq!((refreshed.status, refreshed.error()), (400, "invalid_grant".to_owned()));
    assert!(browser.get("/account/applications").body.contains("No application uses your account."));
    assert_eq!(browser.get("/account").status, 200, "the session stays");
}

/// OpenID Connect Core 4: `iss` says which provider is to be asked, and a target is the application's own.
#[test]
fn an_application_is_opened_where_it_begins_a_sign_in() {
    let scene = Scene::new();
    let (browser, _) = scene.signed_in();
    let opened = |metadata: serde_json::Value| {
        let path = format!("/clients/{}", scene.rp.client_id);
        assert_eq!(scene.server.admin("PATCH", &path, Some(metadata)).status, 200);
        let body = browser.get("/account/applications").body;
        let link = body.split_once("aria-label=\"Open: ").map(|(before, _)| before.to_owned())?;
        let link = link.rsplit_once("href=\"")?.1.split_once('"')?.0.to_owned();
        Some(link.replace("&#38;", "&"))
    };
    assert_eq!(opened(json!({ "client_uri": null })), None);
    let home = "https://shop.example/home";
    assert_eq!(opened(json!({ "client_uri": home })).as_deref(), Some(home));
    let iss: String = url::form_urlencoded::byte_serialize(scene.server.issuer.as_bytes()).collect();
    let begins = format!("https://rp.example/go?iss={iss}");
    let at = json!({ "initiate_login_uri": "https://rp.example/go" });
    assert_eq!(opened(at), Some(begins), "a target on another origin is left out");
    let target = "target_link_uri=https%3A%2F%2Fshop.example%2Fhome";
    let at = json!({ "initiate_login_uri": "https://shop.example/go" });
    assert_eq!(opened(at), Some(format!("https://shop.example/go?iss={iss}&{target}")));
    let refused = scene.server.admin(
        "PATCH",
        &format!("/clients/{}", scene.rp.client_id),
        Some(json!({ "initiate_login_uri": "http://shop.example/go" })),
    );
    assert!(refused.status == 400 && refused.body.contains("initiate_login_uri"), "{refused:?}");
}
