//! Authentication: a caller must present the admin secret.

use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use http::{HeaderMap, Request, header};
use symbolon_crypto::digest;

use crate::error::AdminError;
use symbolon_app::app::App;
use symbolon_app::http::Failure;
use symbolon_app::rate_limit::network;
use symbolon_telemetry::Current;

/// Accepts a request with the admin secret, whatever else its address has sent. A wrong secret counts against the
/// address and is written to the audit log.
///
/// # Errors
/// 401; 429 for an address that tried too many wrong secrets.
pub(super) fn check(app: &App, request: &Request<Body>, remote: Option<IpAddr>) -> Result<(), AdminError> {
    let Some(given) = bearer(request.headers()) else { return Err(AdminError::unauthenticated()) };
    // Digests are compared in constant time, so that the time reveals nothing about the secret, not even its length.
    let given = digest::sha256(&[given.as_bytes()]);
    if digest::constant_time_eq(&given, &**app.admin_secret.load()) {
        return Ok(());
    }
    let (remote, now) = (remote.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), app.now());
    app.audit.admin_refused((remote, network(remote)), Current::arrival().map(|arrival| arrival.id), now);
    app.rate_limits.may_try_admin(remote, now).map_err(Failure::from)?;
    app.rate_limits.failed_admin(remote, now);
    Err(AdminError::unauthenticated())
}

/// The bearer token of the only Authorization header (RFC 6750 2.1). A request with two such headers has none.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (all.next()?, all.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    // RFC 9110 11.1: the scheme is case-insensitive.
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(values: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
        }
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn one_bearer_token_is_read_whatever_the_case_of_its_scheme() {
        assert_eq!(of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(of(&["bearer  abc "]).as_deref(), Some("abc"));
    }

    #[test]
    fn everything_else_is_nobody() {
        for bad in [&[][..], &["Bearer"], &["Bearer "], &["Basic abc"], &["Bearer a", "Bearer a"]] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
    }
}
