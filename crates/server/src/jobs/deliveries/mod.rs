//! Takes what is due from the queue of deliveries, and hands it to whoever delivers its kind.
//!
//! Nobody waits for this job, and it never waits for one delivery: some are on their way at a time, each for a bounded
//! time. A claim lasts longer than that. What a process that ended had claimed comes again when its claim is over.

mod back_channel_logout;
mod ciba_ping;
mod client_calls;
mod mail;

use std::sync::Arc;
use std::time::Duration;

use symbolon_app::app::App;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{Deliveries, Delivery, DeliveryKind};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{report, stopped};

/// How often the queue is looked at for what other nodes queued, and for what was postponed.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a delivery belongs to whoever claimed it: longer than the longest attempt.
const CLAIM: Duration = Duration::from_secs(120);
/// How many deliveries are on their way at a time.
const SLOTS: usize = 16;
/// How long a stopping server waits for those on their way. What has not ended by then comes again.
const GRACE: Duration = Duration::from_secs(5);
/// How many processes may end while they have a delivery, before it is given up: each may have sent it.
const MOST_UNANSWERED: u32 = 2;
/// How often the store is told that a delivery has arrived, where it does not answer.
const TELL: usize = 3;

/// Everything that delivers.
struct Couriers {
    app: Arc<App>,
    mail: mail::MailCourier,
    logout: back_channel_logout::LogoutCourier,
    ciba: ciba_ping::CibaCourier,
}

/// Delivers until the server stops.
pub(super) async fn run(app: Arc<App>, mut stopping: watch::Receiver<bool>) {
    let mail = mail::MailCourier::new(&app);
    let logout = back_channel_logout::LogoutCourier::default();
    let ciba = ciba_ping::CibaCourier::default();
    let couriers = Arc::new(Couriers { app: Arc::clone(&app), mail, logout, ciba });
    let mut under_way = JoinSet::new();
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut look = true;
    loop {
        // Not for every place that becomes free: each claim is a write to the store.
        if look && under_way.len() <= SLOTS / 2 {
            look = couriers.send_out(&mut under_way).await;
        }
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            Some(ended) = under_way.join_next() => report(ended),
            () = app.deliveries.queued() => look = true,
            _ = ticks.tick() => look = true,
        }
    }
    let ended = async { while under_way.join_next().await.is_some() {} };
    if timeout(GRACE, ended).await.is_err() {
        tracing::warn!(target: "symbolon::jobs", count = under_way.len(), "deliveries were interrupted; they come again");
    }
    couriers.mail.close().await;
}

/// Notes how many wait, for `/metrics`.
pub(super) async fn count_waiting(app: &App) {
    match app.store.waiting_deliveries().await {
        Ok(waiting) => app.deliveries.figures().set(&waiting),
        Err(error) => tracing::warn!(target: "symbolon::jobs", %error, "waiting deliveries were not counted"),
    }
}

impl Couriers {
    /// Claims what is due and sends it out. Returns whether more may be due.
    async fn send_out(self: &Arc<Self>, under_way: &mut JoinSet<()>) -> bool {
        let free = SLOTS.saturating_sub(under_way.len());
        let limit = u32::try_from(free).unwrap_or(1);
        let now = self.app.now();
        let claimed = match self.app.store.claim_deliveries(now, now + CLAIM, limit).await {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(target: "symbolon::jobs", %error, "nothing was taken from the queue of deliveries");
                return false;
            }
        };
        let more = claimed.len() >= free;
        for (issuer, delivery) in claimed {
            let couriers = Arc::clone(self);
            under_way.spawn(async move { couriers.deliver(&issuer, &delivery).await });
        }
        more
    }

    async fn deliver(&self, issuer: &IssuerId, delivery: &Delivery) {
        match delivery.kind {
            DeliveryKind::Mail => self.mail.deliver(&self.app, issuer, delivery).await,
            DeliveryKind::BackChannelLogout => self.logout.deliver(&self.app, issuer, delivery).await,
            DeliveryKind::CibaPing => self.ciba.deliver(&self.app, issuer, delivery).await,
        }
    }
}

/// Takes a delivery out of the queue. If the store does not answer, it comes again after its claim.
async fn finish<S: Deliveries + ?Sized>(store: &S, issuer: &IssuerId, delivery: &Delivery) {
    for _ in 0..TELL {
        match store.finish_delivery(issuer, &delivery.id).await {
            Ok(_) => return,
            Err(error) => note_untold(&error),
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// Puts a delivery back into the queue.
async fn postpone<S: Deliveries + ?Sized>(
    store: &S,
    issuer: &IssuerId,
    delivery: &Delivery,
    due_at: Timestamp,
) {
    if let Err(error) = store.postpone_delivery(issuer, &delivery.id, due_at).await {
        note_untold(&error);
    }
}

fn note_untold(error: &StoreError) {
    tracing::warn!(target: "symbolon::jobs", %error, "the store was not told what became of a delivery");
}

/// How long to wait after so many attempts: five seconds, doubled each time, ten minutes at most.
fn back_off(attempts: u32) -> Duration {
    let doubled = Duration::from_secs(5).saturating_mul(1 << attempts.saturating_sub(1).min(10));
    doubled.min(Duration::from_secs(600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_become_rarer() {
        let seconds = [1, 2, 3, 4, 8, 9, 100].map(|attempts| back_off(attempts).as_secs());
        assert_eq!(seconds, [5, 10, 20, 40, 600, 600, 600]);
    }
}
