//! Client identifiers that are URLs (3).

use url::{Host, Url};

use super::origin;
use crate::id::ClientId;

/// Why a `client_id` that looks like a URL names no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClientIdUrl {
    /// It is no URL, or none of https.
    #[error("it is no https URL")]
    NotHttps,
    /// It has a user name or a password.
    #[error("it has a user name or a password")]
    UserInfo,
    /// It has a fragment.
    #[error("it has a fragment")]
    Fragment,
    /// It has no path.
    #[error("it has no path")]
    NoPath,
    /// It has a part of its path that is `.` or `..`, or is written in another way than its normal form.
    #[error("it is not in its normal form: the host in lower case, no usual port, no dot segments")]
    NotNormal,
}

/// Whether an id may be such a URL: all that is looked at of every id that is not registered. `may_be_plain`: whether plain http to this
/// machine is allowed, for tests.
#[must_use]
pub fn may_be_url(id: &ClientId, may_be_plain: bool) -> bool {
    let id = id.as_str();
    id.starts_with("https://") || (may_be_plain && id.starts_with("http://"))
}

/// The host, with its port unless that is the usual one, of an id that is such a URL: what people know a client by that claims any name.
#[must_use]
pub fn host_of(id: &ClientId) -> Option<String> {
    may_be_url(id, true).then(|| ClientIdUrl::parse(id, true).ok())?.map(|url| url.host().to_owned())
}

/// A client identifier URL.
#[derive(Clone, Debug)]
pub struct ClientIdUrl {
    id: ClientId,
    url: Url,
}

impl ClientIdUrl {
    /// Reads an id by the rules of 3. It must be in its normal form: it is compared as a text, and another way to write the same address would
    /// be another client with the same document.
    ///
    /// # Errors
    /// [`InvalidClientIdUrl`]
    pub fn parse(id: &ClientId, may_be_plain: bool) -> Result<Self, InvalidClientIdUrl> {
        let text = id.as_str();
        let url = Url::parse(text).map_err(|_| InvalidClientIdUrl::NotHttps)?;
        // 3: MUST use the https scheme.
        if url.scheme() != "https" && !(may_be_plain && url.scheme() == "http" && is_loopback(&url)) {
            return Err(InvalidClientIdUrl::NotHttps);
        }
        // 3: MUST NOT contain a userinfo component; not even an empty one.
        let authority = text.split('/').nth(2).unwrap_or_default();
        if authority.contains('@') || !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidClientIdUrl::UserInfo);
        }
        // 3: MUST NOT contain a fragment component.
        if text.contains('#') {
            return Err(InvalidClientIdUrl::Fragment);
        }
        // 3: MUST contain a path component.
        if text.split('/').nth(3).is_none() {
            return Err(InvalidClientIdUrl::NoPath);
        }
        // 3: MUST NOT contain single-dot or double-dot path components, which the normal form has not.
        if url.as_str() != text {
            return Err(InvalidClientIdUrl::NotNormal);
        }
        Ok(Self { id: id.clone(), url })
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> &ClientId {
        &self.id
    }

    /// Where the document is.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The host, with its port unless that is the usual one.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.authority()
    }

    /// Whether a URI is at the same origin (RFC 6454 4).
    #[must_use]
    pub(super) fn is_at_its_origin(&self, uri: &str) -> bool {
        origin(uri).is_some_and(|origin| origin == self.url.origin())
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(id: &str) -> Result<ClientIdUrl, InvalidClientIdUrl> {
        ClientIdUrl::parse(&ClientId::parse(id).unwrap(), false)
    }

    #[test]
    fn an_id_is_an_https_url_with_a_path_in_its_normal_form() {
        for good in [
            "https://app.example/client",
            "https://app.example/",
            "https://app.example:8443/oauth/client.json",
            "https://app.example/client?version=2",
            "https://[2001:db8::1]/client",
        ] {
            assert_eq!(parse(good).unwrap().id().as_str(), good);
        }
        for (bad, why) in [
            ("https://", InvalidClientIdUrl::NotHttps),
            ("https:app.example/client", InvalidClientIdUrl::NoPath),
            ("http://app.example/client", InvalidClientIdUrl::NotHttps),
            ("http://127.0.0.1/client", InvalidClientIdUrl::NotHttps),
            ("ftp://app.example/client", InvalidClientIdUrl::NotHttps),
            ("https://me@app.example/client", InvalidClientIdUrl::UserInfo),
            ("https://@app.example/client", InvalidClientIdUrl::UserInfo),
            ("https://me:x@app.example/client", InvalidClientIdUrl::UserInfo),
            ("https://app.example/client#part", InvalidClientIdUrl::Fragment),
            ("https://app.example/client#", InvalidClientIdUrl::Fragment),
            ("https://app.example", InvalidClientIdUrl::NoPath),
            ("https://app.example?x=1", InvalidClientIdUrl::NoPath),
            ("https://app.example:443/client", InvalidClientIdUrl::NotNormal),
            ("https://APP.example/client", InvalidClientIdUrl::NotNormal),
            ("https://app.example/a/../client", InvalidClientIdUrl::NotNormal),
            ("https://app.example/./client", InvalidClientIdUrl::NotNormal),
            ("https://app.example/a/%2e%2E/client", InvalidClientIdUrl::NotNormal),
            ("https://app.example/a\\client", InvalidClientIdUrl::NotNormal),
            ("https:///app.example/client", InvalidClientIdUrl::NotNormal),
        ] {
            assert_eq!(parse(bad).err(), Some(why), "{bad}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine_where_it_is_allowed() {
        let parsed = |id: &str| ClientIdUrl::parse(&ClientId::parse(id).unwrap(), true);
        for good in ["http://127.0.0.1:8080/client", "http://localhost/client", "http://[::1]:1/client"] {
            assert!(parsed(good).is_ok(), "{good}");
        }
        assert_eq!(parsed("http://app.example/client").err(), Some(InvalidClientIdUrl::NotHttps));
    }

    #[test]
    fn people_are_shown_its_host_with_an_unusual_port() {
        let host = |id: &str| host_of(&ClientId::parse(id).unwrap());
        assert_eq!(host("https://app.example/client").as_deref(), Some("app.example"));
        assert_eq!(host("https://app.example:8443/client").as_deref(), Some("app.example:8443"));
        assert_eq!((host("web"), host("https://app.example")), (None, None));
    }
}
