//! A forgotten password: a link to the account's address, and a new password behind it.
//!
//! Whoever asks is told the same, whether there is such an account or not: it is looked up when the answer is on its way. The
//! link works in any browser, and shows whose password it sets. It proves the mailbox only: a second factor is asked for
//! where one is enrolled. A new password ends every session and grant of the account.

mod ask;
mod reset;

use serde::{Deserialize, Serialize};
use symbolon_protocol::sign_in::recovery::RecoveryLink;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::ui_locale::UiLocale;

use crate::interaction::{Pending, PendingAuthorization};
use symbolon_app::issuer::IssuerState;

pub(super) use ask::{show, submit};
pub(super) use reset::{show as show_reset, submit as reset};

/// The path of the page that asks whose password is forgotten.
pub(super) use crate::login_page::FORGOT_PASSWORD as PATH;
/// The path of the links in mails.
pub(super) const RESET: &str = "/reset-password";

/// The sealing purpose of links.
const LINK: &str = "recovery link";

/// Somebody who has forgotten the password.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PendingRecovery {
    /// What the person wants to sign in for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization: Option<PendingAuthorization>,
    /// The language of its pages, if an application or the page that led here asked for one (OpenID Connect Core 3.1.2.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ui_locale: Option<UiLocale>,
}

impl Pending for PendingRecovery {
    const PURPOSE: &'static str = "recovery";

    fn ui_locales(&self) -> Option<String> {
        self.ui_locale.map(|locale| locale.tag().to_owned())
    }

    fn forget(&mut self, now: Option<Timestamp>) {
        if let Some(authorization) = &mut self.authorization {
            authorization.forget(now);
        }
    }
}

/// What is sealed into a link.
#[derive(Serialize, Deserialize)]
struct SealedLink {
    link: RecoveryLink,
    /// What the person wants to sign in for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization: Option<PendingAuthorization>,
}

impl SealedLink {
    fn seal(&self, issuer: &IssuerState) -> Option<String> {
        issuer.interactions.seal(LINK, &serde_json::to_vec(self).ok()?).ok()
    }

    /// Opens the text of a link; `None` if this issuer has not sealed it for this purpose.
    fn open(issuer: &IssuerState, sealed: &str) -> Option<Self> {
        serde_json::from_slice(issuer.interactions.open(LINK, sealed).ok()?.expose()).ok()
    }
}
