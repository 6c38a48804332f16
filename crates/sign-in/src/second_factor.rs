//! The second factor of a sign-in by password: a code of the person's generator, or a recovery code. Who must bring one and has
//! none sets a generator up on the way.
//!
//! Between the two pages nothing is stored: what the password proved is sealed into the interaction, for ten minutes and for
//! the browser in which it was typed, together with a digest of the password's hash. So a changed password ends it.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use symbolon_crypto::secret::SecretBytes;
use symbolon_crypto::{digest, encoding};
use symbolon_pages::SecondFactorError;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::client::Client;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::settings::SecondFactor;
use symbolon_protocol::sign_in::totp::{self, TotpSecret};
use symbolon_protocol::sign_in::{Factor, Policy, Proven, Step, next_step, recovery_code};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::port::AuthenticatorUpdate;

use crate::authorize::{refuse, resume};
use crate::interaction::{Interaction, Page, PendingAuthorization, RequestingClient, session_of};
use crate::login::{refusal_pause, signed_in};
use crate::session_begin::{SignIn, begin_for};
use crate::{second_factor_page, second_factor_setup, session_quota};
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::issuer::IssuerState;
use symbolon_app::rate_limit::Limited;

/// The purpose under which secrets of generators are sealed.
const SEALED_SECRET: &str = "totp secret";

/// How often a code is checked again because another request changed the user's authenticators meanwhile.
const TRIES: usize = 3;

/// A password that was right, in a sign-in that needs a second factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FirstFactor {
    /// Whose password it was.
    pub(super) user: UserId,
    /// When it was checked.
    pub(super) at: Timestamp,
    /// The digest of its hash as stored.
    hash: String,
    /// The name under which a generator shows the account.
    pub(super) login_name: String,
    /// The secret of a generator that is being set up, base64url.
    new_secret: Option<String>,
}

/// The name by which the person knows the account.
fn name_of(user: &User) -> String {
    let name = user.email.as_deref().or(user.profile.preferred_username.as_deref());
    name.unwrap_or(user.id.as_str()).to_owned()
}

impl FirstFactor {
    /// The secret of a generator that is being set up.
    pub(super) fn new_secret(&self) -> Option<TotpSecret> {
        let secret = encoding::decode(self.new_secret.as_deref()?).ok()?;
        Some(TotpSecret::from_bytes(SecretBytes::new(secret)))
    }
}

fn hash_digest(hash: &PasswordHash) -> String {
    encoding::encode(&digest::sha256(&[hash.expose().as_bytes()]))
}

/// What a sign-in needs after what is proven.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn step(
    context: &Context,
    client: &Client,
    user: &User,
    proven: &Proven,
) -> Result<Step, Failure> {
    let Context { app, issuer, .. } = context;
    let enrolled = app.store.authenticators(&issuer.id, &user.id).await?;
    let asked = issuer.settings.load().second_factor_for(&client.settings);
    let policy = Policy { needs_second_factor: asked == SecondFactor::Required };
    Ok(next_step(proven, policy, &enrolled.set))
}

/// Whether something is still to be proven.
pub(super) fn is_needed(step: &Step) -> bool {
    matches!(step, Step::Prove(_) | Step::Enrol)
}

/// Asks for the second factor of somebody whose password was right.
///
/// # Errors
/// [`Failure`]
pub(super) async fn begin(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    (user, hash): (&User, &PasswordHash),
    step: &Step,
) -> Result<Response, Failure> {
    let app = &call.context.app;
    let new_secret =
        (*step == Step::Enrol).then(|| encoding::encode(TotpSecret::draw(&*app.random).expose()));
    let first = FirstFactor {
        user: user.id.clone(),
        at: app.now(),
        hash: hash_digest(hash),
        login_name: name_of(user),
        new_secret,
    };
    interaction.pending.first_factor = Some(first);
    second_factor_page::ask(call, interaction, Page::Other).await
}

/// `POST /login/second-factor`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, client, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let asking = RequestingClient::of(context, &interaction.pending).await?;
    *client = Some(asking.client.clone());
    let is_ours = interaction.accepts((context, received), &params, Purpose::SecondFactor, "")?;
    let Some(first) = interaction.pending.first_factor.clone().filter(|_| is_ours) else {
        // Too late, another browser, or a forged form: the person begins again with the password.
        let client = Some(&asking.client.client_id);
        context.refused(RefusedRequest::anonymous(Reason::SignInFormExpired.into(), client));
        return resume_without_proof(call, interaction).await;
    };
    let code = params.get("code")?.unwrap_or_default().to_owned();
    if params.get("cancel")?.is_some() {
        return refuse(call, &interaction.pending, denied()).await;
    }
    if let Some((id, session)) = session_of(&call.context, &call.received, &mut call.durable).await?
        && interaction.session_id(&call.context, &session.user) == id
    {
        // The form was sent twice, and the answer to the first one has signed this browser in.
        return signed_in(call, interaction, id, &session).await;
    }
    let context = call.context.clone();
    let attempt = Attempt { context: &context, asking: &asking, first: &first };
    if let Some(secret) = first.new_secret() {
        return second_factor_setup::submit(call, interaction, (&attempt, &secret), &code).await;
    }
    match attempt.check(&code).await? {
        Ok(proven) => match attempt.sign_in(call, &interaction, &proven).await? {
            Some((id, session)) => signed_in(call, interaction, id, &session).await,
            None => resume_without_proof(call, interaction).await,
        },
        Err(error) => attempt.again(&interaction, error).await,
    }
}

