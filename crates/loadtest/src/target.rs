//! The provider under load: its address, its issuer and where its endpoints are.

use serde::Deserialize;
use symbolon_crypto::SecretString;
use url::Url;

use crate::LoadtestError;
use crate::client::{ClientError, Connection, Peer, Protocol, Timeouts, Way, request};
use crate::executor::Load;

/// OpenID Connect Discovery 1.0, section 4.
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// A provider that answered discovery.
#[derive(Clone)]
pub struct Target {
    /// Where connections go, and what is spoken there.
    pub peer: Peer,
    /// Further nodes of the same provider, which share the load.
    pub others: Vec<Peer>,
    /// The `Host` that requests name.
    pub authority: String,
    /// The issuer that it announces, which its answers must carry.
    pub issuer: String,
    /// The paths of its endpoints.
    pub endpoints: Endpoints,
    /// The grant types that it announces, where it does.
    pub grant_types: Option<Vec<String>>,
    /// The admin API's bearer secret, where there is one.
    pub admin_secret: Option<SecretString>,
    /// Where the admin API is.
    pub admin: AdminPlace,
}

/// Where an admin API is, for one issuer.
#[derive(Clone)]
pub struct AdminPlace {
    /// Who answers there.
    pub(crate) peer: Peer,
    /// The `Host` that requests name.
    pub(crate) authority: String,
    /// The path that all its paths are below: `/api/admin`, or `/api/admin/issuers/ID`.
    pub(crate) base: String,
}

impl AdminPlace {
    /// Where the default issuer's is.
    pub(crate) const BASE: &'static str = "/api/admin";

    /// The issuer that it is about, where the path names one.
    pub(crate) fn issuer_id(&self) -> Option<&str> {
        self.base.rsplit_once("/issuers/").map(|(_, id)| id)
    }

    /// The path of something that is named where the API has its usual place.
    pub(crate) fn path(&self, usual: &str) -> String {
        format!("{}{}", self.base, usual.strip_prefix(Self::BASE).unwrap_or(usual))
    }

    /// By its URL; without a path, the default issuer's.
    ///
    /// # Errors
    /// [`LoadtestError::Target`] for a URL that cannot be used.
    pub(crate) fn of(url: &str, way: &Way) -> Result<Self, LoadtestError> {
        let (parsed, peer, authority) = resolve(url, &Way { protocol: Protocol::Http1, ..way.clone() })?;
        let path = parsed.path().trim_end_matches('/');
        let base = if path.is_empty() { Self::BASE } else { path };
        Ok(Self { peer, authority, base: base.to_owned() })
    }
}

/// A URL, whom it names, and the `Host` that requests there name.
fn resolve(url: &str, way: &Way) -> Result<(Url, Peer, String), LoadtestError> {
    let invalid = |reason: String| LoadtestError::Target { url: url.to_owned(), reason };
    if !url.contains("://") {
        return Err(invalid(format!("it needs a scheme: http://{url} or https://{url}")));
    }
    let parsed = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
    let peer = Peer::of(&parsed, way).map_err(invalid)?;
    let host = parsed.host_str().unwrap_or_default();
    let authority = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Ok((parsed, peer, authority))
}

/// The paths of a provider's endpoints on its public listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// The discovery document.
    pub discovery: String,
    /// Authorization (RFC 6749 3.1).
    pub authorize: String,
    /// Token (RFC 6749 3.2).
    pub token: String,
    /// UserInfo (OpenID Connect Core 1.0, 5.3).
    pub userinfo: Option<String>,
    /// Introspection (RFC 7662).
    pub introspect: Option<String>,
    /// Revocation (RFC 7009).
    pub revoke: Option<String>,
    /// The key set (RFC 7517 5).
    pub jwks: Option<String>,
}

/// What is read from the discovery document.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: Option<String>,
    introspection_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    jwks_uri: Option<String>,
    grant_types_supported: Option<Vec<String>>,
}

