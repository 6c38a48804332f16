//! Finds the issuer of a request. A single issuer answers every host; several are told apart by host, then by the
//! longest path prefix.

use std::sync::Arc;

use symbolon_protocol::discovery;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::protected_resource;
use url::Url;

use super::IssuerState;

/// Every issuer of the process.
#[derive(Default)]
pub struct Directory {
    issuers: Vec<HostedIssuer>,
}

struct HostedIssuer {
    /// `host[:port]`, without the port if it is the scheme's default.
    host: String,
    state: Arc<IssuerState>,
}

impl HostedIssuer {
    fn new(state: Arc<IssuerState>) -> Self {
        Self { host: host_and_prefix(&state.url).0, state }
    }

    /// Whether the issuer's host is exactly this one (RFC 3986 3.2.2: compared without case).
    fn is_on(&self, host: &str) -> bool {
        self.host.eq_ignore_ascii_case(host)
    }

    /// Whether `host` is the issuer's host with the scheme's default port written out (RFC 9110 4.2.3, RFC 3986
    /// 6.2.3: both mean the same).
    fn is_on_with_port(&self, host: &str) -> bool {
        let port = if self.state.is_https() { ":443" } else { ":80" };
        host.strip_suffix(port).is_some_and(|host| self.is_on(host))
    }
}

/// The issuer of a request, and the path relative to it.
pub struct Located<'a> {
    /// The issuer.
    pub issuer: &'a Arc<IssuerState>,
    /// The path relative to the issuer, such as `/authorize`; `None` if the issuer has no prefix, so that the
    /// request's path needs no change.
    pub path: Option<String>,
}

/// RFC 8414 3.1: for an issuer with a path, the well-known part stands before that path.
const WELL_KNOWN: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];

/// `host[:port]` of an issuer's URL, as a Host header has it, and its path without a trailing slash.
pub fn host_and_prefix(url: &str) -> (String, String) {
    let Ok(parsed) = Url::parse(url) else { return (String::new(), String::new()) };
    let host = parsed.host_str().unwrap_or_default();
    let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    (host.to_ascii_lowercase(), parsed.path().trim_end_matches('/').to_owned())
}

/// Whether requests for two issuers could not be told apart. Host and path are compared; a different scheme does not
/// help.
pub fn is_same_place(one: &str, other: &str) -> bool {
    let ((host, one), (other_host, other)) = (host_and_prefix(one), host_and_prefix(other));
    host == other_host && one.eq_ignore_ascii_case(&other)
}

impl Directory {
    /// Builds the directory.
    pub fn new(states: Vec<Arc<IssuerState>>) -> Self {
        let mut issuers: Vec<HostedIssuer> = states.into_iter().map(HostedIssuer::new).collect();
        // Longest prefix first, so that the first match is the most specific.
        issuers.sort_by_key(|entry| std::cmp::Reverse(entry.state.prefix.len()));
        Self { issuers }
    }

    /// The issuer with this id.
    pub fn by_id(&self, id: &IssuerId) -> Option<&Arc<IssuerState>> {
        self.iter().find(|issuer| issuer.id == *id)
    }

    /// Every issuer.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<IssuerState>> {
        self.issuers.iter().map(|entry| &entry.state)
    }

    /// Finds the issuer of a request. `host` is the request's host, or the one that a trusted proxy reported.
    pub fn locate(&self, host: Option<&str>, path: &str) -> Option<Located<'_>> {
        if let [only] = self.issuers.as_slice() {
            return below(&only.state, path);
        }
        let host = host.unwrap_or_default();
        // RFC 9110 4.2.3: an empty port means the default port.
        let host = host.strip_suffix(':').unwrap_or(host);
        for is_on in [HostedIssuer::is_on, HostedIssuer::is_on_with_port] {
            let mut here = self.issuers.iter().filter(|entry| is_on(entry, host)).peekable();
            if here.peek().is_some() {
                return here.find_map(|entry| below(&entry.state, path));
            }
        }
        // No issuer has this host: an issuer with a path prefix can still match by its path.
        let with_prefix = self.issuers.iter().filter(|entry| !entry.state.prefix.is_empty());
        with_prefix.into_iter().find_map(|entry| below(&entry.state, path))
    }
}

