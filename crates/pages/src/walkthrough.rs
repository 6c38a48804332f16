//! The walk-through of development mode: a relying party in the browser that explains what it does.

use askama::Template;

use crate::Language;
use crate::page::page;

/// A relying party that signs in by authorization code and PKCE against the running provider, and shows every
/// request and answer. Serve it at `/` and at `/callback`, on the issuer's origin and on the other site.
///
/// It is a developer's page and speaks English only. Elements have stable ids, and `document.body.dataset.state`
/// is `signed-out`, `signing-in`, `signed-in` or `error`, for tests in a browser.
#[derive(Template)]
#[template(path = "walkthrough.html")]
pub struct WalkThroughPage {
    /// The language of the page's frame.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The issuer identifier; discovery is fetched from it, across origins where the page is on the other site.
    pub issuer: String,
    /// The public client, whose redirect URIs are `/callback` and `/callback/silent` on both origins and whose
    /// post-logout redirect URIs are `/` on both.
    pub client_id: String,
    /// The scopes to ask for, separated by spaces.
    pub scope: String,
    /// The origin of the same page as another site, such as `http://127.0.0.1:8080`.
    pub other_site: String,
    /// The path on the page's own origin that exchanges a token (`POST`, `subject_token` in a form).
    pub exchange_path: String,
    /// The demo user's name.
    pub demo_username: String,
    /// The demo user's password, shown on the page.
    pub demo_password: String,
}

/// The answer of a silent renewal in its hidden frame: it passes its query to the embedding page. Serve it at
/// `/callback/silent`.
#[derive(Template)]
#[template(path = "silent_callback.html")]
pub struct SilentCallbackPage {
    /// The language of the page.
    pub language: Language,
}

page!(WalkThroughPage, SilentCallbackPage);
