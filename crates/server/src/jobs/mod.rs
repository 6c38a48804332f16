//! Background jobs: adjust the clock, follow changes in the store, deliver mail, end sessions whose time is over, delete expired
//! records, delete clients that registered themselves and were never used, rotate keys, write and trim the audit log. One runs only once: it tells which clients are less protected than by default.
//!
//! Timers only start a job. What it does is decided by the injected clock.

mod clock;
mod deliveries;
mod follow;
mod keys;
mod session_ends;
mod unused_clients;
mod weak_clients;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{Audit, Store};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

use symbolon_app::app::App;
use symbolon_app::clock::SystemClock;

const ADJUST_EVERY: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How often sessions are ended whose time is over: of which a client is to be told, and which were idle.
const END_EVERY: Duration = Duration::from_secs(5);
/// How often wrong admin secrets are checked for an ended minute, which gets one record in the audit log.
const SUM_UP_EVERY: Duration = Duration::from_secs(10);
/// How often waiting deliveries are counted for `/metrics`.
const COUNT_EVERY: Duration = Duration::from_secs(15);
const KEYS_EVERY: Duration = Duration::from_secs(600);
/// How often clients are looked for that registered themselves and were never used.
const UNUSED_EVERY: Duration = Duration::from_secs(3_600);
const TRIM_EVERY: Duration = Duration::from_secs(3_600);
/// Short enough that a flood of records cannot fill the disk in between.
const SHRINK_EVERY: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

/// The jobs of a running server.
pub struct Jobs {
    app: Arc<App>,
    tasks: JoinSet<()>,
    // Kept apart, because these write the audit records and send the spans that the other jobs still produce.
    last: JoinSet<()>,
}

/// Starts every job; call it once per app. Jobs end when `stopping` becomes true or its sender is dropped, except the
/// audit writer and the trace sender, which run until [`Jobs::finish`]. `clock`: the real clock, if the app uses one.
pub fn spawn(app: Arc<App>, clock: Option<Arc<SystemClock>>, stopping: watch::Receiver<bool>) -> Jobs {
    app.registry.register(app.passwords.figures());
    let mut tasks = JoinSet::new();
    if let Some(clock) = clock {
        let mut adjuster = clock::ClockAdjuster::new(clock);
        tasks.spawn(every(ADJUST_EVERY, stopping.clone(), move || {
            adjuster.adjust();
            std::future::ready(())
        }));
    }
    let of_job = Arc::clone(&app);
    tasks.spawn(follow::run(Arc::clone(app.changes()), stopping.clone(), move |changed| {
        let app = Arc::clone(&of_job);
        async move { app.follow(&changed).await }
    }));
    tasks.spawn(deliveries::run(Arc::clone(&app), stopping.clone()));
    let (of_job, until) = (Arc::clone(&app), stopping.clone());
    tasks.spawn(async move { weak_clients::tell(&of_job, until).await });
    let (of_job, until) = (Arc::clone(&app), stopping.clone());
    tasks.spawn(every(END_EVERY, stopping.clone(), move || {
        let (app, until) = (Arc::clone(&of_job), until.clone());
        async move { session_ends::end(&app, &until).await }
    }));
    let on = |period, job: fn(Arc<App>) -> Boxed| {
        let (app, stopping) = (Arc::clone(&app), stopping.clone());
        every(period, stopping, move || job(Arc::clone(&app)))
    };
    tasks.spawn(on(SWEEP_EVERY, |app| Box::pin(async move { sweep(&*app.store, app.now()).await })));
    tasks.spawn(on(SUM_UP_EVERY, |app| Box::pin(async move { app.audit.sum_up_refused_admins(app.now()) })));
    tasks.spawn(on(COUNT_EVERY, |app| Box::pin(async move { deliveries::count_waiting(&app).await })));
    tasks.spawn(on(KEYS_EVERY, |app| Box::pin(async move { keys::keep(&app).await })));
    tasks.spawn(on(UNUSED_EVERY, |app| Box::pin(async move { unused_clients::delete(&app).await })));
    tasks.spawn(on(TRIM_EVERY, |app| Box::pin(async move { trim(&app).await })));
    tasks.spawn(on(SHRINK_EVERY, |app| {
        Box::pin(async move { shrink(&*app.store, app.config.load().telemetry.audit_max_size).await })
    }));
    let of_job = Arc::clone(&app);
    let mut last = JoinSet::new();
    last.spawn(async move {
        let store = Arc::clone(&of_job.store);
        of_job.audit.run(&*store).await;
    });
    if let Some(tracer) = app.tracer.clone() {
        last.spawn(async move { tracer.run().await });
    }
    Jobs { app, tasks, last }
}

