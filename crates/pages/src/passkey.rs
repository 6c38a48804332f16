//! What pages ask of the browser for a passkey, and the page that offers to create one.

use askama::Template;

use crate::Language;
use crate::page::page;

/// What a page asks of the browser's passkeys. The answer is posted in the field `credential`.
pub struct PasskeyPrompt {
    /// Where the form is posted.
    pub action: String,
    /// The options for `navigator.credentials` in JSON (WebAuthn 5.1.8, 5.1.9).
    pub options: String,
    /// The id of a credential that was brought and that nobody has (WebAuthn 5.1.10.2).
    pub unknown: Option<String>,
}

/// Offers to create a passkey (`POST action` with `credential`, or with `later`; `transaction`, `csrf_token`).
#[derive(Template)]
#[template(path = "passkey_offer.html")]
pub struct PasskeyOfferPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What is asked of the browser.
    pub passkey: PasskeyPrompt,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// Whether the last attempt failed.
    pub has_failed: bool,
}

page!(PasskeyOfferPage);
