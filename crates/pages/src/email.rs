//! The page on which a person proves or changes the address of their account.

use askama::Template;

use crate::page::page;
use crate::sign_in::wait;
use crate::{Language, Texts};

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailError {
    /// The address is none.
    Email,
    /// Too many mails were asked for.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
    /// The page was out of date.
    Expired,
}

impl EmailError {
    fn text(self, texts: &'static Texts) -> String {
        match self {
            Self::Email => texts.register_email_wrong.into(),
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(retry_after_seconds, texts))
            }
            Self::Expired => texts.form_expired.into(),
        }
    }
}

/// Shows the address, and asks for another one or for a mail that proves it (`POST action` with `email`, `csrf_token`).
#[derive(Template)]
#[template(path = "email.html")]
pub struct EmailPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The present address.
    pub email: Option<String>,
    /// Whether it is proven.
    pub is_verified: bool,
    /// Where the forms are posted.
    pub action: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// Back to the account.
    pub back_uri: String,
    /// Why the last attempt failed.
    pub error: Option<EmailError>,
}

page!(EmailPage);
