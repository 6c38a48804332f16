//! Full logins through the login API, as an application with pages of its own makes them, in the steps of the reports' load
//! scripts: `GET /authorize` in a browser without cookies, what the method asks for and what it is answered, the
//! authorization request again in the session that this began, `POST /token`. The whole of it counts as one request.

mod email_code;
mod passkey;
mod registration;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::answer::{expect_eq, expect_status};
use super::authorization::{Authorization, location};
use super::cookies::Jar;
use super::issued::Keep;
use super::{Next, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{Seed, User};

pub(crate) use registration::RegistrationVisitor;

/// The content type of everything that the login API takes.
const JSON: request::Field<'static> = ("content-type", "application/json");

/// A way to prove who somebody is: one request whose answer is needed for the second, which begins the session.
trait Method: Send {
    /// The names of its two steps.
    const STEPS: [&'static str; 2];
    /// The `prompt` of the authorization request in the session, as the reports' scripts send it.
    const PROMPT: Option<&'static str>;

    /// Draws another user.
    fn begin(&mut self);

    /// Who signs in.
    fn user(&self) -> Option<&User>;

    /// Appends the first request.
    fn ask(&self, out: &mut Vec<u8>);

    /// Takes the answer to it.
    fn take(&mut self, response: &Response<'_>, cookies: &mut Jar) -> Result<(), Wrong>;

    /// Appends the second request, with these cookies.
    fn answer(&self, cookies: &str, out: &mut Vec<u8>);
}

/// What was asked last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Authorize,
    Ask,
    Answer,
    Code,
    Token,
}

/// Signs people in by one method.
struct LoginApiVisitor<M> {
    seed: Arc<Seed>,
    basic: String,
    method: M,
    authorization: Authorization,
    cookies: Jar,
    asked: Step,
    code: String,
    /// What is asked next; none begins another login.
    next: Option<Step>,
    /// Where tokens and session go that somebody wants to use.
    keep: Option<Keep>,
}

/// By e-mail code, the visitor of this number. `keep` receives what a login gives.
pub(super) fn email_code(
    seed: &Arc<Seed>,
    index: usize,
    keep: Option<Keep>,
) -> Result<Box<dyn Visitor>, &'static str> {
    Ok(Box::new(LoginApiVisitor::new(seed, email_code::EmailCode::new(seed, index)?, keep)))
}

/// By passkey, likewise.
pub(super) fn passkey(
    seed: &Arc<Seed>,
    index: usize,
    keep: Option<Keep>,
) -> Result<Box<dyn Visitor>, &'static str> {
    Ok(Box::new(LoginApiVisitor::new(seed, passkey::Passkey::new(seed, index)?, keep)))
}

impl<M: Method> LoginApiVisitor<M> {
    fn new(seed: &Arc<Seed>, method: M, keep: Option<Keep>) -> Self {
        Self {
            seed: Arc::clone(seed),
            basic: seed.client.basic(),
            method,
            authorization: Authorization::default(),
            cookies: Jar::default(),
            asked: Step::Token,
            code: String::new(),
            next: None,
            keep,
        }
    }

    /// Another user in a browser that knows nothing.
    fn begin(&mut self) -> Step {
        self.method.begin();
        self.cookies.clear();
        self.authorization = Authorization::draw();
        Step::Authorize
    }

    fn authorize(&self, prompt: Option<&str>, out: &mut Vec<u8>) {
        let path = self.authorization.request(&self.seed, prompt);
        let cookies = self.cookies.field(&path);
        let cookies = (!cookies.is_empty()).then_some(("cookie", &*cookies));
        request::get(out, &path, &self.seed.target.authority, cookies.as_slice());
    }

    /// The login page, or where it is: nobody is signed in yet.
    fn check_page(&self, response: &Response<'_>) -> Result<(), Wrong> {
        if !matches!(response.status, 302 | 303) {
            return expect_status(response, 200);
        }
        match location(response)?.starts_with(&self.seed.client.redirect_uri) {
            true => Err(Wrong::new("no_login", "an answer without a login")),
            false => Ok(()),
        }
    }

