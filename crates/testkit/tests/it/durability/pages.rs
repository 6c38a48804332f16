//! What a browser asks whose session has ended.

use serde_json::{Value, json};
use symbolon_server::endpoints;
use symbolon_testkit::{Answer, Authenticator};

use super::{Asked, Ending, Row};
use crate::login::hidden;

pub(super) fn asked(ending: &Ending) -> Vec<Asked> {
    let login = at_login(ending);
    let pages = [authorization(ending), opened(ending, &login), sent(ending, &login), logout(ending)];
    pages.into_iter().flatten().chain(account(ending)).chain(login_api(ending)).collect()
}

/// A page that waits for a sign-in, in the browser whose session ends.
fn at_login(ending: &Ending) -> Answer {
    let request = ending.scene.rp.authorization_request().with("prompt", "login");
    let page = ending.browser.get(&ending.browser.get(&request.path()).location());
    assert_eq!(page.status, 200, "{page:?}");
    page
}

fn get(ending: &Ending, row: Row, status: u16, path: &str) -> Asked {
    let (browser, path) = (ending.browser.copy(), path.to_owned());
    Asked::new(row, &[status], move || browser.get(&path))
}

fn post(ending: &Ending, row: Row, status: u16, form: &[(&str, &str)]) -> Asked {
    let browser = ending.browser.copy();
    let form: Vec<(String, String)> =
        form.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Asked::new(row, &[status], move || {
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (&**name, &**value)).collect();
        browser.post(&row.1.replace("{name}", "acme"), &form)
    })
}

fn authorization(ending: &Ending) -> Vec<Asked> {
    let request = ending.scene.rp.authorization_request();
    let silent = request.clone().with("prompt", "none");
    let form: Vec<(&str, &str)> = silent.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
    let row = ("GET", "/authorize");
    vec![
        get(ending, row, 302, &silent.path()).about("silent"),
        get(ending, row, 302, &request.path()).about("with a page"),
        post(ending, ("POST", "/authorize"), 303, &form),
    ]
}

/// Pages of a sign-in, opened by their addresses.
fn opened(ending: &Ending, login: &Answer) -> Vec<Asked> {
    const PATHS: [(&str, u16); 6] = [
        ("/login", 200),
        ("/login/second-factor", 302),
        ("/login/email-code", 302),
        ("/login/passkey-offer", 302),
        ("/consent", 302),
        ("/select-account", 302),
    ];
    let (transaction, _) = hidden(login);
    let page = |(path, status): (&'static str, u16)| {
        get(ending, ("GET", path), status, &format!("{path}?transaction={transaction}"))
    };
    let callback = get(ending, ("GET", "/login/callback/{name}"), 302, "/login/callback/acme?state=x");
    let device = get(ending, ("GET", "/device"), 302, "/device?user_code=BCDF-GHJK");
    PATHS.into_iter().map(page).chain([callback, device]).collect()
}

/// Forms of a sign-in.
fn sent(ending: &Ending, login: &Answer) -> Vec<Asked> {
    let (transaction, csrf) = hidden(login);
    let form = |path: &'static str, status, more: (&str, &str)| {
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), more];
        post(ending, ("POST", path), status, &form)
    };
    vec![
        form("/login", 303, ("other", "true")),
        form("/login/second-factor", 303, ("code", "000000")),
        form("/login/email-code", 303, ("username", &ending.scene.demo.email)),
        form("/login/passkey", 403, ("credential", "{}")),
        form("/login/passkey-offer", 303, ("later", "true")),
        form("/login/provider", 403, ("provider", "acme")),
        form("/login/callback/{name}", 302, ("state", "x")),
        form("/consent", 303, ("decision", "allow")),
        form("/select-account", 303, ("account", "x")),
        form("/device", 303, ("user_code", "BCDF-GHJK")),
    ]
}

fn logout(ending: &Ending) -> Vec<Asked> {
    let (transaction, csrf) = hidden(&ending.browser.get("/logout"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "confirm")];
    vec![
        get(ending, ("GET", "/logout"), 200, "/logout"),
        post(ending, ("POST", "/logout"), 200, &[]),
        post(ending, ("POST", "/logout/confirm"), 200, &form),
        get(ending, ("GET", "/logout/callback"), 200, "/logout/callback"),
    ]
}

/// All account pages and their forms: whoever is not signed in is led to the sign-in page.
fn account(ending: &Ending) -> Vec<Asked> {
    let rows = endpoints::all().filter(|row| row.path.starts_with("/account"));
    let rows = rows.flat_map(|row| row.methods.iter().map(|method| (method.as_str(), row.path)));
    let ask = |row: Row| match row {
        ("GET", path) => get(ending, row, 302, path),
        row => post(ending, row, 303, &[("csrf_token", "x")]),
    };
    rows.map(ask).collect()
}

/// Adding a passkey wants a session.
fn login_api(ending: &Ending) -> Vec<Asked> {
    let origin = ending.scene.server.issuer.clone();
    let email = ending.scene.demo.email.clone();
    let call = move |browser: &symbolon_testkit::Browser, path: &str, body: &Value| {
        let headers = [("content-type", "application/json"), ("origin", origin.as_str())];
        browser.send("POST", path, &headers, body.to_string().as_bytes())
    };
    let mut asked = Vec::new();
    for (options, verify) in [
        ("/api/auth/passkey/register/options", "/api/auth/passkey/register/verify"),
        ("/api/auth/passkeys/register/options", "/api/auth/passkeys/register/verify"),
    ] {
        let wanted = json!({ "email": email });
        let told = call(&ending.browser, options, &wanted);
        assert_eq!(told.status, 200, "{told:?}");
        let credential = Authenticator::new(&ending.scene.server.issuer).create(&told.json()["options"]);
        let answer = json!({ "userId": told.json()["userId"], "credential": credential });
        for (path, body) in [(options, wanted), (verify, answer)] {
            let (browser, call) = (ending.browser.copy(), call.clone());
            asked.push(Asked::new(("POST", path), &[403], move || call(&browser, path, &body)));
        }
    }
    asked
}
