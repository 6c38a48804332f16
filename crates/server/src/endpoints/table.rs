//! The table of endpoints.
//!
//! A new endpoint is a row here and a handler. Routes, metric labels, rate limits, the bound of bodies, repeated parameters,
//! the lease, CORS, the form of failures and the reserved first path segments follow from the row.

use http::Method;
use symbolon_protocol::discovery::path;
use symbolon_protocol::params::MAX_LENGTH;

use super::{authorize, consent, discovery, introspect, login, logout, pages, revoke, token, userinfo};
use symbolon_app::http::{Cors, Endpoint, Failures, Form, Limit};
use symbolon_app::rate_limit::EndpointClass;
use symbolon_telemetry::Endpoint as Label;

const GET: &[Method] = &[Method::GET, Method::HEAD];
const POST: &[Method] = &[Method::POST];
const GET_OR_POST: &[Method] = &[Method::GET, Method::HEAD, Method::POST];
/// A `GET` that issues a code or ends a session: a `HEAD` would do the same, and who sends one does not expect it.
const GET_THAT_CHANGES: &[Method] = &[Method::GET];
const GET_THAT_CHANGES_OR_POST: &[Method] = &[Method::GET, Method::POST];

/// No body: nothing of one is read.
const NONE: usize = 0;
/// A form, which is as long as parameters may be at all.
const FORM: usize = MAX_LENGTH;

/// What every issuer has, those that carry most of the load first.
pub(super) static ENDPOINTS: [Endpoint; 18] = [
    Endpoint {
        path: path::AUTHORIZATION,
        methods: GET_THAT_CHANGES_OR_POST,
        label: Label::Authorize,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        longest_body: FORM,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(authorize::authorize(call)),
    },
    Endpoint {
        path: path::TOKEN,
        methods: POST,
        label: Label::TokenOther,
        limit: Limit::Client(EndpointClass::Token),
        form: Form::Required,
        longest_body: FORM,
        repeatable: Some(&["audience", "resource"]),
        needs_lease: true,
        cors: Cors::Client,
        failures: Failures::Json,
        handler: |call| Box::pin(token::token(call)),
    },
    Endpoint {
        path: path::USERINFO,
        methods: GET_OR_POST,
        label: Label::Userinfo,
        limit: Limit::Client(EndpointClass::Userinfo),
        form: Form::Optional,
        longest_body: FORM,
        repeatable: Some(&[]),
        needs_lease: true,
        cors: Cors::Client,
        failures: Failures::Json,
        handler: |call| Box::pin(userinfo::userinfo(call)),
    },
    Endpoint {
        path: path::INTROSPECTION,
        methods: POST,
        label: Label::Introspect,
        limit: Limit::Client(EndpointClass::Introspect),
        form: Form::Required,
        longest_body: FORM,
        repeatable: Some(&[]),
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Json,
        handler: |call| Box::pin(introspect::introspect(call)),
    },
    Endpoint {
        path: path::REVOCATION,
        methods: POST,
        label: Label::Revoke,
        limit: Limit::Client(EndpointClass::Revoke),
        form: Form::Required,
        longest_body: FORM,
        repeatable: Some(&[]),
        needs_lease: true,
        cors: Cors::Client,
        failures: Failures::Json,
        handler: |call| Box::pin(revoke::revoke(call)),
    },
    Endpoint {
        path: login::PATH,
        methods: GET_THAT_CHANGES,
        label: Label::Login,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(login::show(call)),
    },
    Endpoint {
        path: login::PATH,
        methods: POST,
        label: Label::Login,
        limit: Limit::None,
        form: Form::Required,
        longest_body: FORM,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(login::submit(call)),
    },
    Endpoint {
        path: consent::PATH,
        methods: GET_THAT_CHANGES,
        label: Label::Consent,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(consent::show(call)),
    },
    Endpoint {
        path: consent::PATH,
        methods: POST,
        label: Label::Consent,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        longest_body: FORM,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(consent::submit(call)),
    },
    Endpoint {
        path: path::END_SESSION,
        methods: GET_THAT_CHANGES_OR_POST,
        label: Label::Logout,
        limit: Limit::Address(EndpointClass::Logout),
        form: Form::Required,
        longest_body: FORM,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(logout::logout(call)),
    },
    Endpoint {
        path: logout::CONFIRM,
        methods: POST,
        label: Label::Logout,
        limit: Limit::Address(EndpointClass::Logout),
        form: Form::Required,
        longest_body: FORM,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(logout::confirm(call)),
    },
    Endpoint {
        path: path::OPENID_CONFIGURATION,
        methods: GET,
        label: Label::Discovery,
        limit: Limit::None,
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: false,
        cors: Cors::Everybody,
        failures: Failures::Json,
        handler: |call| Box::pin(discovery::metadata(call)),
    },
    Endpoint {
        path: path::OAUTH_AUTHORIZATION_SERVER,
        methods: GET,
        label: Label::Discovery,
        limit: Limit::None,
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: false,
        cors: Cors::Everybody,
        failures: Failures::Json,
        handler: |call| Box::pin(discovery::metadata(call)),
    },
    Endpoint {
        path: path::JWKS,
        methods: GET,
        label: Label::Jwks,
        limit: Limit::None,
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: false,
        cors: Cors::Everybody,
        failures: Failures::Json,
        handler: |call| Box::pin(discovery::jwks(call)),
    },
    Endpoint {
        path: "/",
        methods: GET,
        label: Label::Page,
        limit: Limit::None,
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: false,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(pages::root(call)),
    },
    Endpoint {
        path: "/callback",
        methods: GET,
        label: Label::Page,
        limit: Limit::None,
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: false,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(pages::callback(call)),
    },
    Endpoint {
        path: "/callback/silent",
        methods: GET,
        label: Label::Page,
        limit: Limit::None,
        form: Form::Required,
        longest_body: NONE,
        repeatable: None,
        needs_lease: false,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(pages::silent_callback(call)),
    },
    Endpoint {
        path: pages::EXCHANGE,
        methods: POST,
        label: Label::Page,
        limit: Limit::None,
        form: Form::Required,
        longest_body: FORM,
        repeatable: None,
        needs_lease: false,
        cors: Cors::None,
        failures: Failures::Json,
        handler: |call| Box::pin(pages::exchange(call)),
    },
];

