//! HTTP pieces that every endpoint shares: reading requests, writing answers, mapping errors in one place.

mod client_certificate;
mod context;
mod cookie;
mod cors;
pub mod csrf;
mod endpoint;
mod failure;
mod form;
mod host;
pub mod language;
pub mod methods;
mod per_worker_arc;
mod refused;
mod response;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) use context::forwarded_for;
pub use context::is_trusted;
pub use context::{Context, IssuerService};
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use cookie::session_of;
pub use cookie::{
    browser_state_cookie, cookies, known_browser_state, other_sessions, other_sessions_cookie,
    remove_browser_state, remove_cookie, remove_session_cookies, session_cookie, set_cookie,
};
pub use cors::{preflight, preflight_with_credentials};
pub use endpoint::{Answer, Call, Cors, Endpoint, Failures, Form, Handler, Limit, Received};
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use failure::prefers_html;
pub use failure::{ErrorAbout, Failure, NonceDemand};
pub use form::{BodyLimits, is_form, read_body, read_form, read_json};
pub use host::host;
pub use per_worker_arc::PerWorkerArc;
pub use response::{Framing, Policy, html, json, jwt, no_store, redirect};
