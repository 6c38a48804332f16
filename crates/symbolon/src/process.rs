//! The running process: opens the store, starts the server, reacts to signals.

pub(crate) mod breached_passwords;
pub(crate) mod master_key;
pub(crate) mod owner;
pub(crate) mod places;
pub(crate) mod secrets;
pub(crate) mod store;

use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use store::Opened;
use symbolon_app::app::{App, Ports};
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_app::issuer::IssuerError;
use symbolon_config::{self as config, Config, ConfigErrors, Mode};
use symbolon_crypto::digest;
use symbolon_crypto::key::NewKeys;
use symbolon_crypto::random::SystemRandom;
use symbolon_crypto::seal::SealError;
use symbolon_crypto::signer::InlineSigner;
use symbolon_server::serve::{self, ServeError, Server};
use symbolon_server::{endpoints, jobs};
use symbolon_sign_in::demo::{self, DemoError};
use symbolon_store::StoreError;
use symbolon_store_cluster::ClusterError;
use symbolon_store_embedded::EmbeddedError;
use symbolon_store_embedded::directory::OpenError;
use symbolon_telemetry::{LogFormat, Logging, LoggingError, LoggingOptions, Registry};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Why the provider could not start or run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub(crate) enum ProcessError {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Store(#[from] EmbeddedError),
    #[error("the cluster store cannot be opened: {0}")]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Records(#[from] StoreError),
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    #[error(transparent)]
    Logging(#[from] LoggingError),
    #[error(transparent)]
    MasterKey(#[from] SealError),
    #[error(transparent)]
    Demo(#[from] DemoError),
    #[error("what is stored was sealed under a master key, and there is none: put it into {} or configure it", .0.display())]
    NoMasterKey(std::path::PathBuf),
    #[error(
        "the data directory {} (data_dir) belongs to user {owner}, and this runs as user {user}: a server of user \
         {owner} could not read what it writes. Run it as that user: setpriv --reuid={owner} --clear-groups \
         symbolon ... (docs/setup/systemd.md has the way for a unit with DynamicUser)", path.display()
    )]
    ForeignDirectory { path: std::path::PathBuf, owner: u32, user: u32 },
    #[error("the cluster store needs `master_key` and `admin_secret` in the configuration")]
    NoDirectory,
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
}

/// Whether another process has the data directory open.
pub(crate) fn is_locked(error: &ProcessError) -> bool {
    matches!(error, ProcessError::Store(EmbeddedError::Directory(OpenError::Locked(_))))
}

/// How long the ready line waits for the recovery of an existing store. After a clean stop, the journal is read within
/// this time.
const PATIENCE: Duration = Duration::from_millis(25);

type Reload<'a> = &'a dyn Fn() -> Result<Config, ConfigErrors>;

/// Serves until a signal stops the process. `reload` reads the configuration again.
pub(crate) fn serve(config: Config, accept_clock: bool, reload: Reload<'_>) -> Result<(), ProcessError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("management")
        .enable_all()
        .build()
        .map_err(|source| ProcessError::Io { what: "cannot start a runtime".into(), source })?;
    runtime.block_on(run(config, accept_clock, reload))
}

async fn run(mut config: Config, accept_clock: bool, reload: Reload<'_>) -> Result<(), ProcessError> {
    let mut signals = Signals::listen()?;
    let logging = Logging::start(LoggingOptions {
        format: match config.telemetry.log_format {
            config::LogFormat::Json => LogFormat::Json,
            config::LogFormat::Pretty => LogFormat::Pretty,
        },
        level: config.telemetry.log_level.to_string(),
        ..LoggingOptions::default()
    })?;
    let clock = SystemClock::start();
    let mut found = store::check(&config);
    found.extend(breached_passwords::check(&config));
    found.extend(places::check(&config));
    let of_files = config.check_files(clock.now(), found)?;
    for warning in config.warnings().iter().chain(&of_files) {
        tracing::warn!(key = warning.key, "{}", warning.text);
    }
    if config.storage.cluster.is_none() {
        owner::check_server(&config.storage.data_dir)?;
    }
    let workers = serve::workers(config.listen.worker_threads);
    let bound = serve::bind(config.listen.public, config.listen.management, workers)?;
    config.bound(bound.public_address);
    let mut opened = store::open_records(&config, &clock, accept_clock, workers / 2).await?;
    let (app, first_start) = make_app(config, &opened, &clock).await?;
    master_key::load_issuers(&app).await?;
    let demo = match app.config.load().mode {
        Mode::Development => Some(demo::prepare(&app).await?),
        Mode::Production => None,
    };
    let scheme = if app.config.load().listen.tls.is_some() { "https" } else { "http" };
    let ready = format!("listening on {scheme}://{}", bound.public_address);
    let server = Server::start(&app, bound)?;
    let greeting = demo.as_ref().map(|demo| demo.greeting(app.config.load().issuer.as_str()));
    // The recovery begins only now, because it would compete for the CPU with what the first answer needs.
    let patience = if opened.is_new { Duration::MAX } else { PATIENCE };
    let recovery = async {
        opened.recover().await?;
        app.note_recovered();
        Ok(())
    };
    let announce = || announce(&ready, greeting.as_deref(), first_start.as_deref());
    recover_and_announce(recovery, patience, announce).await?;
    if let Some(demo) = demo
        && let Err(error) = demo.keep_password(&app).await
    {
        tracing::error!(%error, "the demo user's password was not checked");
    }
    let jobs = jobs::spawn(Arc::clone(&app), Some(clock), server.stopping());
    signals.obey(&app, &server, &logging, reload).await;
    app.leave();
    signals.linger(app.config.load().http.drain_delay).await;
    server.stop().await;
    jobs.finish().await;
    if let Err(error) = app.store.close().await {
        tracing::error!(%error, "the store was not closed cleanly");
    }
    logging.flush();
    Ok(())
}

/// Announces the server when the store is recovered, or when `patience` is over. Until the recovery ends, discovery is
/// answered and all other requests wait. After a crash, reading the journal takes most of the start.
async fn recover_and_announce(
    recovery: impl Future<Output = Result<(), ProcessError>>,
    patience: Duration,
    announce: impl FnOnce() -> Result<(), ProcessError>,
) -> Result<(), ProcessError> {
    let mut recovery = pin!(recovery);
    match tokio::time::timeout(patience, &mut recovery).await {
        Ok(recovered) => recovered.and_then(|()| announce()),
        Err(_) => {
            announce()?;
            recovery.await
        }
    }
}

/// Makes the app. Also returns the admin secret if it was generated now.
pub(crate) async fn make_app(
    config: Config,
    opened: &Opened,
    clock: &Arc<SystemClock>,
) -> Result<(Arc<App>, Option<String>), ProcessError> {
    let directory = opened.directory.as_deref();
    let (secret, made) = secrets::admin_secret(&config, directory)?;
    let master = secrets::master_key(&config, directory, opened.is_new)?;
    let ports = Ports {
        store: Arc::clone(&opened.store),
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        random: Arc::new(SystemRandom),
        signer: Arc::new(InlineSigner),
        key_generator: Arc::new(NewKeys),
        master,
    };
    let registry = Registry::new(env!("CARGO_PKG_VERSION"), option_env!("SYMBOLON_REVISION").unwrap_or(""));
    let registry = Arc::new(registry.keeping_requests(config.telemetry.metrics));
    let digest = digest::sha256(&[secret.expose().as_bytes()]);
    Ok((App::new(config, ports, registry, digest, endpoints::reserved_segments()), made))
}

/// Prints the line that scripts wait for and, in development mode, what a newcomer needs.
fn announce(ready: &str, demo: Option<&str>, admin_secret: Option<&str>) -> Result<(), ProcessError> {
    let mut out = std::io::stdout().lock();
    let mut text = String::new();
    if let Some(demo) = demo {
        text.push_str(demo);
        text.push('\n');
    }
    if let Some(secret) = admin_secret {
        text.push_str(&format!("admin secret (shown once, kept in the data directory): {secret}\n"));
    }
    text.push_str(ready);
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|source| ProcessError::Io { what: "cannot write to standard output".into(), source })
}

/// The signals that the process handles.
///
/// They are caught from the start. Uncaught, each of them would end the process in the middle of its work; and a script
/// that sees the ready line may send one at once.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> Result<Self, ProcessError> {
        let listen = |kind| {
            signal(kind)
                .map_err(|source| ProcessError::Io { what: "cannot listen for signals".into(), source })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Returns on SIGTERM or SIGINT; reads configuration and certificates again on SIGHUP.
    async fn obey(&mut self, app: &Arc<App>, server: &Server, logging: &Logging, reload: Reload<'_>) {
        let started = app.config.load_full();
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => match reload() {
                    Ok(config) => take_over((app, server, logging), &started, config).await,
                    Err(errors) => tracing::error!("the configuration was not taken over: {errors}"),
                },
            }
        }
    }

    /// Waits until load balancers had time to notice that the server is not ready, or until a second signal to stop.
    async fn linger(&mut self, delay: Duration) {
        tracing::info!(?delay, "told to stop: not ready from now on");
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Applies what may change while running, and logs the keys that need a restart.
async fn take_over(
    (app, server, logging): (&Arc<App>, &Server, &Logging),
    started: &Config,
    mut new: Config,
) {
    let old = app.config.load_full();
    new.bound(old.listen.public);
    read_certificates(app, server, &new);
    let diff = Config::reloadable_diff(started, &old, &new);
    if !diff.restart.is_empty() {
        tracing::warn!(keys = ?diff.restart, "these keys need a restart");
    }
    for warning in new.warnings().iter().filter(|warning| diff.live.contains(&warning.key)) {
        tracing::warn!(key = warning.key, "{}", warning.text);
    }
    if let Err(error) = logging.set_level(new.telemetry.log_level.as_str()) {
        tracing::error!(%error, "the log level stays as it is");
    }
    server.telemetry().log().set_success_one_in(new.telemetry.log_sample);
    app.reconfigure(new).await;
    tracing::info!(keys = ?diff.live, "the configuration was taken over");
}

/// Reads the certificates of both listeners again, because files with unchanged names may have new contents.
fn read_certificates(app: &App, server: &Server, new: &Config) {
    match new.check_tls(app.clock().now()) {
        Ok(warnings) => {
            for warning in warnings {
                tracing::warn!(key = warning.key, "{}", warning.text);
            }
        }
        Err(errors) => return tracing::error!("the old certificates stay in use: {errors}"),
    }
    match server.tls.reload(new.listen.tls.as_ref(), new.listen.management_tls.as_ref()) {
        Ok(0) => {}
        Ok(listeners) => tracing::info!(listeners, "certificates and keys were read again"),
        Err(error) => tracing::error!(%error, "the old certificates stay in use"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The order of events if the recovery ends with `ends`, soon or only after the announcement.
    async fn order(soon: bool, patience: Duration, ends: Result<(), ProcessError>) -> Vec<&'static str> {
        let said = RefCell::new(Vec::new());
        let recovery = async {
            tokio::task::yield_now().await;
            while !soon && said.borrow().is_empty() {
                tokio::task::yield_now().await;
            }
            said.borrow_mut().push("recovered");
            ends
        };
        let announce = || {
            said.borrow_mut().push("announced");
            Ok(())
        };
        let ended = recover_and_announce(recovery, patience, announce).await;
        said.borrow_mut().push(if ended.is_ok() { "started" } else { "failed" });
        said.into_inner()
    }

    #[tokio::test]
    async fn the_ready_line_waits_for_the_journal_as_long_as_its_patience() {
        let patient = order(true, Duration::MAX, Ok(())).await;
        assert_eq!(patient, ["recovered", "announced", "started"]);
        let impatient = order(false, Duration::ZERO, Ok(())).await;
        assert_eq!(impatient, ["announced", "recovered", "started"]);
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_recovered_in_time_is_not_announced() {
        assert_eq!(order(true, Duration::MAX, Err(ProcessError::NoDirectory)).await, ["recovered", "failed"]);
    }
}