/// Begins again with the password.
async fn resume_without_proof(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
) -> Result<Response, Failure> {
    interaction.pending.first_factor = None;
    let session = session_of(&call.context, &call.received, &mut call.durable).await?;
    resume(call, interaction, session.map(|(id, _)| id), Page::Other).await
}

/// An attempt at a second factor.
pub(super) struct Attempt<'a> {
    pub(super) context: &'a Context,
    pub(super) asking: &'a RequestingClient,
    pub(super) first: &'a FirstFactor,
}

impl Attempt<'_> {
    /// What is proven with a code, which is used up.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn check(&self, typed: &str) -> Result<Result<Proven, SecondFactorError>, Failure> {
        let Context { app, issuer, remote, .. } = self.context;
        let user = &self.first.user;
        // Of all browsers together, so that the million codes cannot be tried out side by side.
        let account = format!("second factor of {user}");
        let _in_flight = match app.rate_limits.begin_login(&issuer.id, &account, *remote, app.now()) {
            Ok(in_flight) => in_flight,
            Err(Limited { retry_after_seconds }) => {
                self.refused(Reason::SignInRateLimited);
                return Ok(Err(SecondFactorError::TooManyAttempts { retry_after_seconds }));
            }
        };
        for _ in 0..TRIES {
            let enrolled = app.store.authenticators(&issuer.id, user).await?;
            let Some((factor, left)) = used(issuer, user, &enrolled.set, typed, app.now()) else { break };
            match app.store.put_authenticators(&issuer.id, user, enrolled.revision, &left).await? {
                AuthenticatorUpdate::Written => {
                    app.rate_limits.right_password(&issuer.id, &account, *remote, app.now());
                    if factor == Factor::RecoveryCode {
                        self.context.audit(
                            Event::RecoveryCodeUsed,
                            Some(user),
                            Some(&self.asking.client.client_id),
                        );
                    }
                    return Ok(Ok(Proven::by(Factor::Password, self.first.at).and(factor, app.now())));
                }
                // Another request used a code, perhaps this one.
                AuthenticatorUpdate::Overtaken => {}
                AuthenticatorUpdate::UserUnknown => break,
            }
        }
        app.rate_limits.failed_login(&issuer.id, &account, *remote, app.now());
        let refusal = Refusal::about(Reason::SecondFactorWrong, Details::of_user(user));
        let client = Some(&self.asking.client.client_id);
        let request = RefusedRequest::anonymous(refusal, client);
        self.context.sign_in_failed(RefusedRequest { actor: Actor::User, ..request });
        Ok(Err(SecondFactorError::Wrong))
    }

    fn refused(&self, reason: Reason) {
        let refusal = Refusal::about(reason, Details::of_user(&self.first.user));
        self.context.refused(RefusedRequest::anonymous(refusal, Some(&self.asking.client.client_id)));
    }

    /// Begins the session of the interaction; `None` if the password is no longer the one that was proven, or the user may
    /// not sign in.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn sign_in(
        &self,
        call: &mut Call,
        interaction: &Interaction<PendingAuthorization>,
        proven: &Proven,
    ) -> Result<Option<(SessionId, Session)>, Failure> {
        let Context { app, issuer, .. } = self.context;
        let Some(user) = app.store.user(&issuer.id, &self.first.user).await? else { return Ok(None) };
        let client = &self.asking.client.client_id;
        let sign_in = SignIn { user: &user, amr: proven.amr(), client };
        let begun = begin_for(call, interaction, sign_in, || self.is_still()).await?;
        match &begun {
            Some(_) => session_quota::enforce(self.context, &user.id).await,
            None => self.refused(Reason::SignInOvertaken),
        }
        Ok(begun)
    }

    /// Whether the password is still the one that was proven, and the user may sign in.
    async fn is_still(&self) -> Result<bool, Failure> {
        let Context { app, issuer, .. } = self.context;
        let user = &self.first.user;
        let stored = app.store.passwords_of(&issuer.id, std::slice::from_ref(user)).await?;
        let is_same =
            stored.first().and_then(Option::as_ref).is_some_and(|hash| hash_digest(hash) == self.first.hash);
        Ok(is_same && app.store.user(&issuer.id, user).await?.is_some_and(|user| user.may_sign_in()))
    }

    /// The page again, with what was wrong.
    ///
    /// # Errors
    /// [`Failure`]: the page cannot be rendered.
    pub(super) async fn again(
        &self,
        interaction: &Interaction<PendingAuthorization>,
        error: SecondFactorError,
    ) -> Result<Response, Failure> {
        if matches!(error, SecondFactorError::TooManyAttempts { .. }) {
            tokio::time::sleep(refusal_pause(&*self.context.app.random)).await;
        }
        second_factor_page::page(self.context, interaction, self.asking, Some(error))
    }
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

fn open_secret(issuer: &IssuerState, user: &UserId, sealed: &str) -> Option<TotpSecret> {
    let opened: SecretBytes = issuer.interactions.open(&format!("{SEALED_SECRET} {user}"), sealed).ok()?;
    Some(TotpSecret::from_bytes(opened))
}
