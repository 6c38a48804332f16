//! The word of a change: to the caches and listeners of this process, and to the other nodes.

use parking_lot::RwLock;
use symbolon_store::port::Changed;
use tokio::sync::mpsc;

type Listener = Box<dyn Fn(&Changed) + Send + Sync>;

/// Everybody who keeps copies of records.
pub(crate) struct Changes {
    listeners: RwLock<Vec<Listener>>,
    to_others: mpsc::UnboundedSender<Changed>,
}

impl Changes {
    /// Nobody yet, and where words for the other nodes come out.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Changed>) {
        let (to_others, words) = mpsc::unbounded_channel();
        (Self { listeners: RwLock::default(), to_others }, words)
    }

    /// Calls `listener` at every change from now on, in the order in which they came.
    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners.write().push(listener);
    }

    /// A change of this node's own, after its commit.
    pub(crate) fn announce(&self, changed: &Changed) {
        self.apply(changed);
        // The receiver is gone when the store closes, and nobody is to be told then.
        let _ = self.to_others.send(changed.clone());
    }

    /// A change that another node told of.
    pub(crate) fn apply(&self, changed: &Changed) {
        for listener in self.listeners.read().iter() {
            listener(changed);
        }
    }
}
