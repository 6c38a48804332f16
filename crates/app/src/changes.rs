//! What changed in the store, on its way to those who keep copies in memory.

use std::sync::Arc;

use parking_lot::Mutex;
use symbolon_store::port::{ChangeListener, Changed, Following};
use tokio::sync::{Notify, oneshot};

/// Changes that may wait; where more come at once, everything is loaded anew.
const CAPACITY: usize = 256;

/// Changes that wait to be followed.
#[derive(Default)]
pub struct Waiting {
    /// What changed since it was last asked.
    pub changes: Vec<Changed>,
    /// Those who wait until these changes are followed.
    pub told: Vec<oneshot::Sender<()>>,
}

/// Changes on their way.
#[derive(Default)]
pub struct Changes {
    waiting: Mutex<Waiting>,
    came: Notify,
}

impl Changes {
    /// Resolves when a change has come.
    pub async fn came(&self) {
        self.came.notified().await;
    }

    /// Takes all that wait.
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
            // An error says that the server is gone.
            let _ = followed.await;
        })
    }
}

/// A listener that never waits, and where its changes come out.
pub fn channel() -> (ChangeListener, Arc<Changes>) {
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
