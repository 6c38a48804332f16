//! The issuer, sender and id of a request, found once before routing.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header};
use ipnet::IpNet;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use tower::Service;

use super::PerWorkerArc;
use super::host::{Malformed, host};
use crate::app::App;
use crate::audit::{Actor, AuditEntry};
use crate::client_certificates::PresentedCertificate;
use crate::issuer::{self, IssuerState};
use symbolon_telemetry::{Current, RequestFacts, RequestId};

/// The facts about a request that handlers need.
#[derive(Clone)]
pub struct Context {
    /// The state that every handler receives.
    pub app: PerWorkerArc<App>,
    /// The issuer that the request is for.
    pub issuer: PerWorkerArc<IssuerState>,
    /// The client's address: the peer, or the address that a trusted proxy reported.
    pub remote: IpAddr,
    /// Whether a trusted proxy reported `remote`, and `remote` is not itself a trusted proxy.
    pub is_forwarded: bool,
    /// The TLS certificate that came with the request, not read yet; `None` also where none arrive.
    pub(super) certificate: Option<Arc<PresentedCertificate>>,
    /// The request's id.
    pub id: RequestId,
}

impl Context {
    /// Records an event that a user caused in a browser: counts it, and writes it to the audit log if its kind is
    /// audited.
    pub fn audit(&self, event: Event, user: Option<&UserId>, client: Option<&ClientId>) {
        self.audit_by(Actor::User, event, user, client);
    }

    /// Like [`audit`](Self::audit), for any actor.
    pub fn audit_by(&self, actor: Actor, event: Event, user: Option<&UserId>, client: Option<&ClientId>) {
        let entry = self.entry((actor, event), user, client, serde_json::Value::Null);
        self.app.audit.record(&self.issuer.id, entry, self.app.now());
    }

    /// Like [`audit`](Self::audit), with details: what a person changed of an account, mostly their own.
    pub fn audit_change(
        &self,
        event: Event,
        user: &UserId,
        client: Option<&ClientId>,
        detail: serde_json::Value,
    ) {
        let entry = self.entry((Actor::User, event), Some(user), client, detail);
        self.app.audit.record(&self.issuer.id, entry, self.app.now());
    }

