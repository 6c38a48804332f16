//! Checking a login name and a password.

use std::sync::Arc;

use symbolon_crypto::secret::SecretString;
use symbolon_pages::LoginError;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::refusal::{Details, Reason, Refusal, shown_login_name};
use symbolon_protocol::user::{PasswordHash, User};

use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::{Context, Failure};
use symbolon_app::passwords::FairnessKey;
use symbolon_app::rate_limit::{Limited, LoginFrom, LoginInFlight};

/// A login name and a password as typed.
pub(super) struct PasswordAttempt<'a> {
    pub(super) context: &'a Context,
    /// The client that asks for the sign-in, if one does.
    pub(super) client: Option<&'a ClientId>,
    pub(super) username: &'a str,
    pub(super) password: &'a SecretString,
    /// Where it comes from.
    pub(super) from: &'a LoginFrom,
}

/// The user with this name and password, and the hash that the password matched.
pub(super) struct VerifiedPassword {
    pub(super) user: Arc<User>,
    pub(super) hash: PasswordHash,
    _in_flight: LoginInFlight,
}

impl PasswordAttempt<'_> {
    /// The user with this login name and password. An unknown name, a user without a password, an inactive user and a
    /// wrong password get the same answer after the same time, so that it does not reveal which accounts exist.
    pub(super) async fn check(&self) -> Result<Result<VerifiedPassword, LoginError>, Failure> {
        let Context { app, issuer, remote, .. } = self.context;
        // Limited by the typed name, before the user is looked up. If all login names of a user shared one limit, a
        // delay caused by one name would reveal that another belongs to the same user.
        let from = || self.from.clone();
        let in_flight = match app.rate_limits.begin_login(&issuer.id, self.username, from(), app.now()) {
            Ok(in_flight) => in_flight,
            Err(Limited { retry_after_seconds }) => {
                let error = LoginError::TooManyAttempts { retry_after_seconds };
                return Ok(Err(self.refused(Reason::SignInRateLimited, error)));
            }
        };
        let Ok(place) = app.passwords.reserve(self.fairness_key()) else {
            return Ok(Err(self.refused(Reason::SignInBusy, LoginError::Busy)));
        };
        let found = app.store.user_by_login(&issuer.id, self.username).await?;
        let hash = found.as_ref().and_then(|(_, hash)| hash.clone());
        let Ok(right) = app.passwords.verify(place, self.password(), hash, self.imported_work_kib()).await
        else {
            return Ok(Err(self.refused(Reason::SignInBusy, LoginError::Busy)));
        };
        match found {
            Some((user, Some(hash))) if right && user.may_sign_in() => {
                app.rate_limits.right_password(&issuer.id, self.username, *remote, app.now());
                Ok(Ok(VerifiedPassword { user, hash, _in_flight: in_flight }))
            }
            found => {
                app.rate_limits.failed_login(&issuer.id, self.username, from(), app.now());
                let reason = match &found {
                    None => Reason::LoginNameUnknown,
                    Some((_, None)) => Reason::PasswordNotSet,
                    Some((_, Some(_))) if right => Reason::UserDeactivated,
                    Some((_, Some(_))) => Reason::PasswordWrong,
                };
                let details = self.details(found.is_some());
                let details = match &found {
                    Some((user, _)) => details.user(&user.id),
                    None => details,
                };
                let refusal = Refusal::about(reason, details);
                self.context.sign_in_failed(RefusedRequest {
                    actor: Actor::User,
                    ..RefusedRequest::anonymous(refusal, self.client)
                });
                Ok(Err(LoginError::InvalidCredentials))
            }
        }
    }

    /// Notes why the attempt is refused, and returns what the person is told.
    pub(super) fn refused(&self, reason: Reason, error: LoginError) -> LoginError {
        let refusal = Refusal::about(reason, self.details(false));
        self.context.refused(RefusedRequest::anonymous(refusal, self.client));
        error
    }

    /// The typed login name, as it may be written down. `is_known`: there is a user of this name.
    fn details(&self, is_known: bool) -> Details {
        let digest = self.context.issuer.login_name_digest(self.username);
        Details::default().login_name(&shown_login_name(self.username, is_known), &digest)
    }

    /// Whether the password is still right. While it was being checked, the user may have been deactivated or
    /// deleted, or the password changed. These may end the user's sessions, but not one that is only about to begin.
    /// So the caller checks again after storing the session, and an old password begins none.
    pub(super) async fn is_still(&self, right: &VerifiedPassword) -> Result<bool, Failure> {
        let Context { app, issuer, .. } = self.context;
        match app.store.user_by_login(&issuer.id, self.username).await? {
            Some((user, Some(hash))) if user.id == right.user.id && user.may_sign_in() => {
                if hash == right.hash {
                    return Ok(true);
                }
                // The hash may have been replaced by one of the same password with newer costs.
                let Ok(place) = app.passwords.reserve(self.fairness_key()) else { return Ok(false) };
                let verified =
                    app.passwords.verify(place, self.password(), Some(hash), self.imported_work_kib());
                Ok(verified.await == Ok(true))
            }
            _ => Ok(false),
        }
    }

    /// Replaces the hash by one of our own with today's costs; returns the hash that is stored then. A failure is ignored,
    /// because the password was right.
    pub(super) async fn rehash(&self, right: &VerifiedPassword) -> PasswordHash {
        let Context { app, issuer, .. } = self.context;
        if !app.passwords.needs_rehash(&right.hash) {
            return right.hash.clone();
        }
        let hash: PasswordHash = match app.passwords.hash_anew(self.fairness_key(), self.password()).await {
            Ok(hash) => hash,
            Err(busy) => {
                tracing::debug!(%busy, "a password stays at its old costs");
                return right.hash.clone();
            }
        };
        let replaced = app.store.rehash_password(&issuer.id, &right.user.id, &right.hash, hash.clone()).await;
        match replaced {
            Ok(true) => hash,
            Ok(false) => right.hash.clone(),
            Err(error) => {
                tracing::warn!(%error, "a password stays at its old costs");
                right.hash.clone()
            }
        }
    }

    fn fairness_key(&self) -> FairnessKey {
        let Context { app, issuer, remote, .. } = self.context;
        app.passwords.fairness_key(&issuer.id, self.username, *remote)
    }

    /// The work of the costliest hash that was imported into the issuer.
    fn imported_work_kib(&self) -> u64 {
        self.context.issuer.settings.load().password_work_kib.unwrap_or_default()
    }

    fn password(&self) -> SecretString {
        SecretString::new(self.password.expose().to_owned())
    }
}
