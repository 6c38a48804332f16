//! The closed sets of label values of request metrics.

use http::StatusCode;

/// The endpoint of a request. Each is one label value; paths are not used as labels, so that requests cannot create
/// time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Endpoint {
    /// Provider metadata (OpenID Connect Discovery 1.0 section 4, RFC 8414 section 3).
    Discovery,
    /// The issuer's public keys (RFC 7517 section 5).
    Jwks,
    /// Authorization endpoint (RFC 6749 section 3.1).
    Authorize,
    /// Token endpoint, `authorization_code` (RFC 6749 section 4.1.3).
    TokenAuthorizationCode,
    /// Token endpoint, `refresh_token` (RFC 6749 section 6).
    TokenRefreshToken,
    /// Token endpoint, `client_credentials` (RFC 6749 section 4.4).
    TokenClientCredentials,
    /// Token endpoint, token exchange (RFC 8693 section 2).
    TokenTokenExchange,
    /// Token endpoint, device code (RFC 8628 section 3.4).
    TokenDeviceCode,
    /// Token endpoint, backchannel authentication (CIBA Core 1.0 section 10.1).
    TokenCiba,
    /// Token endpoint, JWT bearer (RFC 7523 section 2.1).
    TokenJwtBearer,
    /// Token endpoint: another grant type, or a request whose grant type is not known.
    TokenOther,
    /// UserInfo endpoint (OpenID Connect Core 1.0 section 5.3).
    Userinfo,
    /// Introspection endpoint (RFC 7662 section 2).
    Introspect,
    /// Revocation endpoint (RFC 7009 section 2).
    Revoke,
    /// Pushed authorization request endpoint (RFC 9126 section 2).
    Par,
    /// Device authorization endpoint (RFC 8628 section 3.1).
    DeviceAuthorization,
    /// Backchannel authentication endpoint (CIBA Core 1.0 section 7).
    BackchannelAuthentication,
    /// Client registration endpoint and client configuration endpoint (RFC 7591 section 3, RFC 7592 section 2).
    ClientRegistration,
    /// End-session endpoint (OpenID Connect RP-Initiated Logout 1.0 section 2).
    Logout,
    /// The login page and its form.
    Login,
    /// The consent page and its form, and the page on which people allow devices.
    Consent,
    /// The account pages.
    Account,
    /// The login API, by which applications sign people in on pages of their own.
    LoginApi,
    /// The admin API.
    Admin,
    /// Any other page for people.
    Page,
    /// Everything else: health, unknown paths.
    Other,
}

impl Endpoint {
    /// All endpoints in the order of the metrics page; an endpoint's discriminant is its index.
    pub const ALL: [Self; 26] = [
        Self::Discovery,
        Self::Jwks,
        Self::Authorize,
        Self::TokenAuthorizationCode,
        Self::TokenRefreshToken,
        Self::TokenClientCredentials,
        Self::TokenTokenExchange,
        Self::TokenDeviceCode,
        Self::TokenCiba,
        Self::TokenJwtBearer,
        Self::TokenOther,
        Self::Userinfo,
        Self::Introspect,
        Self::Revoke,
        Self::Par,
        Self::DeviceAuthorization,
        Self::BackchannelAuthentication,
        Self::ClientRegistration,
        Self::Logout,
        Self::Login,
        Self::Consent,
        Self::Account,
        Self::LoginApi,
        Self::Admin,
        Self::Page,
        Self::Other,
    ];

    /// The `endpoint` label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discovery => "discovery",
            Self::Jwks => "jwks",
            Self::Authorize => "authorize",
            Self::TokenAuthorizationCode => "token_authorization_code",
            Self::TokenRefreshToken => "token_refresh_token",
            Self::TokenClientCredentials => "token_client_credentials",
            Self::TokenTokenExchange => "token_token_exchange",
            Self::TokenDeviceCode => "token_device_code",
            Self::TokenCiba => "token_ciba",
            Self::TokenJwtBearer => "token_jwt_bearer",
            Self::TokenOther => "token_other",
            Self::Userinfo => "userinfo",
            Self::Introspect => "introspect",
            Self::Revoke => "revoke",
            Self::Par => "par",
            Self::DeviceAuthorization => "device_authorization",
            Self::BackchannelAuthentication => "backchannel_authentication",
            Self::ClientRegistration => "client_registration",
            Self::Logout => "logout",
            Self::Login => "login",
            Self::Consent => "consent",
            Self::Account => "account",
            Self::LoginApi => "login_api",
            Self::Admin => "admin",
            Self::Page => "page",
            Self::Other => "other",
        }
    }

    /// Whether the endpoint gets so many requests that its successes are only sampled in the log.
    pub const fn is_hot(self) -> bool {
        !matches!(
            self,
            Self::ClientRegistration
                | Self::Logout
                | Self::Login
                | Self::Consent
                | Self::Account
                | Self::Admin
        )
    }
}

