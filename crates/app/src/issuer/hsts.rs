//! HTTP Strict Transport Security (RFC 6797).

use std::time::Duration;

use http::HeaderValue;
use url::{Host, Url};

/// `Strict-Transport-Security` of an issuer (RFC 6797 6.1): browsers use only https for its host for `max_age`.
///
/// `None` on http (RFC 6797 7.2), for a `max_age` of zero, for IP addresses, for which browsers ignore it (RFC 6797
/// 8.1.1), and for `localhost`, where it would affect other programs of the same machine.
pub(super) fn strict_transport_security(issuer: &str, max_age: Duration) -> Option<HeaderValue> {
    let url = Url::parse(issuer).ok().filter(|url| url.scheme() == "https" && !max_age.is_zero())?;
    let Some(Host::Domain(host)) = url.host() else { return None };
    if host == "localhost" || host.ends_with(".localhost") {
        return None;
    }
    HeaderValue::try_from(format!("max-age={}", max_age.as_secs())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_issuers_with_a_name_bind_their_host() {
        let header = |issuer: &str, seconds| {
            strict_transport_security(issuer, Duration::from_secs(seconds))
                .map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(header("https://login.example.com/acme", 600).as_deref(), Some("max-age=600"));
        for issuer in [
            "http://login.example.com",
            "https://localhost:8443",
            "https://demo.localhost",
            "https://192.0.2.1",
            "https://[2001:db8::1]:8443",
        ] {
            assert_eq!(header(issuer, 600), None, "{issuer}");
        }
        assert_eq!(header("https://login.example.com", 0), None);
    }
}
