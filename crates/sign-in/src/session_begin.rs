//! Beginning a session in a browser, in place of the one that it has of the same user, or beside those of others.

use http::{HeaderValue, header};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, Sid};
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::{Amr, EndByTime, Session, SessionId};
use symbolon_protocol::session_origin::{SessionOrigin, device};
use symbolon_protocol::user::User;
use symbolon_store::Durable;
use symbolon_store::shard::{ShardKind, sid_of};

use crate::browser_accounts::{Account, BrowserAccounts, cookies_in_use, most, others_beside};
use crate::interaction::{Interaction, Pending};
use crate::session_end::end_session;
use crate::{known_browser, session_quota};
use symbolon_app::http::{Call, Context, Failure, Received, session_cookie};
use symbolon_app::session_end::Ending;

/// A session that has begun in a browser, and is in use there.
pub(super) struct Begun {
    /// Its id.
    pub(super) id: SessionId,
    /// The session.
    pub(super) session: Session,
    /// The sessions of the browser's other accounts, that of the one last used first.
    others: Vec<SessionId>,
    /// The cookie by which the browser is known from now on.
    known: Option<HeaderValue>,
}

impl Begun {
    /// A session that had begun before, by a form that was sent twice. The browser has perhaps dropped the first answer, with the
    /// cookies in it, so it gets all of them again. `user`: whose it is, unless they were deleted meanwhile.
    pub(super) fn before(
        context: &Context,
        received: &Received,
        id: SessionId,
        session: &Session,
        user: Option<&User>,
    ) -> Self {
        let known = user.and_then(|user| known_browser::cookie(context, received, user));
        Self { others: others_beside(context, received, &id), id, session: session.clone(), known }
    }

    /// The cookies that bring it into the browser.
    pub(super) fn cookies(&self, context: &Context, received: &Received) -> [Option<HeaderValue>; 3] {
        let [own, others] = cookies_in_use(context, received, (&self.id, &self.session), &self.others);
        [own, others, self.known.clone()]
    }
}

/// Begins a session for somebody who has just proven who they are, and takes over the one that the browser had of them.
/// `None` if the user was deactivated or deleted meanwhile. On return it is durable, with all that the request did before.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn begin(call: &mut Call, sign_in: SignIn<'_>) -> Result<Option<Begun>, Failure> {
    let (context, user) = (call.context.clone(), sign_in.user);
    begin_if(call, sign_in, async || may_sign_in(&context, user).await).await
}

/// Whether a user may sign in, as they are now.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn may_sign_in(context: &Context, user: &User) -> Result<bool, Failure> {
    let now = context.app.store.user(&context.issuer.id, &user.id).await?;
    Ok(now.is_some_and(|user| user.may_sign_in()))
}

/// Begins a session like [`begin`], if what was proven still holds when it is stored. `None` and `is_still`: as of [`open`].
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn begin_if(
    call: &mut Call,
    sign_in: SignIn<'_>,
    is_still: impl AsyncFnOnce() -> Result<bool, Failure>,
) -> Result<Option<Begun>, Failure> {
    let id = drawn_id(&call.context);
    open(call, id, sign_in, is_still).await
}

/// Goes on with the browser's session, in which its person has proven one more factor, under a new id. `None` if it has ended
/// meanwhile, or its user may not sign in any more. On return it is durable, with all that the request did before.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn step_up(call: &mut Call, user: &User, amr: Amr) -> Result<Option<Begun>, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let Some(before) = session_cookie(&call.received.headers, issuer) else { return Ok(None) };
    let is_still = async || {
        let session = app.store.session(&issuer.id, &before, app.now()).await?.told().await?;
        let user = app.store.user(&issuer.id, &user.id).await?;
        let is_own = session.is_some_and(|session| user.as_ref().is_some_and(|user| session.user == user.id));
        Ok(is_own && user.is_some_and(|user| user.may_sign_in()))
    };
    let id = drawn_id(&context);
    open(call, id, SignIn { user, amr, client: None }, is_still).await
}

/// Somebody who has proven who they are.
pub(super) struct SignIn<'a> {
    /// The user.
    pub(super) user: &'a User,
    /// How (`amr`, OpenID Connect Core 2).
    pub(super) amr: Amr,
    /// The client that asked for it, if one did.
    pub(super) client: Option<&'a ClientId>,
}

/// Begins the session of an interaction, or returns the one that it has already begun. `None` and `is_still`: as of [`open`].
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn begin_for<P: Pending>(
    call: &mut Call,
    interaction: &Interaction<P>,
    sign_in: SignIn<'_>,
    is_still: impl AsyncFnOnce() -> Result<bool, Failure>,
) -> Result<Option<Begun>, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let Context { app, issuer, .. } = &*context;
    let mut id = interaction.session_id(context, &sign_in.user.id);
    if let Some(session) = app.store.session(&issuer.id, &id, app.now()).await?.take(durable) {
        return Ok(Some(Begun::before(context, received, id, &session, Some(sign_in.user))));
    }
    let session = new_session(context, &sign_in, &id);
    if app.store.revoked(&issuer.id, &session.lineage(&issuer.id)).await?.take(durable) {
        // The session of this interaction has ended. Its `sid` is revoked, and so would be everything issued under
        // it, so a fresh id is drawn.
        id = drawn_id(context);
    }
    open(call, id, sign_in, is_still).await
}

