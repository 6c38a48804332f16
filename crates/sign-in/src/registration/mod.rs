//! Registration: a person asks for an account, proves the address, and has one.
//!
//! Nothing is stored for who has proven nothing. What was typed waits sealed in the browser; a mail brings a code and a link.
//! An address that has an account gets a mail that says so instead, and the pages say the same in both cases: whether there
//! is an account is looked up when the answer is on its way. The account exists only when the code, or the link in the same
//! browser, came back.

mod account;
mod applicant;
mod apply;
mod confirm;
mod invited;
mod new_password;

use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use symbolon_pages::Notice;
use symbolon_protocol::sign_in::invitation::Invitation;
use symbolon_protocol::sign_in::mailed_code::MailedCode;
use symbolon_protocol::sign_in::registration::Registration;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::ui_locale::UiLocale;

use crate::interaction::{Pending, PendingAuthorization};
use crate::mailed_link::Mailed;
use crate::notice_page::notice;
use crate::onward;
use applicant::Applicant;
use symbolon_app::http::{Call, Failure};

pub(super) use apply::{show, submit};
pub(super) use confirm::{link, show as show_confirm, submit as confirm};
pub(super) use symbolon_app::registration::PATH;

/// The path of the page that waits for the code.
pub(super) const CONFIRM: &str = "/register/confirm";
/// The path of the links in mails.
pub(super) const LINK: &str = "/register/link";

/// A registration, from the first page on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PendingRegistration {
    /// What the person wants to sign in for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization: Option<PendingAuthorization>,
    /// The language of its pages, if an application or the page that led here asked for one (OpenID Connect Core 3.1.2.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ui_locale: Option<UiLocale>,
    /// The invitation that the person came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    invitation: Option<Invitation>,
    /// Who wants the account, once the form was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    applicant: Option<Applicant>,
    /// The code that was mailed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<MailedCode>,
    /// Whether the link was opened in this browser.
    #[serde(default)]
    is_proven: bool,
}

impl Pending for PendingRegistration {
    const PURPOSE: &'static str = "registration";

    fn ui_locales(&self) -> Option<String> {
        self.ui_locale.map(|locale| locale.tag().to_owned())
    }

    fn forget(&mut self, now: Option<Timestamp>) {
        let is_live = |code: &MailedCode| now.is_some_and(|now| code.is_live(now));
        if !self.code.as_ref().is_some_and(is_live) {
            (self.applicant, self.code, self.is_proven) = (None, None, false);
        }
        if let Some(authorization) = &mut self.authorization {
            authorization.forget(now);
        }
    }
}

impl Mailed for PendingRegistration {
    const LINK_PURPOSE: &'static str = "registration link";
    const LINK_PATH: &'static str = LINK;

    fn code(&self) -> Option<&MailedCode> {
        self.code.as_ref()
    }

    fn set_proven(&mut self) {
        self.is_proven = true;
    }

    fn shortened(self) -> Self {
        Self { authorization: None, ..self }
    }
}

/// Whether somebody may register, with or without an invitation.
fn is_open(call: &Call, invitation: Option<&Invitation>) -> bool {
    match call.context.app.registration(&call.context.issuer) {
        Registration::Closed => false,
        Registration::Open => true,
        Registration::Invited => invitation.is_some(),
    }
}

/// The page that says that nobody registers here.
fn closed(call: &Call, wanted: Option<&PendingAuthorization>) -> Result<Response, Failure> {
    let onward = onward::page_with(&call.context, &call.received, wanted, crate::login_page::PATH)?;
    notice((&call.context, call.language()), StatusCode::FORBIDDEN, Notice::RegistrationClosed, onward)
}
