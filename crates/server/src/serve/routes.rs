//! Which path is which endpoint.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::future::RouteFuture;
use axum::routing::{any, get, post};
use http::{HeaderValue, Method, Request, StatusCode, header};
use tower::Service;

use crate::admin;
use crate::app::App;
use crate::endpoints::{
    authorize, consent, cors, discovery, introspect, login, logout, pages, revoke, token, userinfo,
};
use crate::http::Context;

/// A listener's routes, as a connection calls them: with the request's context, if its issuer is known.
#[derive(Clone)]
pub(super) struct Routes {
    router: Router,
    is_public: bool,
    /// While the store is not recovered.
    recovering: Option<Arc<App>>,
}

impl Routes {
    /// Those of the public listener.
    pub(super) fn public(app: &Arc<App>, router: Router) -> Self {
        Self::new(app, router, true)
    }

    /// Those of the management listener.
    pub(super) fn management(app: &Arc<App>) -> Self {
        Self::new(app, management_router(app), false)
    }

    fn new(app: &Arc<App>, router: Router, is_public: bool) -> Self {
        Self { router, is_public, recovering: Some(Arc::clone(app)) }
    }

    /// What the request is to wait for: the store, until it is recovered.
    fn recovering(&mut self, request: &Request<Body>) -> Option<Arc<App>> {
        let app = self.recovering.as_ref()?;
        if app.is_recovered() {
            self.recovering = None;
            return None;
        }
        (!is_answered_at_once(request.uri().path())).then(|| Arc::clone(app))
    }
}

/// What needs the issuers and their keys at most, or says how far the start has come.
fn is_answered_at_once(path: &str) -> bool {
    path.starts_with("/.well-known/") || matches!(path, "/healthz" | "/readyz" | "/metrics")
}

impl Service<(Option<Context>, Request<Body>)> for Routes {
    type Response = Response;
    type Error = Infallible;
    type Future = Routed;

    fn poll_ready(&mut self, _context: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (context, mut request): (Option<Context>, Request<Body>)) -> Routed {
        if let Some(app) = self.recovering(&request) {
            let mut routes = self.clone();
            return Routed::Direct {
                answer: Box::pin(async move {
                    app.recovered().await;
                    let Ok(response) = routes.call((context, request)).await;
                    response
                }),
            };
        }
        let loaded = Loaded::of(&request).filter(|_| self.is_public);
        match (loaded, context) {
            (Some(loaded), Some(context)) => {
                return Routed::Direct { answer: loaded.answer(context, request) };
            }
            (None, Some(context)) => drop(request.extensions_mut().insert(context)),
            (_, None) => {}
        }
        Routed::Router { answer: self.router.call(request) }
    }
}

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The endpoints that carry nearly all load are called directly. They are routes like the others, which answer every
/// other method; going through the router would cost them a tenth of their time.
#[derive(Clone, Copy)]
enum Loaded {
    Authorize,
    Token,
    Userinfo,
    Introspect,
}

impl Loaded {
    fn of(request: &Request<Body>) -> Option<Self> {
        let method = request.method();
        let (is_get, is_post) = (method == Method::GET, method == Method::POST);
        match request.uri().path() {
            "/authorize" if is_get || is_post => Some(Self::Authorize),
            "/token" if is_post => Some(Self::Token),
            "/userinfo" if is_get || is_post => Some(Self::Userinfo),
            "/introspect" if is_post => Some(Self::Introspect),
            _ => None,
        }
    }

    fn answer(self, context: Context, request: Request<Body>) -> Answer {
        match self {
            Self::Authorize => Box::pin(authorize::authorize(context, request)),
            Self::Token => Box::pin(token::token(context, request)),
            Self::Userinfo => Box::pin(userinfo::userinfo(context, request)),
            Self::Introspect => Box::pin(introspect::introspect(context, request)),
        }
    }
}

