//! Changes in the store, queued for the job that updates the copies in memory.

use std::sync::Arc;

use parking_lot::Mutex;
use symbolon_store::port::{ChangeListener, Changed, Following};
use tokio::sync::{Notify, oneshot};

/// Most queued changes. If more arrive, they are replaced by [`Changed::Everything`]: all copies are loaded again.
const CAPACITY: usize = 256;

/// Queued changes.
#[derive(Default)]
pub struct Waiting {
    /// The changes since the last [`Changes::take`].
    pub changes: Vec<Changed>,
    /// The writers that wait until these changes are applied to memory.
    pub told: Vec<oneshot::Sender<()>>,
}

/// The queue of changes.
#[derive(Default)]
pub struct Changes {
    waiting: Mutex<Waiting>,
    came: Notify,
}

impl Changes {
    /// Resolves when a change was queued.
    pub async fn came(&self) {
        self.came.notified().await;
    }

    /// Takes all queued changes.
    pub fn take(&self) -> Waiting {
        std::mem::take(&mut *self.waiting.lock())
    }

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
            // An error means that the server stopped before it applied the change: nothing is left to wait for.
            let _ = followed.await;
        })
    }
}

/// A listener for the store, which only queues, and the queue that it fills.
pub fn channel() -> (ChangeListener, Arc<Changes>) {
    let changes = Arc::new(Changes::default());
    let filled = Arc::clone(&changes);
    let listener = move |changed: &Changed| {
        match changed {
            // There are many of these changes, and nothing above the store keeps copies of such records.
            Changed::Client(..)
            | Changed::ClientDeleted(..)
            | Changed::User(..)
            | Changed::Consents(..)
            | Changed::Entitlements(..)
            | Changed::Groups(_) => Box::pin(std::future::ready(())) as Following,
            Changed::Keys(_) | Changed::Settings(_) | Changed::Issuers | Changed::Everything => {
                filled.put(changed)
            }
        }
    };
    (Box::new(listener), changes)
}
