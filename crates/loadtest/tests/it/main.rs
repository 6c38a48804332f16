//! The load generator's own honesty, against servers that misbehave on purpose.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's servers and set-up fail by panicking, as its tests do"
)]

mod agents;
mod client;
mod course;
mod day;
mod executor;
mod fake;
mod faults;
mod gate;
mod honesty;
mod keycloak;
mod killed;
mod limits;
mod measure;
mod metrics;
mod opaque;
mod own;
mod replay;
mod restore;
mod scenario;
mod seed;
mod soak;
mod target;
mod tls;
mod transport;
mod unfit;
mod verdicts;
mod watch;
mod words;