impl Jobs {
    /// Waits for the jobs to end, writes the remaining audit records and sends the last traces. Call it when the jobs
    /// were told to stop and no request is left. Close the store after it.
    pub async fn finish(self) {
        joined(self.tasks).await;
        let traces = async {
            if let Some(tracer) = &self.app.tracer {
                tracer.drain().await;
            }
        };
        tokio::join!(self.app.audit.drain(), traces);
        joined(self.last).await;
    }
}

async fn joined(mut tasks: JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        report(ended);
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(target: "symbolon::jobs", %error, "a background job went down");
    }
}

type Boxed = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs a job at once and then once per period, until the server stops. A running job is not interrupted.
async fn every<F: Future<Output = ()> + Send + 'static>(
    period: Duration,
    mut stopping: watch::Receiver<bool>,
    mut job: impl FnMut() -> F,
) {
    let mut ticks = interval(period);
    // After a suspension of the machine, missed ticks are skipped.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            // Spawned, so that a panic in one run does not end the next ones.
            _ = ticks.tick() => report(tokio::spawn(job()).await),
        }
    }
}

/// Returns when the server stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone: the server has ended.
    let _ = stopping.wait_for(|stop| *stop).await;
}

async fn sweep(store: &dyn Store, now: Timestamp) {
    match store.sweep(now).await {
        Ok(0) => {}
        Ok(records) => tracing::debug!(target: "symbolon::jobs", records, "swept"),
        Err(error) => tracing::warn!(target: "symbolon::jobs", %error, "the sweep failed"),
    }
}

/// Deletes audit records older than their issuers' settings allow.
async fn trim(app: &App) {
    let now = app.now();
    let issuers = app.issuers.load_full();
    for issuer in issuers.iter() {
        let days = issuer.settings.load().audit_days;
        match trim_issuer(&*app.store, &issuer.id, days, now).await {
            Ok(0) => {}
            Ok(records) => {
                tracing::info!(target: "symbolon::jobs", issuer = %issuer.id, records, "audit log trimmed")
            }
            Err(error) => {
                tracing::warn!(target: "symbolon::jobs", issuer = %issuer.id, %error, "the audit log was not trimmed");
            }
        }
    }
}

/// Zero days means that nothing is deleted: a mistake in the setting must not wipe the log.
async fn trim_issuer<S: Audit + ?Sized>(
    store: &S,
    issuer: &symbolon_protocol::id::IssuerId,
    days: u32,
    now: Timestamp,
) -> Result<u64, StoreError> {
    if days == 0 {
        return Ok(0);
    }
    store.trim_audit(issuer, now - DAY.saturating_mul(days)).await
}

/// Deletes the oldest audit records beyond the configured total size, whatever the issuers' settings say.
async fn shrink<S: Audit + ?Sized>(store: &S, most: u64) {
    match store.trim_audit_to(most).await {
        Ok(0) => {}
        Ok(records) => {
            tracing::warn!(
                target: "symbolon::jobs",
                records,
                most,
                "audit records were deleted before their time: the log exceeds `audit.max_size`"
            );
        }
        Err(error) => {
            tracing::warn!(target: "symbolon::jobs", %error, "the audit log was not brought to its size")
        }
    }
}

#[cfg(test)]
mod tests;
