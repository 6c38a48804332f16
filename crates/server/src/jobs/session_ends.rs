//! Ends sessions whose time is over, and so tells the clients that want to be told, whether a browser comes back or not.
//!
//! Every node does this; a session is claimed by one at a time, and comes again where a node ended in between. Each client
//! hears of it by the queue of deliveries, as of any other end.

use std::time::Duration;

use symbolon_app::app::App;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::session::Session;
use symbolon_store::port::{DeliveryKind, most_of_recipient};
use symbolon_store::{Outcome, StoreError};

/// How long a session belongs to whoever claimed it: longer than ending as many as are claimed at once takes.
const CLAIM: Duration = Duration::from_secs(120);

/// How many are claimed at once.
const AT_ONCE: u32 = 100;

/// How many times at most they are claimed in one run of the job, so that none lasts long.
const MOST_CLAIMS: u32 = 50;

/// Ends what is over.
pub(super) async fn end(app: &App) {
    for _ in 0..MOST_CLAIMS {
        match end_some(app).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(target: "symbolon::jobs", %error, "sessions whose time is over were not ended");
                return;
            }
        }
    }
}

/// Ends some; returns whether to go on at once.
async fn end_some(app: &App) -> Result<bool, StoreError> {
    let now = app.now();
    let claimed = app.store.claim_ended_sessions(now, now + CLAIM, AT_ONCE).await?;
    // All are on their way to the disk before the first is waited for.
    let mut outcomes = Vec::with_capacity(claimed.sessions.len());
    for (issuer, session) in &claimed.sessions {
        // One that cannot be ended now comes again, and holds up none of the others.
        match end_one(app, (issuer, session)).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                tracing::warn!(target: "symbolon::jobs", %error, sid = %session.sid, "a session whose time is over was not ended");
            }
        }
    }
    for outcome in outcomes {
        outcome.told().await?;
    }
    Ok(claimed.more && !is_behind(app).await?)
}

/// Ends one, if its issuer is still there: with an issuer everything of it ends.
async fn end_one(app: &App, (issuer, session): (&IssuerId, &Session)) -> Result<Outcome<bool>, StoreError> {
    match app.issuers.load_full().by_id(issuer) {
        Some(state) => app.end_over(state, (session, None)).await,
        None => Ok(Outcome::settled(false)),
    }
}

/// Whether so many clients wait to be told that more of them would be given up, because each has a part of the queue: then
/// those that are over wait for the next run. However many wait, each run ends some, so that a client that takes nothing holds up
/// nobody.
async fn is_behind(app: &App) -> Result<bool, StoreError> {
    let most = u64::from(most_of_recipient(app.config.load().mail.queue) / 2);
    let waiting = app.store.waiting_deliveries().await?;
    Ok(waiting.iter().any(|(kind, count)| *kind == DeliveryKind::BackChannelLogout && *count > most))
}
