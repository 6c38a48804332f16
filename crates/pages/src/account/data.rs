//! The account page on which a person takes a copy of their data, or deletes the account.

use askama::Template;

use super::AccountFrame;
use crate::Language;
use crate::page::page;

/// Links the export, and deletes the account (`POST` with `confirm`, `password`, `csrf_token`).
#[derive(Template)]
#[template(path = "account/data.html")]
pub struct AccountDataPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// Where the export is.
    pub export: String,
    /// Whether the person may delete the account.
    pub may_delete: bool,
    /// Whether the password is asked for.
    pub asks_password: bool,
    /// The name by which the person signs in, for password managers.
    pub login_name: String,
}

/// Says that the account is deleted.
#[derive(Template)]
#[template(path = "account/deleted.html")]
pub struct AccountDeletedPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
}

page!(AccountDataPage, AccountDeletedPage);
