//! Forms of redirect URIs that are refused unless an administrator allows them for a client (`redirect_uri_forms`).
//!
//! Each of them weakens something, and each is what somebody needs: an application whose scheme was fixed years ago, a
//! machine in a private network without a certificate, a tool that listens on `localhost`, a host for every preview of a
//! web application. What a URI may look like is checked when it is registered; [`super::matches`] compares. The reasons:
//! `docs/decisions/069-redirect-uris-by-opt-in.md`.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::InvalidRedirectUri;

/// A form that is refused unless it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectUriForm {
    /// `myapp:/cb`: a private-use scheme that is no reversed domain name, as RFC 8252 7.1 demands.
    PrivateUseSchemeWithoutDot,
    /// `http://10.0.0.5/cb`, `http://intranet/cb`: plain http to a host of a private network.
    HttpPrivateHost,
    /// `http://localhost/cb` matches any port (RFC 8252 7.3 allows that for loopback addresses alone).
    AnyLocalhostPort,
    /// `https://*.preview.example.com/cb`: any host one label below that one (RFC 9700 2.1 demands exact matching).
    WildcardHost,
}

impl RedirectUriForm {
    /// Every form.
    pub const ALL: [Self; 4] =
        [Self::PrivateUseSchemeWithoutDot, Self::HttpPrivateHost, Self::AnyLocalhostPort, Self::WildcardHost];

    /// The name in a client's `redirect_uri_forms`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PrivateUseSchemeWithoutDot => "private_use_scheme_without_dot",
            Self::HttpPrivateHost => "http_private_host",
            Self::AnyLocalhostPort => "any_localhost_port",
            Self::WildcardHost => "wildcard_host",
        }
    }

    /// Who else may get the client's codes: the warning for whoever allows it.
    pub const fn risk(self) -> &'static str {
        match self {
            Self::PrivateUseSchemeWithoutDot => {
                "another application on the device may register the same scheme and receive codes (RFC 8252 7.1, 8.6)"
            }
            Self::HttpPrivateHost => {
                "codes travel unencrypted, and the same private address is another machine in another network"
            }
            Self::AnyLocalhostPort => {
                "any program on the device may receive codes, and localhost need not be the loopback interface \
                 (RFC 8252 8.3)"
            }
            Self::WildcardHost => {
                "whoever gets a host below the registered one, such as a forgotten preview, receives codes (RFC 9700 4.1.1)"
            }
        }
    }
}

/// Schemes that browsers and systems interpret themselves. None may receive a code, whatever is allowed.
const INTERPRETED: [&str; 20] = [
    "about",
    "blob",
    "content",
    "data",
    "facetime",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "jar",
    "javascript",
    "mailto",
    "resource",
    "sms",
    "tel",
    "urn",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Whether a URI has a private-use scheme that may be allowed: three characters at least (one is a drive of Windows), not
/// one that something interprets, and a path or host behind it, so that it is no text for the scheme's own reader.
pub(super) fn is_private_use_scheme(uri: &str, scheme: &str) -> bool {
    let rest = uri.get(scheme.len()..).unwrap_or_default();
    scheme.len() >= 3 && !INTERPRETED.contains(&scheme) && rest.starts_with(":/")
}

/// Whether an http URI is for a host of a private network, written as browsers write it.
pub(super) fn is_private_host(uri: &str, url: &Url) -> bool {
    let is_private = match url.host() {
        // RFC 1918 3. Not link-local addresses: in a cloud one of them hands out credentials.
        Some(Host::Ipv4(address)) => address.is_private(),
        // RFC 4193 3.1.
        Some(Host::Ipv6(address)) => address.is_unique_local(),
        Some(Host::Domain(name)) => is_private_name(name),
        None => false,
    };
    is_private && is_written_as(uri, "http://", url)
}

/// Names that no public DNS has: those without a dot, and the domains that are reserved for private use (RFC 6761, RFC 6762,
/// RFC 8375, ICANN's resolution of 2024 on `internal`).
fn is_private_name(name: &str) -> bool {
    const DOMAINS: [&str; 5] = [".internal", ".local", ".home.arpa", ".localhost", ".test"];
    !name.is_empty() && (!name.contains('.') || DOMAINS.iter().any(|domain| name.ends_with(domain)))
}

/// Whether the host is written as the parser understood it: no other letter case, no encoded dots, no other form of an
/// address. So no two readers of the URI can see different hosts.
fn is_written_as(uri: &str, before: &str, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let rest = uri.strip_prefix(before).and_then(|rest| rest.strip_prefix(host));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?']))
}

/// Checks `https://*.preview.example.com/cb`: one `*`, as the whole first label of the host, and behind it a host of two
/// labels at least that belongs to somebody.
///
/// # Errors
/// [`InvalidRedirectUri::WildcardPlace`], [`InvalidRedirectUri::WildcardDomain`]
pub(super) fn check_wildcard(uri: &str, url: &Url) -> Result<(), InvalidRedirectUri> {
    let host = url.host_str().unwrap_or_default();
    let parent = host.strip_prefix("*.").filter(|_| uri.matches('*').count() == 1);
    let parent = parent.filter(|_| is_written_as(uri, "https://", url));
    let parent = parent.ok_or(InvalidRedirectUri::WildcardPlace)?;
    let is_domain = parent.split('.').all(is_label) && parent.contains('.');
    // An address has no labels below it. A public suffix (`co.uk`, but also `pages.dev`) belongs to nobody: anybody may
    // register a host below it.
    let is_owned = !parent.ends_with(|c: char| c.is_ascii_digit()) && psl::domain_str(parent).is_some();
    if is_domain && is_owned { Ok(()) } else { Err(InvalidRedirectUri::WildcardDomain) }
}

/// A label of a host name as browsers write it (RFC 1123 2.1, in lower case).
fn is_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(is_inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether a registered URI has a wildcard for the first label. [`check_wildcard`] lets in no other `*` in a host.
pub(super) fn is_wildcard(registered: &str) -> bool {
    registered.starts_with("https://*.")
}

/// Whether a presented URI is a registered one with one label in place of the wildcard. The label has letters, digits and
/// hyphens alone, so nothing in it can end the host early; the rest must be the same text. No internationalized label
/// (RFC 5890 2.3.2.1): it may be invalid, and then parsers differ.
pub(super) fn matches_wildcard(registered: &str, presented: &str) -> bool {
    let Some(behind) = registered.strip_prefix("https://*").filter(|_| is_wildcard(registered)) else {
        return false;
    };
    let Some(rest) = presented.strip_prefix("https://") else { return false };
    let Some((label, _)) = rest.split_once('.') else { return false };
    is_label(label) && !label.starts_with("xn--") && rest.get(label.len()..) == Some(behind)
}

/// Splits a URI at `localhost` into its scheme and the part behind the port.
pub(super) fn localhost(uri: &str) -> Option<(&str, &str)> {
    let scheme = ["http", "https"]
        .into_iter()
        .find(|scheme| uri.strip_prefix(scheme).is_some_and(|rest| rest.starts_with("://localhost")))?;
    let rest = uri.get(scheme.len() + "://localhost".len()..)?;
    Some((uri.get(..scheme.len())?, super::behind_port(rest)?))
}

#[cfg(test)]
mod tests;
