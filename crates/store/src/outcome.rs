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
///
/// The value comes out with its wait alone: by [`take`](Self::take), which hands the wait to whoever answers, or by
/// [`told`](Self::told), which waits. What is left out of an answer rests on state too: a refusal tells of it.
#[must_use = "the wait for durability would be dropped: take the value, and wait before anything is told of it"]
#[derive(Debug)]
pub struct Outcome<T> {
    value: T,
    /// Until the changes that the value rests on are durable.
    durable: Durable,
}

impl<T> Outcome<T> {
    /// An outcome that rests on durable records only, so that there is nothing to wait for.
    pub const fn settled(value: T) -> Self {
        Self { value, durable: Durable::already() }
    }

    /// An outcome that may be disclosed once `durable` is reached.
    pub const fn after(value: T, durable: Durable) -> Self {
        Self { value, durable }
    }

    /// Waits, and gives the value, which may be disclosed then.
    ///
    /// # Errors
    /// [`StoreError`] if durability could not be reached.
    pub async fn told(self) -> Result<T, StoreError> {
        self.durable.wait().await?;
        Ok(self.value)
    }

    /// The value as it is in memory, for tests and measurements: nobody waits, so nobody may be told of it.
    pub fn in_memory(self) -> T {
        self.value
    }

    /// What follows from the value, with the same wait.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Outcome<U> {
        Outcome { value: f(self.value), durable: self.durable }
    }

    /// Takes the value and adds the wait to `durable`.
    pub fn take(self, durable: &mut Durable) -> T {
        *durable = std::mem::take(durable).and(self.durable);
        self.value
    }
}
