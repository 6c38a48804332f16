//! No answer leaves before all that it rests on is durable: refusals wait like successes.

use std::sync::mpsc;
use std::time::Duration;

use symbolon_testkit::{Answer, Browser, CommitGate, Options, TestServer, TokenSet};

use crate::login::Scene;

/// One request, by its name.
type Asked = (&'static str, Box<dyn Fn() -> Answer + Send>);

fn introspection(server: &TestServer, demo: &symbolon_sign_in::demo::Demo, token: &str) -> Asked {
    let (base, secret, token) = (server.url.clone(), demo.service_secret.clone(), token.to_owned());
    let form = move || {
        let client = [("client_id", symbolon_sign_in::demo::SERVICE), ("client_secret", &*secret)];
        Browser::new(&base).post("/introspect", &[&client[..], &[("token", &*token)]].concat())
    };
    ("introspection", Box::new(form))
}

fn exchange(server: &TestServer, demo: &symbolon_sign_in::demo::Demo, token: &str) -> Asked {
    let (base, secret, token) = (server.url.clone(), demo.service_secret.clone(), token.to_owned());
    let form = move || {
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", &*token),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("audience", symbolon_sign_in::demo::NEXT_SERVICE),
            ("client_id", symbolon_sign_in::demo::SERVICE),
            ("client_secret", &*secret),
        ];
        Browser::new(&base).post("/token", &form)
    };
    ("token exchange", Box::new(form))
}

fn userinfo(server: &TestServer, tokens: &TokenSet) -> Asked {
    let (base, bearer) = (server.url.clone(), format!("Bearer {}", tokens.access_token));
    ("UserInfo", Box::new(move || Browser::new(&base).get_with("/userinfo", &[("authorization", &bearer)])))
}

fn refresh(server: &TestServer, tokens: &TokenSet) -> Asked {
    let (base, token) = (server.url.clone(), tokens.refresh_token.clone().unwrap());
    let form = move || {
        let client = ("client_id", symbolon_sign_in::demo::CLIENT);
        let grant = [("grant_type", "refresh_token"), ("refresh_token", &*token), client];
        Browser::new(&base).post("/token", &grant)
    };
    ("refresh", Box::new(form))
}

fn silent(scene: &Scene, session: String) -> Asked {
    let base = scene.server.url.clone();
    let path = scene.rp.authorization_request().with("prompt", "none").path();
    let ask = move || {
        let browser = Browser::new(&base);
        browser.set_cookie("symbolon_session", &session);
        browser.get(&path)
    };
    ("silent authentication", Box::new(ask))
}

#[test]
fn refusals_wait_like_successes() {
    if symbolon_testkit::is_clustered() {
        return;
    }
    let gate = CommitGate::default();
    let scene = Scene::with(Options::default().commit_gate(&gate));
    let server = &scene.server;
    let (browser, tokens) = scene.signed_in();
    let session = browser.cookie("symbolon_session").unwrap();
    let hint = tokens.id_token.clone().unwrap();
    let asked: Vec<Asked> = vec![
        userinfo(server, &tokens),
        introspection(server, &scene.demo, &tokens.access_token),
        exchange(server, &scene.demo, &tokens.access_token),
        refresh(server, &tokens),
        silent(&scene, session.clone()),
    ];

    std::thread::scope(|threads| {
        gate.close();
        // It has ended in memory as soon as it is asked for, and is not durable until the gate opens.
        let logout = threads.spawn(move || browser.get(&format!("/logout?id_token_hint={hint}")));
        while scene.session_lives(&session) {
            std::thread::yield_now();
        }
        let (answers, answered) = mpsc::channel();
        for (name, ask) in asked {
            let answers = answers.clone();
            threads.spawn(move || drop(answers.send((name, ask()))));
        }
        drop(answers);
        let early = answered.recv_timeout(Duration::from_millis(400)).ok();
        gate.open();
        assert!(early.is_none(), "answered before it was durable: {early:?}");
        assert_eq!(logout.join().unwrap().status, 200);
        let statuses: std::collections::BTreeMap<_, _> =
            answered.iter().map(|(name, answer)| (name, answer.status)).collect();
        let expected = [
            ("UserInfo", 401),
            ("introspection", 200),
            ("refresh", 400),
            ("silent authentication", 302),
            ("token exchange", 400),
        ];
        assert_eq!(statuses, expected.into());
    });
}
