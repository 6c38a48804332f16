//! Notifications of changed records: to the caches and listeners of this process, and to the other nodes.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use parking_lot::RwLock;
use symbolon_store::port::{ChangeListener, Changed};
use tokio::sync::mpsc;

/// A message for the other nodes: what changed, or `None` if they only have to read the control version.
pub(crate) type Word = Option<Changed>;

/// The listeners that keep copies of records, and the queue of messages for the other nodes.
pub(crate) struct Changes {
    listeners: RwLock<Vec<ChangeListener>>,
    to_others: mpsc::UnboundedSender<Word>,
    /// The number of queued messages that are not sent yet.
    unsent: AtomicUsize,
}

impl Changes {
    /// Starts without listeners. Also returns the receiver of the messages for the other nodes.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Word>) {
        let (to_others, words) = mpsc::unbounded_channel();
        (Self { listeners: RwLock::default(), to_others, unsent: AtomicUsize::new(0) }, words)
    }

    /// Calls `listener` at every change from now on. Listeners are called in the order in which they were added.
    pub(crate) fn listen(&self, listener: ChangeListener) {
        self.listeners.write().push(listener);
    }

    /// Notifies this node's listeners and the other nodes of a change that this node has made, after its commit.
    pub(crate) fn announce(&self, changed: &Changed) {
        self.apply(changed);
        self.tell_others(Some(changed.clone()));
    }

    /// Queues a message for the other nodes.
    pub(crate) fn tell_others(&self, word: Word) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        // Sending fails only when the receiver is gone, at the shutdown of the runtime; then the message is not needed.
        let _ = self.to_others.send(word);
    }

    /// Counts one queued message as sent.
    pub(crate) fn sent(&self) {
        self.unsent.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether every queued message was sent.
    pub(crate) fn all_sent(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) == 0
    }

    /// Notifies this node's listeners of a change, such as one that another node announced.
    pub(crate) fn apply(&self, changed: &Changed) {
        for listener in self.listeners.read().iter() {
            drop(listener(changed));
        }
    }

    /// As [`apply`](Self::apply), and waits until every listener has processed the change.
    pub(crate) async fn apply_and_follow(&self, changed: &Changed) {
        let following: Vec<_> = self.listeners.read().iter().map(|listener| listener(changed)).collect();
        join_all(following).await;
    }
}
