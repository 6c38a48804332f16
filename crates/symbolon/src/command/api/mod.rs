//! Access to the admin API, the same for every command.
//!
//! A command is one or more requests. If a server runs on the data directory (it holds the lock), or if `--server`
//! names one, they are sent to it by HTTP. Otherwise the command opens the data directory itself, and passes the
//! requests to the very same router in this process. The cluster's store is always opened, as one more node. So every
//! operation is implemented once, with its checks and its audit.

mod in_process;
mod listing;
mod remote;
pub(super) mod trust;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use clap::ArgMatches;
use http::{Method, Request, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::ClientConfig;
use serde_json::Value;
use symbolon_config::Config;
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::id::IssuerId;
use tokio::runtime::Runtime;

use super::{CommandError, load};
use crate::process::{self, ProcessError, secrets};
use in_process::InProcess;
use remote::Remote;

/// All characters that are percent-encoded in a path segment: all but the unreserved ones (RFC 3986 2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What the admin API answers with 404 where `--issuer` names an issuer that does not exist.
pub(super) const NO_ISSUER: &str = "there is no such issuer";

/// The most entries of a page of a listing.
pub(super) const PAGE: usize = 100;

/// Why the admin API could not be used, or refused.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub(crate) enum ApiError {
    #[error("{0} is not a URL that this command can use: {1}")]
    Url(String, &'static str),
    #[error(
        "another process has the data directory open, and its management listener has no fixed port: name it with \
         --server"
    )]
    NoPort,
    #[error("no admin secret: give --admin-secret-file, SYMBOLON_ADMIN_SECRET or a configuration file")]
    NoSecret,
    #[error("the file of trusted certificates {} {reason}", path.display())]
    Ca { path: PathBuf, reason: String },
    #[error("cannot reach the server at {address}: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("refused with {status}: {text}{}", refusal_mend(*status, text))]
    Refused { status: StatusCode, text: String },
    #[error("the server's answer is not what was expected: {0}")]
    Answer(String),
}

impl ApiError {
    /// Whether the caller made a mistake, such as a wrong option.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Self::Url(..) | Self::NoPort | Self::NoSecret | Self::Ca { .. } => true,
            Self::Refused { status, .. } => *status == StatusCode::BAD_REQUEST,
            _ => false,
        }
    }
}

enum Way {
    Server(Remote),
    Here(Box<InProcess>),
}

/// The admin API of one issuer.
pub(super) struct Api {
    runtime: Runtime,
    way: Way,
    secret: SecretString,
    issuer: IssuerId,
    /// The configuration that the command was given.
    pub(super) config: Arc<Config>,
}

