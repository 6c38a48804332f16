//! The pages on which a forgotten password is replaced.

use askama::Template;

use crate::page::page;
use crate::sign_in::wait;
use crate::{Language, PasswordFault, Texts};

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryError {
    /// No name was typed.
    Name,
    /// The password was not taken.
    Password(PasswordFault),
    /// The second factor is not right.
    Code,
    /// Too many attempts, or mails.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
    /// The server has too many passwords to check at the moment.
    Busy,
    /// The page was out of date.
    Expired,
}

impl RecoveryError {
    fn text(self, texts: &'static Texts) -> String {
        match self {
            Self::Name => texts.forgot_name.into(),
            Self::Password(fault) => fault.text(texts),
            Self::Code => texts.second_factor_wrong.into(),
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(retry_after_seconds, texts))
            }
            Self::Busy => texts.login_busy.into(),
            Self::Expired => texts.form_expired.into(),
        }
    }
}

/// Asks whose password is forgotten (`POST action` with `username`, `transaction`, `csrf_token`).
#[derive(Template)]
#[template(path = "forgot_password.html")]
pub struct ForgotPasswordPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// What was typed.
    pub username: String,
    /// Where who remembers goes.
    pub sign_in_uri: Option<String>,
    /// Why the last attempt failed.
    pub error: Option<RecoveryError>,
}

/// Asks for a new password (`POST action` with `password`, `code` if it is asked for, `link`, `csrf_token`).
#[derive(Template)]
#[template(path = "reset_password.html")]
pub struct ResetPasswordPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// Whose password it is.
    pub user_name: String,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `link`.
    pub link: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// Whether a second factor is asked for.
    pub asks_code: bool,
    /// Why the last attempt failed.
    pub error: Option<RecoveryError>,
}

impl ResetPasswordPage {
    fn is_password_wrong(&self) -> bool {
        matches!(self.error, Some(RecoveryError::Password(_)))
    }

    fn is_code_wrong(&self) -> bool {
        self.error == Some(RecoveryError::Code)
    }
}

page!(ForgotPasswordPage, ResetPasswordPage);
