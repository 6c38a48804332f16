//! HTTP pieces that every endpoint shares: reading requests, writing answers, mapping errors in one place.

mod context;
mod cookie;
pub mod csrf;
mod failure;
mod form;
mod lent;
mod response;

pub use context::{Context, IssuerService};
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use context::{forwarded_for, host};
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use cookie::session_of;
pub use cookie::{cookies, remove_cookie, session_cookie, set_cookie};
pub use failure::Failure;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use failure::prefers_html;
pub use form::{BodyLimits, read_body, read_form};
pub use lent::Lent;
pub use response::{Framing, Policy, html, json, no_store, redirect, strict_transport_security};
