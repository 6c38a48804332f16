//! Which path is which endpoint.

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use http::{HeaderValue, StatusCode, header};

use crate::admin;
use crate::app::App;
use crate::endpoints::{
    authorize, consent, cors, discovery, introspect, login, logout, pages, revoke, token, userinfo,
};
use crate::http::Context;

/// The public listener: everything that clients and browsers call.
pub fn public_router(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route("/.well-known/openid-configuration", get(discovery::metadata).options(cors::preflight))
        .route("/.well-known/oauth-authorization-server", get(discovery::metadata).options(cors::preflight))
        .route("/.well-known/jwks.json", get(discovery::jwks).options(cors::preflight))
        .route("/authorize", get(authorize::authorize).post(authorize::authorize))
        .route("/token", post(token::token).options(cors::preflight))
        .route("/userinfo", get(userinfo::userinfo).post(userinfo::userinfo).options(cors::preflight))
        .route("/introspect", post(introspect::introspect))
        .route("/revoke", post(revoke::revoke).options(cors::preflight))
        .merge(login::routes())
        .merge(consent::routes())
        .merge(logout::routes())
        .merge(pages::routes());
    let router = if app.config.load().listen.admin_on_public {
        router.nest("/api/admin", admin::router(Arc::clone(app)))
    } else {
        router
    };
    router.fallback(not_found)
}

/// The management listener: figures, health and the admin API.
pub fn management_router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { StatusCode::OK }))
        .route("/readyz", any(ready))
        .nest("/api/admin", admin::router(Arc::clone(app)))
        .fallback(not_found)
}

async fn not_found(context: Context, headers: http::HeaderMap) -> Response {
    drop(context);
    crate::http::Failure::NotFound.into_page(&headers, None)
}

async fn metrics(context: Context) -> Response {
    let text = context.app.registry.render(&[]);
    let content_type = HeaderValue::from_static(crate::telemetry::CONTENT_TYPE);
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

/// Ready when the store can answer.
async fn ready(context: Context) -> Response {
    match context.app.store.ready().await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}
