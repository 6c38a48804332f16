//! The accounts that are signed in in one browser, each with a session of its own.
//!
//! One of them is in use: the session cookie has its session, by which requests are answered. The sessions of the others are
//! in a second cookie, which only those pages read that need it. A session counts only if it is in a cookie of the browser:
//! a `sid` that a form names opens nothing that the browser does not have.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, header};
use symbolon_protocol::id::UserId;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::session_management::changed_state;
use symbolon_store::Durable;
use symbolon_store::shard::sid_of;

use crate::interaction::session_of;
use symbolon_app::http::{
    Context, Failure, Received, browser_state_cookie, other_sessions, other_sessions_cookie,
    remove_browser_state, remove_cookie, session_cookie, set_cookie,
};

/// An account that is signed in in a browser.
#[derive(Clone)]
pub(super) struct Account {
    /// The id of its session, which the browser has.
    pub(super) id: SessionId,
    /// The session.
    pub(super) session: Arc<Session>,
}

/// The accounts of a browser.
#[derive(Default)]
pub(super) struct BrowserAccounts {
    /// The one last chosen, unless it has been signed out.
    pub(super) in_use: Option<Account>,
    /// The others, the one last used first. No user twice.
    pub(super) others: Vec<Account>,
}

impl BrowserAccounts {
    /// Those of the browser that sent a request.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn of(
        context: &Context,
        received: &Received,
        durable: &mut Durable,
    ) -> Result<Self, Failure> {
        let in_use = session_of(context, received, durable).await?;
        let mut accounts =
            Self { in_use: in_use.map(|(id, session)| Account { id, session }), others: Vec::new() };
        let Context { app, issuer, .. } = context;
        for id in other_sessions(&received.headers, issuer) {
            match app.store.session(&issuer.id, &id, app.now()).await?.take(durable) {
                Some(session) if !accounts.has(&session.user) => {
                    accounts.others.push(Account { id, session })
                }
                Some(_) => {}
                None => app.end_expired(issuer, &id, durable).await?,
            }
        }
        Ok(accounts)
    }

    fn has(&self, user: &UserId) -> bool {
        self.all().any(|account| account.session.user == *user)
    }

    /// All of them, the one in use first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Account> {
        self.in_use.iter().chain(&self.others)
    }

    /// All of them, the one in use first.
    pub(super) fn into_all(self) -> Vec<Account> {
        self.in_use.into_iter().chain(self.others).collect()
    }

    /// The account whose session a `sid` names, now or before its person signed in again.
    pub(super) fn named(&self, sid: &str) -> Option<&Account> {
        self.all().find(|account| account.session.is_named(sid))
    }

    /// The account of a user.
    pub(super) fn of_user(&self, user: &UserId) -> Option<&Account> {
        self.all().find(|account| account.session.user == *user)
    }
}

/// Whether accounts may be signed in in the browser that sent a request besides the one in use: a look at its cookies alone.
pub(super) fn may_have_others(context: &Context, received: &Received) -> bool {
    !other_sessions(&received.headers, &context.issuer).is_empty()
}

/// Whether accounts are signed in in the browser besides the one in use.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn has_others(
    context: &Context,
    received: &Received,
    durable: &mut Durable,
) -> Result<bool, Failure> {
    if !may_have_others(context, received) {
        return Ok(false);
    }
    Ok(!BrowserAccounts::of(context, received, durable).await?.others.is_empty())
}

/// The cookies after another account is in use: its session, and those of the others.
pub(super) fn cookies_in_use(
    context: &Context,
    received: &Received,
    (id, session): (&SessionId, &Session),
    others: &[SessionId],
) -> [Option<HeaderValue>; 2] {
    let Context { app, issuer, .. } = context;
    let lives = session.expires_at.since(app.now());
    [
        set_cookie(issuer, &issuer.cookie, id.expose(), lives),
        other_sessions_cookie(&received.headers, issuer, others),
    ]
}

/// The sessions beside a new one that a browser has after it: the one in use before, and the others. Nothing is looked up;
/// whoever reads them finds out which live.
pub(super) fn others_beside(context: &Context, received: &Received, id: &SessionId) -> Vec<SessionId> {
    let issuer = &context.issuer;
    let before = session_cookie(&received.headers, issuer).into_iter();
    let mut others: Vec<SessionId> = Vec::new();
    for other in before.chain(other_sessions(&received.headers, issuer)) {
        if other != *id && !others.contains(&other) {
            others.push(other);
        }
    }
    others.truncate(most(context) - 1);
    others
}

/// How many accounts may be signed in in one browser; at least one.
pub(super) fn most(context: &Context) -> usize {
    usize::from(context.issuer.settings.load().accounts_per_browser.max(1))
}

/// Has the browser forget sessions that have ended in it. Applications of an account that goes on ask again by the browser's
/// state (Session Management 1.0 3.2), because the session that ended may have been theirs.
pub(super) fn forget_ended(
    context: &Context,
    received: &Received,
    ended: &[Account],
    answer: &mut HeaderMap,
) {
    let Context { app, issuer, .. } = context;
    let is_over = |id: &SessionId| ended.iter().any(|account| account.id == *id);
    let in_use = session_cookie(&received.headers, issuer);
    let others: Vec<SessionId> =
        other_sessions(&received.headers, issuer).into_iter().filter(|id| !is_over(id)).collect();
    let settings = issuer.settings.load();
    let going_on = in_use.as_ref().filter(|id| !is_over(id)).map(|id| sid_of(&issuer.id, id));
    let session = match (&in_use, &going_on) {
        (Some(_), None) => remove_cookie(issuer, &issuer.cookie),
        _ => None,
    };
    let state = match going_on.is_some() || !others.is_empty() {
        true if settings.session_management => {
            let state = changed_state(going_on.as_ref(), &*app.random);
            browser_state_cookie(issuer, &state, settings.lifetimes.session)
        }
        true if going_on.is_some() => None,
        _ => remove_browser_state(issuer),
    };
    let others = other_sessions_cookie(&received.headers, issuer, &others);
    for cookie in [session, others, state].into_iter().flatten() {
        answer.append(header::SET_COOKIE, cookie);
    }
}
