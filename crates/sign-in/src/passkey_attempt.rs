//! Checking the answer of a passkey (WebAuthn Level 3, 7.2): for the login API, and on the pages.
//!
//! A challenge of a page names the page's interaction, which is bound to the browser. So an answer that was made elsewhere, or
//! for a page of somebody else, signs nobody in here.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_app::http::csrf::INTERACTION_LIVES;
use symbolon_app::http::{Call, Context, Failure};
use symbolon_pages::PasskeyPrompt;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::sign_in::passkey::{Assertion, PasskeyRefused, RelyingParty};
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::{AuthenticatorUpdate, Enrolled};

use crate::email_code_attempt::known_owner;
use crate::interaction::{Interaction, Pending, address};
use crate::passkey_challenge::{
    Ceremony, Challenge, refused, relying_party, unknown as unknown_challenge, unproven,
};

/// Signing in on a page.
#[derive(Serialize, Deserialize)]
struct OnPage {
    /// The page's interaction.
    interaction: String,
}

impl Ceremony for OnPage {
    const PURPOSE: &'static str = "passkey on a page";
    // A person looks at the page meanwhile.
    const LIVES: Duration = INTERACTION_LIVES;
}

/// What a page asks of the browser. `path`: where the answer goes. `unknown`: the id of a credential that was brought, and
/// that nobody has.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn prompt<P: Pending>(
    context: &Context,
    interaction: &Interaction<P>,
    (path, sealed): (&str, &str),
    unknown: Option<String>,
) -> Result<PasskeyPrompt, Failure> {
    let origin = context.issuer.origin();
    let asked = OnPage { interaction: interaction.id().to_owned() };
    let challenge = Challenge::make(context, origin, asked)?;
    let options = relying_party(context, origin)?.request_options(&[], &challenge).to_string();
    Ok(PasskeyPrompt { action: address(context, path, sealed), options, unknown })
}

/// A passkey that was proven.
pub(super) struct ProvenPasskey {
    /// Whose it is.
    pub(super) user: Arc<User>,
    /// The credential's id, base64url.
    pub(super) credential: String,
    /// Whether it is copied between devices.
    pub(super) is_synced: bool,
    /// What its user has enrolled.
    pub(super) enrolled: AuthenticatorSet,
}

/// Why an answer on a page proves nothing.
pub(super) struct RefusedOnPage {
    /// What is not told.
    pub(super) failure: Failure,
    /// The id of the credential, if nobody has it.
    pub(super) unknown: Option<String>,
}

/// Verifies the answer to the challenge of a page, and uses the challenge up.
///
/// # Errors
/// [`RefusedOnPage`], whose failure is [`Failure::OAuth`] if the answer proves nothing.
pub(super) async fn prove<P: Pending>(
    call: &mut Call,
    interaction: &Interaction<P>,
    text: &str,
) -> Result<ProvenPasskey, RefusedOnPage> {
    let plainly = |failure| RefusedOnPage { failure, unknown: None };
    let malformed = |_| plainly(refused(PasskeyRefused::Malformed, Details::default()));
    let answer = serde_json::from_str(text).map_err(malformed)?;
    let malformed = |why| plainly(refused(why, Details::default()));
    let answer = Assertion::parse(answer).map_err(malformed)?;
    let challenge = answer.challenge().map_err(malformed)?;
    prove_answer(call, interaction.form_id(), &answer, &challenge).await.map_err(|failure| {
        let is_unknown = matches!(&failure, Failure::OAuth(error) if error.reason == Reason::PasskeyUnknown);
        RefusedOnPage { failure, unknown: is_unknown.then(|| answer.credential_id()) }
    })
}

async fn prove_answer(
    call: &mut Call,
    interaction: &str,
    answer: &Assertion,
    text: &str,
) -> Result<ProvenPasskey, Failure> {
    let context = call.context.clone();
    let challenge = Challenge::<OnPage>::open(&context, context.issuer.origin(), text)?;
    if challenge.ceremony.interaction != interaction {
        return Err(unknown_challenge());
    }
    let user = owner(&context, answer, None).await?.ok_or_else(|| unknown(Details::default()))?;
    prove_by(call, (&challenge, text), answer, user).await
}

