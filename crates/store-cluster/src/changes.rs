//! The word of a change: to the caches and listeners of this process, and to the other nodes.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use parking_lot::RwLock;
use symbolon_store::port::{ChangeListener, Changed};
use tokio::sync::mpsc;

/// A word for the other nodes: what changed, or only that there is something to look up.
pub(crate) type Word = Option<Changed>;

/// Everybody who keeps copies of records.
pub(crate) struct Changes {
    listeners: RwLock<Vec<ChangeListener>>,
    to_others: mpsc::UnboundedSender<Word>,
    /// Words that are not on their way yet.
    unsent: AtomicUsize,
}

impl Changes {
    /// Nobody yet, and where words for the other nodes come out.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Word>) {
        let (to_others, words) = mpsc::unbounded_channel();
        (Self { listeners: RwLock::default(), to_others, unsent: AtomicUsize::new(0) }, words)
    }

    /// Calls `listener` at every change from now on, in the order in which they came.
    pub(crate) fn listen(&self, listener: ChangeListener) {
        self.listeners.write().push(listener);
    }

    /// A change of this node's own, after its commit.
    pub(crate) fn announce(&self, changed: &Changed) {
        self.apply(changed);
        self.tell_others(Some(changed.clone()));
    }

    /// Sends the other nodes a word.
    pub(crate) fn tell_others(&self, word: Word) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        // The receiver is gone when the store is closed, and nobody is to be told then.
        let _ = self.to_others.send(word);
    }

    /// A word is on its way.
    pub(crate) fn sent(&self) {
        self.unsent.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether every word is on its way.
    pub(crate) fn all_sent(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) == 0
    }

    /// A change that another node told of.
    pub(crate) fn apply(&self, changed: &Changed) {
        for listener in self.listeners.read().iter() {
            drop(listener(changed));
        }
    }

    /// As [`apply`](Self::apply), and waits until every listener has taken it over.
    pub(crate) async fn apply_and_follow(&self, changed: &Changed) {
        let following: Vec<_> = self.listeners.read().iter().map(|listener| listener(changed)).collect();
        join_all(following).await;
    }
}
