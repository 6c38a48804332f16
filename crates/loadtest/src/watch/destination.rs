//! Where metrics are sent, and how a request with them is answered.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use symbolon_crypto::SecretString;
use url::Url;

use crate::LoadtestError;
use crate::client::{Connection, Peer, Protocol, Timeouts, Way, request};

/// How long a connection, and an answer, is waited for.
const TIMEOUTS: Timeouts = Timeouts { connect: Duration::from_secs(5), request: Duration::from_secs(10) };

/// Somebody who takes metrics.
pub struct Destination {
    /// An `http` or `https` URL.
    pub url: Url,
    /// Fields of every request besides the usual ones, for instance `authorization`.
    pub fields: Vec<(String, SecretString)>,
    /// Whom to trust behind `https`.
    pub trust: Option<Arc<ClientConfig>>,
}

impl Destination {
    /// Somebody who wants no credentials.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] for what is no `http` or `https` URL.
    pub fn at(url: &str) -> Result<Self, LoadtestError> {
        let refused = |reason: &str| {
            LoadtestError::Options(format!("{url}: {reason}; write http://HOST:PORT/PATH, or https://"))
        };
        let parsed = Url::parse(url).map_err(|error| refused(&error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(refused("it is no http or https URL"));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            let reason = "the URL of a destination has credentials; they belong in a file of header fields";
            return Err(LoadtestError::Options(reason.into()));
        }
        Ok(Self { url: parsed, fields: Vec::new(), trust: None })
    }

    /// The same with the fields that a file holds, each on a line: `Authorization: Bearer ...`.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] for a file that cannot be read, or a line that is no field; what stands in the line is not
    /// told.
    pub fn with_fields_of(mut self, path: &Path) -> Result<Self, LoadtestError> {
        let refused = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let text = SecretString::new(text);
        let lines = text.expose().lines().map(str::trim).enumerate();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let field = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
            let field = field.filter(|(name, value)| is_name(name) && is_value(value));
            let Some((name, value)) = field else {
                let number = number + 1;
                return Err(refused(format!("line {number} is no header field; write NAME: VALUE")));
            };
            self.fields.push((name.to_ascii_lowercase(), SecretString::new(value.to_owned())));
        }
        Ok(self)
    }
}

/// RFC 9110 5.6.2.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// RFC 9110 5.5, without what is not ASCII.
fn is_value(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
}

/// Why a batch was not taken.
#[derive(Debug)]
pub(super) struct NotTaken {
    /// In words.
    pub(super) reason: String,
    /// Whether it may be taken later.
    pub(super) later: bool,
}

impl NotTaken {
    fn later(reason: impl ToString) -> Self {
        Self { reason: reason.to_string(), later: true }
    }
}

/// A connection to a destination, opened when it is needed.
pub(super) struct Sender {
    destination: Destination,
    /// The request's path, with its query.
    path: String,
    connection: Option<Connection>,
}

impl Sender {
    /// `default_path` is taken where the URL has none.
    pub(super) fn new(destination: Destination, default_path: &str) -> Self {
        let path = match destination.url.path() {
            "" | "/" => default_path,
            path => path,
        };
        let query = destination.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{path}{query}");
        Self { destination, path, connection: None }
    }

    /// The destination as it is told: no credentials stand in it.
    pub(super) fn name(&self) -> String {
        let mut url = self.destination.url.clone();
        url.set_query(None);
        url.to_string()
    }

    /// Sends a batch. The body of an answer that says that it was taken.
    pub(super) async fn send(&mut self, fields: &[(&str, &str)], body: &[u8]) -> Result<Vec<u8>, NotTaken> {
        // It is used again after a 2xx alone.
        let mut kept = self.connection.take();
        let mut connection = match kept.take_if(|kept| kept.is_reusable()) {
            Some(kept) => kept,
            None => self.connect().await?,
        };
        let url = &self.destination.url;
        let host = url.host_str().unwrap_or_default();
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let own = self.destination.fields.iter().map(|(name, value)| (name.as_str(), value.expose()));
        let fields: Vec<_> = fields.iter().copied().chain(own).collect();
        let mut bytes = Vec::with_capacity(body.len() + 512);
        request::with_body(&mut bytes, ("POST", &self.path), &authority, &fields, body);
        let response = connection.exchange(&bytes).await.map_err(NotTaken::later)?;
        let status = response.status;
        if (200..300).contains(&status) {
            let answer = response.body.to_vec();
            self.connection = Some(connection);
            return Ok(answer);
        }
        let text: String = response.text().chars().filter(|c| !c.is_control()).take(200).collect();
        let reason = format!("it answered {status} {text}").trim_end().to_owned();
        // Both protocols: too much at once, and what is the server's own trouble, may be tried again.
        Err(NotTaken { reason, later: status == 429 || status >= 500 })
    }

    async fn connect(&self) -> Result<Connection, NotTaken> {
        let way = Way { protocol: Protocol::Http1, trust: self.destination.trust.clone() };
        let url = self.destination.url.clone();
        // Looking up a name blocks.
        let peer = tokio::task::spawn_blocking(move || Peer::of(&url, &way)).await;
        let peer = peer.map_err(NotTaken::later)?.map_err(NotTaken::later)?;
        Connection::open(&peer, TIMEOUTS).await.map_err(NotTaken::later)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_no_url_to_post_to_is_told() {
        for (url, why) in [
            ("collector:4318", "no http or https URL"),
            ("ftp://collector/", "no http or https URL"),
            ("http://", "http://HOST:PORT"),
            ("http://user:secret@collector/", "file of header fields"),
        ] {
            let error = Destination::at(url).err().unwrap().to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn fields_are_read_from_a_file_and_never_told() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "Authorization: Bearer secret-1\n\nX-Scope-OrgID: team").unwrap();
        let fields = Destination::at("http://a/").unwrap().with_fields_of(file.path()).unwrap().fields;
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(fields, [("authorization", "Bearer secret-1"), ("x-scope-orgid", "team")]);
        for line in ["secret-2", "a b: secret-2", "name:", "name: secret-2\u{7f}"] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            writeln!(file, "{line}").unwrap();
            let error = Destination::at("http://a/").unwrap().with_fields_of(file.path()).err().unwrap();
            assert!(
                error.to_string().contains("line 1") && !error.to_string().contains("secret-2"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_url_without_a_path_gets_the_usual_one() {
        let path = |url: &str| Sender::new(Destination::at(url).unwrap(), "/v1/metrics").path;
        assert_eq!(path("http://collector:4318"), "/v1/metrics");
        assert_eq!(path("http://collector:4318/otlp/v1/metrics?a=b"), "/otlp/v1/metrics?a=b");
    }
}
