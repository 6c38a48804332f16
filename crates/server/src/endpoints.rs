//! The endpoint table: the rows of all crates.
//!
//! A new endpoint is a row and a handler in its crate. Routes, metric labels, rate limits, repeated
//! parameters, the lease, CORS, the format of failures and the reserved path segments follow from the row.

use http::Method;
use symbolon_app::http::methods::POST;
use symbolon_app::http::{Cors, Endpoint, Failures, Form, Limit};
use symbolon_sign_in::demo;
use symbolon_telemetry::Endpoint as Label;

use crate::demo_service;

/// Endpoints that call endpoints of other crates.
static OWN: [Endpoint; 1] = [Endpoint {
    path: demo::EXCHANGE,
    methods: POST,
    label: Label::Page,
    limit: Limit::None,
    form: Form::Required,
    repeatable: None,
    needs_lease: false,
    cors: Cors::None,
    failures: Failures::Json,
    handler: |call| Box::pin(demo_service::exchange(call)),
}];

/// All rows, the busiest first.
pub fn all() -> impl Iterator<Item = &'static Endpoint> {
    symbolon_oauth::ENDPOINTS
        .iter()
        .chain(&symbolon_sign_in::ENDPOINTS)
        .chain(&symbolon_sign_in::LOGIN_API)
        .chain(&OWN)
}

/// The endpoint for a path relative to an issuer and a method. If no row of the path allows the method: the path's
/// first row.
pub fn find(path: &str, method: &Method) -> Option<&'static Endpoint> {
    let mut here = all().filter(|endpoint| endpoint.path == path);
    let Some(first) = here.next() else { return find_named(path, method) };
    if first.methods.contains(method) {
        return Some(first);
    }
    here.find(|endpoint| endpoint.methods.contains(method)).or(Some(first))
}

/// The endpoint of a path with a segment that is a name, looked for where no other has the path.
fn find_named(path: &str, method: &Method) -> Option<&'static Endpoint> {
    let mut here =
        all().filter(|endpoint| endpoint.path.contains(Endpoint::NAMED) && is_like(endpoint.path, path));
    let first = here.next()?;
    if first.methods.contains(method) {
        return Some(first);
    }
    here.find(|endpoint| endpoint.methods.contains(method)).or(Some(first))
}

/// Whether a path is that of a row, in which a name stands for any segment that is not empty.
fn is_like(row: &str, path: &str) -> bool {
    let alike = |(own, given): (&str, &str)| own == given || (own == Endpoint::NAMED && !given.is_empty());
    row.split('/').count() == path.split('/').count() && row.split('/').zip(path.split('/')).all(alike)
}

/// The methods of a path, for `Allow` (RFC 9110 10.2.1).
pub fn methods(path: &str) -> String {
    let here = || all().filter(|endpoint| endpoint.path == path);
    let preflight = here().any(|endpoint| endpoint.cors != Cors::None).then_some(&Method::OPTIONS);
    let methods = here().flat_map(|endpoint| endpoint.methods).chain(preflight);
    methods.map(Method::as_str).collect::<Vec<_>>().join(", ")
}

/// The first path segments of the server's own endpoints. No issuer may have a path that begins with one: its
/// requests would be taken for requests to an endpoint of an issuer at the root.
pub fn reserved_segments() -> Vec<&'static str> {
    /// The admin API and the assets, which are not in the endpoint table.
    const OTHERS: [&str; 2] = ["api", "assets"];
    let first =
        all().filter_map(|endpoint| endpoint.path.split('/').nth(1)).filter(|segment| !segment.is_empty());
    first.chain(OTHERS).collect()
}

#[cfg(test)]
mod tests;