/// Verifies an answer to a challenge by the passkeys of the user whom it names, and uses the challenge up.
///
/// # Errors
/// 400 if the answer proves nothing, or the challenge was answered before.
pub(super) async fn prove_by<C: Ceremony>(
    call: &mut Call,
    (challenge, text): (&Challenge<C>, &str),
    answer: &Assertion,
    user: Arc<User>,
) -> Result<ProvenPasskey, Failure> {
    let context = call.context.clone();
    let party = relying_party(&context, &challenge.origin)?;
    let attempt = Attempt { context: &context, party, answer, challenge: text, user: &user };
    let verified = attempt.check().await?;
    call.must_complete();
    challenge.use_up(call, text).await?;
    let Verified { is_synced, enrolled, .. } = attempt.note(verified).await?;
    Ok(ProvenPasskey { credential: answer.credential_id(), is_synced, enrolled: enrolled.set, user })
}

impl ProvenPasskey {
    /// Whether the user may still sign in, and has the passkey.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn is_still(&self, context: &Context) -> Result<bool, Failure> {
        let Context { app, issuer, .. } = context;
        let enrolled = app.store.authenticators(&issuer.id, &self.user.id).await?.set;
        let has_it = enrolled.passkeys.iter().any(|own| own.id == self.credential);
        Ok(has_it && app.store.user(&issuer.id, &self.user.id).await?.is_some_and(|user| user.may_sign_in()))
    }
}

/// The user whom the answer names (WebAuthn 7.2, step 6), who is the one whose address was typed, if one was.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn owner(
    context: &Context,
    answer: &Assertion,
    typed: Option<&str>,
) -> Result<Option<Arc<User>>, Failure> {
    let Context { app, issuer, .. } = context;
    let named = answer.user();
    if let (Some(email), Some(named)) = (typed, &named)
        && let Some(user) = known_owner(context, named, email).await?
    {
        return Ok(Some(user));
    }
    let user = match (typed, &named) {
        (Some(email), _) => app.store.user_by_login(&issuer.id, email).await?.map(|(user, _)| user),
        (None, Some(named)) => app.store.user(&issuer.id, named).await?,
        (None, None) => None,
    };
    let is_named = |user: &Arc<User>| named.as_ref().is_none_or(|named| *named == user.id);
    Ok(user.filter(|user| is_named(user) && user.may_sign_in()))
}

/// The error for a passkey that nobody has.
pub(super) fn unknown(details: Details) -> Failure {
    unproven(Reason::PasskeyUnknown, "the passkey was not accepted", details)
}

/// An answer to a challenge, and the user whom it is for.
struct Attempt<'a> {
    context: &'a Context,
    party: RelyingParty,
    answer: &'a Assertion,
    challenge: &'a str,
    user: &'a User,
}

/// A verified answer.
struct Verified {
    /// Whether the passkey is copied between devices.
    is_synced: bool,
    /// What the user has enrolled, with the passkey as it is to be kept.
    enrolled: Enrolled,
    /// Whether it has to be written.
    has_changed: bool,
}

impl Attempt<'_> {
    /// Verifies the answer by what is enrolled now.
    ///
    /// # Errors
    /// 400 if it proves nothing.
    async fn check(&self) -> Result<Verified, Failure> {
        let Context { app, issuer, .. } = self.context;
        let mut enrolled = app.store.authenticators(&issuer.id, &self.user.id).await?;
        let (id, now) = (self.answer.credential_id(), app.now());
        let details = || Details::of_user(&self.user.id);
        let own = enrolled.set.passkeys.iter_mut().find(|passkey| passkey.id == id);
        let own = own.ok_or_else(|| unknown(details()))?;
        let changed = self.party.authenticate(self.answer, self.challenge, own, now);
        let changed = changed.map_err(|why| refused(why, details()))?;
        let has_changed = changed.is_some();
        if let Some(changed) = changed {
            *own = changed;
        }
        Ok(Verified { is_synced: own.is_synced, enrolled, has_changed })
    }

    /// Writes counter and flags, if they have changed. If another change was faster, verifies the answer once more by its
    /// result: the counter must be higher than every counter that was seen (WebAuthn 7.2, step 22).
    ///
    /// # Errors
    /// As [`check`](Self::check).
    async fn note(&self, verified: Verified) -> Result<Verified, Failure> {
        let Context { app, issuer, .. } = self.context;
        let mut verified = verified;
        for _ in 0..2 {
            if !verified.has_changed {
                return Ok(verified);
            }
            let Enrolled { revision, set } = &verified.enrolled;
            match app.store.put_authenticators(&issuer.id, &self.user.id, *revision, set).await? {
                AuthenticatorUpdate::Written => return Ok(verified),
                AuthenticatorUpdate::UserUnknown => return Err(unknown(Details::of_user(&self.user.id))),
                AuthenticatorUpdate::Overtaken => verified = self.check().await?,
            }
        }
        Err(StoreError::Conflict.into())
    }
}
