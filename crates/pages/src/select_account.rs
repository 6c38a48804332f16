//! The page on which a person chooses one of the accounts that are signed in in their browser.

use askama::Template;

use crate::Language;
use crate::page::{is_linkable, is_own_image, page};

/// One account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountChoice {
    /// The value of `account`, which chooses it.
    pub sid: String,
    /// The person's name, where it says more than the name that follows.
    pub name: Option<String>,
    /// The name by which the person signs in.
    pub login_name: String,
    /// Whether it is the one that is in use now.
    pub is_in_use: bool,
}

/// Asks the user for an account (OpenID Connect Core 1.0 section 3.1.2.1, `select_account`; `POST action` with `account` = a
/// `sid`, `other` or `cancel`, and `transaction`, `csrf_token`).
#[derive(Template)]
#[template(path = "select_account.html")]
pub struct SelectAccountPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The name of the client that asks.
    pub client_name: String,
    /// The client's home page; linked only if it is an absolute URL.
    pub client_uri: Option<String>,
    /// The client's logo: a path on this origin, else it is not shown.
    pub client_logo: Option<String>,
    /// The accounts, at least one.
    pub accounts: Vec<AccountChoice>,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
}

impl SelectAccountPage {
    fn client_link(&self) -> Option<&str> {
        self.client_uri.as_deref().filter(|uri| is_linkable(uri))
    }

    fn logo(&self) -> Option<&str> {
        self.client_logo.as_deref().filter(|uri| is_own_image(uri))
    }
}

page!(SelectAccountPage);
