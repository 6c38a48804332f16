//! The end of a request's time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

use super::ClientError;
use crate::clock;

/// One timer for all requests of a connection. It is set anew only when it rings, not for each request: setting a
/// timer costs more than asking.
pub(super) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    timeout: Duration,
}

impl Alarm {
    pub(super) fn after(timeout: Duration) -> Self {
        Self { sleep: Box::pin(tokio::time::sleep(timeout)), timeout }
    }

    /// Ready when the request that began at `started` has had its time.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, started: Instant) -> Poll<ClientError> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            let deadline = started + self.timeout;
            if clock::now() >= deadline {
                return Poll::Ready(ClientError::Timeout);
            }
            self.sleep.as_mut().reset(deadline.into());
        }
        Poll::Pending
    }
}
