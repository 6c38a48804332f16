//! The rows of this crate in the endpoint table.

use symbolon_app::http::methods::{GET, GET_OR_POST, POST};
use symbolon_app::http::{Cors, Endpoint, Failures, Form, Limit};
use symbolon_app::rate_limit::EndpointClass;
use symbolon_protocol::discovery::path;
use symbolon_telemetry::Endpoint as Label;

use crate::{discovery, introspect, revoke, token, userinfo};

/// The endpoints that clients call, the busiest first.
pub static ENDPOINTS: [Endpoint; 7] = [
    Endpoint {
        path: path::TOKEN,
        methods: POST,
        label: Label::TokenOther,
        limit: Limit::Client(EndpointClass::Token),
        form: Form::Required,
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
        repeatable: Some(&[]),
        needs_lease: true,
        cors: Cors::Client,
        failures: Failures::Json,
        handler: |call| Box::pin(revoke::revoke(call)),
    },
    Endpoint {
        path: path::OPENID_CONFIGURATION,
        methods: GET,
        label: Label::Discovery,
        limit: Limit::None,
        form: Form::Required,
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
        repeatable: None,
        needs_lease: false,
        cors: Cors::Everybody,
        failures: Failures::Json,
        handler: |call| Box::pin(discovery::jwks(call)),
    },
];
