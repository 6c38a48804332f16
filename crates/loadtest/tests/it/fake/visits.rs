//! What the fake provider was asked, on its own side.

use std::sync::Mutex;
use std::time::Instant;

use symbolon_loadtest::clock;

/// One request that was answered.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// `silent`, `userinfo`, `introspect`, or the grant type of a request for tokens.
    pub(crate) what: String,
    /// The access token that was handed out or used.
    pub(crate) token: String,
    pub(crate) at: Instant,
}

#[derive(Default)]
pub(crate) struct Visits(Mutex<Vec<Visit>>);

impl Visits {
    pub(super) fn note(&self, what: &str, token: &str) {
        let visit = Visit { what: what.to_owned(), token: token.to_owned(), at: clock::now() };
        self.0.lock().unwrap().push(visit);
    }

    /// Forgets what came so far.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    pub(crate) fn of(&self, what: &str) -> Vec<Visit> {
        self.0.lock().unwrap().iter().filter(|visit| visit.what == what).cloned().collect()
    }

    pub(crate) fn count(&self, what: &str) -> u64 {
        self.of(what).len() as u64
    }
}
