//! The running server: two listeners, one runtime per worker for the public one, jobs, graceful shutdown.

mod connection;
mod connection_slots;
mod lingering;
mod listener;
mod routes;
mod tls;
mod watchdog;

use routes::Routes;
pub use routes::{management_router, public_router};
pub use tls::{TlsError, TlsReloader};

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::Socket;
use symbolon_figures::reserve_stripe;
use tokio::sync::watch;

use connection::Acceptor;
use connection_slots::{ConnectionFigures, ConnectionSlots};
use symbolon_app::app::App;
use symbolon_app::http::IssuerService;
use symbolon_telemetry::{RequestLog, Telemetry};

/// Most connections of the management listener.
const MANAGEMENT_CONNECTIONS: usize = 1024;

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ServeError {
    #[error("cannot listen on {address} ({key}): {source}; {}", listen_mend(source))]
    Listen { address: SocketAddr, key: &'static str, source: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot start a thread or runtime: {0}")]
    Runtime(io::Error),
}

/// The sockets, bound early so that port 0 becomes a known port. They listen only from [`Server::start`] on; until
/// then connections are refused rather than left waiting for a server that may never start.
pub struct Bound {
    public: Vec<Socket>,
    management: Socket,
    /// The address of the public listener.
    pub public_address: SocketAddr,
    /// The address of the management listener.
    pub management_address: SocketAddr,
}

/// Binds both listeners; `workers` sockets share the public address (`SO_REUSEPORT`), one per runtime.
///
/// # Errors
/// [`ServeError::Listen`] naming address and key.
pub fn bind(public: SocketAddr, management: SocketAddr, workers: usize) -> Result<Bound, ServeError> {
    if workers > 1 {
        listener::refuse_if_taken(public).map_err(failed(public, "listen"))?;
    }
    let first = listener::bind(public, workers > 1).map_err(failed(public, "listen"))?;
    let public_address = listener::address(&first).map_err(failed(public, "listen"))?;
    let mut sockets = vec![first];
    for _ in 1..workers {
        sockets.push(listener::bind(public_address, true).map_err(failed(public_address, "listen"))?);
    }
    let socket = listener::bind(management, false).map_err(failed(management, "management_listen"))?;
    let management_address = listener::address(&socket).map_err(failed(management, "management_listen"))?;
    Ok(Bound { public: sockets, management: socket, public_address, management_address })
}

/// The advice for a failed bind.
fn listen_mend(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "stop what listens there, or choose another port",
        io::ErrorKind::AddrNotAvailable => "choose an address of this machine",
        io::ErrorKind::PermissionDenied => {
            "choose a port above 1023, or let the process have CAP_NET_BIND_SERVICE"
        }
        _ => "choose another address",
    }
}

/// The error for an address that cannot be bound.
fn failed(address: SocketAddr, key: &'static str) -> impl Fn(io::Error) -> ServeError {
    move |source| ServeError::Listen { address, key, source }
}

/// A running server.
pub struct Server {
    shutdown: watch::Sender<bool>,
    workers: Vec<JoinHandle<()>>,
    management: tokio::task::JoinHandle<()>,
    telemetry: Arc<Telemetry>,
    /// Reloads certificates.
    pub tls: TlsReloader,
}

impl Server {
    /// Starts serving on bound sockets. The management listener runs on the caller's runtime.
    ///
    /// # Errors
    /// [`ServeError`]: certificates cannot be read, or a thread cannot be started.
    pub fn start(app: &Arc<App>, bound: Bound) -> Result<Self, ServeError> {
        let config = app.config.load_full();
        let random = symbolon_crypto::random::bytes::<12>(&*app.random);
        let log = RequestLog::new(config.telemetry.log_sample);
        let telemetry = Telemetry::new(Arc::clone(&app.registry), random, log, app.tracer.clone());
        let tls = TlsReloader::new(
            config.listen.tls.as_ref(),
            config.listen.management_tls.as_ref(),
            config.http.http2,
            config.security.mutual_tls.as_ref().is_some_and(|own| own.asks),
        )?;
        let (shutdown, stopping) = watch::channel(false);
        // The management listener has its own slots, so that a full public listener does not block metrics, health
        // and the admin API.
        let (slots, reserved) =
            (ConnectionSlots::new(config.http.max_connections), ConnectionSlots::new(MANAGEMENT_CONNECTIONS));
        let figures = [("public", Arc::clone(&slots)), ("management", Arc::clone(&reserved))];
        app.registry.register(Arc::new(ConnectionFigures(figures)));
        let public = public_router(app);
        let mut workers = Vec::new();
        for (index, socket) in bound.public.into_iter().enumerate() {
            let socket = listener::listen(socket).map_err(failed(bound.public_address, "listen"))?;
            let routes = IssuerService::new(app, Routes::public(app, public.clone()));
            let acceptor = Acceptor::public(
                app,
                routes,
                &telemetry,
                tls.public(),
                (stopping.clone(), Arc::clone(&slots)),
            );
            workers.push(spawn_worker(index, socket, acceptor).map_err(ServeError::Runtime)?);
        }
        let management = IssuerService::management(app, Routes::management(app));
        let acceptor =
            Acceptor::management(app, management, &telemetry, tls.management(), (stopping, reserved));
        let socket = listener::listen(bound.management)
            .map_err(failed(bound.management_address, "management_listen"))?;
        let socket = tokio::net::TcpListener::from_std(socket).map_err(ServeError::Runtime)?;
        let management = tokio::spawn(acceptor.run(socket));
        Ok(Self { shutdown, workers, management, telemetry, tls })
    }

    /// Telemetry, whose sampling can be changed while running.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// A receiver that turns true when the server stops.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.shutdown.subscribe()
    }

    /// Stops accepting, and waits until the requests in flight have ended, for at most the drain timeout.
    pub async fn stop(self) {
        self.shutdown.send_replace(true);
        let joined = tokio::task::spawn_blocking(move || {
            for worker in self.workers {
                // The thread has reported its panic.
                drop(worker.join());
            }
        });
        let (joined, managed) = tokio::join!(joined, self.management);
        drop((joined, managed));
    }
}

/// Starts a thread with its own runtime, so that connections never move between cores.
fn spawn_worker(
    index: usize,
    socket: std::net::TcpListener,
    acceptor: Acceptor,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(format!("http-{index}")).spawn(move || {
        let _stripe = reserve_stripe();
        runtime.block_on(async move {
            match tokio::net::TcpListener::from_std(socket) {
                Ok(socket) => acceptor.run(socket).await,
                Err(error) => tracing::error!(%error, "a listener was lost"),
            }
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
    })
}

/// The number of public workers: as configured, else one per core.
pub fn workers(configured: Option<usize>) -> usize {
    configured.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}
