//! A circuit breaker: while an engine does not answer, requests are refused at once instead of waiting for it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_store::StoreError;
use tokio::time::Instant;

/// Consecutive failures that open the circuit.
const FAILURES: u32 = 8;

/// How long an open circuit stays so before one request may try again.
const OPEN_FOR: Duration = Duration::from_millis(250);

/// The circuit to one engine.
pub(crate) struct Breaker {
    engine: &'static str,
    failures: AtomicU32,
    /// When the next request may try, while the circuit is open.
    retry_at: Mutex<Option<Instant>>,
}

/// Permission to send one request to the engine.
pub(crate) struct Admitted<'a>(&'a Breaker);

impl Breaker {
    pub(crate) const fn new(engine: &'static str) -> Self {
        Self { engine, failures: AtomicU32::new(0), retry_at: Mutex::new(None) }
    }

    /// Grants permission unless the circuit is open.
    pub(crate) fn admit(&self) -> Result<Admitted<'_>, StoreError> {
        // The usual case: the circuit is closed, which this counter alone shows.
        if self.failures.load(Ordering::Relaxed) < FAILURES {
            return Ok(Admitted(self));
        }
        let mut retry_at = self.retry_at.lock();
        let now = Instant::now();
        if retry_at.is_some_and(|at| now < at) {
            return Err(StoreError::Unavailable(format!("{} does not answer", self.engine)));
        }
        *retry_at = Some(now + OPEN_FOR);
        Ok(Admitted(self))
    }

    /// Whether requests are let through.
    pub(crate) fn is_closed(&self) -> bool {
        self.failures.load(Ordering::Relaxed) < FAILURES
    }
}

impl Admitted<'_> {
    /// Counts the result of the request. Only [`StoreError::Unavailable`], an engine out of reach, is a failure; any
    /// other result resets the count.
    pub(crate) fn judge<T>(self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        let failures = &self.0.failures;
        if matches!(result, Err(StoreError::Unavailable(_))) {
            let before = failures.fetch_add(1, Ordering::Relaxed);
            if before + 1 == FAILURES {
                tracing::warn!(target: "symbolon::store", engine = self.0.engine, "an engine does not answer");
                *self.0.retry_at.lock() = Some(Instant::now() + OPEN_FOR);
            }
        } else if failures.load(Ordering::Relaxed) != 0 {
            failures.store(0, Ordering::Relaxed);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &Breaker) -> bool {
        let away = Err::<(), _>(StoreError::Unavailable("away".into()));
        breaker.admit().map(|admitted| admitted.judge(away)).is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_is_away_is_asked_by_one_request_now_and_then() {
        let breaker = Breaker::new("Redis");
        assert!((0..FAILURES).all(|_| fail(&breaker)));
        assert!(!breaker.is_closed() && !fail(&breaker));
        tokio::time::advance(OPEN_FOR).await;
        assert!(fail(&breaker), "one may try");
        assert!(!fail(&breaker), "and nobody else");
        tokio::time::advance(OPEN_FOR).await;
        assert!(breaker.admit().unwrap().judge(Err::<(), _>(StoreError::Conflict)).is_err());
        assert!(breaker.is_closed(), "a conflict is an answer");
    }
}
