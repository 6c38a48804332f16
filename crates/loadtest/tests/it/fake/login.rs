//! The fake's login page: one form, one cookie that binds it to the browser, one redirect back.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use symbolon_crypto::SecretString;
use symbolon_crypto::password::PasswordHash;

use super::{Code, Fake, Fault, form};

/// To the login page, with the request as its transaction.
pub(super) fn ask(fake: &Fake, query: &HashMap<String, String>) -> Response {
    let transaction = fake.id("tx-");
    fake.data.lock().unwrap().transactions.insert(transaction.clone(), query.clone());
    (StatusCode::FOUND, [(LOCATION, format!("/login?transaction={transaction}"))]).into_response()
}

pub(super) async fn page(RawQuery(query): RawQuery) -> Response {
    let transaction = form(&query.unwrap())["transaction"].clone();
    let cookies = [(SET_COOKIE, format!("fake_browser={transaction}; Path=/; HttpOnly"))];
    (cookies, Html(login_form(&transaction))).into_response()
}

fn login_form(transaction: &str) -> String {
    format!(
        r#"<form method="post" action="/login?a=1&amp;b=2"><input type="hidden" name="tx" value="{transaction}">
        <input name="username" type="text"><input name="password" type="password"></form>"#
    )
}

pub(super) async fn submit(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: String,
) -> Response {
    assert_eq!(query.unwrap(), "a=1&b=2");
    let form = form(&body);
    assert_eq!(headers[COOKIE], format!("fake_browser={}", form["tx"]));
    let known = fake.data.lock().unwrap().passwords.get(&form["username"]).cloned();
    let right = known.filter(|(_, hash)| fake.knows(hash, &form["password"]));
    let Some((user, _)) = right.filter(|_| !fake.has(Fault::LoginRefused)) else {
        return (StatusCode::FORBIDDEN, Html(login_form("again"))).into_response();
    };
    let session = fake.id("session:");
    let mut data = fake.data.lock().unwrap();
    data.sessions.insert(session.clone(), user);
    let ended = "fake_browser=; Path=/; Max-Age=0".to_owned();
    let cookies = [(SET_COOKIE, ended), (SET_COOKIE, format!("fake_session={session}; Path=/"))];
    drop(data);
    let location = [(LOCATION, format!("/authorize/continue?transaction={}", form["tx"]))];
    let mut response = (StatusCode::SEE_OTHER, location).into_response();
    for (name, value) in cookies {
        response.headers_mut().append(name, value.parse().unwrap());
    }
    response
}

/// The request of a transaction goes on, once.
pub(super) async fn go_on(
    state: State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let transaction = form(&query.unwrap())["transaction"].clone();
    let request = state.data.lock().unwrap().transactions.remove(&transaction).unwrap();
    if state.has(Fault::Consent) {
        return Html("<form><button>Allow</button></form>").into_response();
    }
    super::answer(&state, &request, &headers)
}

impl Fake {
    /// Hashes are slow to check on purpose; all users have the same one.
    fn knows(&self, hash: &str, password: &str) -> bool {
        let pair = (hash.to_owned(), password.to_owned());
        if self.data.lock().unwrap().checked.contains(&pair) {
            return true;
        }
        let right = PasswordHash::parse(hash).unwrap().verify(&SecretString::new(password.into())).unwrap();
        right && self.data.lock().unwrap().checked.insert(pair)
    }

    /// A code for the user whose session a request names.
    pub(super) fn code(&self, user: String, query: &HashMap<String, String>) -> String {
        let mut code = self.id("code-");
        let number: u64 = code.trim_start_matches("code-").parse().unwrap();
        if let Fault::CodeOnceIn(one) = *self.fault.lock().unwrap()
            && number.is_multiple_of(one)
        {
            code = format!("code-{}", number - 1);
        }
        let (challenge, client) = (query["code_challenge"].clone(), query["client_id"].clone());
        let nonce = query["nonce"].clone();
        self.data.lock().unwrap().codes.insert(code.clone(), Code { user, challenge, client, nonce });
        code
    }
}
