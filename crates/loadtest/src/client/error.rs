//! Why there is no answer.

use std::io;
use std::net::SocketAddr;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection: nobody listens there, or the network refused.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What happened.
        source: io::Error,
    },
    /// Connecting took longer than allowed.
    #[error("cannot connect to {0} in time")]
    ConnectTimeout(SocketAddr),
    /// The TLS handshake failed (RFC 8446 4).
    #[error("no TLS with {name}: {source}{mend}")]
    Tls {
        /// Who was asked for.
        name: String,
        /// What happened.
        source: io::Error,
        /// What may mend it, or nothing.
        mend: &'static str,
    },
    /// The peer understands no HTTP/2, or does not want it.
    #[error("{address} does not speak HTTP/2{over}: {reason}; ask it without --http2")]
    NoHttp2 {
        /// Where to.
        address: SocketAddr,
        /// What HTTP/2 was to go over.
        over: &'static str,
        /// How it showed.
        reason: String,
    },
    /// No complete answer within the request's time.
    #[error("no answer in time")]
    Timeout,
    /// The connection ended before the answer did.
    #[error("the connection was closed before the answer was complete")]
    Closed,
    /// Reading or writing failed.
    #[error("connection failed: {0}")]
    Io(io::Error),
    /// A stream or connection of HTTP/2 ended with an error (RFC 9113 5.4).
    #[error("HTTP/2 failed: {0}")]
    Http2(h2::Error),
    /// What was to be sent is no request.
    #[error("the request cannot be sent: {0}")]
    Request(&'static str),
    /// The answer is not HTTP/1.1 (RFC 9112).
    #[error("the answer is not HTTP/1.1: {0}")]
    Malformed(&'static str),
    /// The answer is larger than 256 MiB.
    #[error("the answer is too large")]
    TooLarge,
}

impl ClientError {
    /// A short name to count by.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connect { source, .. } => connect_kind(source),
            Self::ConnectTimeout(_) => "connect_timeout",
            Self::Tls { .. } => "tls",
            Self::NoHttp2 { .. } => "no_http2",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Io(error) => io_kind(error),
            Self::Http2(_) => "http2",
            Self::Request(_) => "request",
            Self::Malformed(_) => "malformed",
            Self::TooLarge => "too_large",
        }
    }

    /// Whether somebody stopped waiting: an answer would have come later, or never.
    pub const fn is_given_up(&self) -> bool {
        matches!(self, Self::Timeout | Self::ConnectTimeout(_))
    }
}

/// Every local port to the target is in use, or waits for its end.
const NO_FREE_PORT: &str = "no_free_port";
/// The process, or the machine, may open no further file.
const TOO_MANY_OPEN_FILES: &str = "too_many_open_files";

/// What the generator itself lacks where requests fail in this way; none where the other side is why.
pub(crate) fn generator_lacks(kind: &str) -> Option<&'static str> {
    match kind {
        TOO_MANY_OPEN_FILES => Some("it may open no more files (ulimit -n says how many)"),
        NO_FREE_PORT => Some("no port was free for a further connection"),
        _ => None,
    }
}

fn connect_kind(error: &io::Error) -> &'static str {
    let errno = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    match errno {
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => TOO_MANY_OPEN_FILES,
        Some(rustix::io::Errno::ADDRNOTAVAIL) => NO_FREE_PORT,
        Some(rustix::io::Errno::CONNREFUSED) => "connection_refused",
        Some(rustix::io::Errno::CONNRESET) => "connection_reset",
        _ => "connect",
    }
}

fn io_kind(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionReset => "connection_reset",
        io::ErrorKind::ConnectionAborted => "connection_aborted",
        io::ErrorKind::BrokenPipe => "broken_pipe",
        _ => "io",
    }
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A TLS connection that ended without saying so (RFC 8446 6.1).
            io::ErrorKind::UnexpectedEof => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

impl From<h2::Error> for ClientError {
    fn from(error: h2::Error) -> Self {
        if error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR) {
            return Self::Closed;
        }
        match error.get_io().map(io::Error::kind) {
            Some(io::ErrorKind::BrokenPipe) => Self::Closed,
            Some(_) => error.into_io().map_or(Self::Closed, Self::from),
            None => Self::Http2(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    fn not_connected(errno: Errno) -> &'static str {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        ClientError::Connect { address, source: io::Error::from_raw_os_error(errno.raw_os_error()) }.kind()
    }

    #[test]
    fn what_the_generator_lacks_is_told_from_what_the_target_refuses() {
        for (errno, kind, words) in [
            (Errno::MFILE, TOO_MANY_OPEN_FILES, Some("ulimit -n")),
            (Errno::NFILE, TOO_MANY_OPEN_FILES, Some("ulimit -n")),
            (Errno::ADDRNOTAVAIL, NO_FREE_PORT, Some("no port was free")),
            (Errno::CONNREFUSED, "connection_refused", None),
            (Errno::CONNRESET, "connection_reset", None),
            (Errno::HOSTUNREACH, "connect", None),
        ] {
            assert_eq!(not_connected(errno), kind);
            let told = generator_lacks(kind);
            assert_eq!(told.is_some(), words.is_some(), "{kind}");
            assert!(told.zip(words).is_none_or(|(told, words)| told.contains(words)), "{told:?}");
        }
    }
}
