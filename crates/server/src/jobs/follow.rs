//! Brings memory in line with what changed in the store, whoever changed it.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_store::port::Changed;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::stopped;

/// Changes that may wait; where more come at once, everything is loaded anew.
const CAPACITY: usize = 256;
/// The wait before a change that could not be followed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// What the store is to call at every change.
pub(super) type Listener = Box<dyn Fn(&Changed) + Send + Sync>;

/// Changes on their way.
#[derive(Default)]
pub(super) struct Changes {
    waiting: Mutex<Vec<Changed>>,
    came: Notify,
}

impl Changes {
    fn put(&self, changed: &Changed) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < CAPACITY {
            waiting.push(changed.clone());
        } else {
            *waiting = vec![Changed::Everything];
        }
        drop(waiting);
        self.came.notify_one();
    }
}

/// A listener that never waits, and where its changes come out.
pub(super) fn channel() -> (Listener, Arc<Changes>) {
    let changes = Arc::new(Changes::default());
    let filled = Arc::clone(&changes);
    let listener = move |changed: &Changed| {
        match changed {
            // Nothing above the store keeps copies of these, and there are many.
            Changed::Client(..) | Changed::ClientDeleted(..) | Changed::User(..) | Changed::Consents(..) => {}
            Changed::Keys(_) | Changed::Settings(_) | Changed::Issuers | Changed::Everything => {
                filled.put(changed);
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
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = changes.came.notified() => {}
            () = sleep(RETRY), if !failed.is_empty() => {}
        }
        let mut pending = std::mem::take(&mut failed);
        pending.append(&mut changes.waiting.lock());
        for changed in condensed(pending) {
            if let Err(error) = apply(changed.clone()).await {
                tracing::error!(target: "symbolon::jobs", %error, ?changed, "a change is not in effect yet");
                failed.push(changed);
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
