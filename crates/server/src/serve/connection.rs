//! Accepts connections and serves each until it ends or the server stops.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Version};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tower::{Layer, Service};

use super::Routes;
use super::connection_slots::{ConnectionSlot, ConnectionSlots};
use super::tls::{self, TlsSlot};
use super::watchdog::{self, Activity, BeforeFirstRequest, CountingStream, GuardedBody, WaitLimits};
use symbolon_app::app::App;
use symbolon_app::client_certificates::PresentedCertificate;
use symbolon_app::http::{IssuerService, is_trusted};
use symbolon_app::let_others_run::let_others_run;
use symbolon_app::rate_limit::{self, Limited};
use symbolon_telemetry::{Telemetry, TelemetryService};

/// At shutdown, the listener is closed once no connection has come for this long: those that the kernel had already
/// accepted come without such a gap.
const LAST_COMERS: Duration = Duration::from_millis(5);

/// How long a steady stream of new connections may delay closing the listener.
const CEASE: Duration = Duration::from_millis(500);

/// At shutdown, how often open connections are checked, [`LAST_COMERS`] apart, for one that has not sent its first
/// request. A number of checks rather than a time: a machine that was suspended meanwhile has checked nothing.
const FIRST_REQUEST_LOOKS: usize = 200;

/// The longest TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Concurrent requests per HTTP/2 connection: the least that RFC 9113 6.5.2 recommends.
const STREAMS: u32 = 100;

/// Flow-control windows: bytes of bodies that an HTTP/2 client may send before they are read (RFC 9113 5.2).
#[derive(Clone, Copy)]
struct Windows {
    /// Per request.
    stream: u32,
    /// Per connection.
    connection: u32,
}

/// One whole form per request, and two per connection. Unread bytes are not counted in the budget of bodies, so the
/// windows are small: by default, the connections that one address may have can hold as much as the budget.
const PUBLIC: Windows = Windows { stream: 64 << 10, connection: 128 << 10 };

/// For the management listener, which receives large imports.
const MANAGEMENT: Windows = Windows { stream: 1 << 20, connection: 1 << 20 };

/// Accepts and serves the connections of one listener.
pub(super) struct Acceptor {
    app: Arc<App>,
    service: TelemetryService<IssuerService<Routes>>,
    tls: TlsSlot,
    stopping: watch::Receiver<bool>,
    slots: Arc<ConnectionSlots>,
    /// Whether the number of connections per address is limited.
    limits_addresses: bool,
    windows: Windows,
}

impl Acceptor {
    /// For the public listener.
    pub(super) fn public(
        app: &Arc<App>,
        routes: IssuerService<Routes>,
        telemetry: &Arc<Telemetry>,
        tls: TlsSlot,
        (stopping, slots): (watch::Receiver<bool>, Arc<ConnectionSlots>),
    ) -> Self {
        let service = telemetry.layer().layer(routes);
        Self { app: Arc::clone(app), service, tls, stopping, slots, limits_addresses: true, windows: PUBLIC }
    }

    /// For the management listener, which does not limit addresses.
    pub(super) fn management(
        app: &Arc<App>,
        routes: IssuerService<Routes>,
        telemetry: &Arc<Telemetry>,
        tls: TlsSlot,
        held: (watch::Receiver<bool>, Arc<ConnectionSlots>),
    ) -> Self {
        Self {
            limits_addresses: false,
            windows: MANAGEMENT,
            ..Self::public(app, routes, telemetry, tls, held)
        }
    }

