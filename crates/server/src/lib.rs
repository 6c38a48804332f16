//! The running server: listeners, the routes made of the tables of endpoints, background jobs.

mod demo_service;
pub mod endpoints;
pub mod jobs;
pub mod serve;
