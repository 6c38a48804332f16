//! A full login by password, as one visit: `GET /authorize` in a browser without cookies, the login page, its form
//! with the CSRF token, back to the authorization endpoint, the code, `POST /token`. The whole of it counts as one
//! request, and its latency is that of the whole.

use std::sync::{Arc, PoisonError};

use percent_encoding::percent_decode_str;
use symbolon_crypto::{SystemRandom, digest, encoding, random};

use super::answer::{expect_eq, expect_new, expect_status};
use super::code::check_tokens;
use super::cookies::Jar;
use super::issued::{self, Keep};
use super::page::LoginForm;
use super::redirect::Reference;
use super::silent::read_location;
use super::{Next, Picker, Right, TokenAnswer, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, SCOPE, Seed, Session, User};

/// More answers than this before the code are a circle.
const MAX_STEPS: usize = 12;

/// What is asked next.
enum Step {
    /// A page, from the authorization request on; by path and query.
    Get(String),
    /// The login form, by path and fields.
    Submit(String, Vec<u8>),
    /// The code.
    Redeem(String),
}

impl Step {
    /// The path that cookies and references of its answer are relative to.
    fn path(&self) -> &str {
        match self {
            Self::Get(path) | Self::Submit(path, _) => path,
            Self::Redeem(_) => "/",
        }
    }
}

pub(super) struct LoginVisitor {
    seed: Arc<Seed>,
    basic: String,
    picker: Picker,
    user: usize,
    state: String,
    verifier: String,
    cookies: Jar,
    /// How many steps were taken.
    steps: usize,
    submitted: bool,
    /// What was asked last.
    asked: Step,
    /// How the login goes on; none begins another one.
    next: Option<Step>,
    /// Where tokens and session go that somebody wants to use.
    keep: Option<Keep>,
}

