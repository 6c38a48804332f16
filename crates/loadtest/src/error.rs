//! What can keep a load test from running. A run that ran, but badly, is not an error: its tally says so.

use std::path::PathBuf;

use crate::client::ClientError;

/// Why a load test or a measurement could not run.
#[derive(Debug, thiserror::Error)]
pub enum LoadtestError {
    /// The target's URL is not usable.
    #[error("target {url}: {reason}")]
    Target {
        /// The URL as given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The target did not answer as HTTP.
    #[error("{what}: {source}")]
    Http {
        /// What was being done.
        what: &'static str,
        /// What happened.
        source: ClientError,
    },
    /// The target answered, but refused or made no sense.
    #[error("{what}: the target answered {status}: {detail}")]
    Refused {
        /// What was being done.
        what: &'static str,
        /// The HTTP status.
        status: u16,
        /// The beginning of the body, or what was missing in it.
        detail: String,
    },
    /// The scenario needs something that the seed does not hold.
    #[error("scenario {scenario} needs {what}")]
    Unseeded {
        /// The scenario's name.
        scenario: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// The scenario asks for something that the target does not announce.
    #[error("scenario {scenario} needs {what}, and {issuer} does not offer it ({offered})")]
    NotOffered {
        /// The scenario's name.
        scenario: &'static str,
        /// What it needs.
        what: String,
        /// The target.
        issuer: String,
        /// What the discovery document says instead.
        offered: String,
    },
    /// What the seed holds would fail in the load, and not by the target's fault.
    #[error("scenario {scenario} cannot be loaded with this seed: {reason}; seed again")]
    SeedUnfit {
        /// The scenario's name.
        scenario: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A seed could not be written to its file or read back.
    #[error("seed {}: {reason}", path.display())]
    SeedFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A process could not be started or ended before it was ready.
    #[error("{program}: {reason}")]
    Process {
        /// The program.
        program: PathBuf,
        /// What happened.
        reason: String,
    },
    /// The CPU time of the server could not be read.
    #[error("cannot read the CPU time of process {pid}: {source}")]
    Cpu {
        /// The process id.
        pid: u32,
        /// What happened.
        source: std::io::Error,
    },
    /// The cryptographic library failed while its speed was measured.
    #[error("cannot measure {0}: the cryptographic library failed")]
    Crypto(symbolon_crypto::Algorithm),
    /// An agent cannot be reached, or cannot run its part of a load.
    #[error("agent {address}: {reason}")]
    Agent {
        /// Where it is.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// Agents were lost while they ran a load: what came of it is partial.
    #[error("{0}")]
    AgentsLost(String),
    /// The options contradict each other or leave something out.
    #[error("{0}")]
    Options(String),
    /// The operating system refused a thread, a directory or a write.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Stopped by the user.
    #[error("interrupted")]
    Interrupted,
}

impl LoadtestError {
    /// Whether the same may succeed a moment later: nobody answered, or the target was too busy.
    pub(crate) const fn is_of_the_moment(&self) -> bool {
        matches!(self, Self::Http { .. } | Self::Refused { status: 429 | 500 | 502 | 503 | 504, .. })
    }

    /// For `map_err`: wraps a transport error with what was being done.
    pub(crate) fn http(what: &'static str) -> impl FnOnce(ClientError) -> Self {
        move |source| Self::Http { what, source }
    }

    /// A refusal with the beginning of the body.
    pub(crate) fn refused(what: &'static str, status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let mut detail: String = text.chars().take(300).collect();
        detail.push_str(mend(what, status));
        Self::Refused { what, status, detail }
    }
}

/// What may mend a refusal by the admin API; nothing where that is not known.
fn mend(what: &str, status: u16) -> &'static str {
    match status {
        404 if what.starts_with("/") => {
            "; the admin API is not there: --admin-url says where it is, for instance \
             http://127.0.0.1:9090/api/admin"
        }
        401 if what.starts_with("/") => "; the admin secret must be this provider's",
        429 => {
            "; its rate limits are on: SYMBOLON_RATE_LIMITS=off turns them off for the time of a load test"
        }
        _ => "",
    }
}
