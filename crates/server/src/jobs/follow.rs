//! Updates the copies in memory after changes in the store, by this node or another.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use symbolon_store::port::Changed;
use tokio::sync::watch;
use tokio::time::sleep;

use super::stopped;
use symbolon_app::changes::Changes;

/// How long to wait before a failed update is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Applies changes until the server stops. A change that fails is tried again until it succeeds.
pub(super) async fn run<F, E>(
    changes: Arc<Changes>,
    mut stopping: watch::Receiver<bool>,
    mut apply: impl FnMut(Changed) -> F,
) where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let mut failed = Vec::new();
    let mut told = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = changes.came() => {}
            () = sleep(RETRY), if !failed.is_empty() => {}
        }
        let mut pending = std::mem::take(&mut failed);
        let mut waiting = changes.take();
        pending.append(&mut waiting.changes);
        told.append(&mut waiting.told);
        for changed in condensed(pending) {
            if let Err(error) = apply(changed.clone()).await {
                tracing::error!(target: "symbolon::jobs", %error, ?changed, "a change is not in effect yet");
                failed.push(changed);
            }
        }
        if failed.is_empty() {
            for waits in told.drain(..) {
                // Sending fails if the writer gave up waiting, which is no error.
                let _ = waits.send(());
            }
        }
    }
}

/// Removes duplicates. If a change covers everything, it replaces all others.
fn condensed(changes: Vec<Changed>) -> Vec<Changed> {
    if changes.iter().any(|changed| matches!(changed, Changed::Everything | Changed::Issuers)) {
        return vec![Changed::Everything];
    }
    let mut once = Vec::with_capacity(changes.len());
    for changed in changes {
        if !once.contains(&changed) {
            once.push(changed);
        }
    }
    once
}