/// How a request ended. One label value each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum RequestOutcome {
    /// Success (2xx).
    Ok,
    /// Redirected without an error; from the authorization endpoint, with a code.
    Redirect,
    /// `prompt=none` without a usable session (OpenID Connect Core 1.0 section 3.1.2.6).
    LoginRequired,
    /// `prompt=none` without consent (same section), or `interaction_required`.
    ConsentRequired,
    /// An error of the client (4xx, or an error sent by redirect).
    ClientError,
    /// No or wrong credentials (401).
    Unauthorized,
    /// Too many requests (429).
    RateLimited,
    /// Temporarily unavailable (503).
    Unavailable,
    /// An error of the server (other 5xx).
    ServerError,
    /// The client disconnected before the answer.
    Abandoned,
}

impl RequestOutcome {
    /// All outcomes in the order of the metrics page; an outcome's discriminant is its index.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::Redirect,
        Self::LoginRequired,
        Self::ConsentRequired,
        Self::ClientError,
        Self::Unauthorized,
        Self::RateLimited,
        Self::Unavailable,
        Self::ServerError,
        Self::Abandoned,
    ];

    /// The `outcome` label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Redirect => "redirect",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::ClientError => "client_error",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::ServerError => "server_error",
            Self::Abandoned => "abandoned",
        }
    }

    /// The outcome for a status and an OAuth error code. The code decides where the status does not: authorization
    /// errors are sent by redirect or form (RFC 6749 section 4.1.2.1).
    pub fn of(status: StatusCode, oauth_error: Option<&str>) -> Self {
        match status.as_u16() {
            401 => Self::Unauthorized,
            429 => Self::RateLimited,
            503 => Self::Unavailable,
            500.. => Self::ServerError,
            400.. => Self::ClientError,
            success => match oauth_error {
                None if success >= 300 => Self::Redirect,
                None => Self::Ok,
                Some("login_required") => Self::LoginRequired,
                Some("consent_required" | "interaction_required" | "account_selection_required") => {
                    Self::ConsentRequired
                }
                Some("server_error") => Self::ServerError,
                Some("temporarily_unavailable") => Self::Unavailable,
                Some("rate_limit_exceeded") => Self::RateLimited,
                Some(_) => Self::ClientError,
            },
        }
    }

    /// Whether every request with this outcome is logged.
    pub const fn is_error(self) -> bool {
        !matches!(self, Self::Ok | Self::Redirect | Self::LoginRequired | Self::ConsentRequired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_and_names_differ() {
        for (place, endpoint) in Endpoint::ALL.iter().enumerate() {
            assert_eq!(*endpoint as usize, place);
        }
        for (place, outcome) in RequestOutcome::ALL.iter().enumerate() {
            assert_eq!(*outcome as usize, place);
        }
        let endpoints: std::collections::HashSet<_> = Endpoint::ALL.iter().map(|e| e.name()).collect();
        assert_eq!(endpoints.len(), Endpoint::ALL.len());
        let outcomes: std::collections::HashSet<_> = RequestOutcome::ALL.iter().map(|o| o.name()).collect();
        assert_eq!(outcomes.len(), RequestOutcome::ALL.len());
    }

    #[test]
    fn status_and_error_code_give_the_outcome() {
        for (status, error, outcome) in [
            (200, None, RequestOutcome::Ok),
            (204, None, RequestOutcome::Ok),
            (302, None, RequestOutcome::Redirect),
            (303, Some("login_required"), RequestOutcome::LoginRequired),
            (302, Some("consent_required"), RequestOutcome::ConsentRequired),
            (302, Some("interaction_required"), RequestOutcome::ConsentRequired),
            (302, Some("invalid_scope"), RequestOutcome::ClientError),
            (200, Some("server_error"), RequestOutcome::ServerError),
            (302, Some("temporarily_unavailable"), RequestOutcome::Unavailable),
            (302, Some("rate_limit_exceeded"), RequestOutcome::RateLimited),
            (400, Some("invalid_grant"), RequestOutcome::ClientError),
            (401, Some("invalid_client"), RequestOutcome::Unauthorized),
            (403, None, RequestOutcome::ClientError),
            (429, None, RequestOutcome::RateLimited),
            (500, Some("server_error"), RequestOutcome::ServerError),
            (503, None, RequestOutcome::Unavailable),
            (502, None, RequestOutcome::ServerError),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(RequestOutcome::of(status, error), outcome, "{status} {error:?}");
        }
    }
}
