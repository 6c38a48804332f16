//! Issuers: each is one OpenID provider with its own keys, clients, users and settings.

use serde::{Deserialize, Serialize};

use crate::id::IssuerId;
use crate::time::Timestamp;

/// An issuer as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issuer {
    /// Its id, as in paths of the admin API.
    pub id: IssuerId,
    /// Its `iss`: exactly this string, never derived from a request (OpenID Connect Discovery 3).
    pub url: String,
    /// 32 random bytes, sealed under the master key. The keys that authenticate refresh tokens and forms are derived
    /// from them.
    pub sealed_secret: Vec<u8>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Issuer {
    /// What the session cookie is usually called: see [`cookie_name`](Self::cookie_name).
    pub const SESSION_COOKIE: &'static str = "symbolon_session";

    /// The name of a cookie of the issuer `id`, with the strictest prefix that its URL allows (RFC 6265bis 4.1.3).
    ///
    /// Browsers send a cookie to every port of its host (RFC 6265 8.5), so issuers on one host need cookies of
    /// different names. Only the issuer `default` at the root uses the plain name, whichever issuers are added later. A
    /// `__Host-` cookie has the path `/`, also where the URL has another: no sibling domain can set it, and its name
    /// tells the issuers apart.
    pub fn cookie_name(id: &IssuerId, usual: &str, is_https: bool, has_path: bool) -> String {
        let strict = if is_https { "__Host-" } else { "" };
        if !has_path && *id == IssuerId::default_issuer() {
            return format!("{strict}{usual}");
        }
        format!("{strict}{usual}_{id}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_as_strict_as_the_url_allows_and_of_one_issuer() {
        let (default, acme) = (IssuerId::default_issuer(), IssuerId::parse("acme").unwrap());
        let names = |id| {
            [(true, false), (true, true), (false, false), (false, true)]
                .map(|(is_https, has_path)| Issuer::cookie_name(id, "x", is_https, has_path))
        };
        assert_eq!(names(&default), ["__Host-x", "__Host-x_default", "x", "x_default"]);
        assert_eq!(names(&acme), ["__Host-x_acme", "__Host-x_acme", "x_acme", "x_acme"]);
    }
}
