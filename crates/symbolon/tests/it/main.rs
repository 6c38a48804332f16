//! The real binary: its commands without a server, and with one.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "in tests a panic is the report"
)]

mod agents;
mod audit_kill;
mod backup;
mod cluster;
mod commands;
mod cost;
mod failures;
mod grants;
mod keys;
mod loadtest;
mod loadtest_own;
mod migrate;
mod passwords;
mod place;
mod stopping;
mod tls;
mod transfer;