impl Api {
    /// Chooses the server of `--server`, else the server that holds the data directory, else this process.
    pub(super) fn reach(matches: &ArgMatches) -> Result<Self, CommandError> {
        let issuer = match matches.try_get_one::<String>("issuer-id") {
            Ok(Some(id)) => {
                IssuerId::parse(id).map_err(|error| CommandError::Usage(format!("--issuer: {error}")))?
            }
            _ => IssuerId::default_issuer(),
        };
        let config = Arc::new(load(matches)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        if let Some(url) = matches.get_one::<String>("server") {
            let secret = known_secret(&config)?;
            let way = Way::Server(Remote::at(url, trust(matches, &config)?)?);
            return Ok(Self { runtime, way, secret, issuer, config });
        }
        match runtime.block_on(InProcess::open(load(matches)?)) {
            Ok(here) => {
                let (secret, _) = secrets::admin_secret(&config, Some(&config.storage.data_dir))?;
                Ok(Self { runtime, way: Way::Here(Box::new(here)), secret, issuer, config })
            }
            Err(error) if process::is_locked(&error) => {
                let secret = known_secret(&config)?;
                let way = Way::Server(Remote::of(&config, trust(matches, &config)?)?);
                Ok(Self { runtime, way, secret, issuer, config })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The admin API of the server that holds the data directory.
    pub(super) fn of_the_holder(config: Arc<Config>) -> Result<Self, CommandError> {
        let trust = config.listen.management_tls.as_ref().map(trust::of_configured).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (secret, way) = (known_secret(&config)?, Way::Server(Remote::of(&config, trust)?));
        Ok(Self { runtime, way, secret, issuer: IssuerId::default_issuer(), config })
    }

    /// Whether `--server` named the server: it may run on another machine, or with another configuration than this.
    pub(super) fn is_named(matches: &ArgMatches) -> bool {
        matches.get_one::<String>("server").is_some()
    }

    /// Sends a request about the issuer.
    pub(super) fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CommandError> {
        self.ask_all(method, &self.of_the_issuer(path), body)
    }

    /// Sends a request about the issuer whose body is of another media type than JSON.
    pub(super) fn ask_with(
        &self,
        method: Method,
        path: &str,
        body: (&'static str, Vec<u8>),
    ) -> Result<Value, CommandError> {
        let (status, bytes) = self.send(method, &self.of_the_issuer(path), Some(body))?;
        Ok(answer(status, &bytes)?)
    }

    /// Whether there is something at a path of the issuer's, whatever it is.
    pub(super) fn is_there(&self, path: &str) -> Result<bool, CommandError> {
        let (status, bytes) = self.send(Method::GET, &self.of_the_issuer(path), None)?;
        match status {
            StatusCode::NOT_FOUND => Ok(false),
            status if status.is_success() => Ok(true),
            status => Ok(answer(status, &bytes).map(|_| true)?),
        }
    }

    /// Sends a JSON text a line about the issuer; the lines of the answer, which are as many.
    pub(super) fn ask_lines(&self, path: &str, lines: Vec<u8>) -> Result<Vec<Value>, CommandError> {
        let (status, bytes) =
            self.send(Method::POST, &self.of_the_issuer(path), Some(("application/x-ndjson", lines)))?;
        if !status.is_success() {
            answer(status, &bytes)?;
        }
        let lines = serde_json::Deserializer::from_slice(&bytes).into_iter().collect::<Result<Vec<_>, _>>();
        Ok(lines.map_err(|error| ApiError::Answer(error.to_string()))?)
    }

    fn of_the_issuer(&self, path: &str) -> String {
        if self.issuer == IssuerId::default_issuer() {
            return path.to_owned();
        }
        format!("/issuers/{}{path}", self.issuer)
    }

    /// Sends a request about the whole installation.
    pub(super) fn ask_all(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CommandError> {
        let body = body.map(|body| ("application/json", body.to_string().into_bytes()));
        let (status, bytes) = self.send(method, path, body)?;
        Ok(answer(status, &bytes)?)
    }

    /// Sends a request with a body of a type.
    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<(StatusCode, Bytes), CommandError> {
        let request = self.request(method, path, body)?;
        Ok(self.runtime.block_on(async {
            match &self.way {
                Way::Server(remote) => remote.send(request).await,
                Way::Here(here) => here.send(request).await,
            }
        })?)
    }

    /// Makes a request with a body of a type.
    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<Request<Body>, CommandError> {
        let bearer = format!("Bearer {}", self.secret.expose());
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/admin{path}"))
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/json");
        if let Some((media_type, _)) = &body {
            request = request.header(header::CONTENT_TYPE, *media_type);
        }
        let body = body.map_or_else(Body::empty, |(_, body)| Body::from(body));
        // Ids in the path were encoded, so this fails only for a secret with a line break.
        request.body(body).map_err(|_| CommandError::Usage("the admin secret is malformed".into()))
    }

    /// The URL of the issuer.
    pub(super) fn issuer_url(&self) -> Result<String, CommandError> {
        let answer = self.ask_all(Method::GET, &format!("/issuers/{}", self.issuer), None)?;
        let url = answer.pointer("/issuer/url").and_then(Value::as_str);
        Ok(url.ok_or_else(|| ApiError::Answer("an issuer has no url".to_owned()))?.to_owned())
    }

    /// Every entry of a listing, page by page.
    pub(super) fn list(&self, path: &str, member: &str, query: &str) -> Result<Vec<Value>, CommandError> {
        Ok(self.first(path, member, query, usize::MAX)?.0)
    }

    /// The first entries of a listing, at most `most` (1 or more), and whether there are more.
    pub(super) fn first(
        &self,
        path: &str,
        member: &str,
        query: &str,
        most: usize,
    ) -> Result<(Vec<Value>, bool), CommandError> {
        let (mut all, mut page, limit) = (Vec::new(), 1, most.min(PAGE));
        loop {
            let path = format!("{path}?page={page}&limit={limit}{query}");
            let mut answer = self.ask(Method::GET, &path, None)?;
            let more = answer.pointer("/pagination/hasNext").and_then(Value::as_bool).unwrap_or(false);
            all.extend(entries(&mut answer, member)?);
            if !more || all.len() >= most {
                let is_cut = more || all.len() > most;
                all.truncate(most);
                return Ok((all, is_cut));
            }
            page += 1;
        }
    }

    /// Closes the store, if this process opened it.
    pub(super) fn close(self) -> Result<(), CommandError> {
        match self.way {
            Way::Server(_) => Ok(()),
            Way::Here(here) => Ok(self.runtime.block_on(here.close())?),
        }
    }
}

/// The certificates to trust over TLS: those of `--ca`, else the configuration's certificate.
fn trust(matches: &ArgMatches, config: &Config) -> Result<Option<Arc<ClientConfig>>, ApiError> {
    match (matches.get_one::<String>("ca"), &config.listen.management_tls) {
        (Some(path), _) => trust::of_file(Path::new(path)).map(Some),
        (None, Some(files)) => trust::of_configured(files).map(Some),
        (None, None) => Ok(None),
    }
}

/// Encodes a text as one segment of a path.
pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// The secret of a running server: the configured one, or the one that the server generated.
fn known_secret(config: &Config) -> Result<SecretString, CommandError> {
    if let Some(secret) = &config.security.admin_secret {
        return Ok(secret.clone());
    }
    match std::fs::read_to_string(config.storage.data_dir.join(secrets::ADMIN_SECRET_FILE)) {
        Ok(text) => Ok(SecretString::new(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ApiError::NoSecret.into()),
        Err(source) => Err(ProcessError::Io { what: "cannot read the admin secret".into(), source }.into()),
    }
}

/// The entries of a listing.
///
/// # Errors
/// [`ApiError::Answer`]: the answer has no such list.
pub(super) fn entries(answer: &mut Value, member: &str) -> Result<Vec<Value>, ApiError> {
    match answer.get_mut(member).map(Value::take) {
        Some(Value::Array(entries)) => Ok(entries),
        _ => Err(ApiError::Answer(format!("there is no {member}"))),
    }
}

/// What to do about a refusal whose text does not say so.
fn refusal_mend(status: StatusCode, text: &str) -> &'static str {
    match (status, text) {
        (StatusCode::UNAUTHORIZED, _) => {
            "; give the secret of the server that runs: --admin-secret-file, SYMBOLON_ADMIN_SECRET or its \
             configuration file by --config"
        }
        (StatusCode::NOT_FOUND, NO_ISSUER) => "; `symbolon issuer list` shows which there are",
        _ => "",
    }
}

fn answer(status: StatusCode, bytes: &Bytes) -> Result<Value, ApiError> {
    if !status.is_success() {
        let parsed = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
        let told = parsed.get("error_description").or_else(|| parsed.get("error")).and_then(Value::as_str);
        let text =
            told.map_or_else(|| String::from_utf8_lossy(bytes).chars().take(300).collect(), str::to_owned);
        return Err(ApiError::Refused { status, text });
    }
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(bytes).map_err(|error| ApiError::Answer(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_servers_words() {
        let body = Bytes::from_static(br#"{"error":"conflict","error_description":"there is one already"}"#);
        let refused = answer(StatusCode::CONFLICT, &body).unwrap_err();
        assert_eq!(refused.to_string(), "refused with 409 Conflict: there is one already");
        assert!(!refused.is_usage());
        let stranger = answer(StatusCode::UNAUTHORIZED, &body).unwrap_err().to_string();
        assert!(stranger.contains("SYMBOLON_ADMIN_SECRET"), "{stranger}");
        let html = answer(StatusCode::BAD_REQUEST, &Bytes::from_static(b"<p>no")).unwrap_err();
        assert_eq!((html.to_string().ends_with("<p>no"), html.is_usage()), (true, true));
    }

    #[test]
    fn nothing_and_json_are_answers_and_text_is_not() {
        assert_eq!(answer(StatusCode::NO_CONTENT, &Bytes::new()).unwrap(), Value::Null);
        assert!(answer(StatusCode::OK, &Bytes::from_static(b"[1]")).unwrap().is_array());
        assert!(matches!(answer(StatusCode::OK, &Bytes::from_static(b"hello")), Err(ApiError::Answer(_))));
    }

    #[test]
    fn ids_cannot_leave_their_segment() {
        assert_eq!(segment("a/../b?c#d é"), "a%2F..%2Fb%3Fc%23d%20%C3%A9");
        assert_eq!(segment("user-1_2.3~"), "user-1_2.3~");
    }
}
