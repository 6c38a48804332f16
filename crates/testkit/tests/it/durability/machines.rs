//! What applications ask, of the session that has ended and of the grant that was given back.

use symbolon_sign_in::demo;
use symbolon_testkit::{Answer, Browser, TokenSet};

use super::{Asked, Ending, Row};

pub(super) fn asked(ending: &Ending) -> Vec<Asked> {
    let of = |tokens: &TokenSet, what| {
        of_tokens(ending, tokens).into_iter().map(move |asked: Asked| asked.about(what))
    };
    of(&ending.tokens, "its session has ended")
        .chain(of(&ending.revoked, "its grant was given back"))
        .collect()
}

/// A form that is posted by nobody's browser.
fn form(ending: &Ending, row: Row, status: u16, fields: &[(&str, &str)]) -> Asked {
    let base = ending.scene.server.url.clone();
    let fields: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Asked::new(row, &[status], move || post(&base, row.1, &fields))
}

fn post(base: &str, path: &str, fields: &[(String, String)]) -> Answer {
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Browser::new(base).post(path, &fields)
}

fn of_tokens(ending: &Ending, tokens: &TokenSet) -> Vec<Asked> {
    let (access, refresh) = (&*tokens.access_token, tokens.refresh_token.as_deref().unwrap());
    let service = [("client_id", demo::SERVICE), ("client_secret", &*ending.scene.demo.service_secret)];
    let by_service = |more: &[(&'static str, &str)]| -> Vec<(String, String)> {
        let all = service.iter().chain(more);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let service_form = |row: Row, status, more: &[(&'static str, &str)]| {
        let (base, fields) = (ending.scene.server.url.clone(), by_service(more));
        Asked::new(row, &[status], move || post(&base, row.1, &fields))
    };
    let client = ("client_id", demo::CLIENT);
    let exchange = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token", access),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("audience", demo::NEXT_SERVICE),
    ];
    let token = ("POST", "/token");
    vec![
        form(ending, token, 400, &[("grant_type", "refresh_token"), ("refresh_token", refresh), client])
            .about("refresh"),
        service_form(token, 400, &exchange).about("token exchange"),
        service_form(("POST", "/introspect"), 200, &[("token", access)]),
        form(ending, ("POST", "/revoke"), 200, &[("token", refresh), client]),
        userinfo(ending, ("GET", "/userinfo"), access),
        userinfo(ending, ("POST", "/userinfo"), access),
    ]
}

fn userinfo(ending: &Ending, row: Row, token: &str) -> Asked {
    let (base, bearer) = (ending.scene.server.url.clone(), format!("Bearer {token}"));
    Asked::new(row, &[401], move || {
        Browser::new(&base).send(row.0, row.1, &[("authorization", &bearer)], b"")
    })
}