    fn entry(
        &self,
        (actor, event): (Actor, Event),
        user: Option<&UserId>,
        client: Option<&ClientId>,
        detail: serde_json::Value,
    ) -> AuditEntry {
        AuditEntry {
            event,
            user: user.cloned(),
            client: client.cloned(),
            actor,
            address: Some(self.remote),
            request: Some(self.id.clone()),
            detail,
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Context {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        // Set by `Routes`, which wraps every route.
        parts.extensions.remove::<Self>().ok_or_else(|| StatusCode::NOT_FOUND.into_response())
    }
}

/// Finds the issuer of each request, takes its prefix off the path, and hands the request on.
#[derive(Clone)]
pub struct IssuerService<S> {
    app: PerWorkerArc<App>,
    /// The issuer of this connection's previous request: usually the next request has the same.
    issuer: Option<PerWorkerArc<IssuerState>>,
    inner: S,
    locates: bool,
}

impl<S> IssuerService<S> {
    /// Wraps the routes of one worker.
    pub fn new(app: &Arc<App>, inner: S) -> Self {
        Self { app: PerWorkerArc::new(app), issuer: None, inner, locates: true }
    }

    /// For the management listener, which belongs to the installation rather than to an issuer: neither the Host header
    /// nor an issuer's path prefix selects an issuer there.
    pub fn management(app: &Arc<App>, inner: S) -> Self {
        Self { app: PerWorkerArc::new(app), issuer: None, inner, locates: false }
    }

    /// Finds the request's [`Context`] and strips the issuer's prefix from its path. `None` for assets, which need no
    /// issuer; an error is the status that refuses the request.
    fn located(&mut self, request: &mut Request<Body>) -> Result<Option<Context>, StatusCode> {
        match self.context(request) {
            Ok((context, path)) => {
                if let Some(path) = path {
                    let uri = inside(request.uri(), &path).ok_or(StatusCode::NOT_FOUND)?;
                    *request.uri_mut() = uri;
                }
                Ok(Some(context))
            }
            // Assets are served at the root, even if no issuer is there.
            Err(StatusCode::NOT_FOUND) if self.locates && request.uri().path().starts_with("/assets/") => {
                Ok(None)
            }
            Err(status) => Err(status),
        }
    }

    /// The request's context, and its path without the issuer's prefix, if there is one. 404 if no issuer matches.
    fn context(&mut self, request: &Request<Body>) -> Result<(Context, Option<String>), StatusCode> {
        let nobody = StatusCode::NOT_FOUND;
        let app = self.app.clone();
        let config = app.config.load();
        let arrival = Current::arrival().ok_or(nobody)?;
        let peer = arrival.remote.ok_or(nobody)?;
        let trusted = is_trusted(&config.security.trusted_proxies, peer);
        let host = host(request, trusted).map_err(|Malformed| StatusCode::BAD_REQUEST)?;
        let issuers = app.issuers.load();
        let found = if self.locates {
            issuers.locate(host, request.uri().path()).ok_or(nobody)?
        } else {
            let issuer = issuers.by_id(&IssuerId::default_issuer()).ok_or(nobody)?;
            issuer::Located { issuer, path: None }
        };
        let remote = forwarded_for(request.headers(), &config.security.trusted_proxies, peer);
        // The admin API belongs to the installation: served below an issuer's prefix, it would seem to belong to that
        // issuer.
        if found.path.as_deref().is_some_and(|path| path.starts_with("/api/")) {
            return Err(nobody);
        }
        let mut is_forwarded = false;
        if remote != peer {
            is_forwarded = !is_trusted(&config.security.trusted_proxies, remote);
            RequestFacts::note_remote(remote);
        }
        let issuer = lent(&mut self.issuer, found.issuer);
        let certificate =
            app.client_certificates.as_ref().and_then(|arriving| arriving.of_request(request, trusted));
        Ok((Context { app, issuer, remote, is_forwarded, certificate, id: arrival.id }, found.path))
    }
}

impl<S> Service<Request<Body>> for IssuerService<S>
where
    S: Service<(Option<Context>, Request<Body>), Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Located<S::Future>;

    fn poll_ready(&mut self, context: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        match self.located(&mut request) {
            Ok(context) => {
                // The management listener belongs to no issuer, so its answers carry no HSTS header.
                let of_issuer = context.as_ref().filter(|_| self.locates);
                let hsts = of_issuer.and_then(|context| mark(&context.issuer));
                Located::Here { inner: self.inner.call((context, request)), hsts }
            }
            Err(status) => Located::Refused { status },
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that an issuer handles, or that is refused.
    #[project = LocatedProjection]
    pub enum Located<F> {
        /// Handled by the inner service.
        Here {
            #[pin]
            inner: F,
            hsts: Option<HeaderValue>,
        },
        /// Refused: no issuer matches, or the request is malformed.
        Refused { status: StatusCode },
    }
}

impl<F: Future<Output = Result<Response, Infallible>>> Future for Located<F> {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match self.project() {
            LocatedProjection::Here { inner, hsts } => {
                let Ok(mut response) = ready!(inner.poll(context));
                if let Some(hsts) = hsts.take() {
                    response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, hsts);
                }
                Poll::Ready(Ok(response))
            }
            LocatedProjection::Refused { status } => Poll::Ready(Ok(status.into_response())),
        }
    }
}

/// The connection's reference to the issuer. It is made anew if the previous request was for another issuer, or if
/// the issuer was replaced since.
fn lent(
    known: &mut Option<PerWorkerArc<IssuerState>>,
    issuer: &Arc<IssuerState>,
) -> PerWorkerArc<IssuerState> {
    match known {
        Some(known) if Arc::ptr_eq(known.shared(), issuer) => known.clone(),
        _ => known.insert(PerWorkerArc::new(issuer)).clone(),
    }
}

/// Notes the issuer for logs and metrics. Returns the HSTS header of its answers, if it has one.
fn mark(issuer: &IssuerState) -> Option<HeaderValue> {
    RequestFacts::note_issuer(&issuer.id, if issuer.is_https() { "https" } else { "http" });
    issuer.hsts.clone()
}

fn inside(uri: &Uri, path: &str) -> Option<Uri> {
    let target = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(target).ok()?);
    Uri::from_parts(parts).ok()
}

