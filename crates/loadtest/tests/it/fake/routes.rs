//! Where the fake's endpoints are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::middleware::map_request;
use axum::routing::{get, post};

use super::{
    Fake, admin, authorize, discovery, introspect, jwks, login, login_api, metrics, revoke, token, userinfo,
};

pub(super) fn router(fake: Arc<Fake>) -> Router {
    let requests = Arc::clone(&fake.requests);
    let count = move |request: axum::extract::Request| {
        requests.fetch_add(1, Ordering::SeqCst);
        std::future::ready(request)
    };
    let router = match fake.whereabouts.path {
        "" => endpoints().nest("/api/admin", admin::routes()),
        path => Router::new()
            .nest(path, endpoints())
            .route("/api/admin/issuers", get(admin::issuers))
            .nest(&format!("/api/admin/issuers/{}", admin::ISSUER), admin::routes()),
    };
    router.layer(map_request(count)).with_state(fake)
}

/// What is below the issuer's URL.
fn endpoints() -> Router<Arc<Fake>> {
    Router::new()
        .route("/.well-known/openid-configuration", get(discovery))
        .route("/authorize", get(authorize))
        .route("/authorize/continue", get(login::go_on))
        .route("/login", get(login::page).post(login::submit))
        .route("/api/auth/email-code/verify", post(login_api::verify_code))
        .route("/api/auth/passkey/register/options", post(login_api::register_options))
        .route("/api/auth/passkey/register/verify", post(login_api::register))
        .route("/api/auth/passkey/login/options", post(login_api::login_options))
        .route("/api/auth/passkey/login/verify", post(login_api::login))
        .route("/jwks", get(jwks))
        .route("/token", post(token))
        .route("/userinfo", get(userinfo))
        .route("/introspect", post(introspect))
        .route("/revoke", post(revoke))
        .route("/metrics", get(metrics::page))
}
