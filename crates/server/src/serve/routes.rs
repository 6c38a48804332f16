//! Routes requests to endpoints.

use std::convert::Infallible;
use std::future;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use http::{HeaderValue, Method, Request, StatusCode, Version, header};
use tower::Service;
use url::Url;

use crate::endpoints;
use symbolon_admin as admin;
use symbolon_app::app::App;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::language::{locale, page_language};
use symbolon_app::http::{
    Answer, Context, Cors, Endpoint, ErrorAbout, Failure, host, preflight, preflight_with_credentials,
};
use symbolon_config::Config;
use symbolon_telemetry::{Endpoint as Label, Exposition, MetricSource, MetricType, RequestFacts};

/// The routes of a listener. Called with the request's context, if its issuer is known.
#[derive(Clone)]
pub(super) struct Routes {
    router: Router,
    is_public: bool,
    /// Set until the store is recovered.
    recovering: Option<Arc<App>>,
}

impl Routes {
    /// For the public listener.
    pub(super) fn public(app: &Arc<App>, router: Router) -> Self {
        Self::new(app, router, true)
    }

    /// For the management listener.
    pub(super) fn management(app: &Arc<App>) -> Self {
        Self::new(app, management_router(app), false)
    }

    fn new(app: &Arc<App>, router: Router, is_public: bool) -> Self {
        Self { router, is_public, recovering: Some(Arc::clone(app)) }
    }

    /// The state whose recovery the request must wait for; `None` if it need not wait.
    fn recovering(&mut self, request: &Request<Body>) -> Option<Arc<App>> {
        let app = self.recovering.as_ref()?;
        if app.is_recovered() {
            self.recovering = None;
            return None;
        }
        (!is_answered_at_once(request.uri().path())).then(|| Arc::clone(app))
    }
}

/// Whether a path needs no more than the issuers and their keys, or reports the progress of the start, and so does
/// not wait for recovery.
fn is_answered_at_once(path: &str) -> bool {
    path.starts_with("/.well-known/") || matches!(path, "/healthz" | "/readyz" | "/metrics")
}

impl Service<(Option<Context>, Request<Body>)> for Routes {
    type Response = Response;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _context: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (context, mut request): (Option<Context>, Request<Body>)) -> Answer {
        if let Some(app) = self.recovering(&request) {
            let mut routes = self.clone();
            return Box::pin(async move {
                app.recovered().await;
                routes.call((context, request)).await
            });
        }
        if let Some(context) = context {
            // The endpoint table is searched directly: routing through axum's router would cost these endpoints a
            // tenth of their time.
            if self.is_public
                && let Some(endpoint) = endpoints::find(request.uri().path(), request.method())
            {
                return at_endpoint(endpoint, context, request);
            }
            if request.uri().path().starts_with("/api/admin") {
                RequestFacts::new().endpoint(Label::Admin).note();
            }
            drop(request.extensions_mut().insert(context));
        }
        Box::pin(self.router.call(request))
    }
}

/// Answers at the path of an endpoint, for any method.
fn at_endpoint(endpoint: &'static Endpoint, context: Context, request: Request<Body>) -> Answer {
    if endpoint.methods.contains(request.method()) {
        return endpoint.answer(context, request);
    }
    RequestFacts::note_endpoint(endpoint.label, endpoint.path);
    let response = if request.method() == Method::OPTIONS && endpoint.cors != Cors::None {
        match endpoint.cors {
            Cors::LoginApi => preflight_with_credentials(request.headers(), &context.issuer),
            _ => preflight(request.headers(), &endpoints::methods(endpoint.path)),
        }
    } else {
        let mut failure = Failure::MethodNotAllowed;
        if let Some(refusal) = failure.take_refusal() {
            let told = Some(failure.told());
            context.refused(RefusedRequest { told, ..RefusedRequest::anonymous(refusal, None) });
        }
        // RFC 9110 15.5.6: the answer MUST list the allowed methods.
        let mut refused = failure.into_page(&ErrorAbout {
            request_id: Some(context.id.to_string()),
            prefix: &context.issuer.prefix,
            language: page_language(locale(request.headers(), &context.issuer, None)),
            ..ErrorAbout::request(request.headers())
        });
        if let Ok(allow) = HeaderValue::try_from(endpoints::methods(endpoint.path)) {
            refused.headers_mut().insert(header::ALLOW, allow);
        }
        refused
    };
    Box::pin(future::ready(Ok(response)))
}

