//! A real server on a free port for tests, with its own clock and randomness.
//!
//! [`TestServer::start`] opens a fresh embedded store in a temporary directory and serves it on loopback. Tests send
//! HTTP to it like any client, through [`Browser`] and [`RelyingParty`], and set its clock.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test support: a failure is a failed test"
)]

mod authenticator;
mod browser;
mod clock;
mod commit_gate;
pub mod cost;
pub mod drill;
pub mod fuzz;
mod group_claims;
pub mod instructions;
mod key_pool;
mod relying_party;
mod server;
mod signing;
pub mod upgrade;

pub use authenticator::{Authenticator, Flaw};
pub use browser::{Answer, Browser};
pub use clock::TestClock;
pub use commit_gate::CommitGate;
pub use relying_party::{AuthorizationRequest, RelyingParty, TokenSet, decode_jwt};
pub use server::{ADMIN_SECRET, Options, TestServer, is_clustered};
pub use signing::Signing;
