//! Checking a second factor, and beginning the session that it completes.

use axum::response::Response;
use symbolon_crypto::digest;
use symbolon_crypto::secret::SecretBytes;
use symbolon_pages::SecondFactorError;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::SessionId;
use symbolon_protocol::sign_in::totp::{self, TotpSecret};
use symbolon_protocol::sign_in::{Factor, Proven, recovery_code};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::AuthenticatorUpdate;

use crate::first_factor::{FirstFactor, Proof};
use crate::interaction::{Interaction, PendingAuthorization};
use crate::passkey_attempt::{ProvenPasskey, RefusedOnPage};
use crate::refusal_pause::refusal_pause;
use crate::requesting_client::Asking;
use crate::session_begin::{Begun, SignIn, begin_for, begin_if};
use crate::{email_code_attempt, second_factor_page};
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::issuer::IssuerState;
use symbolon_app::rate_limit::Limited;

/// The purpose under which secrets of generators are sealed.
const SEALED_SECRET: &str = "totp secret";

/// How often a code is checked again because another request changed the user's authenticators meanwhile.
const TRIES: usize = 3;

/// An attempt at a second factor.
pub(super) struct Attempt<'a> {
    pub(super) context: &'a Context,
    /// The client that asks for the sign-in, if one does.
    pub(super) client: Option<&'a ClientId>,
    pub(super) first: &'a FirstFactor,
    /// The browser's session, if that is the first factor.
    pub(super) session: Option<SessionId>,
}

/// What was wrong with an attempt.
pub(super) struct Refused {
    /// What the person is told.
    pub(super) error: SecondFactorError,
    /// The id of a passkey that nobody has.
    pub(super) unknown_passkey: Option<String>,
}

impl From<SecondFactorError> for Refused {
    fn from(error: SecondFactorError) -> Self {
        Self { error, unknown_passkey: None }
    }
}

