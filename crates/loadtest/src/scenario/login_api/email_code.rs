//! By a code that was sent by e-mail. Nobody reads mail here: the code comes from the provider's test endpoint, as in the
//! reports.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::super::answer::{expect_eq, expect_status};
use super::super::cookies::Jar;
use super::super::{Picker, Wrong};
use super::{JSON, Method, call, origin, read};
use crate::admin;
use crate::client::{Response, request};
use crate::seed::{Seed, User};

/// The cookie that binds a code to the browser, as the reports' scripts name it.
const COOKIE: &str = "authrim_otp_session";

pub(super) struct EmailCode {
    seed: Arc<Seed>,
    origin: String,
    /// The `Authorization` field of the test endpoint.
    authorization: String,
    /// The path of the test endpoint.
    path: String,
    picker: Picker,
    user: usize,
    code: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewCode {
    code: String,
    otp_session_id: String,
    user_id: String,
}

impl EmailCode {
    pub(super) fn new(seed: &Arc<Seed>, index: usize) -> Result<Self, &'static str> {
        let target = &seed.target;
        if seed.users.is_empty() {
            return Err("users with an e-mail address");
        }
        let secret = target.admin_secret.as_ref();
        let secret = secret.ok_or("the admin secret: codes are read at the test endpoint")?;
        if target.admin.authority != target.authority {
            return Err("the admin API on the public listener: codes are read at its test endpoint");
        }
        Ok(Self {
            seed: Arc::clone(seed),
            origin: origin(&target.issuer).ok_or("an issuer that is a URL")?,
            authorization: format!("Bearer {}", secret.expose()),
            path: target.admin.path(admin::TEST_EMAIL_CODES),
            picker: Picker::new(index),
            user: 0,
            code: String::new(),
        })
    }

    fn email(&self) -> &str {
        self.user().map_or("", |user| &*user.username)
    }
}

impl Method for EmailCode {
    const STEPS: [&'static str; 2] = ["email-code", "verify"];
    const PROMPT: Option<&'static str> = Some("none");

    fn begin(&mut self) {
        self.user = self.picker.index(self.seed.users.len());
    }

    fn user(&self) -> Option<&User> {
        self.seed.users.get(self.user)
    }

    fn ask(&self, out: &mut Vec<u8>) {
        let body = json!({ "email": self.email(), "create_user": false }).to_string();
        let fields = [JSON, ("authorization", &*self.authorization)];
        request::with_body(out, ("POST", &self.path), &self.seed.target.authority, &fields, body.as_bytes());
    }

    fn take(&mut self, response: &Response<'_>, cookies: &mut Jar) -> Result<(), Wrong> {
        if response.status != 200 {
            expect_status(response, 201)?;
        }
        let new: NewCode = read(response)?;
        expect_eq("code_user", &new.user_id, self.user().map_or("", |user| &*user.id))?;
        if new.code.len() != 6 || !new.code.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Wrong::new("code_form", format!("{} characters", new.code.len())));
        }
        cookies.add(COOKIE, &new.otp_session_id);
        self.code = new.code;
        Ok(())
    }

    fn answer(&self, cookies: &str, out: &mut Vec<u8>) {
        let body = json!({ "email": self.email(), "code": self.code });
        call(&self.seed, "/api/auth/email-code/verify", (&self.origin, cookies), &body, out);
    }
}
