//! Whose limit is used up.

use serde_json::json;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, Options, RelyingParty, TestServer};

use super::{Bench, Case, explained, run};
use crate::login::{Scene, hidden};

const LIMITED: (u16, &str) = (429, "rate_limit_exceeded");
const CREDENTIALS: [(&str, &str); 1] = [("grant_type", "client_credentials")];

pub(super) const CASES: [Case<Bench>; 5] = [
    Case::new(Reason::AddressRateLimited, LIMITED, &[], |bench, id| {
        let guess = RelyingParty::known(&bench.server, "nobody", Some("a-wrong-secret"), "");
        assert_eq!(guess.token(&CREDENTIALS).status, 401);
        bench.post(id, &guess, "/token", &CREDENTIALS)
    }),
    Case::new(Reason::ClientRateLimited, LIMITED, &[], |bench, id| {
        let busy = bench.client(json!({}));
        assert_eq!(busy.token(&CREDENTIALS).status, 200);
        let answer = bench.post(id, &busy, "/token", &CREDENTIALS);
        assert_eq!(explained(&bench.server, "", id)["client_id"], json!(busy.client_id));
        answer
    }),
    Case::new(Reason::UserRateLimited, LIMITED, &[], |bench, id| {
        let token = bench.rp.sign_in(&bench.session).access_token;
        assert_eq!(bench.userinfo("the-first-look", &token).status, 200);
        let answer = bench.userinfo(id, &token);
        let failure = explained(&bench.server, "", id);
        assert_eq!(failure["user_id"], json!(bench.user), "{failure}");
        answer
    }),
    Case::new(Reason::CodesTooMany, (302, "temporarily_unavailable"), &[], |bench, id| {
        let request = bench.rp.authorization_request();
        for _ in 0..3 {
            bench.session.get(&request.path());
        }
        bench.authorize(id, &request)
    }),
    Case::new(Reason::UserCodeRateLimited, (429, ""), &[], |bench, id| {
        assert_eq!(bench.session.get("/device?user_code=BCDF-GHJK").status, 400);
        bench.session.get_with("/device?user_code=BCDF-GHJL", &[("x-request-id", id)])
    }),
];

pub(super) const SIGN_INS: [Case<Scene>; 1] =
    [Case::new(Reason::SignInRateLimited, (429, ""), &[], |scene, id| {
        assert_eq!(sign_in(scene, "the-first-attempt").status, 403);
        let answer = sign_in(scene, id);
        assert_eq!(explained(&scene.server, "", id)["login_name"], "other@example.com");
        answer
    })];

pub(super) const BUSY: [Case<Scene>; 1] = [Case::new(Reason::SignInBusy, (503, ""), &[], |scene, id| {
    let passwords = &scene.server.app.passwords;
    let somebody =
        passwords.fairness_key(&IssuerId::default_issuer(), "somebody@example.com", [127, 0, 0, 1].into());
    // The only place is taken, by somebody whose password does not come.
    let place = passwords.reserve(somebody).ok();
    assert!(place.is_some(), "a place");
    let answer = sign_in(scene, id);
    drop(place);
    assert_eq!(explained(&scene.server, "", id)["login_name"], "other@example.com");
    assert_eq!(sign_in(scene, "there-is-a-place").status, 403);
    answer
})];

/// An attempt of another browser with a wrong password.
fn sign_in(scene: &Scene, id: &str) -> Answer {
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let (transaction, csrf) = hidden(&page);
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("username", "other@example.com"),
        ("password", "wrong"),
    ];
    browser.post_with("/login", &form, &[("x-request-id", id)])
}

/// Every process counts for itself.
fn limited() -> Options {
    Options::default()
        .one_node()
        .env("SYMBOLON_RATE_LIMITS", "on")
        .env("SYMBOLON_RATE_LIMIT_TOKEN_ADDRESS", "1/m")
        .env("SYMBOLON_RATE_LIMIT_TOKEN_CLIENT", "1/m")
        .env("SYMBOLON_RATE_LIMIT_USERINFO_USER", "1/m")
        .env("SYMBOLON_RATE_LIMIT_AUTHORIZE_USER", "2/m")
        .env("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "1/m")
}

#[test]
fn limits() {
    let bench = Bench::at(TestServer::start_with(limited()));
    run(&bench, &bench.server, &CASES);
    let scene = Scene::with(limited());
    run(&scene, &scene.server, &SIGN_INS);
}

#[test]
fn a_queue_that_is_full() {
    let options = Options::default().one_node().env("SYMBOLON_ARGON2_THREADS", "1");
    let scene = Scene::with(options.env("SYMBOLON_ARGON2_QUEUE", "1"));
    run(&scene, &scene.server, &BUSY);
}