impl Attempt<'_> {
    /// What is proven with a code, which is used up.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn check(&self, typed: &str) -> Result<Result<Proven, SecondFactorError>, Failure> {
        let proven = self.check_without_note(typed).await?;
        if proven == Err(SecondFactorError::Wrong) {
            self.note_wrong_code();
        }
        Ok(proven)
    }

    /// The same, but a wrong code is not noted as a failed sign-in yet: perhaps its form was only sent twice.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn check_without_note(
        &self,
        typed: &str,
    ) -> Result<Result<Proven, SecondFactorError>, Failure> {
        let factor = try_code(self.context, &self.first.user, typed, self.client).await?;
        let now = self.context.app.now();
        Ok(factor.map(|factor| self.first.proven().and(factor, now)))
    }

    /// Notes a failed sign-in by a wrong code.
    pub(super) fn note_wrong_code(&self) {
        note_wrong_code(self.context, &self.first.user, self.client);
    }

    /// What is proven with a passkey of the same person. `proving`: verifies its answer; begun only if the attempt is not one too
    /// many.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn check_passkey(
        &self,
        proving: impl Future<Output = Result<ProvenPasskey, RefusedOnPage>>,
    ) -> Result<Result<Proven, Refused>, Failure> {
        let Context { app, issuer, .. } = self.context;
        let user = &self.first.user;
        if let Err(error) = self.begin() {
            return Ok(Err(error.into()));
        }
        match proving.await {
            Ok(by) if by.user.id == *user => {
                app.rate_limits.right_second_factor(&issuer.id, user);
                let factor = Factor::Passkey { is_synced: by.is_synced };
                Ok(Ok(self.first.proven().and(factor, app.now())))
            }
            Ok(_) => {
                self.failed(Refusal::about(Reason::PasskeyUnknown, Details::of_user(user)));
                Ok(Err(SecondFactorError::PasskeyRefused.into()))
            }
            Err(RefusedOnPage { failure: Failure::OAuth(mut error), unknown }) => {
                self.failed(error.take_refusal());
                Ok(Err(Refused { error: SecondFactorError::PasskeyRefused, unknown_passkey: unknown }))
            }
            Err(RefusedOnPage { failure, .. }) => Err(failure),
        }
    }

    /// Counts an attempt.
    fn begin(&self) -> Result<(), SecondFactorError> {
        let Context { app, issuer, .. } = self.context;
        let counted = app.rate_limits.check_second_factor(&issuer.id, &self.first.user, app.now());
        counted.map_err(|Limited { retry_after_seconds }| {
            self.refused(Reason::SignInRateLimited);
            SecondFactorError::TooManyAttempts { retry_after_seconds }
        })
    }

    /// Notes an attempt that proved nothing, in the audit log too.
    fn failed(&self, refusal: Refusal) {
        let request = RefusedRequest::anonymous(refusal, self.client);
        self.context.sign_in_failed(RefusedRequest { actor: Actor::User, ..request });
    }

    fn refused(&self, reason: Reason) {
        let refusal = Refusal::about(reason, Details::of_user(&self.first.user));
        self.context.refused(RefusedRequest::anonymous(refusal, self.client));
    }

    /// Begins the session of the interaction, or without one a session of its own; `None` if the password is no longer the one
    /// that was proven, or the user may not sign in.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn sign_in(
        &self,
        call: &mut Call,
        interaction: Option<&Interaction<PendingAuthorization>>,
        proven: &Proven,
    ) -> Result<Option<Begun>, Failure> {
        let Context { app, issuer, .. } = self.context;
        let Some(user) = app.store.user(&issuer.id, &self.first.user).await? else { return Ok(None) };
        let sign_in = SignIn { user: &user, amr: proven.amr(), client: self.client };
        let begun = match interaction {
            Some(interaction) => begin_for(call, interaction, sign_in, || self.is_still()).await?,
            None => begin_if(call, sign_in, || self.is_still()).await?,
        };
        if begun.is_none() {
            self.refused(Reason::SignInOvertaken);
        }
        Ok(begun)
    }

    /// Whether the first factor still proves what it proved, and the user may sign in.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn is_still(&self) -> Result<bool, Failure> {
        let Context { app, issuer, .. } = self.context;
        let user = &self.first.user;
        let is_same = match &self.first.proof {
            Proof::Password { hash } => {
                let stored = app.store.passwords_of(&issuer.id, std::slice::from_ref(user)).await?;
                stored.first().and_then(Option::as_ref).is_some_and(|own| own.digest() == *hash)
            }
            Proof::EmailCode { address } => {
                let owner = email_code_attempt::owner(self.context, user, address).await?;
                owner.is_some_and(|user| user.email_verified)
            }
            Proof::Identity { provider, subject } => {
                let identity = app.store.identity(&issuer.id, provider, subject).await?;
                identity.is_some_and(|identity| identity.user == *user)
            }
            Proof::Session { .. } => match &self.session {
                Some(id) => app.store.session(&issuer.id, id, app.now()).await?.told().await?.is_some(),
                None => false,
            },
        };
        Ok(is_same && app.store.user(&issuer.id, user).await?.is_some_and(|user| user.may_sign_in()))
    }
}

/// The page again, with what was wrong.
///
/// # Errors
/// [`Failure`]: the page cannot be rendered.
pub(super) async fn again(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    asking: &Asking,
    refused: impl Into<Refused>,
) -> Result<Response, Failure> {
    let Refused { error, unknown_passkey } = refused.into();
    if matches!(error, SecondFactorError::TooManyAttempts { .. }) {
        tokio::time::sleep(refusal_pause(&*context.app.random)).await;
    }
    second_factor_page::page(context, interaction, asking, (Some(error), unknown_passkey))
}

/// The factor that a code of a user proves. The code is used up; a wrong one is noted as a failed sign-in.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn use_code(
    context: &Context,
    user: &UserId,
    typed: &str,
    client: Option<&ClientId>,
) -> Result<Result<Factor, SecondFactorError>, Failure> {
    let factor = try_code(context, user, typed, client).await?;
    if factor == Err(SecondFactorError::Wrong) {
        note_wrong_code(context, user, client);
    }
    Ok(factor)
}

