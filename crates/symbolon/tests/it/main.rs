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
mod claims;
mod clients;
mod cluster;
mod commands;
mod completion;
mod confirm;
mod cost;
mod failures;
mod grants;
mod groups_and_roles;
mod identity_providers;
mod import;
mod import_speed;
mod invitations;
mod keys;
mod loadtest;
mod loadtest_own;
mod logout_kill;
mod migrate;
mod mutual_tls;
mod old_hashes;
mod passwords;
mod place;
mod presets;
mod ready_made_claims;
mod sessions;
mod settings;
mod stopping;
mod tls;
mod transfer;
mod users;
