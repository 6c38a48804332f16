//! The server of the page: the page itself, and its parts as a stream of server-sent events.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::Shared;
use super::page::{Page, Parts};
use crate::LoadtestError;

/// Viewers at once.
const VIEWERS: usize = 64;
/// The page is drawn no more often.
const DRAWN_EVERY: Duration = Duration::from_secs(1);
/// How long viewers may take to receive the end.
const CLOSING: Duration = Duration::from_secs(1);
const FLUSHING: Duration = Duration::from_millis(50);

/// Where the page is served: `127.0.0.1:8123`, `localhost:0`, `0.0.0.0:8123`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    host: String,
    port: u16,
}

impl FromStr for Listen {
    type Err = LoadtestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let Some((host, port)) = parts.filter(|(host, _): &(&str, u16)| !host.is_empty()) else {
            let reason =
                format!("{text}: write HOST:PORT, for instance 127.0.0.1:8123, or port 0 for a free one");
            return Err(LoadtestError::Options(reason));
        };
        Ok(Self { host: host.trim_matches(['[', ']']).to_ascii_lowercase(), port })
    }
}

/// A page that can be served.
pub(super) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    host: String,
}

impl Listen {
    pub(super) fn bind(&self) -> Result<Bound, LoadtestError> {
        let refused = |error: std::io::Error| {
            LoadtestError::Options(format!("cannot listen on {}:{}: {error}", self.host, self.port))
        };
        let addresses: Vec<_> = (self.host.as_str(), self.port).to_socket_addrs().map_err(refused)?.collect();
        let listener = TcpListener::bind(&*addresses).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Bound { listener, address, host: self.host.clone() })
    }
}

impl Bound {
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether a request may name this host. A page of somebody else, whose name was made to lead here, names another
    /// (DNS rebinding); an address as it is cannot be made to lead anywhere else.
    fn serves(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name).trim_matches(['[', ']']).to_ascii_lowercase();
        match name.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip == self.address.ip() || self.address.ip().is_unspecified(),
            Err(_) => name == "localhost" || name == self.host,
        }
    }
}

/// What the handlers share.
struct Served {
    bound: Bound,
    page: Page,
    /// The parts as they were drawn last.
    drawn: watch::Sender<Option<Drawn>>,
    /// Somebody came who waits for the next drawing.
    asked: Notify,
    viewers: Arc<Semaphore>,
}

/// The page's parts at a moment.
#[derive(Clone)]
struct Drawn {
    parts: Parts,
    /// Whether nothing comes after it.
    last: bool,
}

/// Serves until the load test has ended and viewers have heard of it, or the time for that is over.
pub(super) async fn serve(bound: Bound, shared: &Arc<Shared>) {
    let Ok(listener) = bound.listener.try_clone().and_then(tokio::net::TcpListener::from_std) else { return };
    let served = Arc::new(Served {
        bound,
        page: Page::of(Arc::clone(shared)),
        drawn: watch::Sender::new(None),
        asked: Notify::new(),
        viewers: Arc::new(Semaphore::new(VIEWERS)),
    });
    let app = Router::new()
        .route("/", get(page))
        .route("/events", get(events))
        .layer(from_fn_with_state(Arc::clone(&served), guard))
        .with_state(Arc::clone(&served));
    tokio::select! {
        // It ends with the runtime; that no connection can be taken is the viewer's trouble only.
        _ = axum::serve(listener, app).into_future() => {}
        () = draw(&served, shared) => {}
    }
}