    /// Accepts connections until the server stops, then waits for the requests in flight.
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
                        // Out of file descriptors: accepting again at once would fail at once, and use the CPU up.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        self.let_in_last(listener, &serving, &closing).await;
        closing.send_replace(());
        let ended = async {
            // Each connection holds a receiver until it ends, so this waits for all of them.
            closing.closed().await;
            self.app.detached.settled().await;
        };
        if timeout(http.drain_timeout, ended).await.is_err() {
            tracing::warn!("requests were still running at the end of the drain timeout");
        }
    }

    /// Accepts the connections that are established already, and closes the listener. A connection that is closed
    /// before its first request is read is reset, and the client cannot tell whether the request was handled.
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

    /// Serves a connection, unless its address has too many. If the slots are all taken by connections with requests
    /// in flight, this waits, and new connections queue in the kernel.
    async fn admit(
        &self,
        (stream, peer): (TcpStream, SocketAddr),
        serving: &Serving,
        closing: &watch::Sender<()>,
    ) {
        let remote = peer.ip().to_canonical();
        let Ok(of_address) = self.of_address(remote) else { return self.slots.refused() };
        let activity = Arc::new(Activity::new(&serving.before_first_request, self.slots.beginning));
        let mut stopping = self.stopping.clone();
        let too_late = async {
            stopped(&mut stopping).await;
            tokio::time::sleep(CEASE).await;
        };
        tokio::select! {
            biased;
            slot = self.slots.take(&activity, of_address) => {
                if let Some(slot) = slot {
                    self.serve(slot, (stream, remote), activity, (serving, closing));
                }
            }
            () = too_late => {}
        }
    }

    /// Counts a connection of an address. Connections of a trusted proxy are not limited: its forwarded requests are
    /// counted instead.
    fn of_address(&self, remote: IpAddr) -> Result<Option<rate_limit::InFlightGuard>, Limited> {
        if !self.limits_addresses || is_trusted(&self.app.config.load().security.trusted_proxies, remote) {
            return Ok(None);
        }
        self.app.rate_limits.begin_connection(remote)
    }

    fn serve(
        &self,
        slot: ConnectionSlot,
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
            let _slot = slot;
            match tls {
                None => serving.serve(stream, activity, (remote, None), closing).await,
                Some(config) => {
                    let handshake = timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream));
                    let stream = tokio::select! {
                        shaken = handshake => shaken,
                        () = activity.told_to_end() => return,
                    };
                    if let Ok(Ok(stream)) = stream {
                        let certificate = tls::presented(stream.get_ref().1);
                        serving.serve(stream, activity, (remote, certificate), closing).await;
                    }
                }
            }
        });
    }
}

/// Returns when the server stops, or its sender is gone.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// What all connections of a listener share.
#[derive(Clone)]
struct Serving {
    service: TelemetryService<IssuerService<Routes>>,
    builder: Builder<TokioExecutor>,
    wait_limits: WaitLimits,
    before_first_request: BeforeFirstRequest,
}

impl Serving {
    /// Serves a connection to its end, with the certificate of its client. After `closing` changes, the request in flight is its last.
    async fn serve<S>(
        self,
        stream: S,
        activity: Arc<Activity>,
        (remote, certificate): (IpAddr, Option<Arc<PresentedCertificate>>),
        mut closing: watch::Receiver<()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // One service for all requests of a connection: cloning it per request would touch reference counts that all
        // cores share.
        let (service, requests) = (RefCell::new(self.service.with_remote(remote)), Arc::clone(&activity));
        let handler = service_fn(move |mut request: Request<Incoming>| {
            if let Some(certificate) = &certificate {
                request.extensions_mut().insert(Arc::clone(certificate));
            }
            let answering = requests.request(request.version() == Version::HTTP_2);
            let answer = service.borrow_mut().call(request.map(|body| match body.is_end_stream() {
                true => Body::empty(),
                false => Body::new(GuardedBody::new(body, requests.body())),
            }));
            async move {
                let _answering = answering;
                let answer = answer.await;
                // Sending an answer wakes a client. Handling the other ready requests first lets their answers go out
                // together: clients are woken less often, and more of their next requests arrive at once (measured in
                // docs/topics/speed.md).
                let_others_run().await;
                answer
            }
        });
        let stream = TokioIo::new(CountingStream::new(stream, Arc::clone(&activity)));
        let connection = self.builder.serve_connection(stream, handler);
        // Borrowed rather than moved, so that the receiver lives as long as the connection, which `run` waits for.
        let closed = async { drop(closing.changed().await) };
        let (mut connection, mut over) =
            (pin!(connection), pin!(watchdog::watch(activity, self.wait_limits)));
        // How the connection ended makes no difference: every answer was sent or its client has gone.
        tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            () = over.as_mut() => return,
            () = closed => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            biased;
            _ = connection => {}
            () = over => {}
        }
    }
}

fn connection_builder(http: &symbolon_config::Http, windows: Windows) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    if !http.http2 {
        builder = builder.http1_only();
    }
    // The watchdog limits heads and idle times; hyper's timer per request would cost more.
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        // Answers are short: one buffer and one plain write cost less than a vectored write.
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