impl LoginVisitor {
    /// `keep` receives what the login gives.
    pub(super) fn new(seed: &Arc<Seed>, index: usize, keep: Option<Keep>) -> Result<Self, &'static str> {
        if seed.users.is_empty() {
            return Err("users with a password");
        }
        Ok(Self {
            seed: Arc::clone(seed),
            basic: seed.client.basic(),
            picker: Picker::new(index),
            user: 0,
            state: String::new(),
            verifier: String::new(),
            cookies: Jar::default(),
            steps: 0,
            submitted: false,
            asked: Step::Get(String::new()),
            next: None,
            keep,
        })
    }

    fn user(&self) -> Option<&User> {
        self.seed.users.get(self.user)
    }

    /// Another user in a browser that knows nothing: the authorization request.
    fn begin(&mut self) -> Step {
        self.user = self.picker.index(self.seed.users.len());
        self.cookies.clear();
        (self.steps, self.submitted) = (0, false);
        self.verifier = random::base64url::<32>(&SystemRandom);
        self.state = random::base64url::<16>(&SystemRandom);
        let challenge = encoding::encode(&digest::sha256(&[self.verifier.as_bytes()]));
        let mut path = format!("{}?", self.seed.target.endpoints.authorize).into_bytes();
        request::parameters(
            &mut path,
            &[
                ("response_type", "code"),
                ("client_id", &self.seed.client.id),
                ("redirect_uri", &self.seed.client.redirect_uri),
                ("scope", SCOPE),
                ("code_challenge_method", "S256"),
                ("code_challenge", &challenge),
                ("nonce", &self.state),
                ("state", &self.state),
            ],
        );
        Step::Get(String::from_utf8_lossy(&path).into_owned())
    }

    fn write(&self, step: &Step, out: &mut Vec<u8>) {
        let (target, cookies) = (&self.seed.target, self.cookies.field(step.path()));
        let cookies = (!cookies.is_empty()).then_some(("cookie", &*cookies));
        match step {
            Step::Get(path) => request::get(out, path, &target.authority, cookies.as_slice()),
            Step::Submit(path, form) => {
                let fields: Vec<_> = [FORM].into_iter().chain(cookies).collect();
                request::with_body(out, ("POST", path), &target.authority, &fields, form);
            }
            Step::Redeem(code) => {
                let mut form = Vec::new();
                request::parameters(
                    &mut form,
                    &[
                        ("grant_type", "authorization_code"),
                        ("code", code),
                        ("redirect_uri", &self.seed.client.redirect_uri),
                        ("code_verifier", &self.verifier),
                    ],
                );
                let fields = [FORM, ("authorization", &*self.basic)];
                request::with_body(out, ("POST", &target.endpoints.token), &target.authority, &fields, &form);
            }
        }
    }

    /// Where a reference in the last answer leads: its path and query.
    fn resolve(&self, reference: &str) -> Result<String, Wrong> {
        let reference = Reference::resolve(reference, (&self.seed.target.authority, self.asked.path()))?;
        Ok(reference.path_and_query())
    }

    /// An answer of the browser's part of the way; what follows.
    fn follow(&mut self, response: &Response<'_>) -> Result<Step, Wrong> {
        self.cookies.keep(response, self.asked.path());
        match response.status {
            302 | 303 => {
                let location =
                    response.header("location").ok_or_else(|| Wrong::new("location", "missing"))?;
                if !location.starts_with(&self.seed.client.redirect_uri) {
                    return self.resolve(location).map(Step::Get);
                }
                let answer = read_location(location, &self.seed.client.redirect_uri)?;
                expect_eq("state", answer.state, &self.state)?;
                let issuer = percent_decode_str(answer.iss).decode_utf8_lossy();
                // RFC 9207 2: the issuer in the authorization response.
                expect_eq("iss", &issuer, &self.seed.target.issuer)?;
                expect_new(&self.seed, "code_twice", answer.code)?;
                if !self.submitted {
                    return Err(Wrong::new("no_login", "a code without a login"));
                }
                Ok(Step::Redeem(percent_decode_str(answer.code).decode_utf8_lossy().into_owned()))
            }
            // The same page again, whatever its status, is a refusal; another one asks for more than a password.
            status if self.submitted && matches!(status, 200 | 401 | 403) => {
                let again = LoginForm::find(response.text()).is_some();
                Err(Wrong::new(if again { "login_refused" } else { "page" }, status.to_string()))
            }
            _ => {
                expect_status(response, 200)?;
                self.fill_in(response.text())
            }
        }
    }

    fn fill_in(&mut self, page: &str) -> Result<Step, Wrong> {
        let form = LoginForm::find(page).ok_or_else(|| Wrong::new("page", "no form for a password"))?;
        let path = self.resolve(form.action.as_deref().unwrap_or(""))?;
        let username = self.user().map_or("", |user| &*user.username);
        let mut fields: Vec<(&str, &str)> =
            form.hidden.iter().map(|(name, value)| (&**name, &**value)).collect();
        fields.extend([(&*form.username, username), (&*form.password, self.seed.password.expose())]);
        let mut body = Vec::new();
        request::parameters(&mut body, &fields);
        self.submitted = true;
        Ok(Step::Submit(path, body))
    }

    fn check_login(&self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer = TokenAnswer::read(response)?;
        let id_token = check_tokens(&self.seed, &answer, self.user().map_or("", |user| &*user.id))?;
        // OpenID Connect Core 1.0, 2: the request's nonce, unmodified.
        expect_eq("nonce", id_token.nonce.as_deref().unwrap_or(""), &self.state)?;
        if let (Some(keep), Some(user)) = (&self.keep, self.user()) {
            issued::keep(&self.seed, keep, &answer, &user.id)?;
            let session = self.cookies.value(&self.seed.cookie);
            let session = session.map(|id| Session { id: id.into(), user_id: Arc::clone(&user.id) });
            keep.lock().unwrap_or_else(PoisonError::into_inner).sessions.extend(session);
        }
        Ok(issued::right(&self.seed, &answer))
    }
}

impl Visitor for LoginVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let step = match self.next.take() {
            Some(step) => step,
            None => self.begin(),
        };
        self.write(&step, out);
        self.asked = step;
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        if let Step::Redeem(_) = self.asked {
            return self.check_login(response);
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Wrong::new("circle", format!("no code after {MAX_STEPS} answers")));
        }
        self.next = Some(self.follow(response)?);
        Ok(Right::default())
    }

    fn goes_on(&self) -> bool {
        self.next.is_some()
    }
}
