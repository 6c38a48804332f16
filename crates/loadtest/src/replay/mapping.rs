//! Which request stands in for a line of a log.

use crate::executor::shown;
use crate::scenario::Scenario;

/// A request as a log has it.
pub(super) enum Logged {
    /// By the name of its endpoint.
    Endpoint { method: String, endpoint: String, route: Option<String>, status: Option<u16> },
    /// By its path, with a query where it had one.
    Path { method: String, path: String, status: u16 },
}

/// What is sent for a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    /// What a scenario sends.
    Of(Scenario),
    /// The discovery document.
    Metadata,
    /// The key set.
    Keys,
    /// A GET as it stands in the log.
    Get {
        /// Path and query.
        path: String,
        /// The first digit of the status that it was answered with.
        class: u16,
    },
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mapped {
    As(Request),
    /// Nothing is sent for such lines.
    LeftOut(String),
}

/// Whether a scenario asks the token endpoint.
pub(super) fn is_of_the_token_endpoint(scenario: Scenario) -> bool {
    matches!(scenario, Scenario::Code | Scenario::Refresh | Scenario::ClientCredentials | Scenario::Exchange)
}

impl Request {
    /// What it is counted as.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Of(scenario) => scenario.name(),
            Self::Metadata => "metadata",
            Self::Keys => "key set",
            Self::Get { .. } => "GET",
        }
    }

    /// The scenario whose seed it needs.
    pub(crate) fn scenario(&self) -> Option<Scenario> {
        match self {
            Self::Of(scenario) => Some(*scenario),
            Self::Metadata | Self::Keys => Some(Scenario::Discovery),
            Self::Get { .. } => None,
        }
    }
}

impl Logged {
    /// What is sent for it; `token` says what a line of the token endpoint is that does not say its grant.
    pub(super) fn mapped(self, token: Option<Scenario>) -> Mapped {
        match self {
            Self::Endpoint { method, endpoint, route, status } => {
                let of = |scenario| Mapped::As(Request::Of(scenario));
                match &*endpoint {
                    "discovery" => Mapped::As(Request::Metadata),
                    "jwks" => Mapped::As(Request::Keys),
                    "authorize" => of(Scenario::Silent),
                    "token_authorization_code" => of(Scenario::Code),
                    "token_refresh_token" => of(Scenario::Refresh),
                    "token_client_credentials" => of(Scenario::ClientCredentials),
                    "token_token_exchange" => of(Scenario::Exchange),
                    "userinfo" => of(Scenario::Userinfo),
                    "introspect" => of(Scenario::Introspect),
                    // Its page is a part of the login.
                    "login" if method == "POST" => of(Scenario::Login),
                    "page" | "other" => match (route, status) {
                        (Some(route), Some(status)) if !route.contains('{') => plain(&method, route, status),
                        _ => Mapped::LeftOut(format!("{method} {endpoint}")),
                    },
                    _ => Mapped::LeftOut(format!("{method} {endpoint}")),
                }
            }
            Self::Path { method, path, status } => by_path(&method, path, status, token),
        }
    }
}

/// By the end of the path, whoever's log it is: `/realms/x/protocol/openid-connect/token` is a token endpoint too.
fn by_path(method: &str, path: String, status: u16, token: Option<Scenario>) -> Mapped {
    let of = |scenario| Mapped::As(Request::Of(scenario));
    let bare = path.split(['?', '#']).next().unwrap_or("").trim_end_matches('/').to_ascii_lowercase();
    let last = bare.rsplit('/').next().unwrap_or("");
    match (method, last) {
        // The metadata of a resource end like the resource (RFC 9728 3.1).
        ("GET", _) if bare.contains("/oauth-protected-resource/") => plain(method, path, status),
        ("GET", "openid-configuration" | "oauth-authorization-server") => Mapped::As(Request::Metadata),
        ("GET", "jwks" | "jwks.json" | "certs" | "keys") => Mapped::As(Request::Keys),
        ("GET" | "POST", "authorize" | "auth") => of(Scenario::Silent),
        ("POST", "token") => token.map_or_else(
            || Mapped::LeftOut("POST token of an unknown grant (--token-grant says which)".into()),
            of,
        ),
        ("GET" | "POST", "userinfo") => of(Scenario::Userinfo),
        ("POST", "introspect" | "introspection") => of(Scenario::Introspect),
        ("POST", "login" | "authenticate" | "signin" | "sign-in") => of(Scenario::Login),
        _ => plain(method, path, status),
    }
}

