//! Requests that the provider makes to addresses that others named: back-channel logout, key sets, other providers.
//!
//! Whoever registers a client, or may change one, names an address, and the provider calls it from inside its network.
//! So a request of this crate
//!
//! - goes to a public address only, unless the configuration allows private ones. What a name stands for is looked up
//!   once, checked, and then connected to: a second look-up might give another answer;
//! - goes by https only, under the same condition, and to a server whose certificate is good for the name;
//! - follows no redirect;
//! - ends after a time, and reads no more of the answer than a bound.

mod address;
mod client;
mod request;
#[cfg(test)]
mod tests;

pub use address::is_public;
pub use client::Outbound;
pub use request::{OutboundAnswer, OutboundError, OutboundRequest, Reach};
