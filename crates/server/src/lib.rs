//! The running server: listeners, routes built from the endpoint table, background jobs.

mod demo_service;
pub mod endpoints;
pub mod jobs;
pub mod serve;
