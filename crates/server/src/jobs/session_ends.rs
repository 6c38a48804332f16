//! Ends sessions whose time is over, and so tells the clients that want to be told, whether a browser comes back or not.
//!
//! Every node does this; a session is claimed by one at a time, and comes again where a node ended in between. Each client
//! hears of it by the queue of deliveries, as of any other end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use symbolon_app::app::App;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::session::Session;
use symbolon_store::StoreError;
use symbolon_store::port::most_of_recipient;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use super::report;

/// How long a session belongs to whoever claimed it: longer than ending as many as are claimed at once takes.
const CLAIM: Duration = Duration::from_secs(120);

/// How many are claimed at once, at most: as many as the store gives. Most are found in use, and cost one look.
const MOST_CLAIMED: u32 = 1_000;

/// How many are ended at a time.
const AT_ONCE: usize = 16;

/// How many times at most they are claimed in one run of the job, so that none lasts long.
const MOST_CLAIMS: u32 = 50;

/// So many notices one client may be handed in a run, however small the queue is.
const LEAST: u32 = 100;

/// Ends what is over, until nothing more is, a client has been handed as much as it may be in one run, or the server stops.
pub(super) async fn end(app: &Arc<App>, stopping: &watch::Receiver<bool>) {
    let mut handed = Handed::of_queue(app.config.load().mail.queue);
    for _ in 0..MOST_CLAIMS {
        if is_stopping(stopping) {
            return;
        }
        match end_some(app, &mut handed).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(target: "symbolon::jobs", %error, "sessions whose time is over were not ended");
                return;
            }
        }
    }
}

/// Whether the server stops, or is gone.
fn is_stopping(stopping: &watch::Receiver<bool>) -> bool {
    let stops = *stopping.borrow();
    stops || stopping.has_changed().is_err()
}

/// Ends some; returns whether to go on at once.
async fn end_some(app: &Arc<App>, handed: &mut Handed) -> Result<bool, StoreError> {
    let now = app.now();
    let limit = handed.room().min(MOST_CLAIMED);
    let claimed = app.store.claim_ended_sessions(now, now + CLAIM, limit).await?;
    for (issuer, session) in &claimed.sessions {
        handed.note(issuer, session);
    }
    let given = claimed.sessions.len();
    let ended = end_all(app, claimed.sessions).await;
    // If none of them could be ended, neither could the next ones.
    Ok(claimed.more && handed.room() > 0 && (given == 0 || ended > 0))
}

/// Ends them, a few at a time; returns how many have ended. One that cannot be ended now comes again, and holds up none of the
/// others.
async fn end_all(app: &Arc<App>, sessions: Vec<(IssuerId, Arc<Session>)>) -> usize {
    let (mut under_way, mut ended) = (JoinSet::new(), 0);
    for (issuer, session) in sessions {
        if under_way.len() >= AT_ONCE
            && let Some(joined) = under_way.join_next().await
        {
            ended += usize::from(has_ended(joined));
        }
        let app = Arc::clone(app);
        under_way.spawn(async move { end_one(&app, &issuer, &session).await });
    }
    while let Some(joined) = under_way.join_next().await {
        ended += usize::from(has_ended(joined));
    }
    ended
}

fn has_ended(joined: Result<bool, JoinError>) -> bool {
    let ended = matches!(joined, Ok(true));
    report(joined.map(|_| ()));
    ended
}

/// Ends one; returns whether that is done.
async fn end_one(app: &App, issuer: &IssuerId, session: &Session) -> bool {
    let ended = end_of(app, issuer, session).await;
    if let Err(error) = &ended {
        tracing::warn!(
            target: "symbolon::jobs", %issuer, sid = %session.sid, %error,
            "a session whose time is over was not ended"
        );
    }
    ended.is_ok()
}

/// Ends one, if its issuer is still there: with an issuer everything of it ends.
async fn end_of(app: &App, issuer: &IssuerId, session: &Session) -> Result<(), StoreError> {
    match app.issuers.load_full().by_id(issuer) {
        Some(state) => app.end_over(state, (session, None)).await?.told().await.map(|_| ()),
        None => Ok(()),
    }
}

/// What one run of the job has handed over to clients. Each has a part of the queue, and what does not fit there is given up: so
/// what remains when one of them has been handed half of its part waits for the next run. What waits in the queue does not
/// count: a client that takes nothing holds up nobody.
struct Handed {
    of_client: HashMap<(IssuerId, ClientId), u32>,
    /// The most that one client was handed.
    highest: u32,
    most: u32,
}

impl Handed {
    fn of_queue(queue: u32) -> Self {
        let most = (most_of_recipient(queue) / 2).max(LEAST);
        Self { of_client: HashMap::new(), highest: 0, most }
    }

    /// How many more notices every client may be handed.
    fn room(&self) -> u32 {
        self.most.saturating_sub(self.highest)
    }

    /// Counts what the end of a session hands over: to each client a notice for each `sid`. Those that do not want to be told
    /// count like the others, because only the session is known here.
    fn note(&mut self, issuer: &IssuerId, session: &Session) {
        if !session.by_time.is_told() {
            return;
        }
        let notices = u32::try_from(session.sids().count()).unwrap_or(u32::MAX);
        for client in &session.clients {
            let of_client = self.of_client.entry((issuer.clone(), client.clone())).or_default();
            *of_client = of_client.saturating_add(notices);
            self.highest = self.highest.max(*of_client);
        }
    }
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::id::{Sid, UserId};
    use symbolon_protocol::session::{Amr, EndByTime};
    use symbolon_protocol::time::Timestamp;

    use super::*;

    fn session(clients: &[&str], by_time: EndByTime) -> Session {
        Session {
            user: UserId::trusted("u1"),
            sid: Sid::trusted("s1"),
            auth_time: Timestamp::EPOCH,
            created_at: Timestamp::EPOCH,
            expires_at: Timestamp::EPOCH,
            amr: Amr::default(),
            clients: clients.iter().map(|client| ClientId::trusted(*client)).collect(),
            predecessors: Default::default(),
            by_time,
        }
    }

    #[test]
    fn a_run_stops_where_one_client_was_handed_half_of_its_part_of_the_queue() {
        let (one, other) = (IssuerId::default_issuer(), IssuerId::parse("other").unwrap());
        let idle = EndByTime::after_idle(Duration::from_secs(60));
        let mut handed = Handed::of_queue(10_000);
        assert_eq!(handed.room(), 500);
        for _ in 0..10_000 {
            handed.note(&one, &session(&["a"], idle));
        }
        assert_eq!(handed.room(), 500, "nobody is told of those");
        for _ in 0..300 {
            handed.note(&one, &session(&["a", "b"], idle.told()));
            handed.note(&other, &session(&["a"], idle.told()));
        }
        assert_eq!(handed.room(), 200, "each has a part of its own");
        let mut second = session(&["b"], idle.told());
        second.predecessors = vec![Sid::trusted("s0")].into();
        for _ in 0..150 {
            handed.note(&one, &second);
        }
        assert_eq!(handed.room(), 0);
        assert_eq!(Handed::of_queue(10).room(), 100);
    }

    #[test]
    fn a_run_stops_with_the_server() {
        let (stop, stopping) = watch::channel(false);
        assert!(!is_stopping(&stopping));
        stop.send_replace(true);
        assert!(is_stopping(&stopping));
        stop.send_replace(false);
        drop(stop);
        assert!(is_stopping(&stopping));
    }
}
