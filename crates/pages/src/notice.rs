//! Pages that say one thing, and lead on.

use askama::Template;

use crate::page::page;
use crate::{Language, Texts};

/// What the page says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Nobody opens an account here.
    RegistrationClosed,
    /// An invitation was used or withdrawn, or its time is over.
    InvitationOver,
    /// The address has an account already.
    AccountExists,
    /// A link works no longer.
    LinkOver,
    /// A link was opened in another browser than the one that asked for it.
    OtherBrowser {
        /// The code to type there; without it, it is in the mail.
        code: Option<String>,
    },
    /// If there is an account, a link for a new password is on its way.
    RecoverySent,
    /// The password was changed.
    PasswordReset,
    /// The address was proven.
    EmailProven,
    /// A device was allowed what it asked for, and goes on by itself.
    DeviceAllowed,
    /// A device was refused.
    DeviceDenied,
}

/// Says one thing, with a link onward.
#[derive(Template)]
#[template(path = "notice.html")]
pub struct NoticePage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What it says.
    pub notice: Notice,
    /// Where the link leads: a path of this origin. Without one there is no link.
    pub onward: Option<String>,
}

impl Notice {
    fn title(&self, texts: &'static Texts) -> &'static str {
        match self {
            Self::RegistrationClosed => texts.registration_closed_title,
            Self::InvitationOver => texts.invitation_over_title,
            Self::AccountExists => texts.account_exists_title,
            Self::LinkOver => texts.link_over_title,
            Self::OtherBrowser { .. } => texts.other_browser_title,
            Self::RecoverySent => texts.look_at_mail_title,
            Self::PasswordReset => texts.password_reset_title,
            Self::EmailProven => texts.email_proven_title,
            Self::DeviceAllowed => texts.device_allowed_title,
            Self::DeviceDenied => texts.device_denied_title,
        }
    }

    fn text(&self, texts: &'static Texts) -> &'static str {
        match self {
            Self::RegistrationClosed => texts.registration_closed_text,
            Self::InvitationOver => texts.invitation_over_text,
            Self::AccountExists => texts.account_exists_text,
            Self::LinkOver => texts.link_over_text,
            Self::OtherBrowser { code: Some(_) } => texts.other_browser_code,
            Self::OtherBrowser { code: None } => texts.other_browser_text,
            Self::RecoverySent => texts.recovery_sent_text,
            Self::PasswordReset => texts.password_reset_text,
            Self::EmailProven => texts.email_proven_text,
            Self::DeviceAllowed => texts.device_allowed_text,
            Self::DeviceDenied => texts.device_denied_text,
        }
    }

    fn onward(&self, texts: &'static Texts) -> &'static str {
        match self {
            Self::LinkOver | Self::InvitationOver => texts.begin_again,
            Self::EmailProven | Self::OtherBrowser { .. } => texts.notice_continue,
            _ => texts.sign_in,
        }
    }
}

impl NoticePage {
    fn code(&self) -> Option<&str> {
        match &self.notice {
            Notice::OtherBrowser { code } => code.as_deref(),
            _ => None,
        }
    }
}

page!(NoticePage);
