//! Sets up the log: format and level.

use std::io;

use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use super::log_writer::LogWriter;

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One JSON object per line, for machines.
    #[default]
    Json,
    /// Text for people, with colours if enabled.
    Pretty,
}

/// Options of the log.
#[derive(Debug, Default)]
pub struct LoggingOptions {
    /// The format of lines.
    pub format: LogFormat,
    /// Filter directives as `tracing` knows them: `info`, or `info,symbolon::request=off`.
    pub level: String,
    /// Whether to use colours; only for [`LogFormat::Pretty`].
    pub colours: bool,
}

/// Why the log could not be started or changed.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The level is not a list of filter directives.
    #[error("the log level is not understood: {0}")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    /// The writing thread could not be started.
    #[error("the log's thread could not be started: {0}")]
    Thread(#[from] io::Error),
    /// The process already has a log.
    #[error("the log was started twice: {0}")]
    Twice(#[from] TryInitError),
    /// The log has ended.
    #[error("the log's level cannot be changed: {0}")]
    Reload(#[from] reload::Error),
}

/// The filter of these directives. The WebAuthn library logs what anybody may send it as errors of its own; unless it is named,
/// its lines are left out, because the request's line has the reason.
fn filter(level: &str) -> Result<EnvFilter, tracing_subscriber::filter::ParseError> {
    // Of two directives for one target, the later holds.
    EnvFilter::try_new(format!("webauthn_rs_core=off,{level}"))
}

/// The running log. Keep it until the process ends: dropping it writes the lines that are waiting.
pub struct Logging {
    filter: reload::Handle<EnvFilter, Registry>,
    writer: LogWriter,
}

impl Logging {
    /// Starts the process's log on standard error. Call once per process.
    ///
    /// # Errors
    /// [`LoggingError`]: a malformed level, a thread that cannot be started, or a log that is already running.
    pub fn start(options: LoggingOptions) -> Result<Self, LoggingError> {
        let (logging, subscriber) = Self::build(options, io::stderr())?;
        subscriber.try_init()?;
        Ok(logging)
    }

    /// Makes the log and its subscriber, without installing it for the process.
    fn build(
        options: LoggingOptions,
        sink: impl io::Write + Send + 'static,
    ) -> Result<(Self, impl Subscriber + Send + Sync), LoggingError> {
        let (filter, handle) = reload::Layer::new(filter(&options.level)?);
        let writer = LogWriter::start(sink)?;
        let lines = tracing_subscriber::fmt::layer().with_writer(writer.clone());
        let lines = match options.format {
            // Fields at the top level, so that each line is one flat object.
            LogFormat::Json => lines
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .with_filter(filter)
                .boxed(),
            LogFormat::Pretty => lines.with_ansi(options.colours).with_filter(filter).boxed(),
        };
        Ok((Self { filter: handle, writer }, tracing_subscriber::registry().with(lines)))
    }

    /// Changes the level from now on.
    ///
    /// # Errors
    /// If the directives are malformed; the level is then unchanged.
    pub fn set_level(&self, level: &str) -> Result<(), LoggingError> {
        self.filter.reload(filter(level)?)?;
        Ok(())
    }

    /// Waits until all lines logged so far are written, for at most a second.
    pub fn flush(&self) {
        self.writer.flush();
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.flush();
    }
}

impl std::fmt::Debug for Logging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logging").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "logging_tests.rs"]
pub(super) mod tests;