fn note_wrong_code(context: &Context, user: &UserId, client: Option<&ClientId>) {
    let refusal = Refusal::about(Reason::SecondFactorWrong, Details::of_user(user));
    let request = RefusedRequest::anonymous(refusal, client);
    context.sign_in_failed(RefusedRequest { actor: Actor::User, ..request });
}

/// The factor that a code of a user proves. The code is used up.
async fn try_code(
    context: &Context,
    user: &UserId,
    typed: &str,
    client: Option<&ClientId>,
) -> Result<Result<Factor, SecondFactorError>, Failure> {
    let Context { app, issuer, .. } = context;
    if let Err(Limited { retry_after_seconds }) =
        app.rate_limits.check_second_factor(&issuer.id, user, app.now())
    {
        let refusal = Refusal::about(Reason::SignInRateLimited, Details::of_user(user));
        context.refused(RefusedRequest::anonymous(refusal, client));
        return Ok(Err(SecondFactorError::TooManyAttempts { retry_after_seconds }));
    }
    for _ in 0..TRIES {
        let enrolled = app.store.authenticators(&issuer.id, user).await?;
        let Some((factor, left)) = used(issuer, user, &enrolled.set, typed, app.now()) else { break };
        match app.store.put_authenticators(&issuer.id, user, enrolled.revision, &left).await? {
            AuthenticatorUpdate::Written => {
                app.rate_limits.right_second_factor(&issuer.id, user);
                if factor == Factor::RecoveryCode {
                    context.audit(Event::RecoveryCodeUsed, Some(user), client);
                }
                return Ok(Ok(factor));
            }
            // Another request used a code, perhaps this one.
            AuthenticatorUpdate::Overtaken => {}
            AuthenticatorUpdate::UserUnknown => break,
        }
    }
    Ok(Err(SecondFactorError::Wrong))
}

/// Whether a code is one that a user's generator shows now, used or not.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn is_current_code(context: &Context, user: &UserId, typed: &str) -> Result<bool, Failure> {
    let Context { app, issuer, .. } = context;
    let set = app.store.authenticators(&issuer.id, user).await?.set;
    let secret = set.totp.and_then(|totp| open_secret(issuer, user, &totp.secret));
    Ok(secret.is_some_and(|secret| secret.accepted_step(typed, 0, app.now()).is_some()))
}

/// The factor that a code proves, and the authenticators without what it uses up.
fn used(
    issuer: &IssuerState,
    user: &UserId,
    set: &AuthenticatorSet,
    typed: &str,
    now: Timestamp,
) -> Option<(Factor, AuthenticatorSet)> {
    let secret = set.totp.as_ref().and_then(|totp| open_secret(issuer, user, &totp.secret));
    let by_generator = secret.and_then(|secret| totp::use_code(set, &secret, typed, now));
    by_generator.map(|left| (Factor::Totp, left)).or_else(|| {
        recovery_code::use_code(set, user, typed, &issuer.sign_in_key)
            .map(|left| (Factor::RecoveryCode, left))
    })
}

/// The secret of a generator, which only this issuer can open, and only for this user.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn seal_secret(
    issuer: &IssuerState,
    user: &UserId,
    secret: &TotpSecret,
) -> Result<String, Failure> {
    let sealed = issuer.interactions.seal(&format!("{SEALED_SECRET} {user}"), secret.expose());
    sealed.map_err(|error| Failure::Internal(error.to_string()))
}

/// Opens what [`seal_secret`] sealed.
pub(super) fn open_secret(issuer: &IssuerState, user: &UserId, sealed: &str) -> Option<TotpSecret> {
    let opened: SecretBytes = issuer.interactions.open(&format!("{SEALED_SECRET} {user}"), sealed).ok()?;
    Some(TotpSecret::from_bytes(opened))
}

/// Whether a user's enrolled generator has this secret: the form that set it up was sent before.
pub(super) fn is_of_generator(
    issuer: &IssuerState,
    user: &UserId,
    (set, secret): (&AuthenticatorSet, &TotpSecret),
) -> bool {
    let own = set.totp.as_ref().and_then(|totp| open_secret(issuer, user, &totp.secret));
    own.is_some_and(|own| digest::constant_time_eq(own.expose(), secret.expose()))
}
