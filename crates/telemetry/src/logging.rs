//! Starting the log: format and level.

use std::io;

use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use super::log_writer::LogWriter;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One JSON object per line, for machines.
    #[default]
    Json,
    /// Text with colours where the terminal has them, for people.
    Pretty,
}

/// What the log starts with.
#[derive(Debug, Default)]
pub struct LoggingOptions {
    /// How lines look.
    pub format: LogFormat,
    /// Filter directives as `tracing` knows them: `info`, or `info,symbolon::request=off`.
    pub level: String,
    /// Colours; only for [`LogFormat::Pretty`].
    pub colours: bool,
}

/// Why the log could not be started or changed.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The level is no list of filter directives.
    #[error("the log level is not understood: {0}")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    /// The writing thread could not be started.
    #[error("the log's thread could not be started: {0}")]
    Thread(#[from] io::Error),
    /// The process has a log already.
    #[error("the log was started twice: {0}")]
    Twice(#[from] TryInitError),
    /// The log is gone.
    #[error("the log's level cannot be changed: {0}")]
    Reload(#[from] reload::Error),
}

/// The running log. Keep it until the process ends: dropping it writes out what is waiting.
pub struct Logging {
    filter: reload::Handle<EnvFilter, Registry>,
    writer: LogWriter,
}

impl Logging {
    /// Starts the process's log on standard error. Once per process.
    ///
    /// # Errors
    /// [`LoggingError`]: a level that is not understood, no thread, or a log that runs already.
    pub fn start(options: LoggingOptions) -> Result<Self, LoggingError> {
        let (logging, subscriber) = Self::build(options, io::stderr())?;
        subscriber.try_init()?;
        Ok(logging)
    }

    /// The log and its subscriber, not yet the process's.
    fn build(
        options: LoggingOptions,
        sink: impl io::Write + Send + 'static,
    ) -> Result<(Self, impl Subscriber + Send + Sync), LoggingError> {
        let (filter, handle) = reload::Layer::new(EnvFilter::try_new(&options.level)?);
        let writer = LogWriter::start(sink)?;
        let lines = tracing_subscriber::fmt::layer().with_writer(writer.clone());
        let lines = match options.format {
            // Fields on the top level: a line is one flat object.
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
    /// When the directives are not understood; the level is then unchanged.
    pub fn set_level(&self, level: &str) -> Result<(), LoggingError> {
        self.filter.reload(EnvFilter::try_new(level)?)?;
        Ok(())
    }

    /// Waits until what was logged so far is written; at most a second.
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
