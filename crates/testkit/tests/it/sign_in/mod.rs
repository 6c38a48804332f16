//! Methods of signing in on the pages: which are offered, and each of them.

mod acr;
mod attacks;
mod email_code;
mod magic_link;
mod passkey;
mod remembered_device;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Authenticator, Browser};

use crate::login::{PASSWORD, Scene, hidden};

pub(crate) const OTHER: &str = "other@example.com";

fn set(scene: &Scene, settings: Value) {
    let answer = scene.server.admin("PATCH", "/settings", Some(settings));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// What a page asks of the browser's passkeys.
fn options(page: &Answer) -> Value {
    let begin = "data-options=\"";
    let at = page.body.find(begin).unwrap_or_else(|| panic!("no options in {}", page.body)) + begin.len();
    let text = page.body[at..].split_once('"').unwrap().0;
    let text =
        text.replace("&#34;", "\"").replace("&quot;", "\"").replace("&#38;", "&").replace("&amp;", "&");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A passkey of the user `other`, added by the login API right after a sign-in.
pub(crate) fn passkey_of_other(scene: &Scene) -> Authenticator {
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    assert_eq!(Scene::sign_in(&browser, &page, OTHER, PASSWORD).status, 303);
    let mut passkey = Authenticator::new(&scene.server.issuer);
    let call = |path: &str, body: &Value| {
        let headers = [("content-type", "application/json"), ("origin", scene.server.issuer.as_str())];
        let path = format!("/api/auth/passkey/register/{path}");
        let answer = browser.send("POST", &path, &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let asked = call("options", &json!({ "email": OTHER }));
    let credential = passkey.create(&asked["options"]);
    call("verify", &json!({ "userId": "other", "credential": credential }));
    passkey
}

/// Sends what an authenticator answered to a page.
fn answer_with(browser: &Browser, path: &str, page: &Answer, credential: &Value) -> Answer {
    let (transaction, csrf) = hidden(page);
    let form =
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("credential", &*credential.to_string())];
    browser.post(path, &form)
}

fn is_in(answer: &Answer) -> bool {
    answer.status == 303 && answer.location().starts_with("/consent?transaction=")
}

/// The claims of the ID token that follows from the consent page.
fn id_token(
    scene: &Scene,
    browser: &Browser,
    request: &symbolon_testkit::AuthorizationRequest,
    at: &Answer,
) -> Value {
    let done = match at.location().starts_with("/consent") {
        true => Scene::decide(browser, &browser.get(&at.location()), "allow"),
        false => panic!("not at the consent page: {at:?}"),
    };
    let code = done.redirected("code").expect("a code");
    let tokens = symbolon_testkit::TokenSet::of(&scene.rp.redeem(&code, &request.verifier));
    symbolon_testkit::decode_jwt(tokens.id_token.as_deref().expect("an ID token")).1
}

#[test]
fn the_page_shows_the_methods_that_are_offered_and_takes_no_other() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let at_login = || scene.at_login(&browser, &scene.rp.authorization_request());
    let shows = |page: &Answer| {
        ["id=\"password\"", "id=\"passkey\"", "id=\"send-code\""].map(|part| page.body.contains(part))
    };
    // No mail server is configured.
    assert_eq!(shows(&at_login()), [true, true, false]);
    for (methods, shown) in [
        (json!(["password"]), [true, false, false]),
        (json!(["passkey"]), [false, true, false]),
        (json!(["email_code", "password"]), [true, false, true]),
        (json!(["email_code"]), [false, false, true]),
        (Value::Null, [true, true, false]),
    ] {
        set(&scene, json!({ "sign_in_methods": methods }));
        assert_eq!(shows(&at_login()), shown, "{methods}");
    }
    set(&scene, json!({ "sign_in_methods": ["passkey"] }));
    let page = at_login();
    let refused = Scene::sign_in(&browser, &page, OTHER, PASSWORD);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(browser.cookie("symbolon_session").is_none());
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", OTHER)];
    assert_eq!(browser.post("/login/email-code", &form).status, 403);
    for bad in [json!([]), json!(["pigeon"]), json!("password")] {
        let answer = scene.server.admin("PATCH", "/settings", Some(json!({ "sign_in_methods": bad })));
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains("sign_in_methods"), "{answer:?}");
    }
    let api = [("content-type", "application/json"), ("origin", scene.server.issuer.as_str())];
    let answer =
        browser.send("POST", "/api/auth/email-code/send", &api, b"{\"email\":\"other@example.com\"}");
    assert_eq!((answer.status, answer.error().as_str()), (403, "access_denied"), "{answer:?}");
}

#[test]
fn the_name_comes_first_if_the_issuer_wants_it_so() {
    let scene = Scene::new();
    set(&scene, json!({ "sign_in_page": "identifier_first" }));
    let browser = scene.server.browser();
    let first = scene.at_login(&browser, &scene.rp.authorization_request());
    assert!(first.body.contains("id=\"next\"") && !first.body.contains("id=\"password\""), "{first:?}");
    let next = |page: &Answer, more: &[(&str, &str)]| {
        let (transaction, csrf) = hidden(page);
        let mut form = vec![("transaction", &*transaction), ("csrf_token", &*csrf)];
        form.extend_from_slice(more);
        browser.post("/login", &form)
    };
    // Nobody is looked up: whoever types a name gets the same page.
    for name in ["nobody@example.com", OTHER] {
        let answer = next(&first, &[("username", name)]);
        assert!(answer.status == 303 && answer.location().starts_with("/login?"), "{answer:?}");
        let second = browser.get(&answer.location());
        assert!(second.body.contains("id=\"password\"") && second.body.contains(name), "{second:?}");
        assert_eq!(Scene::sign_in(&browser, &second, name, "wrong").status, 403);
        let other = next(&second, &[("username", name), ("other", "true")]);
        let again = browser.get(&other.location());
        assert!(again.body.contains("id=\"next\"") && !again.body.contains(name), "{again:?}");
    }
    let answer = next(&first, &[("username", OTHER)]);
    let second = browser.get(&answer.location());
    assert!(is_in(&Scene::sign_in(&browser, &second, OTHER, PASSWORD)));
}
