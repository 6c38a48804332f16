//! The endpoint of the login page and its form.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;
use symbolon_pages::LoginError;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, Sid};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal, shown_login_name};
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::{Amr, AuthenticationMethod, Session, SessionId};
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::Durable;
use symbolon_store::shard::{ShardKind, sid_of};

use crate::authorize::{refuse, resume};
use crate::interaction::{Interaction, Page, Pending, PendingAuthorization, RequestingClient, session_of};
use crate::session_end::{end_session, longest_of};
use crate::{login_page, session_quota};
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, set_cookie};
use symbolon_app::passwords::FairnessKey;
use symbolon_app::rate_limit::{Limited, LoginInFlight};

/// `POST /login`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, client, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let asking = RequestingClient::of(context, &interaction.pending).await?;
    *client = Some(Arc::clone(&asking.client));
    let username = params.get("username")?.unwrap_or_default().trim().to_owned();
    let typed = (!username.is_empty()).then(|| username.clone());
    if !interaction.accepts((context, received), &params, Purpose::Login, "")? {
        let client = Some(&asking.client.client_id);
        context.refused(RefusedRequest::anonymous(Reason::SignInFormExpired.into(), client));
        return login_page::page(context, &interaction, &asking, typed, Some(LoginError::Expired));
    }
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    if params.get("cancel")?.is_some() {
        return refuse(call, &interaction.pending, denied()).await;
    }
    if let Some((id, session)) = session_of(&call.context, &call.received, &mut call.durable).await?
        && interaction.session_id(&call.context, &session.user) == id
    {
        // The form was sent twice, and the answer to the first one has signed this browser in.
        let Context { app, issuer, remote, .. } = &call.context;
        return match app.rate_limits.form_sent_again(&issuer.id, &session.user, *remote, app.now()) {
            Ok(()) => signed_in(call, interaction, id, &session).await,
            Err(Limited { retry_after_seconds }) => {
                let error = LoginError::TooManyAttempts { retry_after_seconds };
                let details = Details::of_user(&session.user);
                let refusal = Refusal::about(Reason::SignInRateLimited, details);
                let client = Some(&asking.client.client_id);
                call.context.refused(RefusedRequest::anonymous(refusal, client));
                refused(&call.context, &interaction, (&asking, typed), error).await
            }
        };
    }
    let context = call.context.clone();
    let attempt = PasswordAttempt {
        context: &context,
        client: Some(&asking.client.client_id),
        username: &username,
        password: &password,
    };
    let error = match attempt.check().await? {
        Ok(right) => match sign_in(call, &interaction, &attempt, &right).await? {
            Some((id, session)) => {
                let response = signed_in(call, interaction, id, &session).await;
                session_quota::enforce(&context, &right.user.id).await;
                attempt.rehash(&right).await;
                return response;
            }
            None => attempt.refused(Reason::SignInOvertaken, LoginError::InvalidCredentials),
        },
        Err(error) => error,
    };
    refused(&context, &interaction, (&asking, typed), error).await
}

/// The login page again, with what was wrong.
async fn refused(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    (asking, typed): (&RequestingClient, Option<String>),
    error: LoginError,
) -> Result<Response, Failure> {
    if matches!(error, LoginError::Busy | LoginError::TooManyAttempts { .. }) {
        tokio::time::sleep(refusal_pause(&*context.app.random)).await;
    }
    login_page::page(context, interaction, asking, typed, Some(error))
}

/// How long an attempt waits that is refused without a look at its password: 0.5 to 1.5 s, at random. Whoever repeats
/// attempts on many connections sends the next ones that much later and not all together, so that requests of others
/// find the processor free.
pub(super) fn refusal_pause(random: &dyn Random) -> Duration {
    let [share] = random::bytes::<1>(random);
    Duration::from_millis(500 + 4 * u64::from(share))
}

/// Continues the request of an interaction after the person has signed in.
async fn signed_in(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    id: SessionId,
    session: &Session,
) -> Result<Response, Failure> {
    interaction.pending.signed_in_at = Some(session.auth_time);
    let (context, now) = (call.context.clone(), call.context.app.now());
    let lives = session.expires_at.since(now);
    let cookie = set_cookie(&context.issuer, &context.issuer.cookie, id.expose(), lives);
    let mut response = resume(call, interaction, Some(id), Page::Login).await?;
    login_page::append(response.headers_mut(), cookie);
    Ok(response)
}

/// A login name and a password as typed.
pub(super) struct PasswordAttempt<'a> {
    pub(super) context: &'a Context,
    /// The client for which the person signs in; `None` for the issuer's own pages.
    pub(super) client: Option<&'a ClientId>,
    pub(super) username: &'a str,
    pub(super) password: &'a SecretString,
}

/// The user with this name and password, and the hash that the password matched.
pub(super) struct VerifiedPassword {
    pub(super) user: Arc<User>,
    hash: PasswordHash,
    _in_flight: LoginInFlight,
}

