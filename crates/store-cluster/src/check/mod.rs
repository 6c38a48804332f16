//! Checks whether both engines are set up as the store's promises require: before the store is opened, and by `symbolon
//! store check`.
//!
//! Every finding names the server and the setting with its value, and what mends it. The table of all of them is
//! `docs/reference/store-check.md`.

mod clock;
mod postgres;
mod redis;

use std::cmp::Reverse;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::ClusterOptions;

/// How bad a finding is. Greater is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be; the finding gives the figures.
    Fine,
    /// The store works, but less well than it could, or it could not be verified what an engine keeps.
    Warning,
    /// Something is down that may come back by itself. A node starts nevertheless, and answers 503 to requests that
    /// need it.
    Failing,
    /// A setting with which the store would lose, or not find, what it promised to keep. No node starts.
    Refused,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fine => "fine",
            Self::Warning => "warning",
            Self::Failing => "failing",
            Self::Refused => "refused",
        })
    }
}

/// One result of the check, as text for operators. It contains no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The server, the setting with its value, and what follows from it.
    pub what: String,
    /// A command or setting that mends it; empty where there is nothing to mend.
    pub mend: String,
}

impl Finding {
    fn new(level: Level, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level, what: what.into(), mend: mend.into() }
    }

    fn refused(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(Level::Refused, what, mend)
    }

    fn failing(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(Level::Failing, what, mend)
    }

    fn warning(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(Level::Warning, what, mend)
    }

    fn fine(what: impl Into<String>) -> Self {
        Self::new(Level::Fine, what, "")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.level, self.what)?;
        if self.mend.is_empty() { Ok(()) } else { write!(f, ". Mend: {}", self.mend) }
    }
}

/// Examines both engines at once, without changing anything in them; the worst findings come first.
///
/// No query takes longer than the timeout of its engine, and a server that does not answer one is not asked again. So
/// the check takes milliseconds if all is well, and a few timeouts if servers hang.
pub async fn check(options: &ClusterOptions) -> Vec<Finding> {
    let (of_postgres, of_redis) = tokio::join!(postgres::check(options), redis::check(options));
    let mut findings = Vec::new();
    for finding in of_postgres.into_iter().chain(of_redis) {
        // A seed is asked again as a member of its cluster.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings.sort_by_key(|finding| Reverse(finding.level));
    findings
}

/// How to mend that a server's certificate is not trusted.
const TRUST: &str = "set SSL_CERT_FILE to a PEM file with the certificate of the authority that issued it, name the \
                     server as its certificate does, and renew it if it has expired";

/// How often a latency is measured. The fastest result counts, because the first query finds caches cold.
const TIMES: u32 = 3;

/// An answer this slow is not measured again: cold caches do not explain it.
const SLOW: Duration = Duration::from_millis(100);

/// Whether a certificate was not accepted. Both client libraries wrap the error of rustls, whose text is the same.
fn is_distrust(error: &str) -> bool {
    error.contains("invalid peer certificate")
}

/// The text of an error and of its causes, each once.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}

/// Compares the duration of a query with its limit.
fn latency(what: &str, took: Duration, limit: Duration) -> Finding {
    let (took_ms, limit_ms) = (took.as_secs_f64() * 1_000.0, limit.as_millis());
    if took <= limit {
        return Finding::fine(format!("{what} takes {took_ms:.2} ms"));
    }
    let mend = "run this program, PostgreSQL and Redis in one data centre: sign-ins and tokens wait for both";
    Finding::warning(format!("{what} takes {took_ms:.1} ms, more than {limit_ms} ms"), mend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_with_its_mend() {
        let refused = Finding::refused("PostgreSQL at db:5432: fsync = off", "ALTER SYSTEM SET fsync = on");
        let text = "refused: PostgreSQL at db:5432: fsync = off. Mend: ALTER SYSTEM SET fsync = on";
        assert_eq!(refused.to_string(), text);
        assert_eq!(Finding::fine("it answers").to_string(), "fine: it answers");
        assert!(Level::Refused > Level::Failing && Level::Failing > Level::Warning);
    }

    #[test]
    fn a_slow_answer_is_a_warning_with_both_figures() {
        let limit = Duration::from_millis(20);
        assert_eq!(
            latency("SELECT 1", Duration::from_micros(250), limit),
            Finding::fine("SELECT 1 takes 0.25 ms")
        );
        assert_eq!(latency("SELECT 1", limit, limit).level, Level::Fine);
        let slow = latency("SELECT 1", Duration::from_millis(31), limit);
        assert_eq!(
            (slow.level, slow.what.as_str()),
            (Level::Warning, "SELECT 1 takes 31.0 ms, more than 20 ms")
        );
    }

    #[test]
    fn an_error_is_told_with_its_causes_once() {
        let inner = std::io::Error::other("invalid peer certificate: UnknownIssuer");
        let outer = std::io::Error::other(inner);
        assert_eq!(causes(&outer), "invalid peer certificate: UnknownIssuer");
        assert!(is_distrust(&causes(&outer)));
    }
}
