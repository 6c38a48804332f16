//! Brings memory in line with what changed in the store, whoever changed it.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_store::port::{Changed, Following, Listener};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::sleep;

use super::stopped;

/// Changes that may wait; where more come at once, everything is loaded anew.
const CAPACITY: usize = 256;
/// The wait before a change that could not be followed is tried again.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Waiting {
    changes: Vec<Changed>,
    /// Those who wait until these changes are followed.
    told: Vec<oneshot::Sender<()>>,
}

/// Changes on their way.
#[derive(Default)]
pub(crate) struct Changes {
    waiting: Mutex<Waiting>,
    came: Notify,
}

impl Changes {
    fn put(&self, changed: &Changed) -> Following {
        let (tell, followed) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        if waiting.changes.len() < CAPACITY {
            waiting.changes.push(changed.clone());
        } else {
            waiting.changes = vec![Changed::Everything];
        }
        waiting.told.retain(|told| !told.is_closed());
        waiting.told.push(tell);
        drop(waiting);
        self.came.notify_one();
        Box::pin(async move {
            // An error says that the server is gone.
            let _ = followed.await;
        })
    }
}

/// A listener that never waits, and where its changes come out.
pub(crate) fn channel() -> (Listener, Arc<Changes>) {
    let changes = Arc::new(Changes::default());
    let filled = Arc::clone(&changes);
    let listener = move |changed: &Changed| {
        match changed {
            // Nothing above the store keeps copies of these, and there are many.
            Changed::Client(..) | Changed::ClientDeleted(..) | Changed::User(..) | Changed::Consents(..) => {
                Box::pin(std::future::ready(())) as Following
            }
            Changed::Keys(_) | Changed::Settings(_) | Changed::Issuers | Changed::Everything => {
                filled.put(changed)
            }
        }
    };
    (Box::new(listener), changes)
}

/// Follows changes until told to stop. What fails is tried again until it succeeds.
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
            () = changes.came.notified() => {}
            () = sleep(RETRY), if !failed.is_empty() => {}
        }
        let mut pending = std::mem::take(&mut failed);
        let mut waiting = std::mem::take(&mut *changes.waiting.lock());
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
                // Whoever waited may have given up.
                let _ = waits.send(());
            }
        }
    }
}

/// Each change once, and nothing else beside one that covers all.
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
