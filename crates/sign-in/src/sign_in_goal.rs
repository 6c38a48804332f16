//! What somebody signs in for: an application's authorization request, or a page of their own account.
//!
//! Both go through the same pages, methods and rules. So signing in without a client is no way around a second factor.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_pages::AccountPlace;
use symbolon_protocol::device_authorization::UserCode;
use symbolon_protocol::discovery::path;
use symbolon_protocol::session::Session;
use symbolon_protocol::sign_in::is_enough;
use symbolon_protocol::time::Timestamp;

use crate::second_factor_policy;
use symbolon_app::http::{Context, Failure};

/// How long ago a person may have proved who they are, for what changes credentials or ends something.
const FRESH: Duration = Duration::from_secs(600);

/// What somebody signs in for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SignInGoal {
    /// An application's authorization request, form-encoded.
    Request(String),
    /// A page of the account.
    Account(AccountGoal),
}

/// An account page, or the page for devices, that waits for its person to sign in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AccountGoal {
    /// The path of the page.
    to: String,
    /// How recently the person must have signed in.
    freshness: Freshness,
    /// The value that prefills the login form: who is signed in already, but too long ago.
    pub(super) login_hint: Option<String>,
    /// The code that was typed on the page for devices. Not in what earlier versions sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_code: Option<String>,
}

impl AccountGoal {
    /// The way to a page.
    pub(super) fn new(place: AccountPlace, freshness: Freshness, login_hint: Option<String>) -> Self {
        Self { to: place.path().to_owned(), freshness, login_hint, user_code: None }
    }

    /// The way to the page on which devices are allowed what they ask for, with the code of one.
    pub(super) fn device(
        user_code: Option<&UserCode>,
        freshness: Freshness,
        login_hint: Option<String>,
    ) -> Self {
        let user_code = user_code.map(UserCode::shown);
        Self { to: path::DEVICE.to_owned(), freshness, login_hint, user_code }
    }

    /// The address of the page that the person wants, below the issuer. Only pages of ours are led to, whatever was sealed by another
    /// version.
    pub(super) fn address(&self) -> String {
        if self.to == path::DEVICE {
            // A code that was sealed by another version might be any text.
            let code = self.user_code.as_deref().and_then(UserCode::parse);
            let query = code.map(|code| format!("?user_code={}", code.shown())).unwrap_or_default();
            return format!("{}{query}", path::DEVICE);
        }
        let named = AccountPlace::ALL.into_iter().find(|place| place.path() == self.to);
        named.unwrap_or(AccountPlace::Overview).path().to_owned()
    }

    /// How recently the person must have signed in.
    pub(super) const fn freshness(&self) -> Freshness {
        self.freshness
    }
}

/// How recently, and by how much, a person must have proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Freshness {
    /// In this session, however long ago; with two factors where the issuer requires them.
    Any,
    /// At the issuer's pages or login API, at most [`FRESH`] ago, and with two factors too where the person has enrolled
    /// a second one: for what changes credentials or ends something.
    Fresh,
}

impl Freshness {
    /// Whether a session is enough.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn is_met(self, context: &Context, session: &Session) -> Result<bool, Failure> {
        let Context { app, issuer, .. } = context;
        let policy = second_factor_policy::policy(context, None, &session.user).await?;
        if self == Self::Any {
            return Ok(is_enough(session.amr, policy, &Default::default()));
        }
        if !session.is_sign_in() || !is_recent(session, app.now()) {
            return Ok(false);
        }
        let enrolled = app.store.authenticators(&issuer.id, &session.user).await?;
        Ok(is_enough(session.amr, policy, &enrolled.set))
    }
}

fn is_recent(session: &Session, now: Timestamp) -> bool {
    now.since(session.auth_time) <= FRESH
}
