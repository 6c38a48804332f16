//! The state and the HTTP parts that all endpoints share.
//!
//! [`app::App`] is the state behind every handler; [`issuer`] holds the state of issuers; [`http`] has the shared
//! HTTP parts, among them the columns of the endpoint table ([`http::Endpoint`]). A handler parses the request, loads
//! the records that the rule in `symbolon-protocol` needs, calls the rule, has the store carry out the one resulting
//! change, and answers when that is durable.

pub mod access_token_cache;
pub mod app;
pub mod audit;
pub mod back_channel_logout;
pub mod changes;
pub mod client_secret_use;
pub mod clock;
pub mod delivery_signals;
pub mod detached;
pub mod email_code;
mod entitlements;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
pub mod grants;
pub mod http;
pub mod issuer;
pub mod let_others_run;
pub mod mail;
pub mod one_use;
pub mod outbox;
pub mod passwords;
pub mod places;
pub mod rate_limit;
pub mod registration;
pub mod session_end;
pub mod upstream;
pub mod upstream_cache;
mod upstream_calls;
