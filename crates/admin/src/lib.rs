//! The admin API: one file per resource, one list of operations for both routing and documentation.
//!
//! [`router`] serves the operations of the issuer `default` at its root, and those of every issuer below
//! `/issuers/{issuer}`. Every call needs the admin secret as a bearer token; cookies are not used, so cross-site
//! requests cannot be forged. Answers are JSON or NDJSON and are not cached.
//!
//! Every step is atomic in the store, and a started operation is completed even if its caller goes away. A change
//! that loses a race is applied once more to the winner's result, and answers 503 if it loses again.

mod admin_created;
mod audit_logs;
mod auth;
mod authenticators;
mod backchannel;
pub mod backup_target;
mod bulk;
mod call;
mod clients;
mod consents;
mod ending;
mod entitlement;
mod error;
mod failures;
mod fields;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod grants;
mod groups;
mod identities;
mod identity_providers;
mod initial_access_tokens;
mod installation;
mod invitations;
mod issuers;
mod logos;
mod openapi;
mod operation;
mod paging;
mod preview_tokens;
mod roles;
mod script_members;
mod sessions;
mod settings;
mod shards;
mod signing_keys;
mod test_endpoints;
mod unique_members;
mod users;

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any};
use http::{Method, Request};
use symbolon_protocol::id::IssuerId;

use call::{Call, Payload};
use error::{AdminError, Answer};
use operation::Operation;
use symbolon_app::app::App;
use symbolon_app::detached::FinishedEvenIfDropped;
use symbolon_app::http::Context;
use symbolon_app::issuer::IssuerState;
use symbolon_telemetry::{Current, Endpoint, RequestFacts};

pub use openapi::document as openapi_document;

type HttpRequest = Request<axum::body::Body>;

/// The admin API, to be nested at `/api/admin`.
pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for operation in operations() {
        let operation = Arc::new(operation);
        if !operation.global {
            let path = format!("/issuers/{{issuer}}{}", operation.path);
            router = router.route(&path, route(&app, &operation));
        }
        router = router.route(operation.path, route(&app, &operation));
    }
    let (missing, refused) = (Arc::clone(&app), app);
    router
        .method_not_allowed_fallback(move |request: HttpRequest| {
            let failed = auth::check(&refused, &request, remote(&request)).err();
            std::future::ready(finished(
                failed.unwrap_or_else(AdminError::method_not_allowed).into_response(),
            ))
        })
        .fallback_service(any(move |request: HttpRequest| {
            let failed = auth::check(&missing, &request, remote(&request)).err();
            let missing = || AdminError::not_found("there is no such path");
            std::future::ready(finished(failed.unwrap_or_else(missing).into_response()))
        }))
}

/// All operations, in the order of the OpenAPI document.
fn operations() -> Vec<Operation> {
    [
        clients::operations(),
        initial_access_tokens::operations(),
        logos::operations(),
        preview_tokens::operations(),
        failures::operations(),
        users::operations(),
        authenticators::operations(),
        identities::operations(),
        invitations::operations(),
        consents::operations(),
        grants::operations(),
        sessions::operations(),
        backchannel::operations(),
        groups::operations(),
        roles::operations(),
        entitlement::operations(),
        bulk::operations(),
        settings::operations(),
        identity_providers::operations(),
        shards::operations(),
        signing_keys::operations(),
        audit_logs::operations(),
        test_endpoints::operations(),
        issuers::operations(),
        installation::operations(),
        openapi::operations(),
    ]
    .concat()
}

fn route(app: &Arc<App>, operation: &Arc<Operation>) -> MethodRouter {
    // Every method in the list has a filter: a test builds all routes.
    let filter = MethodFilter::try_from(operation.method.clone()).unwrap_or(MethodFilter::POST);
    let (app, operation) = (Arc::clone(app), Arc::clone(operation));
    MethodRouter::new().on(filter, move |request: HttpRequest| {
        let (app, operation) = (Arc::clone(&app), Arc::clone(&operation));
        async move {
            let answered = dispatch(app, &operation, request).await;
            let response = answered.unwrap_or_else(AdminError::into_response);
            RequestFacts::new().route(operation.path).note();
            finished(response)
        }
    })
}

fn finished(response: Response) -> Response {
    RequestFacts::new().endpoint(Endpoint::Admin).note();
    response
}

async fn dispatch(
    app: Arc<App>,
    operation: &Operation,
    request: HttpRequest,
) -> Result<Response, AdminError> {
    let address = remote(&request);
    auth::check(&app, &request, address)?;
    operation.check_query(request.uri().query().unwrap_or_default())?;
    let (mut parts, body) = request.into_parts();
    let path: Vec<_> = match RawPathParams::from_request_parts(&mut parts, &()).await {
        Ok(found) => found.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        // A path that is not UTF-8 after percent-decoding matches no record.
        Err(_) => return Err(AdminError::not_found("there is nothing of this id")),
    };
    let issuer = issuer(&app, operation, &path)?;
    let within = app.config.load().http.request_timeout;
    let in_flight = app.rate_limits.begin_admin_body();
    let id = issuer.id.clone();
    let call = Call {
        app,
        issuer,
        path,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        remote: address,
        request_id: Current::arrival().map(|arrival| arrival.id),
        records: Arc::default(),
    };
    let payload = Payload { headers: parts.headers, body, within, in_flight };
    let response = match operation.method == Method::GET {
        true => (operation.run)(call, payload).await?,
        false => carry(call, payload, operation).await?,
    };
    RequestFacts::new().issuer(id).note();
    Ok(response)
}

/// Runs a change to its end, even if the caller goes away, and until it is in the audit log.
fn carry(call: Call, payload: Payload, operation: &Operation) -> FinishedEvenIfDropped<Answer> {
    let (app, running) = (Arc::clone(&call.app), (operation.run)(call.clone(), payload));
    app.detached.finish_even_if_dropped(async move {
        let answer = running.await;
        // A refused change may have completed some steps, so a refusal waits for audit records too. Its error is
        // kept.
        let audited = call.audited().await;
        answer.and_then(|response| audited.map(|()| response))
    })
}

/// The issuer of a call: the one in its path, else `default`.
fn issuer(
    app: &App,
    operation: &Operation,
    path: &[(String, String)],
) -> Result<Arc<IssuerState>, AdminError> {
    let named = path.iter().find(|(name, _)| name == "issuer").filter(|_| !operation.global);
    let unknown = || AdminError::not_found("there is no such issuer");
    let id = match named {
        Some((_, text)) => IssuerId::parse(text).map_err(|_| unknown())?,
        None => IssuerId::default_issuer(),
    };
    app.issuers.load().by_id(&id).cloned().ok_or_else(unknown)
}

/// The caller's address: as the public listener determined it behind proxies, else the peer's.
fn remote(request: &HttpRequest) -> Option<IpAddr> {
    let found = request.extensions().get::<Context>().map(|context| context.remote);
    found.or_else(|| Current::arrival()?.remote)
}
