//! HTTP routes, cookies, configuration, telemetry and background jobs: decisions into HTTP.
//!
//! [`app::App`] is the state behind every handler; [`issuer`] what a request needs of its issuer. A handler parses,
//! loads what the rule of `symbolon-protocol` names, lets it decide, has the store carry out the one change, and
//! answers when that is durable.

pub mod admin;

pub mod demo;
pub mod endpoints;
pub mod jobs;
pub mod serve;
