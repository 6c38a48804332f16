//! Accepting connections and serving them until they end or the server does.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Version};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tower::{Layer, Service};

use super::Routes;
use super::places::{Place, Places};
use super::serve_until::serve_until;
use super::tls::TlsSlot;
use super::watchdog::{self, Activity, BeforeFirstRequest, Counted, WaitLimits, Watched};
use symbolon_app::app::App;
use symbolon_app::http::{IssuerService, is_trusted};
use symbolon_app::let_others_run::let_others_run;
use symbolon_app::rate_limit::{self, Limited};
use symbolon_telemetry::{Telemetry, TelemetryService};

/// When the server stops: whoever the kernel has let in by then comes within this time of the one before.
const LAST_COMERS: Duration = Duration::from_millis(5);

/// How long those may keep the server from closing its listener, who never cease to come.
const CEASE: Duration = Duration::from_millis(500);

/// How often, [`LAST_COMERS`] apart, connections that have come are looked at for their first request when the server
/// stops. Not a time: a machine that stands still meanwhile has not looked.
const FIRST_REQUEST_LOOKS: usize = 200;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Requests at once of an HTTP/2 connection: no fewer than RFC 9113 6.5.2 recommends.
const STREAMS: u32 = 100;

/// Bytes of bodies that an HTTP/2 client may send before they are read (RFC 9113 5.2).
#[derive(Clone, Copy)]
struct Windows {
    /// Of one request.
    stream: u32,
    /// Of all requests of a connection together.
    connection: u32,
}

/// A form as a whole, and two of them for each connection. What nobody reads yet is no part of the budget of bodies, so it
/// is little: as many connections as one address may have hold as much as the budget, by the defaults.
const PUBLIC: Windows = Windows { stream: 64 << 10, connection: 128 << 10 };

/// Those of the management listener, where bulk streams come.
const MANAGEMENT: Windows = Windows { stream: 1 << 20, connection: 1 << 20 };

/// Accepts and serves the connections of one listener.
pub(super) struct Acceptor {
    app: Arc<App>,
    service: TelemetryService<IssuerService<Routes>>,
    tls: TlsSlot,
    stopping: watch::Receiver<bool>,
    places: Arc<Places>,
    /// Whether one address may have so many connections and no more.
    limits_addresses: bool,
    windows: Windows,
}

impl Acceptor {
    /// Of the public listener.
    pub(super) fn public(
        app: &Arc<App>,
        routes: IssuerService<Routes>,
        telemetry: &Arc<Telemetry>,
        tls: TlsSlot,
        (stopping, places): (watch::Receiver<bool>, Arc<Places>),
    ) -> Self {
        let service = telemetry.layer().layer(routes);
        Self { app: Arc::clone(app), service, tls, stopping, places, limits_addresses: true, windows: PUBLIC }
    }

    /// Of the management listener, which is for whoever may reach it.
    pub(super) fn management(
        app: &Arc<App>,
        routes: IssuerService<Routes>,
        telemetry: &Arc<Telemetry>,
        tls: TlsSlot,
        held: (watch::Receiver<bool>, Arc<Places>),
    ) -> Self {
        Self {
            limits_addresses: false,
            windows: MANAGEMENT,
            ..Self::public(app, routes, telemetry, tls, held)
        }
    }

