//! Sets of methods for the endpoint table.

use http::Method;

/// `GET`, which implies `HEAD` (RFC 9110 9.1).
pub const GET: &[Method] = &[Method::GET, Method::HEAD];
/// `POST`.
pub const POST: &[Method] = &[Method::POST];
/// `GET`, `HEAD` and `POST`.
pub const GET_OR_POST: &[Method] = &[Method::GET, Method::HEAD, Method::POST];
/// A `GET` that issues a code or ends a session. `HEAD` is not allowed: it would do the same, which its sender does
/// not expect.
pub const GET_THAT_CHANGES: &[Method] = &[Method::GET];
/// A `GET` that changes state, or a `POST`.
pub const GET_THAT_CHANGES_OR_POST: &[Method] = &[Method::GET, Method::POST];
/// `PUT`.
pub const PUT: &[Method] = &[Method::PUT];
/// `DELETE`.
pub const DELETE: &[Method] = &[Method::DELETE];