fn drawn_id(context: &Context) -> SessionId {
    let app = &context.app;
    SessionId::new(app.store.place(ShardKind::Session).draw::<16>(ShardKind::Session, &*app.random))
}

/// Opens a session. It takes over the one that the browser had of the same user; those of others stay beside it, but for the
/// ones last used longest ago, beyond as many as the issuer allows. The id is always a new one (session fixation): an id
/// that the browser brought may be known to somebody else. `is_still` is asked after the session is stored, whether what was
/// proven still holds, and the user may sign in: whoever changes that now either finds the session and ends it, or did so
/// before, and `is_still` sees that. `None`: it does not. On return it is durable, with all that the request did before, and
/// the user's oldest sessions beyond the limit have ended.
async fn open(
    call: &mut Call,
    id: SessionId,
    sign_in: SignIn<'_>,
    is_still: impl AsyncFnOnce() -> Result<bool, Failure>,
) -> Result<Option<Begun>, Failure> {
    // Otherwise somebody who leaves right after the session is stored, and finds it again by the same form, would be signed in without
    // a record or mail that says so.
    call.must_complete();
    let Call { context, received, durable, .. } = &mut *call;
    let (Context { app, issuer, .. }, user) = (&*context, sign_in.user);
    let mut session = new_session(context, &sign_in, &id);
    let present = BrowserAccounts::of(context, received, durable).await?;
    let before = present.of_user(&user.id).cloned();
    let dropped = before.as_ref().and_then(|before| session.succeed(&before.session));
    app.store.open_session(&issuer.id, &id, session.clone()).await?.take(durable);
    if !is_still().await? {
        end_session(app, issuer, &id, &session, durable).await?;
        return Ok(None);
    }
    let mut others = present.into_all();
    others.retain(|account| account.session.user != user.id);
    let beyond = others.split_off(others.len().min(most(context) - 1));
    let (has_mark, had_session) = (known_browser::knows(context, received, &user.id), before.is_some());
    note_origin(context, received, &session).await;
    let known = known_browser::cookie(context, received, user);
    if let Some(before) = before {
        hand_over(context, &before, dropped, durable).await?;
    }
    for Account { id, session } in &beyond {
        end_session(app, issuer, id, session, durable).await?;
        context.audit(Event::SessionEnded, Some(&session.user), None);
    }
    call.settle().await?;
    call.context.audit(Event::SignedIn, Some(&user.id), sign_in.client);
    session_quota::enforce(&call.context, &user.id).await;
    match (has_mark, had_session) {
        (true, _) => {}
        (false, true) => known_browser::note(&call.context, &user.id).await,
        (false, false) => known_browser::tell(&call.context, &call.received, user, sign_in.amr).await,
    }
    let others = others.into_iter().map(|account| account.id).collect();
    Ok(Some(Begun { id, session, others, known }))
}

/// Notes where a session begins. It is for the eyes of its person alone, so nobody is refused because it could not be.
async fn note_origin(context: &Context, received: &Received, session: &Session) {
    let Context { app, issuer, remote, .. } = context;
    let user_agent = received.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let origin = SessionOrigin { device: user_agent.and_then(device), address: Some(*remote) };
    if let Err(error) = app.store.note_origin(&issuer.id, session, &origin).await {
        tracing::warn!(%error, "where a session began is not noted");
    }
}

/// The session that a sign-in begins now.
fn new_session(context: &Context, sign_in: &SignIn<'_>, id: &SessionId) -> Session {
    let Context { app, issuer, .. } = context;
    let now = app.now();
    let lifetimes = issuer.settings.load().lifetimes;
    Session {
        user: sign_in.user.id.clone(),
        sid: sid_of(&issuer.id, id),
        auth_time: now,
        created_at: now,
        expires_at: now + lifetimes.session,
        amr: sign_in.amr,
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: EndByTime::after_idle(lifetimes.session_idle),
    }
}

/// Ends the session of the same user that the browser had before, which only hands its `sid` over to the new one: so clients
/// where the user is signed in stay valid until the new session ends. `dropped`: an older `sid` for which the new session has
/// no room.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
async fn hand_over(
    context: &Context,
    Account { id, session: old }: &Account,
    dropped: Option<Sid>,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    let dropped = match dropped {
        Some(sid) => {
            app.tell_of_dropped(issuer, old, &sid).await?;
            let longest = app.longest_of(issuer, old).await?;
            Some(Tombstone::session(&issuer.id, sid, &old.user, app.now(), longest))
        }
        None => None,
    };
    let end = SessionEnd::Succeeded { dropped };
    app.end_session(issuer, Ending { session: old, id: Some(id), end: &end }).await?.take(durable);
    Ok(())
}