/// The well-known path, where a client appended it to the slash at the end of the issuer's URL, so that there are two.
/// Discovery 4.1 has clients remove that slash first; not all do, and the discovery document is what they begin with.
fn after_the_slash(issuer: &IssuerState, path: &str) -> Option<String> {
    let path = path.strip_prefix('/').filter(|_| issuer.url.ends_with('/'))?;
    WELL_KNOWN.contains(&path).then(|| path.to_owned())
}

/// The path relative to an issuer, if the request's path is below the issuer's prefix.
fn below<'a>(issuer: &'a Arc<IssuerState>, path: &str) -> Option<Located<'a>> {
    let prefix = issuer.prefix.as_str();
    if prefix.is_empty() {
        return Some(Located { issuer, path: after_the_slash(issuer, path) });
    }
    if let Some(inside) = path.strip_prefix(prefix)
        && (inside.is_empty() || inside.starts_with('/'))
    {
        let inside = if inside.is_empty() { "/" } else { inside };
        let path = after_the_slash(issuer, inside).unwrap_or_else(|| inside.to_owned());
        return Some(Located { issuer, path: Some(path) });
    }
    let is_prefix =
        |rest: &str| rest == prefix || (issuer.url.ends_with('/') && discovery::base(rest) == prefix);
    let inserted = WELL_KNOWN.into_iter().find(|known| path.strip_prefix(known).is_some_and(is_prefix));
    let inserted = inserted.or_else(|| {
        // RFC 9728 3.1: the path of the resource is kept behind the well-known part.
        let resource = path.strip_prefix(protected_resource::WELL_KNOWN)?.strip_prefix(prefix)?;
        (resource == discovery::path::USERINFO).then_some(discovery::path::USERINFO_METADATA)
    });
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

    /// The path relative to the only issuer.
    fn inside(url: &str, path: &str) -> Option<String> {
        let state = Arc::new(scene::issuer(url, &host_and_prefix(url).1, 1));
        let directory = Directory::new(vec![state]);
        let located = directory.locate(Some("a.example"), path)?;
        Some(located.path.unwrap_or_else(|| path.to_owned()))
    }

    #[test]
    fn discovery_of_an_issuer_with_a_slash_at_its_end_is_found_with_one_slash_and_with_two() {
        const DOCUMENT: &str = "/.well-known/openid-configuration";
        for (url, path, found) in [
            ("https://a.example/", "/.well-known/openid-configuration", Some(DOCUMENT)),
            ("https://a.example/", "//.well-known/openid-configuration", Some(DOCUMENT)),
            ("https://a.example/", "//token", Some("//token")),
            (
                "https://a.example/",
                "///.well-known/openid-configuration",
                Some("///.well-known/openid-configuration"),
            ),
            (
                "https://a.example",
                "//.well-known/openid-configuration",
                Some("//.well-known/openid-configuration"),
            ),
            ("https://a.example/x/", "/x/.well-known/openid-configuration", Some(DOCUMENT)),
            ("https://a.example/x/", "/x//.well-known/openid-configuration", Some(DOCUMENT)),
            ("https://a.example/x/", "/.well-known/openid-configuration/x", Some(DOCUMENT)),
            ("https://a.example/x/", "/.well-known/openid-configuration/x/", Some(DOCUMENT)),
            ("https://a.example/x/", "/x//token", Some("//token")),
            ("https://a.example/x", "/.well-known/openid-configuration/x/", None),
            ("https://a.example/x/", "/.well-known/openid-configuration/y/", None),
        ] {
            assert_eq!(inside(url, path).as_deref(), found, "{url} {path}");
        }
    }

    #[test]
    fn issuers_differ_in_more_than_their_scheme() {
        assert!(is_same_place("http://x.example/a", "https://x.example/a"));
        assert!(is_same_place("https://x.example:443", "https://x.example"));
        assert!(is_same_place("https://x.example/", "https://x.example"));
        assert!(is_same_place("https://x.example/a/", "https://x.example/a"));
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
