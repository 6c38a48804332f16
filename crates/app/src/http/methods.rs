//! The sets of methods that endpoints take.

use http::Method;

/// `GET`, and `HEAD` with it (RFC 9110 9.1).
pub const GET: &[Method] = &[Method::GET, Method::HEAD];
/// `POST`.
pub const POST: &[Method] = &[Method::POST];
/// Either.
pub const GET_OR_POST: &[Method] = &[Method::GET, Method::HEAD, Method::POST];
/// A `GET` that issues a code or ends a session: a `HEAD` would do the same, and who sends one does not expect it.
pub const GET_THAT_CHANGES: &[Method] = &[Method::GET];
/// Such a `GET`, or a `POST`.
pub const GET_THAT_CHANGES_OR_POST: &[Method] = &[Method::GET, Method::POST];
