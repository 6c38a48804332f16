//! The pages of OpenID Connect RP-Initiated Logout 1.0.

use askama::Template;

use crate::Language;
use crate::page::{is_linkable, page};

/// Asks whether the user wants to sign out (RP-Initiated Logout 1.0 section 2: the provider SHOULD ask), by
/// `POST action` with `decision` = `confirm` or `cancel`, `transaction`, `csrf_token`.
#[derive(Template)]
#[template(path = "logout.html")]
pub struct LogoutPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// Who is signed in.
    pub user_name: Option<String>,
    /// The client that asked for the logout, if it is known.
    pub client_name: Option<String>,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
}

/// Says that the user is signed out, if there is no URI to redirect to.
#[derive(Template)]
#[template(path = "logged_out.html")]
pub struct LoggedOutPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// A link back; shown only if it is a web page or an app's private-use scheme.
    pub return_uri: Option<String>,
    /// The client that the link leads to.
    pub client_name: Option<String>,
}

impl LoggedOutPage {
    fn link(&self) -> Option<&str> {
        self.return_uri.as_deref().filter(|uri| is_linkable(uri))
    }
}

page!(LogoutPage, LoggedOutPage);