/// The public listener's paths outside the endpoint table.
pub fn public_router(app: &Arc<App>) -> Router {
    let router = symbolon_sign_in::asset_routes();
    let router = if app.config.load().listen.admin_on_public {
        router.nest("/api/admin", admin::router(Arc::clone(app)))
    } else {
        router
    };
    router.method_not_allowed_fallback(method_not_allowed).fallback(not_found)
}

/// The management listener: metrics, health and the admin API.
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
    let prefix = &context.issuer.prefix;
    let language = page_language(locale(&headers, &context.issuer, None));
    Failure::NotFound.into_page(&ErrorAbout { prefix, language, ..ErrorAbout::request(&headers) })
}

/// RFC 9110 15.5.6: the router adds `Allow`.
async fn method_not_allowed(headers: http::HeaderMap) -> Response {
    Failure::MethodNotAllowed.into_page(&ErrorAbout::request(&headers))
}

async fn metrics(context: Context, request: Request<Body>) -> Response {
    if !may_read_figures(&context, &request) {
        // RFC 9110 15.5.20: the server does not answer for this host.
        let why = "this host name is none of this server's: name it in `metrics_hosts`, or ask by address";
        return (StatusCode::MISDIRECTED_REQUEST, why).into_response();
    }
    let config = context.app.config.load();
    let text = context.app.registry.render(&[&RunsWith(&config)]);
    let content_type = HeaderValue::from_static(symbolon_telemetry::CONTENT_TYPE);
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

/// What a process runs with that its other figures depend on. Rate limits may change while it runs.
struct RunsWith<'a>(&'a Config);

impl MetricSource for RunsWith<'_> {
    fn expose(&self, page: &mut Exposition) {
        let Self(config) = self;
        let switch = |on: bool| if on { "on" } else { "off" };
        let store = if config.storage.cluster.is_some() { "cluster" } else { "embedded" };
        page.family(
            "symbolon_configuration_info",
            MetricType::Gauge,
            "What the process runs with; always 1.",
        );
        let labels = [
            ("store", store),
            ("rate_limits", switch(config.rate_limits.enabled)),
            ("test_endpoints", switch(config.security.test_endpoints)),
        ];
        page.count(&labels, 1);
    }
}

/// Whether the requested host belongs to this server. Protects metrics against DNS rebinding: a web page could make
/// its own host name resolve to this machine, and read them with the visitor's browser. It cannot do so with an IP
/// address, `localhost`, or a name without a dot, which nobody can register.
fn may_read_figures<B>(context: &Context, request: &Request<B>) -> bool {
    let Ok(Some(authority)) = host(request, false) else {
        // HTTP/1.0 without a Host header: not a browser.
        return request.version() < Version::HTTP_11;
    };
    let name = host_name(authority);
    if name.parse::<IpAddr>().is_ok() || !name.contains('.') || name.ends_with(".localhost") {
        return true;
    }
    let config = context.app.config.load();
    config.telemetry.metrics_hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
        || context.app.issuers.load().iter().any(|issuer| is_of(&issuer.url, name))
}

/// The host part of an authority, without brackets and port.
fn host_name(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Whether an issuer's URL has this host.
fn is_of(url: &str, name: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(|host| host.eq_ignore_ascii_case(name)))
}

/// 200 if the store can answer, until the server is told to stop.
async fn ready(context: Context) -> Response {
    if context.app.is_leaving() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server is about to stop").into_response();
    }
    match context.app.store.ready().await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}
