//! What a request needs, whatever it asks.
//!
//! [`app::App`] is the state behind every handler; [`issuer`] is what a request needs of its issuer; [`http`] has the pieces
//! that every endpoint shares, among them the columns of the table of endpoints ([`http::Endpoint`]). A handler parses,
//! loads what the rule of `symbolon-protocol` names, lets it decide, has the store carry out the one change, and answers
//! when that is durable.

pub mod access_token_cache;
pub mod app;
pub mod audit;
pub mod changes;
pub mod clock;
pub mod detached;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
pub mod http;
pub mod issuer;
pub mod let_others_run;
pub mod passwords;
pub mod rate_limit;
