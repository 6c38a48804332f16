//! Challenges for passkeys: sealed values that name what they were made for.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use symbolon_crypto::{digest, encoding};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::sign_in::passkey::{CHALLENGE_LIVES, PasskeyRefused, RelyingParty};
use symbolon_protocol::time::Timestamp;

use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::one_use::use_once;

/// The kind of the marks of answered challenges.
const MARK: &str = "passkey";

/// What a challenge was made for.
pub(crate) trait Ceremony: Serialize + DeserializeOwned {
    /// The sealing purpose: a challenge of one kind cannot be answered as another.
    const PURPOSE: &'static str;
    /// How long it may be answered.
    const LIVES: Duration = CHALLENGE_LIVES;

    /// The error for one that cannot be answered, or not any more.
    fn unknown() -> Failure {
        unknown()
    }
}

/// A challenge, opened.
#[derive(Serialize, Deserialize)]
pub(crate) struct Challenge<C> {
    /// The origin of the page that asked for it.
    pub(crate) origin: String,
    begun_at: Timestamp,
    /// What it was made for.
    pub(crate) ceremony: C,
}

impl<C: Ceremony> Challenge<C> {
    /// Makes one for the page at `origin`, as base64url. Its seal has 192 random bits, so no two are alike and none can be
    /// foreseen (WebAuthn 13.4.3).
    ///
    /// # Errors
    /// [`Failure::Internal`]
    pub(crate) fn make(context: &Context, origin: &str, ceremony: C) -> Result<String, Failure> {
        let challenge = Self { origin: origin.to_owned(), begun_at: context.app.now(), ceremony };
        let plain = serde_json::to_vec(&challenge).map_err(|error| Failure::Internal(error.to_string()))?;
        let sealed = context.issuer.interactions.seal(C::PURPOSE, &plain);
        sealed.map_err(|error| Failure::Internal(error.to_string()))
    }

    /// Opens one that was answered by the page at `origin`.
    ///
    /// # Errors
    /// 400: it is not this issuer's, is for something else, too old, or was given to another page.
    pub(crate) fn open(context: &Context, origin: &str, text: &str) -> Result<Self, Failure> {
        let opened = context.issuer.interactions.open(C::PURPOSE, text).map_err(|_| C::unknown())?;
        let challenge: Self = serde_json::from_slice(opened.expose()).map_err(|_| C::unknown())?;
        let is_alive = context.app.now().since(challenge.begun_at) < C::LIVES;
        if is_alive && challenge.origin == origin { Ok(challenge) } else { Err(C::unknown()) }
    }

    /// Uses it up, once the answer is verified: of many that bring the same answer, one goes on.
    ///
    /// # Errors
    /// 400 if it was answered before.
    pub(crate) async fn use_up(&self, call: &mut Call, text: &str) -> Result<(), Failure> {
        let Call { context, durable, .. } = call;
        let name = encoding::encode(&digest::sha256(&[text.as_bytes()]));
        let until = self.begun_at + C::LIVES;
        match use_once((&context.app, &context.issuer), MARK, &name, until).await?.take(durable) {
            true => Ok(()),
            false => Err(C::unknown()),
        }
    }
}

/// 400 `invalid_grant`: what should prove who somebody is does not.
pub(super) fn unproven(reason: Reason, told: &'static str, details: Details) -> Failure {
    OAuthError::invalid_grant(reason, told).about(details).into()
}

/// The error for a challenge that cannot be answered, or not any more.
pub(super) fn unknown() -> Failure {
    let told = "the challenge is unknown, too old or answered already: ask for a new one";
    unproven(Reason::PasskeyChallengeUnknown, told, Details::default())
}

/// The error for an answer that proves nothing.
pub(super) fn refused(why: PasskeyRefused, details: Details) -> Failure {
    unproven(reason_of(why), "the passkey was not accepted", details)
}

/// Why an answer proves nothing, as it is noted.
pub(crate) const fn reason_of(why: PasskeyRefused) -> Reason {
    match why {
        PasskeyRefused::OtherChallenge => Reason::PasskeyChallengeUnknown,
        PasskeyRefused::NotVerified => Reason::PasskeyNotVerified,
        PasskeyRefused::CounterWentBack => Reason::PasskeyCounterWentBack,
        PasskeyRefused::Malformed | PasskeyRefused::OtherOrigin | PasskeyRefused::Wrong => {
            Reason::PasskeyWrong
        }
    }
}

/// The issuer as a relying party, for a page at `origin`.
///
/// # Errors
/// [`Failure::Internal`]: the issuer's URL has no host.
pub(crate) fn relying_party(context: &Context, origin: &str) -> Result<RelyingParty, Failure> {
    let issuer = &context.issuer;
    RelyingParty::new(&issuer.url, &issuer.display_name(), origin)
        .ok_or_else(|| Failure::Internal("the issuer's URL has no host for passkeys".to_owned()))
}
