//! The storage port in domain words, the shard map, and the suite that every back-end must pass.
//!
//! # The port speaks in outcomes
//! There is no get-then-put for anything that may happen only once. Redeeming a code, rotating a refresh token and
//! using an assertion are each one atomic operation, on every back-end, and its result says what this caller achieved.
//!
//! # Nothing leaves before it is durable
//! An operation returns an [`Outcome`]: the value, and the wait for the disk. The wait must end before anybody learns
//! of the value. Tokens are signed meanwhile.
//!
//! # Every operation carries the issuer
//! Records of one issuer are invisible to every other: the same id means nothing to another issuer.

pub mod backup;
pub mod cache;
pub mod columns;
#[cfg(feature = "contract")]
pub mod contract;
pub mod entitlement;
pub mod error;
mod freeze;
pub mod link;
pub mod listing;
pub mod outcome;
pub mod port;
pub mod shard;
pub mod transfer;

pub use error::StoreError;
pub use outcome::{Durable, Outcome};
pub use port::Store;
