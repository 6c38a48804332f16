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
pub mod backchannel_authentication;
pub mod changes;
pub mod client_certificates;
pub mod client_documents;
pub mod client_keys;
pub mod client_registration;
pub mod client_secret_use;
pub mod clock;
pub mod delivery_signals;
pub mod detached;
pub mod email_code;
pub mod encrypted_answer;
mod entitlements;
mod failed_read;
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
mod published;
mod published_cache;
pub mod rate_limit;
mod recorded_settings;
pub mod registration;
pub mod request_objects;
mod sector;
pub mod session_end;
pub mod signed_token;
pub mod upstream;
pub mod upstream_cache;
mod upstream_calls;
