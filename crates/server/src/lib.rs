//! HTTP routes, cookies, configuration, telemetry and background jobs: decisions into HTTP.
//!
//! A handler parses, loads what the rule of `symbolon-protocol` names, lets it decide, has the store carry out the one change,
//! and answers when that is durable. `symbolon-app` has the state behind every handler.

pub mod admin;

pub mod demo;
pub mod endpoints;
pub mod jobs;
pub mod serve;
