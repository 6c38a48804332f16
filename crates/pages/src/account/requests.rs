//! The account page of what applications ask the person to allow while they wait elsewhere (CIBA Core 1.0).

use askama::Template;

use super::{AccountFrame, Moment};
use crate::page::{is_own_image, page};
use crate::{DetailView, Language, ScopeView};

/// One request.
pub struct RequestView {
    /// The hidden field `request`.
    pub id: String,
    /// The application's name.
    pub client_name: String,
    /// Its logo: a path on this origin, else it is not shown.
    pub client_logo: Option<String>,
    /// What the application shows the person too.
    pub message: Option<String>,
    /// What it asks for.
    pub scopes: Vec<ScopeView>,
    /// What it asks for in detail.
    pub details: Vec<DetailView>,
    /// When it asked, in milliseconds since 1970.
    pub asked: u64,
    /// When the request ends, in milliseconds since 1970.
    pub ends: u64,
}

impl RequestView {
    fn logo(&self) -> Option<&str> {
        self.client_logo.as_deref().filter(|path| is_own_image(path))
    }

    fn asked(&self) -> Moment {
        Moment::of(self.asked)
    }

    fn ends(&self) -> Moment {
        Moment::of(self.ends)
    }
}

/// Lists requests; each is allowed or refused (`POST` with `request`, `decision` = `allow` or `deny`, `csrf_token`).
#[derive(Template)]
#[template(path = "account/requests.html")]
pub struct RequestsPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The requests.
    pub requests: Vec<RequestView>,
}

page!(RequestsPage);
