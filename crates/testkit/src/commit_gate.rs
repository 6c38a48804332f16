//! A gate in front of the disk: while it is closed, nothing that the embedded store writes becomes durable.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use symbolon_store_embedded::journal::BeforeSync;

/// The gate. It opens when its last owner is dropped, so that a failed test ends.
#[derive(Clone, Default)]
pub struct CommitGate(Arc<Owned>);

#[derive(Default)]
struct Owned(Arc<State>);

#[derive(Default)]
struct State {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl CommitGate {
    /// Closes it: from now on commits wait.
    pub fn close(&self) {
        *self.0.0.lock() = true;
    }

    /// Opens it: waiting commits continue.
    pub fn open(&self) {
        self.0.open();
    }

    /// The function that the journal calls before each commit.
    pub(crate) fn before_sync(&self) -> BeforeSync {
        let state = Arc::clone(&self.0.0);
        Arc::new(move || {
            drop(state.opened.wait_while(state.lock(), |is_closed| *is_closed));
            Ok(())
        })
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owned {
    fn open(&self) {
        *self.0.lock() = false;
        self.0.opened.notify_all();
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.open();
    }
}
