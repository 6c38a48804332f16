//! The load generator's own honesty, against servers that misbehave on purpose.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's servers and set-up fail by panicking, as its tests do"
)]

mod client;
mod executor;
mod fake;
mod honesty;
mod measure;
mod opaque;
mod scenario;
mod seed;
mod tls;
mod transport;
