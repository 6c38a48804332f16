//! The page that waits for a code or a link that was sent by mail.

use askama::Template;

use crate::language::Phrase;
use crate::page::page;
use crate::sign_in::wait;
use crate::{Language, NewPassword, PasswordFault, Texts};

/// What the code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailedCodeGoal {
    /// Opening an account.
    Registration,
    /// Proving the address of an account.
    Email,
    /// Signing in by a link.
    MagicLink,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailedCodeError {
    /// It is another code.
    Wrong,
    /// The code was tried too often, was used, or its time is over.
    UsedUp,
    /// The password was not taken.
    Password(PasswordFault),
    /// Too many attempts.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
    /// The server has too many passwords to check at the moment.
    Busy,
    /// The page was out of date.
    Expired,
}

impl MailedCodeError {
    fn text(self, texts: &'static Texts) -> String {
        match self {
            Self::Wrong => texts.mailed_code_wrong.into(),
            Self::UsedUp => texts.mailed_code_used_up.into(),
            Self::Password(fault) => fault.text(texts),
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(retry_after_seconds, texts))
            }
            Self::Busy => texts.login_busy.into(),
            Self::Expired => texts.form_expired.into(),
        }
    }
}

/// Waits for a code, or after a link for a click (`POST action` with `code`, `password`, `transaction`, `csrf_token`).
#[derive(Template)]
#[template(path = "mailed_code.html")]
pub struct MailedCodePage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What it is for.
    pub goal: MailedCodeGoal,
    /// The address that the mail was sent to.
    pub email: String,
    /// Whether the link was opened in this browser, so that no code is asked for.
    pub is_proven: bool,
    /// The code that the form brings, of a link that was opened in this browser.
    pub code: Option<String>,
    /// Whether a password is chosen here.
    pub new_password: NewPassword,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// Where who has no mail begins again.
    pub again_uri: String,
    /// Why the last attempt failed.
    pub error: Option<MailedCodeError>,
}

impl MailedCodePage {
    fn title(&self) -> &'static str {
        match (self.is_proven, self.goal) {
            (false, _) => self.t().look_at_mail_title,
            (true, MailedCodeGoal::Registration) => self.t().register_title,
            (true, MailedCodeGoal::Email) => self.t().email_confirm_title,
            (true, MailedCodeGoal::MagicLink) => self.t().login_title,
        }
    }

    fn lead(&self) -> &'static Phrase {
        match (self.is_proven, self.goal) {
            (true, _) => &self.t().mailed_code_proven,
            (false, MailedCodeGoal::MagicLink) => &self.t().magic_link_sent,
            (false, _) => &self.t().mailed_code_sent,
        }
    }

    fn button(&self) -> &'static str {
        match self.goal {
            MailedCodeGoal::Registration => self.t().register_create,
            MailedCodeGoal::Email => self.t().second_factor_confirm,
            MailedCodeGoal::MagicLink => self.t().sign_in,
        }
    }

    fn is_code_wrong(&self) -> bool {
        self.error == Some(MailedCodeError::Wrong)
    }

    fn is_password_wrong(&self) -> bool {
        matches!(self.error, Some(MailedCodeError::Password(_)))
    }
}

page!(MailedCodePage);
