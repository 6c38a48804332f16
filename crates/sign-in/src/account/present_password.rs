//! The present password of a person who is signed in: asked again before something that only they may do.

use symbolon_crypto::secret::SecretString;
use symbolon_pages::AccountNotice;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::user::PasswordHash;

use super::Person;
use crate::known_browser;
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::{Context, Failure, Received};
use symbolon_app::rate_limit::Limited;

impl Person {
    /// The hash of the person's password, if there is one.
    pub(super) async fn hash(&self, context: &Context) -> Result<Option<PasswordHash>, Failure> {
        let of = std::slice::from_ref(&self.user.id);
        let mut found = context.app.store.passwords_of(&context.issuer.id, of).await?;
        Ok(found.pop().flatten())
    }

    /// Whether a typed password is the one of `hash`. Attempts count together with those at the login page of the same browser, and
    /// wait in the same queue: a stolen session is no way around either.
    ///
    /// # Errors
    /// The notice, if the password is wrong or was not looked at.
    pub(super) async fn verify(
        &self,
        (context, received): (&Context, &Received),
        password: SecretString,
        hash: PasswordHash,
    ) -> Result<(), AccountNotice> {
        let (app, issuer, remote) = (&context.app, &context.issuer, context.remote);
        let name = self.login_name();
        let from = known_browser::origin(context, received, name);
        let _in_flight = match app.rate_limits.begin_login(&issuer.id, name, from.clone(), app.now()) {
            Ok(in_flight) => in_flight,
            Err(Limited { retry_after_seconds }) => {
                self.note(context, Reason::SignInRateLimited);
                return Err(AccountNotice::TooManyAttempts { retry_after_seconds });
            }
        };
        let work = issuer.settings.load().password_work_kib.unwrap_or_default();
        let verified = match app.passwords.reserve(app.passwords.fairness_key(&issuer.id, name, remote)) {
            Ok(place) => app.passwords.verify(place, password, Some(hash), work).await,
            Err(busy) => Err(busy),
        };
        match verified {
            Ok(true) => {
                app.rate_limits.right_password(&issuer.id, name, remote, app.now());
                Ok(())
            }
            Ok(false) => {
                app.rate_limits.failed_login(&issuer.id, name, from, app.now());
                let refusal = Refusal::about(Reason::PasswordWrong, Details::of_user(&self.user.id));
                context.sign_in_failed(RefusedRequest {
                    actor: Actor::User,
                    ..RefusedRequest::anonymous(refusal, None)
                });
                Err(AccountNotice::WrongPassword)
            }
            Err(_) => {
                self.note(context, Reason::SignInBusy);
                Err(AccountNotice::Busy)
            }
        }
    }

    fn note(&self, context: &Context, reason: Reason) {
        let refusal = Refusal::about(reason, Details::of_user(&self.user.id));
        context.refused(RefusedRequest::anonymous(refusal, None));
    }
}
