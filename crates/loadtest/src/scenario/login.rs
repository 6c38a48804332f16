//! A full login by password, as one visit: `GET /authorize` in a browser without cookies, the login page, its form
//! with the CSRF token, back to the authorization endpoint, the code, `POST /token`. The whole of it counts as one
//! request, and its latency is that of the whole.

use std::sync::Arc;

use super::answer::expect_status;
use super::authorization::{Authorization, location};
use super::cookies::Jar;
use super::issued::Keep;
use super::page::LoginForm;
use super::redirect::Reference;
use super::{Next, Picker, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, Seed, User};

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
    authorization: Authorization,
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
            authorization: Authorization::default(),
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
        self.authorization = Authorization::draw();
        Step::Get(self.authorization.request(&self.seed, None))
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
            Step::Redeem(code) => self.authorization.redeem((&self.seed, &self.basic), code, out),
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
                let location = location(response)?;
                if !location.starts_with(&self.seed.client.redirect_uri) {
                    return self.resolve(location).map(Step::Get);
                }
                let code = self.authorization.code(&self.seed, location)?;
                if !self.submitted {
                    return Err(Wrong::new("no_login", "a code without a login"));
                }
                Ok(Step::Redeem(code))
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
        let Some(user) = self.user() else { return Ok(Right::default()) };
        let keep = self.keep.as_ref().map(|keep| (keep, &self.cookies));
        self.authorization.check(&self.seed, response, user, keep)
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

    fn step(&self) -> &'static str {
        match self.asked {
            Step::Get(_) if self.steps == 0 => "authorize",
            Step::Get(_) if self.submitted => "code",
            Step::Get(_) => "page",
            Step::Submit(..) => "password",
            Step::Redeem(_) => "token",
        }
    }
}
