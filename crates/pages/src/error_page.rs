//! The page for an error that must not, or cannot, be redirected to a client.

use askama::Template;

use crate::Language;
use crate::page::{is_linkable, page};

/// Names of parameters that look like plain words.
const PLAIN_PARAMETERS: [&str; 10] =
    ["audience", "claims", "code", "decision", "display", "nonce", "prompt", "resource", "scope", "state"];

/// An error shown to the person in front of the browser (RFC 6749 section 4.1.2.1: an invalid client or redirect URI is
/// reported to the resource owner, and never by a redirect).
#[derive(Template)]
#[template(path = "error.html")]
pub struct ErrorPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name, where the issuer is known.
    pub issuer_name: Option<String>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The error code, such as `invalid_request`.
    pub error: String,
    /// What is wrong, in a sentence.
    pub description: String,
    /// The id by which the request is found in the log; empty if it has none.
    pub request_id: String,
    /// The application that sent the person here, where it is known.
    pub client_name: Option<String>,
    /// Its home page: the way back; linked only if it is a web page or an app's private-use scheme.
    pub client_uri: Option<String>,
    /// Where the application begins its sign-in again (OpenID Connect Core 4): the better way back.
    pub login_uri: Option<String>,
}

impl ErrorPage {
    fn title(&self) -> &'static str {
        let texts = self.t();
        match self.status {
            404 => texts.error_not_found,
            429 | 503 => texts.error_busy,
            500.. => texts.error_server,
            _ => texts.error_request,
        }
    }

    /// What the person can do about it.
    fn hint(&self) -> Option<String> {
        let texts = self.t();
        match (self.status, &self.client_name) {
            (404, _) => None,
            (429 | 503, _) => Some(texts.error_hint_wait.to_owned()),
            (500.., _) => Some(texts.error_hint_server.to_owned()),
            (_, Some(client)) => Some(texts.error_hint_client.with(client)),
            (_, None) => Some(texts.error_hint_request.to_owned()),
        }
    }

    /// Where the application begins again.
    fn again(&self) -> Option<&str> {
        self.login_uri.as_deref().filter(|uri| is_linkable(uri))
    }

    fn link(&self) -> Option<&str> {
        self.client_uri.as_deref().filter(|uri| self.again().is_none() && is_linkable(uri))
    }

    /// Whether the description begins with a word: the name of a parameter is written as it is, also at the beginning.
    fn begins_with_a_word(&self) -> bool {
        let first = self.description.split(' ').next().unwrap_or_default();
        !first.contains(['_', '=']) && !PLAIN_PARAMETERS.contains(&first)
    }

    /// Whether the description only repeats the title.
    fn says_the_title(&self) -> bool {
        self.description.eq_ignore_ascii_case(self.title())
    }
}

page!(ErrorPage);
