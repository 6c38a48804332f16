//! Signing in with a passkey.

use std::sync::Arc;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use symbolon_protocol::id::UserId;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::sign_in::passkey::{Assertion, RelyingParty, imagined_credential};
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::{AuthenticatorUpdate, Enrolled};

use super::answer::{ok, signed_in};
use super::passkey_challenge::{Ceremony, Challenge, refused, relying_party};
use super::{allowed_origin, body, email, unproven};
use symbolon_app::http::{Call, Context, Failure};

/// Signing in. The account is not named here: the length of the value would tell whether it exists.
#[derive(Serialize, Deserialize)]
struct SigningIn {
    /// The address that was typed, if one was.
    email: Option<String>,
}

impl Ceremony for SigningIn {
    const PURPOSE: &'static str = "passkey sign-in";
}

#[derive(Deserialize)]
struct Asked {
    email: Option<String>,
}

/// `POST /api/auth/passkey/login/options`
///
/// # Errors
/// [`Failure`]
pub(super) async fn options(call: &mut Call) -> Result<Response, Failure> {
    let origin = allowed_origin(call)?;
    let asked: Asked = body(call)?;
    let typed = asked.email.as_deref().map(email).transpose()?.map(str::to_owned);
    let context = &call.context;
    let allowed = match &typed {
        Some(email) => credentials_of(context, email).await?,
        None => Vec::new(),
    };
    let challenge = Challenge::make(context, &origin, SigningIn { email: typed })?;
    let options = relying_party(context, &origin)?.request_options(&allowed, &challenge);
    Ok(ok(Map::from_iter([
        ("challengeId".to_owned(), Value::String(challenge)),
        ("options".to_owned(), options),
    ])))
}

/// The credentials of an account, or an imagined one: as much is read and as much is told of an account that does not
/// exist or has no passkey.
async fn credentials_of(context: &Context, email: &str) -> Result<Vec<String>, Failure> {
    let Context { app, issuer, .. } = context;
    let imagined = imagined_credential(&issuer.sign_in_key, email);
    let found = app.store.user_by_login(&issuer.id, email).await?;
    let user = found.map_or_else(|| UserId::trusted(imagined.as_str()), |(user, _)| user.id.clone());
    let enrolled = app.store.authenticators(&issuer.id, &user).await?.set;
    let ids: Vec<String> = enrolled.passkeys.into_iter().map(|passkey| passkey.id).collect();
    Ok(if ids.is_empty() { vec![imagined] } else { ids })
}

#[derive(Deserialize)]
struct Answered {
    #[serde(rename = "challengeId")]
    challenge_id: String,
    credential: Value,
}

/// `POST /api/auth/passkey/login/verify`
///
/// # Errors
/// [`Failure`]
pub(super) async fn verify(call: &mut Call) -> Result<Response, Failure> {
    let origin = allowed_origin(call)?;
    let Answered { challenge_id, credential } = body(call)?;
    let context = call.context.clone();
    let answer = Assertion::parse(credential).map_err(|why| refused(why, Details::default()))?;
    let challenge = Challenge::<SigningIn>::open(&context, &origin, &challenge_id)?;
    let Some(user) = owner(&context, &answer, challenge.ceremony.email.as_deref()).await? else {
        return Err(unknown(Details::default()));
    };
    let attempt = Attempt {
        context: &context,
        party: relying_party(&context, &origin)?,
        answer: &answer,
        challenge: &challenge_id,
        user: &user,
    };
    let verified = attempt.check().await?;
    challenge.use_up(call, &challenge_id).await?;
    let Verified { is_synced, enrolled, .. } = attempt.note(verified).await?;
    let proven = Proven::by(Factor::Passkey { is_synced }, context.app.now());
    signed_in(call, &user, (&proven, &enrolled.set), json!({ "verified": true })).await
}

/// The user whom the answer names (WebAuthn 7.2, step 6), who is the one whose address was typed, if one was.
async fn owner(
    context: &Context,
    answer: &Assertion,
    typed: Option<&str>,
) -> Result<Option<Arc<User>>, Failure> {
    let Context { app, issuer, .. } = context;
    let named = answer.user();
    let user = match (typed, &named) {
        (Some(email), _) => app.store.user_by_login(&issuer.id, email).await?.map(|(user, _)| user),
        (None, Some(named)) => app.store.user(&issuer.id, named).await?,
        (None, None) => None,
    };
    let is_named = |user: &Arc<User>| named.as_ref().is_none_or(|named| *named == user.id);
    Ok(user.filter(|user| is_named(user) && user.may_sign_in()))
}

fn unknown(details: Details) -> Failure {
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
    is_synced: bool,
    /// What the user has enrolled, with the passkey as it is to be kept.
    enrolled: Enrolled,
    /// Whether it has to be written.
    has_changed: bool,
}

impl Attempt<'_> {
    /// Verifies the answer by what is enrolled now.
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