/// A GET without anything that may be a secret is sent as it is.
fn plain(method: &str, path: String, status: u16) -> Mapped {
    let is_usable =
        path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let bare: String = path.split(['?', '#']).next().unwrap_or("").chars().take(60).collect();
    if method != "GET" || !is_usable {
        return Mapped::LeftOut(format!("{method} {}", shown(&bare)));
    }
    let query = path.split_once('?').map_or("", |(_, query)| query);
    if shown(&path) != path || has_a_secret(query) {
        return Mapped::LeftOut("GET with what may be a secret".into());
    }
    Mapped::As(Request::Get { path, class: status / 100 })
}

/// Whether a parameter may let somebody in, or stand for what did.
fn has_a_secret(query: &str) -> bool {
    const NAMES: [&str; 12] = [
        "code",
        "state",
        "nonce",
        "token",
        "session",
        "ticket",
        "secret",
        "password",
        "key",
        "sig",
        "transaction",
        "assertion",
    ];
    query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or("").to_ascii_lowercase();
        NAMES.iter().any(|secret| name.contains(secret))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str, class: u16) -> Mapped {
        Mapped::As(Request::Get { path: path.into(), class })
    }

    #[test]
    fn endpoints_of_the_request_log() {
        let line = |method: &str, endpoint: &str, route: Option<&str>| {
            let (method, endpoint) = (method.to_owned(), endpoint.to_owned());
            Logged::Endpoint { method, endpoint, route: route.map(Into::into), status: Some(200) }
                .mapped(None)
        };
        for (method, endpoint, scenario) in [
            ("GET", "authorize", Scenario::Silent),
            ("POST", "token_authorization_code", Scenario::Code),
            ("POST", "token_refresh_token", Scenario::Refresh),
            ("POST", "token_client_credentials", Scenario::ClientCredentials),
            ("POST", "token_token_exchange", Scenario::Exchange),
            ("GET", "userinfo", Scenario::Userinfo),
            ("POST", "introspect", Scenario::Introspect),
            ("POST", "login", Scenario::Login),
        ] {
            assert_eq!(line(method, endpoint, None), Mapped::As(Request::Of(scenario)), "{endpoint}");
        }
        assert_eq!(line("GET", "discovery", None), Mapped::As(Request::Metadata));
        assert_eq!(line("GET", "jwks", None), Mapped::As(Request::Keys));
        assert_eq!(line("GET", "page", Some("/")), get("/", 2));
        for (method, endpoint, route) in [
            ("GET", "login", None),
            ("POST", "token_other", None),
            ("POST", "admin", Some("/users")),
            ("GET", "page", Some("/assets/{file}")),
            ("POST", "consent", None),
        ] {
            assert_eq!(line(method, endpoint, route), Mapped::LeftOut(format!("{method} {endpoint}")));
        }
    }

    #[test]
    fn paths_of_any_provider() {
        let line = |method: &str, path: &str, token| {
            Logged::Path { method: method.into(), path: path.into(), status: 302 }.mapped(token)
        };
        let of = |scenario| Mapped::As(Request::Of(scenario));
        assert_eq!(line("GET", "/authorize?prompt=none&state=x", None), of(Scenario::Silent));
        let keycloak = "/realms/demo/protocol/openid-connect";
        assert_eq!(line("GET", &format!("{keycloak}/auth?state=x"), None), of(Scenario::Silent));
        assert_eq!(line("GET", &format!("{keycloak}/certs"), None), Mapped::As(Request::Keys));
        let token = format!("{keycloak}/token");
        assert_eq!(line("POST", &token, Some(Scenario::Refresh)), of(Scenario::Refresh));
        assert!(matches!(line("POST", &token, None), Mapped::LeftOut(why) if why.contains("--token-grant")));
        assert_eq!(line("GET", "/.well-known/openid-configuration", None), Mapped::As(Request::Metadata));
        let of_userinfo = line("GET", "/.well-known/oauth-protected-resource/userinfo", None);
        assert_ne!(of_userinfo, Mapped::As(Request::Of(Scenario::Userinfo)));
        assert_eq!(line("GET", "/assets/a.css?v=3", None), get("/assets/a.css?v=3", 3));
        for secret in [
            "/cb?code=x",
            "/x?id_token_hint=y",
            "/reset/9f8a7b6c5d4e3f2a1b0c9d8e",
            "/x?v=9f8a7b6c5d4e3f2a1b0c9d8e",
        ] {
            let told = line("GET", secret, None);
            assert_eq!(told, Mapped::LeftOut("GET with what may be a secret".into()), "{secret}");
        }
        assert_eq!(line("POST", "/x?password=y", None), Mapped::LeftOut("POST /x".into()));
        assert_eq!(line("GET", "http://x/", None), Mapped::LeftOut("GET http://x/".into()));
    }
}
