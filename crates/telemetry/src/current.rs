//! The request that the calling thread is polling.
//!
//! While a request's future is polled, its state is stored in a thread-local, and taken out after the poll. So
//! handlers can read and add facts without a parameter, and without the allocation of an entry in the extensions of
//! the request or response.

use std::cell::RefCell;
use std::net::IpAddr;

use symbolon_protocol::refusal::Refusal;

use super::endpoint::Endpoint;
use super::facts::RequestFacts;
use super::request_id::RequestId;

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current(None)) };
}

/// The facts known when a request arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The request's id.
    pub id: RequestId,
    /// The peer's address.
    pub remote: Option<IpAddr>,
}

/// The state of a request that a thread may be polling, or none. It is swapped in and out at every poll, so it is one
/// pointer.
#[derive(Debug)]
pub struct Current(Option<Box<RequestState>>);

/// The state of a request.
#[derive(Debug)]
struct RequestState {
    arrival: Arrival,
    facts: RequestFacts,
    /// Boxed, because most requests are not refused.
    refusal: Option<Box<NotedRefusal>>,
}

/// Why a request is refused.
#[derive(Debug)]
struct NotedRefusal {
    refusal: Refusal,
    /// Whether the audit log has a record of it.
    is_recorded: bool,
}

impl Current {
    /// The state of a request that has just arrived.
    pub(super) fn of(arrival: Arrival) -> Self {
        Self(Some(Box::new(RequestState { arrival, facts: RequestFacts::new(), refusal: None })))
    }

    /// The arrival of the current request; `None` outside of a request.
    pub fn arrival() -> Option<Arrival> {
        CURRENT.with_borrow(|current| current.0.as_ref().map(|known| known.arrival.clone()))
    }

    /// The endpoint of the current request, if it was noted.
    pub fn endpoint() -> Option<Endpoint> {
        CURRENT.with_borrow(|current| current.0.as_ref()?.facts.known_endpoint())
    }

    /// Notes why the current request is refused, for its log line. If the audit log has a record of it (`is_recorded`),
    /// it has a line in any case, so that one is found by the other. Does nothing outside of a request.
    pub fn note_refusal(refusal: Refusal, is_recorded: bool) {
        CURRENT.with_borrow_mut(|current| {
            if let Some(known) = &mut current.0 {
                known.refusal = Some(Box::new(NotedRefusal { refusal, is_recorded }));
            }
        });
    }

    /// Runs `work` on the facts of the current request. Does nothing outside of a request.
    pub(super) fn note(work: impl FnOnce(&mut RequestFacts)) {
        CURRENT.with_borrow_mut(|current| current.0.as_mut().map(|known| work(&mut known.facts)));
    }

    /// The facts of this request, while no thread is polling it.
    pub(super) fn facts(&self) -> &RequestFacts {
        static NONE: RequestFacts = RequestFacts::new();
        self.0.as_ref().map_or(&NONE, |known| &known.facts)
    }

    /// Why this request was refused, while no thread is polling it.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        Some(&self.0.as_ref()?.refusal.as_ref()?.refusal)
    }

    /// Whether this request was refused and the audit log has a record of it.
    pub(super) fn is_recorded_refusal(&self) -> bool {
        let noted = self.0.as_ref().and_then(|known| known.refusal.as_ref());
        noted.is_some_and(|noted| noted.is_recorded)
    }

    /// Runs `work` with this request as the thread's current one.
    pub(super) fn within<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let entered = Entered::enter(self);
        let result = work();
        drop(entered);
        result
    }
}

/// Restores the thread's previous request when dropped, also on a panic.
struct Entered<'a>(&'a mut Current);

impl<'a> Entered<'a> {
    fn enter(current: &'a mut Current) -> Self {
        CURRENT.with_borrow_mut(|thread| std::mem::swap(thread, current));
        Self(current)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|thread| std::mem::swap(thread, self.0));
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::super::request_id::X_REQUEST_ID;
    use super::*;

    fn arrived(id: &str) -> Current {
        let headers = HeaderMap::from_iter([(X_REQUEST_ID.clone(), id.parse().unwrap())]);
        Current::of(Arrival { id: RequestId::inbound(&headers).unwrap(), remote: None })
    }

    fn id() -> Option<String> {
        Current::arrival().map(|arrival| arrival.id.to_string())
    }

    #[test]
    fn requests_that_share_a_thread_are_told_apart() {
        let (mut first, mut second) = (arrived("the-first"), arrived("the-second"));
        assert_eq!(id(), None);
        RequestFacts::new().client_id("nobody").note();
        first.within(|| {
            assert_eq!(id().as_deref(), Some("the-first"));
            RequestFacts::new().client_id("one").note();
            second.within(|| {
                assert_eq!(id().as_deref(), Some("the-second"));
                RequestFacts::new().client_id("two").note();
            });
            RequestFacts::new().oauth_error("invalid_grant").note();
        });
        assert_eq!(id(), None);
        assert_eq!(*first.facts(), RequestFacts::new().client_id("one").oauth_error("invalid_grant"));
        assert_eq!(*second.facts(), RequestFacts::new().client_id("two"));
    }

    #[test]
    fn a_panic_leaves_nothing_behind() {
        let mut current = arrived("the-first");
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            current.within(|| {
                RequestFacts::new().client_id("one").note();
                panic!("in a handler");
            });
        }));
        assert!(panicked.is_err());
        assert_eq!(id(), None);
        assert_eq!(*current.facts(), RequestFacts::new().client_id("one"));
    }
}
