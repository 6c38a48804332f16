//! The request log: one structured line for every error, and for a sample of the successes of busy endpoints.
//!
//! Whether to write a line is decided before anything is formatted. `docs/reference/request-log.md` documents every
//! field.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use http::{Method, StatusCode};
use symbolon_protocol::id::UserId;
use symbolon_protocol::refusal::{Details, Refusal};
use tracing::Level;

use super::endpoint::{Endpoint, RequestOutcome};
use super::request_id::RequestId;

/// The `tracing` target of the request log, for filter directives (`symbolon::request=off`).
pub const TARGET: &str = "symbolon::request";

/// The default sampling: one in so many successes of a busy endpoint is logged.
pub const DEFAULT_SUCCESS_ONE_IN: u32 = 100;

/// Decides which requests are logged; can be changed while running.
#[derive(Debug)]
pub struct RequestLog {
    success_one_in: AtomicU32,
}

impl RequestLog {
    /// Logs one in so many successes of busy endpoints: 1 logs all, 0 none. Errors, and requests to the endpoints
    /// that people and administrators use, are always logged.
    pub const fn new(success_one_in: u32) -> Self {
        Self { success_one_in: AtomicU32::new(success_one_in) }
    }

    /// Changes the sampling from the next request on.
    pub fn set_success_one_in(&self, success_one_in: u32) {
        self.success_one_in.store(success_one_in, Ordering::Relaxed);
    }

    /// Whether a request is logged. `number` is the request's number.
    #[inline]
    pub fn wants(&self, endpoint: Endpoint, outcome: RequestOutcome, number: u64) -> bool {
        if outcome.is_error() || !endpoint.is_hot() {
            return true;
        }
        match self.success_one_in.load(Ordering::Relaxed) {
            0 => false,
            one_in => number.is_multiple_of(u64::from(one_in)),
        }
    }
}

impl Default for RequestLog {
    fn default() -> Self {
        Self::new(DEFAULT_SUCCESS_ONE_IN)
    }
}

/// The fields of one line, borrowed: built only if the line is written.
#[derive(Debug)]
pub struct RequestLine<'a> {
    /// The request's id.
    pub request_id: &'a RequestId,
    /// HTTP method.
    pub method: &'a Method,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The route's pattern, if it was noted.
    pub route: Option<&'static str>,
    /// The outcome.
    pub outcome: RequestOutcome,
    /// HTTP status; `None` if the client disconnected before the answer.
    pub status: Option<StatusCode>,
    /// The OAuth error code of the answer.
    pub oauth_error: Option<&'static str>,
    /// Why it was refused.
    pub refusal: Option<&'a Refusal>,
    /// The registered client.
    pub client_id: Option<&'a str>,
    /// The issuer's id.
    pub issuer: Option<&'a str>,
    /// The client's address.
    pub remote: Option<IpAddr>,
    /// When the request arrived.
    pub arrived: Instant,
    /// From arrival to answer, in nanoseconds.
    pub duration_ns: u64,
    /// Time in polls, in nanoseconds.
    pub cpu_ns: u64,
    /// Store operations.
    pub store_operations: u64,
    /// Wall time of the store operations, in nanoseconds.
    pub store_ns: u64,
}

/// Lists the fields once for all levels: `tracing` needs a constant level per call site.
macro_rules! request_event {
    ($level:expr, $line:ident, $refused:ident) => {
        tracing::event!(
            target: TARGET,
            $level,
            request_id = %$line.request_id,
            method = $line.method.as_str(),
            endpoint = $line.endpoint.name(),
            route = $line.route,
            outcome = $line.outcome.name(),
            status = $line.status.map(|status| status.as_u16()),
            oauth_error = $line.oauth_error,
            reason = $refused.reason,
            parameter = $refused.details.and_then(Details::parameter_name),
            sent = $refused.details.and_then(Details::sent_value),
            registered = $refused.details.and_then(Details::other_values),
            difference = $refused.details.and_then(Details::difference),
            user_id = $refused.user_id,
            client_id = $line.client_id,
            issuer = $line.issuer,
            remote = $line.remote.map(tracing::field::display),
            duration_us = $line.duration_ns / 1_000,
            cpu_us = $line.cpu_ns / 1_000,
            store_ops = $line.store_operations,
            store_us = $line.store_ns / 1_000,
            "request"
        )
    };
}

impl RequestLine<'_> {
    /// Writes the line: server errors as warnings, everything else as information.
    pub fn write(&self) {
        let refused = RefusalFields::of(self.refusal);
        if matches!(self.outcome, RequestOutcome::ServerError | RequestOutcome::Unavailable) {
            request_event!(Level::WARN, self, refused);
        } else {
            request_event!(Level::INFO, self, refused);
        }
    }
}

/// The fields of a refused request; none for another.
#[derive(Default)]
struct RefusalFields<'a> {
    reason: Option<&'static str>,
    details: Option<&'a Details>,
    user_id: Option<&'a str>,
}

impl<'a> RefusalFields<'a> {
    fn of(refusal: Option<&'a Refusal>) -> Self {
        let Some(refusal) = refusal else { return Self::default() };
        Self {
            reason: Some(refusal.reason.name()),
            details: refusal.details.as_deref(),
            user_id: refusal.user().map(UserId::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_successes_are_sampled_and_everything_else_is_kept() {
        let log = RequestLog::new(10);
        let kept = |endpoint, outcome| (0..100).filter(|n| log.wants(endpoint, outcome, *n)).count();
        assert_eq!(kept(Endpoint::Userinfo, RequestOutcome::Ok), 10);
        assert_eq!(kept(Endpoint::Authorize, RequestOutcome::Redirect), 10);
        assert_eq!(kept(Endpoint::Authorize, RequestOutcome::LoginRequired), 10);
        assert_eq!(kept(Endpoint::Userinfo, RequestOutcome::Unauthorized), 100);
        assert_eq!(kept(Endpoint::Authorize, RequestOutcome::ClientError), 100);
        assert_eq!(kept(Endpoint::TokenRefreshToken, RequestOutcome::Abandoned), 100);
        assert_eq!(kept(Endpoint::Login, RequestOutcome::Ok), 100);
        assert_eq!(kept(Endpoint::Admin, RequestOutcome::Ok), 100);
    }

    #[test]
    fn sampling_changes_while_running() {
        let log = RequestLog::default();
        assert!(!log.wants(Endpoint::Jwks, RequestOutcome::Ok, 1));
        log.set_success_one_in(1);
        assert!(log.wants(Endpoint::Jwks, RequestOutcome::Ok, 1));
        log.set_success_one_in(0);
        assert!(!log.wants(Endpoint::Jwks, RequestOutcome::Ok, 0));
        assert!(log.wants(Endpoint::Jwks, RequestOutcome::ServerError, 0));
    }
}