pin_project_lite::pin_project! {
    /// The answer of [`Routes`].
    #[project = RoutedProjection]
    pub(super) enum Routed {
        /// Of a handler.
        Direct { answer: Answer },
        /// Of the router.
        Router { #[pin] answer: RouteFuture<Infallible> },
    }
}

impl Future for Routed {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match self.project() {
            RoutedProjection::Direct { answer } => answer.as_mut().poll(context).map(Ok),
            RoutedProjection::Router { answer } => answer.poll(context),
        }
    }
}

/// How the paths of the public listener begin, below an issuer or at the root. No issuer is put in such a place: all
/// requests to what is there would be its own.
pub(crate) const FIRST_SEGMENTS: [&str; 13] = [
    ".well-known",
    "api",
    "assets",
    "authorize",
    "callback",
    "consent",
    "demo",
    "introspect",
    "login",
    "logout",
    "revoke",
    "token",
    "userinfo",
];

/// The public listener: everything that clients and browsers call.
pub fn public_router(app: &Arc<App>) -> Router {
    let router = endpoints();
    let router = if app.config.load().listen.admin_on_public {
        router.nest("/api/admin", admin::router(Arc::clone(app)))
    } else {
        router
    };
    router.method_not_allowed_fallback(method_not_allowed).fallback(not_found)
}

/// What every issuer has.
fn endpoints() -> Router {
    Router::new()
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
        .merge(pages::routes())
}

/// The management listener: figures, health and the admin API.
pub fn management_router(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route("/healthz", get(|| async { StatusCode::OK }))
        .route("/readyz", any(ready))
        .nest("/api/admin", admin::router(Arc::clone(app)));
    let figures = app.config.load().telemetry.metrics;
    let router = if figures { router.route("/metrics", get(metrics)) } else { router };
    router.method_not_allowed_fallback(method_not_allowed).fallback(not_found)
}

async fn not_found(context: Context, headers: http::HeaderMap) -> Response {
    drop(context);
    crate::http::Failure::NotFound.into_page(&headers, None)
}

/// RFC 9110 15.5.6: the router adds `Allow`.
async fn method_not_allowed(headers: http::HeaderMap) -> Response {
    crate::http::Failure::MethodNotAllowed.into_page(&headers, None)
}

async fn metrics(context: Context) -> Response {
    let text = context.app.registry.render(&[]);
    let content_type = HeaderValue::from_static(crate::telemetry::CONTENT_TYPE);
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

/// Ready when the store can answer, until the server is told to stop.
async fn ready(context: Context) -> Response {
    if context.app.is_leaving() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server is about to stop").into_response();
    }
    match context.app.store.ready().await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn size<F>(_handler: impl Fn(Context, Request<Body>) -> F) -> usize {
        size_of::<F>()
    }

    /// By what the router shows of itself: its paths are the only texts in it that begin with a slash.
    #[test]
    fn no_route_begins_otherwise_than_is_known() {
        let shown = format!("{:?}", endpoints());
        let paths: BTreeSet<&str> = shown.split('"').filter(|text| text.starts_with('/')).collect();
        let first = paths.iter().filter_map(|path| path.split('/').nth(1));
        // The root, and the router's own pattern for everything else.
        let first = first.filter(|first| !first.is_empty() && !first.starts_with('{'));
        let known: BTreeSet<&str> = FIRST_SEGMENTS.into_iter().filter(|first| *first != "api").collect();
        assert_eq!(first.collect::<BTreeSet<_>>(), known, "{paths:?}");
    }

    /// Each is allocated for one request: what is larger than a kilobyte leaves the allocator's fast path.
    #[test]
    fn the_futures_of_the_loaded_endpoints_are_small() {
        let sizes = [
            size(authorize::authorize),
            size(token::token),
            size(userinfo::userinfo),
            size(introspect::introspect),
        ];
        assert!(sizes.iter().all(|size| *size <= 1_024), "{sizes:?}");
    }
}