/// Whether an address is that of a trusted proxy.
pub fn is_trusted(proxies: &[IpNet], address: IpAddr) -> bool {
    proxies.iter().any(|network| network.contains(&address))
}

/// The client's address as trusted proxies report it. Each proxy appends the address of its own peer, so
/// `X-Forwarded-For` is read from its end, and only as long as the reporting hop is trusted: anybody can forge the
/// entries before that.
pub(crate) fn forwarded_for(headers: &HeaderMap, proxies: &[IpNet], peer: IpAddr) -> IpAddr {
    // The peer is no trusted proxy: the headers are ignored.
    if !is_trusted(proxies, peer) {
        return peer;
    }
    let lines = headers.get_all("x-forwarded-for").into_iter().rev();
    let mut hops = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    let mut known = peer;
    while is_trusted(proxies, known) {
        match hops.next().and_then(address) {
            Some(hop) => known = hop,
            None => break,
        }
    }
    known
}

/// Parses one entry: an address, with or without a port.
fn address(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let address = hop.parse::<IpAddr>().or_else(|_| hop.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> String {
        let proxies = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let lines = lines.iter().map(|line| HeaderValue::from_bytes(line.as_bytes()).unwrap());
        let headers = lines.map(|line| ("x-forwarded-for".parse().unwrap(), line)).collect();
        forwarded_for(&headers, &proxies, "10.0.0.1".parse().unwrap()).to_string()
    }

    #[test]
    fn the_last_hop_that_is_no_proxy_of_ours_is_the_client() {
        assert_eq!(told(&[]), "10.0.0.1");
        assert_eq!(told(&["192.0.2.9, 192.0.2.2"]), "192.0.2.2");
        assert_eq!(told(&["192.0.2.9, 192.0.2.2, 10.0.0.7"]), "192.0.2.2");
        assert_eq!(told(&["192.0.2.9", "192.0.2.2", "10.0.0.7,fd00::1"]), "192.0.2.2");
        assert_eq!(told(&["10.0.0.9, 10.0.0.7"]), "10.0.0.9");
    }

    #[test]
    fn what_a_client_writes_before_its_own_address_changes_nothing() {
        for written in ["junk", "", ",", "1.2.3.4, junk", "10.0.0.9", "1.2.3.4, \u{e9}", "unknown, 1.2.3.4"] {
            assert_eq!(told(&[&format!("{written}, 192.0.2.2")]), "192.0.2.2", "{written}");
            assert_eq!(told(&[written, "192.0.2.2, 10.0.0.7"]), "192.0.2.2", "{written}");
        }
    }

    #[test]
    fn beyond_a_hop_that_cannot_be_read_nobody_is_known() {
        assert_eq!(told(&["1.2.3.4, junk"]), "10.0.0.1");
        assert_eq!(told(&["1.2.3.4, junk, 10.0.0.7"]), "10.0.0.7");
    }

    #[test]
    fn a_port_and_the_long_form_of_an_address_do_not_matter() {
        assert_eq!(told(&["192.0.2.2:4711"]), "192.0.2.2");
        assert_eq!(told(&["[2001:db8::1]:4711, ::ffff:10.0.0.7"]), "2001:db8::1");
    }
}
