//! The issuer, and whether the process is in development mode.

use std::net::SocketAddr;

use url::{Host, Url};

use super::Section;
use super::cluster::is_chosen;
use crate::error::Mistake;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::value::Value;

pub(crate) const SECTION: Section = Section {
    title: "Issuer",
    intro: "With no configuration file, no issuer, the embedded store and both listeners on loopback the server runs \
            in development mode: the issuer is `http://localhost:<port of listen>`, and the admin secret is generated at the \
            first start. In every other case an issuer and an admin secret are required; on the cluster store its \
            engines and the master key too; and nothing else.",
    keys: &[Key::new("issuer", "SYMBOLON_ISSUER", "--issuer", ValueKind::Issuer)
        .unset("`http://localhost:<port>` in development mode, else required")
        .doc(
            "URL of the `default` issuer, exactly as it stands in `iss` and discovery: a slash at its end belongs to \
             it, and is for whoever moves from a provider whose `iss` has one. Never derived from a \
             request; an https issuer on a plain listener is right behind a proxy that ends TLS.",
        )
        .weakens(
            http_beyond_loopback,
            "An http issuer beyond loopback sends codes, tokens and cookies in the clear.",
        )],
};

/// Whether the process is being tried out or is in real use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No configuration file, no configured issuer, the embedded store, loopback listeners.
    Development,
    /// Everything else: the issuer and the admin secret must be configured.
    Production,
}

/// The URL of an issuer, exactly as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerUrl(String);

impl IssuerUrl {
    /// The URL, as in `iss`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether its URL is https, even if a proxy terminates TLS.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Whether the URL has a path.
    pub fn has_path(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| !url.path().trim_end_matches('/').is_empty())
    }

    /// The development-mode issuer of a server on this port.
    pub fn development(port: u16) -> Self {
        Self(format!("http://localhost:{port}"))
    }
}

/// Checks an issuer URL: OpenID Connect Discovery 1.0 section 3 and RFC 8414 section 2 require a URL without query
/// and fragment. Issuer URLs are compared as strings (RFC 9207 section 2.4), so only the normal form is accepted, with or
/// without one slash at its end (`docs/decisions/070-an-issuer-may-end-in-a-slash.md`).
pub(crate) fn check_url(text: &str) -> Result<(), Mistake> {
    let example = "write it as in \"https://login.example.com\"";
    let refuse = |problem: &str, mend: String| Err(Mistake::new(problem, mend));
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return refuse("is not an http or https URL", example.to_owned());
    }
    let Ok(url) = Url::parse(text) else {
        return refuse("is not a URL", example.to_owned());
    };
    if !url.username().is_empty() || url.password().is_some() || text.contains('@') {
        return refuse("carries a user name or password", example.to_owned());
    }
    if text.contains('?') || text.contains('#') {
        return refuse("carries a query or fragment", "leave out what follows `?` or `#`".to_owned());
    }
    let canonical = url.as_str().trim_end_matches('/');
    let bare = text.strip_suffix('/').unwrap_or(text);
    if bare.ends_with('/') {
        return refuse("ends in more than one slash", format!("write {canonical:?}"));
    }
    if bare != canonical && Some(bare) != with_default_port(&url).as_deref() {
        let slash = text.strip_prefix(bare).unwrap_or_default();
        return refuse("is not in its canonical form", format!("write \"{canonical}{slash}\""));
    }
    Ok(())
}

/// The URL with its scheme's default port written out, which parsing removed.
fn with_default_port(url: &Url) -> Option<String> {
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    let path = url.path().trim_end_matches('/');
    Some(format!("{}://{host}:{port}{path}", url.scheme()))
}

fn http_beyond_loopback(value: &Value) -> bool {
    let Value::Text(text) = value else { return false };
    let Ok(url) = Url::parse(text) else { return false };
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !loopback
}

/// Refuses an http issuer on a listener with TLS: clients would call http URLs, which that listener does not answer.
pub(crate) fn refuse_http_on_tls(reader: &mut Reader, mode: Mode, issuer: &IssuerUrl, tls: bool) {
    let known = !reader.failed("issuer") && (mode == Mode::Development || reader.said("issuer"));
    if tls && known && !issuer.is_https() {
        let mend = "set it to the https URL that clients use, as in issuer = \"https://login.example.com\", or leave out \
                    `tls.certificate_file` and `tls.key_file`";
        reader.refuse("issuer", "is http, and the public listener speaks TLS alone", mend);
    }
}

/// Determines the mode and the issuer. `with_file`: there is a configuration file.
pub(crate) fn build(
    reader: &mut Reader,
    with_file: bool,
    public: SocketAddr,
    management: SocketAddr,
) -> (Mode, IssuerUrl) {
    let development = IssuerUrl::development(public.port());
    if reader.said("issuer") {
        let issuer = reader.optional_text("issuer").map_or(development, IssuerUrl);
        return (Mode::Production, issuer);
    }
    let beyond: Vec<&str> = [("listen", public), ("management_listen", management)]
        .into_iter()
        .filter(|(_, address)| !address.ip().is_loopback())
        .map(|(path, _)| path)
        .collect();
    for path in &beyond {
        let mend = "set `issuer` (SYMBOLON_ISSUER), or listen on 127.0.0.1";
        reader.refuse(path, "listens beyond loopback without an issuer", mend);
    }
    if !beyond.is_empty() {
        return (Mode::Production, development);
    }
    let required = if with_file { Some("is required with a configuration file") } else { None };
    // Cluster nodes share one host name, so an issuer with each node's own port would not work.
    let required = if is_chosen(reader) { Some("is required on the cluster store") } else { required };
    if let Some(problem) = required {
        let mend = "set it to the URL that clients use, as in issuer = \"https://login.example.com\"";
        reader.refuse("issuer", problem, mend);
        return (Mode::Production, development);
    }
    reader.settings.fill("issuer", Value::Text(development.0.clone()));
    (Mode::Development, development)
}