    /// Accepts until the server stops, then waits for what is in flight.
    pub(super) async fn run(self, listener: TcpListener) {
        let mut stopping = self.stopping.clone();
        let http = self.app.config.load().http.clone();
        let serving = Serving {
            service: self.service.clone(),
            builder: connection_builder(&http, self.windows),
            wait_limits: WaitLimits { head: http.header_timeout, idle: http.idle_timeout },
            before_first_request: BeforeFirstRequest::default(),
        };
        let (closing, _) = watch::channel(());
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut stopping) => break,
                accepted = listener.accept() => match accepted {
                    Ok(newcomer) => self.admit(newcomer, &serving, &closing).await,
                    Err(error) => {
                        // Out of file descriptors: accepting again at once would only spin.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        self.let_in_last(listener, &serving, &closing).await;
        closing.send_replace(());
        let ended = async {
            // Each connection has a receiver for as long as it lives.
            closing.closed().await;
            self.app.detached.settled().await;
        };
        if timeout(http.drain_timeout, ended).await.is_err() {
            tracing::warn!("requests were still running at the end of the drain timeout");
        }
    }

    /// Accepts those that are connected already, and closes the listener. A connection that is closed before its first
    /// request was read would be reset, and nobody could tell whether that request was served.
    async fn let_in_last(&self, listener: TcpListener, serving: &Serving, closing: &watch::Sender<()>) {
        let cease = Instant::now() + CEASE;
        while Instant::now() < cease
            && let Ok(Ok(newcomer)) = timeout(LAST_COMERS, listener.accept()).await
        {
            self.admit(newcomer, serving, closing).await;
        }
        drop(listener);
        for _ in 0..FIRST_REQUEST_LOOKS {
            if serving.before_first_request.load(Ordering::Relaxed) == 0 {
                break;
            }
            tokio::time::sleep(LAST_COMERS).await;
        }
    }

    /// Serves a connection once there is a place for it, unless its address has as many as it may. While all places are
    /// taken by requests, whoever comes next waits in the kernel's queue.
    async fn admit(
        &self,
        (stream, peer): (TcpStream, SocketAddr),
        serving: &Serving,
        closing: &watch::Sender<()>,
    ) {
        let remote = peer.ip().to_canonical();
        let Ok(of_address) = self.of_address(remote) else { return self.places.refused() };
        let activity = Arc::new(Activity::new(&serving.before_first_request, self.places.beginning));
        let mut stopping = self.stopping.clone();
        let too_late = async {
            stopped(&mut stopping).await;
            tokio::time::sleep(CEASE).await;
        };
        tokio::select! {
            biased;
            place = self.places.take(&activity, of_address) => {
                if let Some(place) = place {
                    self.serve(place, (stream, remote), activity, (serving, closing));
                }
            }
            () = too_late => {}
        }
    }

    /// Counts a connection of an address. A trusted proxy may have any number: of what it forwards, requests count.
    fn of_address(&self, remote: IpAddr) -> Result<Option<rate_limit::Counted>, Limited> {
        if !self.limits_addresses || is_trusted(&self.app.config.load().security.trusted_proxies, remote) {
            return Ok(None);
        }
        self.app.rate_limits.begin_connection(remote)
    }

    fn serve(
        &self,
        place: Place,
        (stream, remote): (TcpStream, IpAddr),
        activity: Arc<Activity>,
        (serving, closing): (&Serving, &watch::Sender<()>),
    ) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was refused");
        }
        let (serving, closing) = (serving.clone(), closing.subscribe());
        let tls = self.tls.as_ref().map(|slot| slot.load_full());
        tokio::spawn(async move {
            let _place = place;
            match tls {
                None => serving.serve(stream, activity, remote, closing).await,
                Some(config) => {
                    let handshake = timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream));
                    let stream = tokio::select! {
                        shaken = handshake => shaken,
                        () = activity.told_to_end() => return,
                    };
                    if let Ok(Ok(stream)) = stream {
                        serving.serve(stream, activity, remote, closing).await;
                    }
                }
            }
        });
    }
}

/// Returns when the server stops, or is gone.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// How the connections of a listener are served.
#[derive(Clone)]
struct Serving {
    service: TelemetryService<IssuerService<Routes>>,
    builder: Builder<TokioExecutor>,
    wait_limits: WaitLimits,
    before_first_request: BeforeFirstRequest,
}

impl Serving {
    /// Serves a connection to its end. Once `closing` has changed, the request that is in flight is its last.
    async fn serve<S>(
        self,
        stream: S,
        activity: Arc<Activity>,
        remote: IpAddr,
        mut closing: watch::Receiver<()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // One service for all requests of the connection: a clone for each would count references that all cores share.
        let (service, requests) = (RefCell::new(self.service.with_remote(remote)), Arc::clone(&activity));
        let handler = service_fn(move |request: Request<Incoming>| {
            let answering = requests.request(request.version() == Version::HTTP_2);
            let answer = service.borrow_mut().call(request.map(|body| match body.is_end_stream() {
                true => Body::empty(),
                false => Body::new(Counted::new(body, requests.body())),
            }));
            async move {
                let _answering = answering;
                let answer = answer.await;
                // An answer wakes whoever waits for it, on this core or another. So the requests at hand are handled
                // first, and their answers go out together: clients are woken less often, and more of what they ask
                // next comes at once (measured in docs/topics/speed.md).
                let_others_run().await;
                answer
            }
        });
        let stream = TokioIo::new(Watched::new(stream, Arc::clone(&activity)));
        let connection = self.builder.serve_connection(stream, handler);
        // Borrowed: the receiver says for as long as the connection lives that there is one to wait for.
        let closed = async { drop(closing.changed().await) };
        // How a connection ends is the client's business: nothing is lost with it.
        let watched = watchdog::watch(activity, self.wait_limits);
        serve_until(connection, closed, GracefulConnection::graceful_shutdown, watched).await;
    }
}

fn connection_builder(http: &symbolon_config::Http, windows: Windows) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    if !http.http2 {
        builder = builder.http1_only();
    }
    // Heads and idle connections have the watchdog; a timer per request would cost more than it brings.
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        // Answers are short: one buffer and one plain send cost less than a gathering write.
        .writev(false)
        .max_headers(http.max_headers)
        .max_buf_size(http.max_header_size.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(windows.stream)
        .initial_connection_window_size(windows.connection)
        .max_header_list_size(u32::try_from(http.max_header_size).unwrap_or(u32::MAX));
    builder
}