    /// The session of the user who signed in.
    fn check_session(&mut self, response: &Response<'_>) -> Result<(), Wrong> {
        expect_status(response, 200)?;
        let answer: SignedIn = read(response)?;
        let expected = self.method.user().map_or("", |user| &*user.id);
        expect_eq("user_id", &answer.user_id, expected)?;
        expect_eq("user", &answer.user.id, expected)?;
        // The seed's users are verified.
        if answer.user.email_verified != Some(true) {
            return Err(Wrong::new("email_verified", format!("{:?}", answer.user.email_verified)));
        }
        self.cookies.keep(response, "/");
        match self.cookies.value(&self.seed.cookie) {
            Some(_) => Ok(()),
            None => Err(Wrong::new("session", "no session cookie")),
        }
    }

    fn take_code(&mut self, response: &Response<'_>) -> Result<(), Wrong> {
        if response.status != 303 {
            expect_status(response, 302)?;
        }
        self.code = self.authorization.code(&self.seed, location(response)?)?;
        Ok(())
    }
}

impl<M: Method> Visitor for LoginApiVisitor<M> {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let step = match self.next.take() {
            Some(step) => step,
            None => self.begin(),
        };
        match step {
            Step::Authorize => self.authorize(None, out),
            Step::Ask => self.method.ask(out),
            Step::Answer => self.method.answer(&self.cookies.field("/"), out),
            Step::Code => self.authorize(M::PROMPT, out),
            Step::Token => self.authorization.redeem((&self.seed, &self.basic), &self.code, out),
        }
        self.asked = step;
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let next = match self.asked {
            Step::Authorize => {
                self.check_page(response)?;
                self.cookies.keep(response, &self.seed.target.endpoints.authorize);
                Step::Ask
            }
            Step::Ask => {
                self.method.take(response, &mut self.cookies)?;
                Step::Answer
            }
            Step::Answer => {
                self.check_session(response)?;
                Step::Code
            }
            Step::Code => {
                self.take_code(response)?;
                Step::Token
            }
            Step::Token => {
                let Some(user) = self.method.user() else { return Ok(Right::default()) };
                let keep = self.keep.as_ref().map(|keep| (keep, &self.cookies));
                return self.authorization.check(&self.seed, response, user, keep);
            }
        };
        self.next = Some(next);
        Ok(Right::default())
    }

    fn goes_on(&self) -> bool {
        self.next.is_some()
    }

    fn step(&self) -> &'static str {
        let [ask, answer] = M::STEPS;
        match self.asked {
            Step::Authorize => "authorize",
            Step::Ask => ask,
            Step::Answer => answer,
            Step::Code => "code",
            Step::Token => "token",
        }
    }
}

/// What the login API says of somebody who has signed in.
#[derive(Deserialize)]
struct SignedIn {
    #[serde(rename = "userId")]
    user_id: String,
    user: Account,
}

#[derive(Deserialize)]
struct Account {
    id: String,
    email_verified: Option<bool>,
}

/// A JSON answer.
fn read<'a, T: Deserialize<'a>>(response: &Response<'a>) -> Result<T, Wrong> {
    serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))
}

/// Appends a call of the login API by a page of the issuer's origin.
fn call(seed: &Seed, path: &str, (origin, cookies): (&str, &str), body: &Value, out: &mut Vec<u8>) {
    let cookies = (!cookies.is_empty()).then_some(("cookie", cookies));
    let fields: Vec<_> = [JSON, ("origin", origin)].into_iter().chain(cookies).collect();
    let path = format!("{}{path}", seed.target.base());
    request::with_body(out, ("POST", &path), &seed.target.authority, &fields, body.to_string().as_bytes());
}

/// The origin of the issuer's pages (RFC 6454 4).
pub(crate) fn origin(issuer: &str) -> Option<String> {
    Some(Url::parse(issuer).ok()?.origin().ascii_serialization())
}
