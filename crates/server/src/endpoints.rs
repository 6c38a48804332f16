//! The table of endpoints: the rows of the crates that have some.
//!
//! A new endpoint is a row in its crate and a handler. Routes, metric labels, rate limits, the bound of bodies, repeated
//! parameters, the lease, CORS, the form of failures and the reserved first path segments follow from the row.

use http::Method;
use symbolon_app::http::methods::POST;
use symbolon_app::http::{Cors, Endpoint, FORM, Failures, Form, Limit};
use symbolon_sign_in::demo;
use symbolon_telemetry::Endpoint as Label;

use crate::demo_service;

/// What needs the endpoints of several crates.
static OWN: [Endpoint; 1] = [Endpoint {
    path: demo::EXCHANGE,
    methods: POST,
    label: Label::Page,
    limit: Limit::None,
    form: Form::Required,
    longest_body: FORM,
    repeatable: None,
    needs_lease: false,
    cors: Cors::None,
    failures: Failures::Json,
    handler: |call| Box::pin(demo_service::exchange(call)),
}];

/// Every row, those that carry most of the load first.
pub(crate) fn all() -> impl Iterator<Item = &'static Endpoint> {
    symbolon_oauth::ENDPOINTS.iter().chain(&symbolon_sign_in::ENDPOINTS).chain(&OWN)
}

/// The endpoint at a path below an issuer for a method. Where the path has none for it: one of that path.
pub fn find(path: &str, method: &Method) -> Option<&'static Endpoint> {
    let mut here = all().filter(|endpoint| endpoint.path == path);
    let first = here.next()?;
    if first.methods.contains(method) {
        return Some(first);
    }
    here.find(|endpoint| endpoint.methods.contains(method)).or(Some(first))
}

/// The methods of a path, for `Allow` (RFC 9110 10.2.1).
pub fn methods(path: &str) -> String {
    let here = || all().filter(|endpoint| endpoint.path == path);
    let preflight = here().any(|endpoint| endpoint.cors != Cors::None).then_some(&Method::OPTIONS);
    let methods = here().flat_map(|endpoint| endpoint.methods).chain(preflight);
    methods.map(Method::as_str).collect::<Vec<_>>().join(", ")
}

/// The first path segments that something is at where an issuer is at the root: no issuer is put in such a place, because
/// all requests to what is there would be its own.
pub fn reserved_segments() -> Vec<&'static str> {
    /// The admin API, and the files that pages load.
    const OTHERS: [&str; 2] = ["api", "assets"];
    let first =
        all().filter_map(|endpoint| endpoint.path.split('/').nth(1)).filter(|segment| !segment.is_empty());
    first.chain(OTHERS).collect()
}

#[cfg(test)]
mod tests;
