//! The account page of a person's sessions.

use askama::Template;

use super::{AccountFrame, Moment};
use crate::page::page;
use crate::{Language, Texts};

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    /// The value of `end`, which ends it.
    pub sid: String,
    /// Whether it is this browser's.
    pub is_this: bool,
    /// The kinds of browser and system in which it began, if they are known.
    pub device: Option<String>,
    /// The address that it began from, if that is known.
    pub address: Option<String>,
    /// The place that the address belongs to, if that is known.
    pub place: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub begun: u64,
    /// When the person last proved who they are, in milliseconds since 1970.
    pub signed_in: u64,
    /// When it was last used, in milliseconds since 1970.
    pub used: u64,
    /// The authentication methods (RFC 8176).
    pub methods: Vec<&'static str>,
}

impl SessionView {
    fn begun(&self) -> Moment {
        Moment::of(self.begun)
    }

    fn signed_in_again(&self) -> Option<Moment> {
        (self.signed_in / 60_000 != self.begun / 60_000).then(|| Moment::of(self.signed_in))
    }

    fn used(&self) -> Moment {
        Moment::of(self.used)
    }

    fn methods(&self, texts: &Texts) -> String {
        let word = |method: &&'static str| match *method {
            "pwd" => texts.method_pwd,
            "otp" => texts.method_otp,
            "hwk" => texts.method_hwk,
            "swk" => texts.method_swk,
            "mfa" => texts.method_mfa,
            "admin_api" => texts.method_admin_api,
            other => other,
        };
        self.methods.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

/// Lists sessions and ends them (`POST` with `end` = a `sid`, or `end_others`; `csrf_token`).
#[derive(Template)]
#[template(path = "account/sessions.html")]
pub struct SessionsPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The newest sessions.
    pub sessions: Vec<SessionView>,
    /// How many there are in all.
    pub total: u64,
    /// Whether the person is told by mail of sign-ins in browsers that nobody knows.
    pub is_told: bool,
}

impl SessionsPage {
    fn has_others(&self) -> bool {
        self.sessions.iter().any(|session| !session.is_this)
    }

    fn more(&self) -> Option<String> {
        (self.total > self.sessions.len() as u64)
            .then(|| self.t().sessions_more.with(&self.total.to_string()))
    }
}

page!(SessionsPage);
