//! Which issuer answers a request: one answers always; several by host, then by the longest path prefix.

use std::sync::Arc;

use symbolon_protocol::id::IssuerId;
use url::Url;

use super::IssuerState;

/// Every issuer of the process.
#[derive(Default)]
pub struct Directory {
    issuers: Vec<Entry>,
}

struct Entry {
    host: String,
    state: Arc<IssuerState>,
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
pub(super) fn host_and_prefix(url: &str) -> (String, String) {
    let Ok(parsed) = Url::parse(url) else { return (String::new(), String::new()) };
    let host = parsed.host_str().unwrap_or_default();
    let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    (host.to_ascii_lowercase(), parsed.path().trim_end_matches('/').to_owned())
}

impl Directory {
    /// Lists the issuers.
    pub fn new(states: Vec<Arc<IssuerState>>) -> Self {
        let mut issuers: Vec<Entry> =
            states.into_iter().map(|state| Entry { host: host_and_prefix(&state.url).0, state }).collect();
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

    /// Finds the issuer of a request. `host`: the Host header, or a trusted proxy's word for it.
    pub fn locate(&self, host: Option<&str>, path: &str) -> Option<Located<'_>> {
        if let [only] = self.issuers.as_slice() {
            return below(&only.state, path);
        }
        let host = host.unwrap_or_default().to_ascii_lowercase();
        let on_host = |entry: &&Entry| entry.host == host;
        if self.issuers.iter().any(|entry| on_host(&entry)) {
            return self.issuers.iter().filter(on_host).find_map(|entry| below(&entry.state, path));
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
