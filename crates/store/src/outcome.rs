//! An operation's result, and the wait for its durability.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::StoreError;

type Wait = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// The wait until everything that an answer rests on is durable.
#[must_use = "no answer may leave before what it rests on is durable"]
#[derive(Default)]
pub struct Durable(Option<Wait>);

impl Durable {
    /// Durable already: nothing to wait for.
    pub const fn already() -> Self {
        Self(None)
    }

    /// Durable once `wait` ends.
    pub fn after(wait: impl Future<Output = Result<(), StoreError>> + Send + 'static) -> Self {
        Self(Some(Box::pin(wait)))
    }

    /// Waits for both.
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (None, wait) | (wait, None) => Self(wait),
            (Some(first), Some(second)) => Self::after(async move {
                first.await?;
                second.await
            }),
        }
    }

    /// Whether there is nothing to wait for.
    pub const fn is_already(&self) -> bool {
        self.0.is_none()
    }

    /// Waits.
    ///
    /// # Errors
    /// [`StoreError`] if durability could not be reached: the caller must not disclose the outcome.
    pub async fn wait(self) -> Result<(), StoreError> {
        match self.0 {
            None => Ok(()),
            Some(wait) => wait.await,
        }
    }
}

impl fmt::Debug for Durable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_already() { "Durable(already)" } else { "Durable(pending)" })
    }
}

/// What an operation achieved, and when that may be disclosed.
#[must_use = "the wait for durability would be dropped: take the value, and wait before anything is told of it"]
#[derive(Debug)]
pub struct Outcome<T> {
    /// What was achieved.
    pub value: T,
    /// The wait after which the value may be disclosed: until the changes that it rests on are durable.
    pub durable: Durable,
}

impl<T> Outcome<T> {
    /// An outcome that rests on durable records only, so that there is nothing to wait for.
    pub const fn settled(value: T) -> Self {
        Self { value, durable: Durable::already() }
    }

    /// Takes the value and adds the wait to `durable`.
    pub fn take(self, durable: &mut Durable) -> T {
        *durable = std::mem::take(durable).and(self.durable);
        self.value
    }
}