impl Target {
    /// Finds the target of an `http` URL by HTTP/1.1, as [`discover_by`](Self::discover_by).
    ///
    /// # Errors
    /// As there.
    pub async fn discover(url: &str, admin_secret: Option<SecretString>) -> Result<Self, LoadtestError> {
        Self::discover_by(&Way::default(), url, admin_secret).await
    }

    /// Resolves the URL and asks for the discovery document. The issuer and its endpoints may name another
    /// scheme, host or port than the URL, as behind a proxy: only their paths are used.
    ///
    /// # Errors
    /// [`LoadtestError::Target`] for a URL that cannot be used, otherwise what discovery answered.
    pub async fn discover_by(
        way: &Way,
        url: &str,
        admin_secret: Option<SecretString>,
    ) -> Result<Self, LoadtestError> {
        let invalid = |reason: String| LoadtestError::Target { url: url.to_owned(), reason };
        let (parsed, peer, authority) = resolve(url, way)?;
        let discovery = format!("{}{DISCOVERY}", parsed.path().trim_end_matches('/'));
        let metadata = match fetch_metadata(&peer, &authority, &discovery).await {
            Err(LoadtestError::Http { source: ClientError::Malformed(_), .. }) if !peer.is_tls() => {
                return Err(invalid("it does not answer in HTTP/1.1; it may speak https".into()));
            }
            fetched => fetched?,
        };
        let path = |endpoint: &str| -> Result<String, LoadtestError> {
            let url = Url::parse(endpoint).map_err(|error| invalid(format!("{endpoint}: {error}")))?;
            Ok(url.path().to_owned())
        };
        let base = AdminPlace::BASE.to_owned();
        Ok(Self {
            admin: AdminPlace { peer: peer.clone(), authority: authority.clone(), base },
            peer,
            others: Vec::new(),
            authority,
            endpoints: Endpoints {
                discovery,
                authorize: path(&metadata.authorization_endpoint)?,
                token: path(&metadata.token_endpoint)?,
                userinfo: metadata.userinfo_endpoint.as_deref().map(path).transpose()?,
                introspect: metadata.introspection_endpoint.as_deref().map(path).transpose()?,
                revoke: metadata.revocation_endpoint.as_deref().map(path).transpose()?,
                jwks: metadata.jwks_uri.as_deref().map(path).transpose()?,
            },
            grant_types: metadata.grant_types_supported,
            issuer: metadata.issuer,
            admin_secret,
        })
    }
}

impl Target {
    /// The same provider with further nodes, by their URLs.
    ///
    /// # Errors
    /// [`LoadtestError::Target`] for a URL that cannot be used.
    pub fn with_others(mut self, way: &Way, urls: &[String]) -> Result<Self, LoadtestError> {
        for url in urls {
            self.others.push(resolve(url, way)?.1);
        }
        Ok(self)
    }

    /// The path that the issuer's endpoints are below; empty for most.
    pub(crate) fn base(&self) -> &str {
        self.endpoints.discovery.strip_suffix(DISCOVERY).unwrap_or_default()
    }

    /// A load of all its nodes.
    pub fn load(&self) -> Load {
        Load { others: self.others.clone(), ..Load::to(self.peer.clone()) }
    }
}

async fn fetch_metadata(peer: &Peer, authority: &str, path: &str) -> Result<Metadata, LoadtestError> {
    const WHAT: &str = "discovery";
    let mut connection =
        Connection::open(peer, Timeouts::default()).await.map_err(LoadtestError::http(WHAT))?;
    let mut bytes = Vec::new();
    request::get(&mut bytes, path, authority, &[("accept", "application/json")]);
    let response = connection.exchange(&bytes).await.map_err(LoadtestError::http(WHAT))?;
    if response.status != 200 {
        return Err(LoadtestError::refused(WHAT, response.status, response.body));
    }
    serde_json::from_slice(response.body).map_err(|error| LoadtestError::Refused {
        what: WHAT,
        status: 200,
        detail: error.to_string(),
    })
}
