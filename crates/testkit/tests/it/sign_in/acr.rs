//! Classes of authentication: `acr_values`, `default_acr_values`, the claim `acr`.

use serde_json::json;
use symbolon_sign_in::demo;
use symbolon_testkit::{TokenSet, decode_jwt};

use super::{OTHER, answer_with, id_token, is_in, options, passkey_of_other};
use crate::login::{PASSWORD, Scene, hidden};
use crate::second_factor::confirm;

const TWO: &str = "urn:symbolon:acr:2";

#[test]
fn tokens_and_discovery_name_the_class() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let claims = decode_jwt(tokens.id_token.as_deref().unwrap()).1;
    assert_eq!(claims["acr"], "urn:symbolon:acr:1");
    assert_eq!(decode_jwt(tokens.body["access_token"].as_str().unwrap()).1["acr"], "urn:symbolon:acr:1");
    let document = browser.get("/.well-known/openid-configuration").json();
    let all = json!(["urn:symbolon:acr:1", "urn:symbolon:acr:2", "phr", "phrh"]);
    assert_eq!(document["acr_values_supported"], all);
    assert!(document["claims_supported"].as_array().unwrap().contains(&json!("acr")));
    // Nobody is asked for what they cannot bring (Core 5.5.1.1), with a page or without.
    for more in [("prompt", "none"), ("display", "page")] {
        let request = scene.rp.authorization_request().with("acr_values", TWO).with(more.0, more.1);
        let code = browser.get(&request.path()).redirected("code").expect("a code");
        let tokens = TokenSet::of(&scene.rp.redeem(&code, &request.verifier));
        assert_eq!(decode_jwt(tokens.id_token.as_deref().unwrap()).1["acr"], "urn:symbolon:acr:1");
    }
}

#[test]
fn whoever_has_a_second_factor_steps_up_to_the_class_that_is_asked_for() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    assert!(is_in(&Scene::sign_in(&browser, &page, OTHER, PASSWORD)));
    let before = browser.cookie("symbolon_session").unwrap();
    let request = scene.rp.authorization_request().with("acr_values", TWO);
    let silent = scene.rp.authorization_request().with("acr_values", TWO).with("prompt", "none");
    assert_ne!(browser.get(&silent.path()).redirected("error").as_deref(), Some("login_required"));
    let asked = browser.get(&request.path());
    assert!(asked.location().starts_with("/login/second-factor?"), "{asked:?}");
    let page = browser.get(&asked.location());
    assert!(page.body.contains("id=\"skip\"") && !page.body.contains("id=\"code\""), "{page:?}");
    let answer = answer_with(&browser, "/login/second-factor", &page, &passkey.get(&options(&page)));
    assert!(is_in(&answer), "{answer:?}");
    let after = browser.cookie("symbolon_session").unwrap();
    assert!(before != after && !scene.session_lives(&before) && scene.session_lives(&after));
    let claims = id_token(&scene, &browser, &request, &answer);
    // The client compares the claim with what it asked for.
    assert_eq!((&claims["acr"], &claims["amr"]), (&json!(TWO), &json!(["pwd", "hwk", "mfa"])));
    // The same form once more, and the page's address.
    let again = answer_with(&browser, "/login/second-factor", &page, &json!({}));
    assert_eq!(again.status, 303, "{again:?}");
    assert!(browser.get(&asked.location()).redirected("code").is_some());
}

#[test]
fn who_will_not_step_up_goes_on_as_they_are() {
    let scene = Scene::new();
    passkey_of_other(&scene);
    let body = json!({ "default_acr_values": ["phr"] });
    let answer = scene.server.admin("PATCH", &format!("/clients/{}", demo::CLIENT), Some(body));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("\"default_acr_values\":[\"phr\"]"), "{answer:?}");
    let bad = json!({ "default_acr_values": ["gold"] });
    let refused = scene.server.admin("PATCH", &format!("/clients/{}", demo::CLIENT), Some(bad));
    assert!(refused.status == 400 && refused.body.contains("default_acr_values"), "{refused:?}");
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let page = scene.at_login(&browser, &request);
    let asked = Scene::sign_in(&browser, &page, OTHER, PASSWORD);
    assert!(asked.location().starts_with("/login/second-factor?"), "{asked:?}");
    let page = browser.get(&asked.location());
    // It is bound to the session: another browser is asked to sign in.
    let thief = scene.server.browser();
    assert!(thief.get(&asked.location()).location().starts_with("/login?"));
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("skip", "true")];
    let answer = browser.post("/login/second-factor", &form);
    assert!(is_in(&answer), "{answer:?}");
    assert_eq!(id_token(&scene, &browser, &request, &answer)["acr"], "urn:symbolon:acr:1");
}

#[test]
fn a_session_that_ended_meanwhile_is_not_stepped_up() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("acr_values", TWO));
    let asked = Scene::sign_in(&browser, &page, OTHER, PASSWORD);
    let page = browser.get(&asked.location());
    let ended = scene.server.admin("DELETE", "/users/other/sessions", None);
    assert!(ended.status < 300, "{ended:?}");
    let answer = answer_with(&browser, "/login/second-factor", &page, &passkey.get(&options(&page)));
    assert!(answer.location().starts_with("/login?transaction="), "{answer:?}");
}

#[test]
fn a_code_steps_a_session_up_that_is_older_than_its_generator() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    assert!(is_in(&Scene::sign_in(&browser, &page, OTHER, PASSWORD)));
    let phone = crate::second_factor::enrolled(&scene);
    let body = json!({ "settings": { "second_factor": "optional" } });
    assert_eq!(scene.server.admin("PATCH", &format!("/clients/{}", demo::CLIENT), Some(body)).status, 200);
    let request = scene.rp.authorization_request().with("acr_values", TWO);
    let page = browser.get(&browser.get(&request.path()).location());
    let answer = confirm(&browser, &page, &phone.code(&scene));
    assert!(is_in(&answer), "{answer:?}");
    let claims = id_token(&scene, &browser, &request, &answer);
    assert_eq!((&claims["acr"], &claims["amr"]), (&json!(TWO), &json!(["pwd", "otp", "mfa"])));
}

#[test]
fn who_has_no_second_factor_sets_one_up_where_requests_may_demand_it() {
    let scene = Scene::new();
    let body = json!({ "settings": { "second_factor": "requested" } });
    assert_eq!(scene.server.admin("PATCH", &format!("/clients/{}", demo::CLIENT), Some(body)).status, 200);
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    assert!(is_in(&Scene::sign_in(&browser, &page, OTHER, PASSWORD)), "a request that asks for nothing");
    let request = scene.rp.authorization_request().with("acr_values", TWO);
    let silent = scene.rp.authorization_request().with("acr_values", TWO).with("prompt", "none");
    assert_eq!(browser.get(&silent.path()).redirected("error").as_deref(), Some("login_required"));
    let page = scene.at_login(&browser, &request);
    let answer = Scene::sign_in(&browser, &page, OTHER, PASSWORD);
    assert!(answer.location().starts_with("/login/second-factor?"), "{answer:?}");
    let page = browser.get(&answer.location());
    assert!(page.body.contains("id=\"secret\"") && !page.body.contains("id=\"skip\""), "{page:?}");
}
