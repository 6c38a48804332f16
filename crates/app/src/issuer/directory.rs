//! Which issuer answers a request: one answers always; several by host, then by the longest path prefix.

use std::sync::Arc;

use symbolon_protocol::id::IssuerId;
use url::Url;

use super::IssuerState;

/// Every issuer of the process.
#[derive(Default)]
pub struct Directory {
    issuers: Vec<HostedIssuer>,
}

struct HostedIssuer {
    /// `host[:port]`, without the port where it is the scheme's own.
    host: String,
    state: Arc<IssuerState>,
}

impl HostedIssuer {
    fn new(state: Arc<IssuerState>) -> Self {
        Self { host: host_and_prefix(&state.url).0, state }
    }

    /// Whether it is on exactly this host (RFC 3986 3.2.2: without case).
    fn is_on(&self, host: &str) -> bool {
        self.host.eq_ignore_ascii_case(host)
    }

    /// Whether it is on this host, which names the scheme's own port (RFC 9110 4.2.3, RFC 3986 6.2.3: as if it did not).
    fn is_on_with_port(&self, host: &str) -> bool {
        let port = if self.state.is_https() { ":443" } else { ":80" };
        host.strip_suffix(port).is_some_and(|host| self.is_on(host))
    }
}

/// The issuer of a request, and the path below it.
pub struct Located<'a> {
    /// The issuer.
    pub issuer: &'a Arc<IssuerState>,
    /// The path inside the issuer, `/authorize`; none where the request's own path is that already.
    pub path: Option<String>,
}

/// Where RFC 8414 3.1 puts the document of an issuer with a path: before the path.
const WELL_KNOWN: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];

/// `host[:port]` of an issuer's URL, as a Host header gives it, and its path without a slash at the end.
pub fn host_and_prefix(url: &str) -> (String, String) {
    let Ok(parsed) = Url::parse(url) else { return (String::new(), String::new()) };
    let host = parsed.host_str().unwrap_or_default();
    let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    (host.to_ascii_lowercase(), parsed.path().trim_end_matches('/').to_owned())
}

/// Whether two issuers are one place. Requests are told apart by host and path, so they must differ in more than their
/// scheme.
pub fn is_same_place(one: &str, other: &str) -> bool {
    let ((host, one), (other_host, other)) = (host_and_prefix(one), host_and_prefix(other));
    host == other_host && one.eq_ignore_ascii_case(&other)
}

impl Directory {
    /// Lists the issuers.
    pub fn new(states: Vec<Arc<IssuerState>>) -> Self {
        let mut issuers: Vec<HostedIssuer> = states.into_iter().map(HostedIssuer::new).collect();
        // The longest prefix first, so that the first that fits is the one.
        issuers.sort_by_key(|entry| std::cmp::Reverse(entry.state.prefix.len()));
        Self { issuers }
    }

    /// The issuer of a name.
    pub fn by_id(&self, id: &IssuerId) -> Option<&Arc<IssuerState>> {
        self.iter().find(|issuer| issuer.id == *id)
    }

    /// Every issuer.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<IssuerState>> {
        self.issuers.iter().map(|entry| &entry.state)
    }

    /// Finds the issuer of a request. `host`: what the request asks for, or a trusted proxy's word for it.
    pub fn locate(&self, host: Option<&str>, path: &str) -> Option<Located<'_>> {
        if let [only] = self.issuers.as_slice() {
            return below(&only.state, path);
        }
        let host = host.unwrap_or_default();
        // RFC 9110 4.2.3: an empty port is none.
        let host = host.strip_suffix(':').unwrap_or(host);
        for is_on in [HostedIssuer::is_on, HostedIssuer::is_on_with_port] {
            let mut here = self.issuers.iter().filter(|entry| is_on(entry, host)).peekable();
            if here.peek().is_some() {
                return here.find_map(|entry| below(&entry.state, path));
            }
        }
        // A host that names nobody: an issuer with a path of its own can still be meant.
        let with_prefix = self.issuers.iter().filter(|entry| !entry.state.prefix.is_empty());
        with_prefix.into_iter().find_map(|entry| below(&entry.state, path))
    }
}

/// Whether a path is below an issuer, and what it is inside of it.
fn below<'a>(issuer: &'a Arc<IssuerState>, path: &str) -> Option<Located<'a>> {
    let prefix = issuer.prefix.as_str();
    if prefix.is_empty() {
        return Some(Located { issuer, path: None });
    }
    if let Some(inside) = path.strip_prefix(prefix)
        && (inside.is_empty() || inside.starts_with('/'))
    {
        let inside = if inside.is_empty() { "/" } else { inside };
        return Some(Located { issuer, path: Some(inside.to_owned()) });
    }
    let inserted = WELL_KNOWN.into_iter().find(|known| path.strip_prefix(known) == Some(prefix));
    inserted.map(|known| Located { issuer, path: Some(known.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issuer::scene;

    /// Whose request it is, by the URL.
    fn found(urls: &[&str], host: &str, path: &str) -> Option<String> {
        let state = |url: &&str| Arc::new(scene::issuer(url, &host_and_prefix(url).1, 1));
        let directory = Directory::new(urls.iter().map(state).collect());
        directory.locate(Some(host), path).map(|located| located.issuer.url.to_string())
    }

    #[test]
    fn the_port_of_the_scheme_may_be_named_or_not() {
        let urls = ["https://a.example", "http://b.example", "https://c.example:8443", "https://a.example/x"];
        for (host, issuer) in [
            ("a.example", Some("https://a.example")),
            ("A.Example", Some("https://a.example")),
            ("a.example:443", Some("https://a.example")),
            ("a.example:", Some("https://a.example")),
            ("a.example:80", None),
            ("a.example:8443", None),
            ("b.example:80", Some("http://b.example")),
            ("b.example:443", None),
            ("c.example:8443", Some("https://c.example:8443")),
            ("c.example", None),
            ("c.example:443", None),
            ("", None),
        ] {
            assert_eq!(found(&urls, host, "/token").as_deref(), issuer, "{host}");
        }
        assert_eq!(found(&urls, "a.example:443", "/x/token").as_deref(), Some("https://a.example/x"));
    }

    #[test]
    fn issuers_differ_in_more_than_their_scheme() {
        assert!(is_same_place("http://x.example/a", "https://x.example/a"));
        assert!(is_same_place("https://x.example:443", "https://x.example"));
        assert!(!is_same_place("https://x.example/a", "https://x.example/b"));
        assert!(!is_same_place("https://x.example", "https://x.example:8443"));
    }

    #[test]
    fn a_port_that_an_issuer_names_is_its_own() {
        let urls = ["https://a.example", "http://a.example:443"];
        assert_eq!(found(&urls, "a.example:443", "/").as_deref(), Some("http://a.example:443"));
        assert_eq!(found(&urls, "a.example", "/").as_deref(), Some("https://a.example"));
    }
}
