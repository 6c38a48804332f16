//! The storage port in domain words, the shard map, and the suite that every back-end must pass.
//!
//! # The port speaks in outcomes
//! There is no get-then-put for anything that may happen once. `redeem`, `rotate` and `use_once` are each one
//! atomic operation, on every back-end, and the answer says what this caller achieved.
//!
//! # Nothing leaves before it is durable
//! An operation answers with an [`Outcome`]: the value, and the wait for the disk that must end before anybody is
//! told. Tokens are signed while it runs.
//!
//! # Every operation carries the issuer
//! Nothing crosses from one issuer to another: an id of one means nothing to another.

pub mod backup;
pub mod cache;
pub mod columns;
#[cfg(feature = "contract")]
pub mod contract;
pub mod error;
pub mod listing;
pub mod outcome;
pub mod port;
pub mod shard;
pub mod transfer;

pub use error::StoreError;
pub use outcome::{Durable, Outcome};
pub use port::Store;
