//! What the answer of another provider means for the accounts here.

use serde_json::json;

use super::{ANN, Scene, at_login, claims, user};

/// Somebody without an account gets one, and comes back to it, whatever the address is then.
#[test]
fn who_signs_up_comes_back_to_the_same_account() {
    let scene = Scene::new(json!({ "sign_up": true }));
    let (theirs, person) = scene.upstream.signed_in(ANN);
    let mut subjects = Vec::new();
    for email in [ANN, "new@example.com"] {
        let changed =
            scene.upstream.admin("PATCH", &format!("/users/{theirs}"), Some(json!({ "email": email })));
        assert_eq!(changed.status, 200, "{changed:?}");
        let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
        let done = scene.through(&browser, &person, &request);
        let claims = claims(&scene.rp, &request, &done);
        assert_eq!((&claims["email"], &claims["name"]), (&json!(ANN), &json!("A person")));
        assert_eq!((&claims["amr"], &claims["acr"]), (&json!(["fed"]), &json!("urn:symbolon:acr:1")));
        subjects.push(claims["sub"].clone());
    }
    assert_eq!(subjects[0], subjects[1]);
    assert_eq!(user(&scene.server, ANN)["email_verified"], true);
    assert!(user(&scene.server, "new@example.com").is_null());
}

#[test]
fn a_stranger_is_told_what_to_do_where_nobody_signs_up() {
    let scene = Scene::new(json!({}));
    let (_, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let refused = scene.through(&browser, &person, &request);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("No account here is connected"), "{}", refused.body);
    assert!(refused.body.contains("Continue with <bdi>Acme</bdi>"), "{}", refused.body);
    assert!(user(&scene.server, ANN).is_null());
    assert_eq!(browser.cookie("symbolon_session"), None);
}

/// An address that both sides verified connects; one that either side did not verify does not.
#[test]
fn an_account_is_connected_only_by_an_address_that_both_sides_verified() {
    for (here, there, setting, connects) in
        [(true, true, true, true), (true, true, false, false), (false, true, true, false), (true, false, true, false)]
    {
        let scene = Scene::new(json!({ "link_by_verified_email": setting }));
        let own = scene.server.create_user(ANN);
        let (theirs, person) = scene.upstream.signed_in(ANN);
        for (server, id, verified) in [(&scene.server, &own, here), (&scene.upstream, &theirs, there)] {
            let body = json!({ "email_verified": verified });
            assert_eq!(server.admin("PATCH", &format!("/users/{id}"), Some(body)).status, 200);
        }
        let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
        let done = scene.through(&browser, &person, &request);
        if connects {
            assert_eq!(claims(&scene.rp, &request, &done)["sub"], *own);
        } else {
            assert_eq!(done.status, 403, "{here} {there} {setting}: {done:?}");
            assert_eq!(browser.cookie("symbolon_session"), None);
        }
    }
}

/// The address was given to somebody else at the provider: the account is not theirs.
#[test]
fn an_address_that_was_registered_again_leads_to_no_account() {
    let scene = Scene::new(json!({ "link_by_verified_email": true }));
    let own = scene.server.create_user(ANN);
    let (theirs, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let done = scene.through(&browser, &person, &request);
    assert_eq!(claims(&scene.rp, &request, &done)["sub"], *own);

    assert_eq!(scene.upstream.admin("DELETE", &format!("/users/{theirs}"), None).status, 204);
    let (_, other) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let refused = scene.through(&browser, &other, &request);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(browser.cookie("symbolon_session"), None);
}

/// A deactivated user is not let in by another door, and a deleted provider lets nobody in.
#[test]
fn who_may_not_sign_in_does_not_by_another_provider() {
    let scene = Scene::new(json!({ "link_by_verified_email": true }));
    let own = scene.server.create_user(ANN);
    let (_, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let done = scene.through(&browser, &person, &request);
    assert_eq!(claims(&scene.rp, &request, &done)["sub"], *own);
    let off = json!({ "active": false });
    assert_eq!(scene.server.admin("PATCH", &format!("/users/{own}"), Some(off)).status, 200);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    assert_eq!(scene.through(&browser, &person, &request).status, 403);

    let callback = scene.there(&browser, &person, &request);
    assert_eq!(scene.server.admin("DELETE", "/identity-providers/acme", None).status, 204);
    let gone = browser.get(&callback);
    assert_eq!(gone.location(), "/", "{gone:?}");
    let page = at_login(&browser, &request);
    assert!(!page.body.contains("Acme"), "{}", page.body);
}

/// Another provider is one factor, whatever it asked for itself.
#[test]
fn a_second_factor_is_still_asked_for() {
    let scene = Scene::new(json!({ "sign_up": true }));
    let required = json!({ "second_factor": "required" });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(required)).status, 200);
    let (_, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let asked = scene.through(&browser, &person, &request);
    assert!(asked.location().starts_with("/login/second-factor?transaction="), "{asked:?}");
    assert_eq!(browser.cookie("symbolon_session"), None);
}
