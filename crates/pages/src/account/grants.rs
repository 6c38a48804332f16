//! The account page of the applications that use a person's account.

use askama::Template;

use super::{AccountFrame, Moment};
use crate::page::{is_linkable, is_own_image, page};
use crate::{Language, ScopeView};

/// One application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationView {
    /// The value of `end`, which ends its access.
    pub client_id: String,
    /// Its name.
    pub name: String,
    /// The host by which it is known, where nobody registered it and its name is its own choice.
    pub host: Option<String>,
    /// Its logo: a path on this origin, else it is not shown.
    pub logo: Option<String>,
    /// Where it is opened; linked only if it is a web page.
    pub opens_at: Option<String>,
    /// What it may do; empty if the person only signed in there.
    pub scopes: Vec<ScopeView>,
    /// Since when, in milliseconds since 1970.
    pub since: Option<u64>,
    /// When it last used a refresh token, in milliseconds since 1970.
    pub used: Option<u64>,
    /// Whether it keeps its access after the sessions.
    pub offline: bool,
}

impl ApplicationView {
    fn logo(&self) -> Option<&str> {
        self.logo.as_deref().filter(|path| is_own_image(path))
    }

    fn opens_at(&self) -> Option<&str> {
        self.opens_at.as_deref().filter(|uri| is_linkable(uri))
    }

    fn since(&self) -> Option<Moment> {
        self.since.map(Moment::of)
    }

    fn used(&self) -> Option<Moment> {
        self.used.map(Moment::of)
    }
}

/// Lists applications and ends their access (`POST` with `end` = a client id, or `end_all`; `csrf_token`).
#[derive(Template)]
#[template(path = "account/applications.html")]
pub struct ApplicationsPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The applications.
    pub applications: Vec<ApplicationView>,
}

page!(ApplicationsPage);