/// The endpoint at a path below an issuer for a method. Where the path has none for it: one of that path.
pub fn find(path: &str, method: &Method) -> Option<&'static Endpoint> {
    let mut here = ENDPOINTS.iter().filter(|endpoint| endpoint.path == path);
    let first = here.next()?;
    if first.methods.contains(method) {
        return Some(first);
    }
    here.find(|endpoint| endpoint.methods.contains(method)).or(Some(first))
}

/// The methods of a path, for `Allow` (RFC 9110 10.2.1).
pub fn methods(path: &str) -> String {
    let here = || ENDPOINTS.iter().filter(|endpoint| endpoint.path == path);
    let preflight = here().any(|endpoint| endpoint.cors != Cors::None).then_some(&Method::OPTIONS);
    let methods = here().flat_map(|endpoint| endpoint.methods).chain(preflight);
    methods.map(Method::as_str).collect::<Vec<_>>().join(", ")
}

/// Whether something is at a path, or below it, where an issuer is at the root: no issuer is put in such a place, because
/// all requests to what is there would be its own.
pub fn is_taken(path: &str) -> bool {
    /// The admin API, and the files that pages load.
    const OTHERS: [&str; 2] = ["api", "assets"];
    let first = |path: &'static str| path.split('/').nth(1).unwrap_or_default();
    path.split('/').nth(1).filter(|segment| !segment.is_empty()).is_some_and(|segment| {
        OTHERS.contains(&segment) || ENDPOINTS.iter().any(|endpoint| first(endpoint.path) == segment)
    })
}