impl PasswordAttempt<'_> {
    /// The user with this login name and password. An unknown name, a user without a password, an inactive user and a
    /// wrong password get the same answer after the same time, so that it does not reveal which accounts exist.
    pub(super) async fn check(&self) -> Result<Result<VerifiedPassword, LoginError>, Failure> {
        let Context { app, issuer, remote, .. } = self.context;
        // Limited by the typed name, before the user is looked up. If all login names of a user shared one limit, a
        // delay caused by one name would reveal that another belongs to the same user.
        let in_flight = match app.rate_limits.begin_login(&issuer.id, self.username, *remote, app.now()) {
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
                app.rate_limits.failed_login(&issuer.id, self.username, *remote, app.now());
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
    async fn is_still(&self, right: &VerifiedPassword) -> Result<bool, Failure> {
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

    /// Replaces the hash by one of our own with today's costs. A failure is ignored, because the password was right.
    pub(super) async fn rehash(&self, right: &VerifiedPassword) {
        let Context { app, issuer, .. } = self.context;
        if !app.passwords.needs_rehash(&right.hash) {
            return;
        }
        let hash: PasswordHash = match app.passwords.hash_anew(self.fairness_key(), self.password()).await {
            Ok(hash) => hash,
            Err(busy) => return tracing::debug!(%busy, "a password stays at its old costs"),
        };
        if let Err(error) = app.store.rehash_password(&issuer.id, &right.user.id, &right.hash, hash).await {
            tracing::warn!(%error, "a password stays at its old costs");
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

/// Begins a session, or returns the one that this interaction has already begun; `None` if the password is no longer
/// right.
pub(super) async fn sign_in<P: Pending + Sync>(
    call: &mut Call,
    interaction: &Interaction<P>,
    attempt: &PasswordAttempt<'_>,
    right: &VerifiedPassword,
) -> Result<Option<(SessionId, Session)>, Failure> {
    let Call { context, received, durable, .. } = call;
    let (Context { app, issuer, .. }, client, user) = (attempt.context, attempt.client, &right.user);
    let now = app.now();
    // Always a new id (session fixation): an id that the browser brought may be known to somebody else.
    let mut id = interaction.session_id(context, &user.id);
    if let Some(session) = app.store.session(&issuer.id, &id, now).await?.take(durable) {
        return Ok(Some((id, Session::clone(&session))));
    }
    let mut session = new_session(context, user, &id);
    if app.store.revoked(&issuer.id, &session.lineage(&issuer.id)).await?.take(durable) {
        // The session of this interaction has ended. Its `sid` is revoked, and so would be everything issued under
        // it, so a fresh id is drawn.
        id = SessionId::new(app.store.place(ShardKind::Session).draw::<16>(ShardKind::Session, &*app.random));
        session = new_session(context, user, &id);
    }
    let old = session_of(context, received, durable).await?;
    let dropped = match &old {
        Some((_, old)) if old.user == user.id => session.succeed(old),
        _ => None,
    };
    app.store.open_session(&issuer.id, &id, session.clone()).await?.take(durable);
    // Checked after the session is stored. Whoever deactivates the user now either finds the session and ends it, or
    // did so before, and this check sees that.
    if !attempt.is_still(right).await? {
        end_session(app, issuer, &id, &session, durable).await?;
        return Ok(None);
    }
    if let Some((id, old)) = old {
        replace(context, user, (&id, &old), dropped, durable).await?;
    }
    call.settle().await?;
    attempt.context.audit(Event::SignedIn, Some(&user.id), client);
    Ok(Some((id, session)))
}

fn new_session(context: &Context, user: &User, id: &SessionId) -> Session {
    let Context { app, issuer, .. } = context;
    let now = app.now();
    Session {
        user: user.id.clone(),
        sid: sid_of(&issuer.id, id),
        auth_time: now,
        created_at: now,
        expires_at: now + issuer.settings.load().lifetimes.session,
        amr: Amr::of(AuthenticationMethod::Pwd),
        clients: Box::default(),
        predecessors: Default::default(),
    }
}

/// Ends the browser's previous session. A session of another user ends with its grants. One of the same user only
/// hands its `sid` over to the new session, so that clients where the user is signed in stay valid until the new
/// session ends. `dropped`: an older `sid` for which the new session has no room.
async fn replace(
    context: &Context,
    user: &User,
    (id, old): (&SessionId, &Session),
    dropped: Option<Sid>,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    if old.user != user.id {
        end_session(app, issuer, id, old, durable).await?;
        context.audit(Event::SessionEnded, Some(&old.user), None);
        return Ok(());
    }
    let dropped = match dropped {
        Some(sid) => {
            let longest = longest_of(app, issuer, old).await?;
            Some(Tombstone::session(&issuer.id, sid, &old.user, app.now(), longest))
        }
        None => None,
    };
    app.store.end_session(&issuer.id, id, &SessionEnd::Succeeded { dropped }).await?.take(durable);
    Ok(())
}
