//! The page that asks for a code that was sent by e-mail.

use askama::Template;

use crate::language::Phrase;
use crate::page::page;
use crate::sign_in::wait;
use crate::{Language, Texts};

/// Why the last code was not accepted, or no other one was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailCodeError {
    /// It is not the code that was sent.
    Wrong,
    /// The code can no longer be used: too old, tried too often, used, or sent to another browser.
    Spent,
    /// One was sent a moment ago.
    TooSoon {
        /// Seconds until the next one is sent.
        retry_after_seconds: u64,
    },
    /// Too many were sent or tried.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
}

impl EmailCodeError {
    fn text(&self, texts: &Texts) -> String {
        match *self {
            Self::Wrong => texts.email_code_wrong.into(),
            Self::Spent => texts.email_code_spent.into(),
            Self::TooSoon { retry_after_seconds } => {
                texts.email_code_too_soon.with(&wait(retry_after_seconds, texts))
            }
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(retry_after_seconds, texts))
            }
        }
    }
}

/// Asks for a code (`POST action` with `code`, or with `send`, or with `cancel`; `transaction`, `csrf_token`).
#[derive(Template)]
#[template(path = "email_code.html")]
pub struct EmailCodePage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The name of the client that asked for the sign-in.
    pub client_name: String,
    /// What was typed as name or address.
    pub typed: String,
    /// Whether the mail has a link alone, and another browser shows the code.
    pub is_link: bool,
    /// How long a code is valid, in minutes.
    pub minutes: u64,
    /// Where the forms are posted.
    pub action: String,
    /// The login page, with this interaction.
    pub other_way: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// Why the last code was not accepted.
    pub error: Option<EmailCodeError>,
}

impl EmailCodePage {
    /// Whether there is no code that could be typed.
    fn is_spent(&self) -> bool {
        self.error == Some(EmailCodeError::Spent)
    }

    fn sent(&self) -> &'static Phrase {
        if self.is_link { &self.t().magic_link_sent } else { &self.t().email_code_sent }
    }

    fn wait_minutes(&self) -> String {
        wait(self.minutes * 60, self.t())
    }

    fn is_wrong(&self) -> bool {
        self.error == Some(EmailCodeError::Wrong)
    }
}

page!(EmailCodePage);