/// Draws whenever something has changed and somebody looks, until the end.
async fn draw(served: &Served, shared: &Shared) {
    let mut versions = shared.version.subscribe();
    loop {
        let last = shared.course().end.is_some();
        if last || served.drawn.receiver_count() > 0 {
            let parts = served.page.parts();
            // Who is slow finds the newest when they are ready for it; nobody waits for them.
            served.drawn.send_replace(Some(Drawn { parts, last }));
        }
        if last {
            break;
        }
        tokio::time::sleep(DRAWN_EVERY).await;
        tokio::select! {
            _ = versions.changed() => {}
            () = served.asked.notified() => {}
        }
    }
    let heard = served.viewers.acquire_many(u32::try_from(VIEWERS).unwrap_or(u32::MAX));
    let _ = tokio::time::timeout(CLOSING, heard).await;
    // The streams have ended, and their last bytes are being written.
    tokio::time::sleep(FLUSHING).await;
}

/// Refuses hosts that are not ours, and says what a browser may do with the answers.
async fn guard(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let mut response = if host.is_some_and(|host| served.bound.serves(host)) {
        next.run(request).await
    } else {
        let reason = "This page is served to its own address and to localhost only.\n";
        (StatusCode::MISDIRECTED_REQUEST, reason).into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in
        [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if let Ok(policy) = HeaderValue::from_str(served.page.policy()) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn page(State(served): State<Arc<Served>>) -> Html<String> {
    Html(served.page.whole())
}

/// The stream: `course` with the parts of the page that have changed, and `end` with the last of them.
async fn events(State(served): State<Arc<Served>>) -> Response {
    let Ok(viewer) = Arc::clone(&served.viewers).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many look at it already.\n").into_response();
    };
    let drawn = served.drawn.subscribe();
    served.asked.notify_one();
    let viewer = Viewer { drawn, _place: viewer, has: None, has_heard_the_end: false };
    let stream = futures_util::stream::unfold(viewer, Viewer::next_event);
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

/// Somebody who looks, until the connection ends.
struct Viewer {
    drawn: watch::Receiver<Option<Drawn>>,
    /// One of those that there are.
    _place: OwnedSemaphorePermit,
    /// Which runs that are over it has been told of; they are not sent again.
    has: Option<(usize, bool)>,
    has_heard_the_end: bool,
}

impl Viewer {
    async fn next_event(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if self.has_heard_the_end {
            return None;
        }
        // Whoever comes after the end gets it at once.
        let already = self.drawn.borrow().as_ref().is_some_and(|drawn| drawn.last);
        if !already {
            self.drawn.changed().await.ok()?;
        }
        let Drawn { parts, last } = self.drawn.borrow_and_update().clone()?;
        self.has_heard_the_end = last;
        let event = Event::default().event(if last { "end" } else { "course" });
        let event = match self.has.replace(parts.finished_are) == Some(parts.finished_are) {
            true => event.data(&*parts.running),
            false => event.data(format!("{}{}", parts.running, parts.finished)),
        };
        Some((Ok(event), self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(listen: &str, host: &str) -> bool {
        listen.parse::<Listen>().unwrap().bind().unwrap().serves(host)
    }

    #[test]
    fn only_its_own_address_and_loopback_may_be_named() {
        for host in ["127.0.0.1:9", "127.0.0.1", "localhost:9", "LOCALHOST", "[::1]:9", "[::1]"] {
            assert!(served("127.0.0.1:0", host), "{host}");
        }
        for host in
            ["evil.example", "evil.example:9", "127.0.0.1.evil.example", "10.0.0.1:9", "", "localhost.evil"]
        {
            assert!(!served("127.0.0.1:0", host), "{host}");
        }
        assert!(served("0.0.0.0:0", "192.0.2.7:9"), "an address cannot be made to lead here");
        assert!(!served("0.0.0.0:0", "evil.example"));
        assert!(served("localhost:0", "localhost:1"));
    }

    #[test]
    fn what_is_no_address_is_told() {
        for text in ["", "8123", ":8123", "localhost", "localhost:port", "localhost:70000"] {
            let error = text.parse::<Listen>().unwrap_err().to_string();
            assert!(error.contains("127.0.0.1:8123"), "{text}: {error}");
        }
        assert_eq!("[::1]:0".parse::<Listen>().unwrap(), Listen { host: "::1".into(), port: 0 });
    }
}
