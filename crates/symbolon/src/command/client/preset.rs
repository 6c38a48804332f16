//! The presets of `symbolon client create`: what a kind of application, or one that many people run, needs of its
//! client. [`ALL`] is the table; a new preset is a row of it, and a form in `paste` where the application has a
//! configuration file of its own.

use serde_json::{Map, Value, json};
use symbolon_protocol::client::GrantType;
use symbolon_protocol::redirect_uri::RedirectUriForm;

use super::paste::Form;
use crate::command::CommandError;
use crate::command::output::line;

/// What a kind of application needs of its client.
pub(super) struct Preset {
    /// The value of `--preset`.
    pub(super) name: &'static str,
    /// For the help.
    pub(super) about: &'static str,
    /// The grant types that it uses.
    grants: &'static [&'static str],
    /// The scopes that it may ask for. `offline_access` is among them where it asks for refresh tokens that outlive
    /// the session.
    scope: &'static str,
    /// `none` for a public client, which cannot keep a secret (RFC 6749 2.1).
    auth_method: &'static str,
    /// The paths below `--url` where it takes codes.
    callbacks: &'static [&'static str],
    /// Redirect URIs that are the same wherever it runs.
    redirect_uris: &'static [&'static str],
    /// Redirect URIs that it has besides where a weaker form of them is allowed by `--redirect-uri-form`: the form, and
    /// the URI. Without the option the client has none of them (docs/topics/redirect-uris.md).
    in_weaker_forms: &'static [(RedirectUriForm, &'static str)],
    /// The paths below `--url` where a logout may end.
    logouts: &'static [&'static str],
    /// Whether `--url` names an API: the audience of the tokens that it introspects.
    is_api: bool,
    /// Settings that differ from the issuer's, by name, with their value as JSON.
    settings: &'static [(&'static str, &'static str)],
    /// What is printed to paste at the other side.
    pub(super) form: Form,
}

const CODE: &str = GrantType::AuthorizationCode.as_str();
const REFRESH: &str = GrantType::RefreshToken.as_str();
const DEVICE: &str = GrantType::DeviceCode.as_str();
const BASIC: &str = "client_secret_basic";
const PUBLIC: &str = "none";

/// Libraries differ in whether they send the address of the start page with a slash or without, and redirect URIs are
/// compared as texts (RFC 9700 2.1): so both are registered.
const START_PAGE: &[&str] = &["", "/"];

/// A web application that keeps a secret and takes codes. The other rows say what is different.
const WEB: Preset = Preset {
    name: "web-server",
    about: "A web application whose server keeps a secret; it takes codes at URL/callback",
    grants: &[CODE, REFRESH],
    scope: "openid profile email offline_access",
    auth_method: BASIC,
    callbacks: &["/callback"],
    redirect_uris: &[],
    in_weaker_forms: &[],
    logouts: START_PAGE,
    is_api: false,
    settings: &[],
    form: Form::Plain,
};

/// Every preset, in the order of the help.
pub(super) static ALL: [Preset; 13] = [
    WEB,
    Preset {
        name: "single-page",
        about: "An application in the browser, without a secret; it takes codes at URL/callback",
        // Without offline_access: what a script in the browser holds ends with the session.
        scope: "openid profile email",
        auth_method: PUBLIC,
        // A script that was injected could read the access token: it should not be of use for long.
        settings: &[("access_token_lifetime", "600")],
        ..WEB
    },
    Preset {
        name: "native",
        about: "An application on a desktop or phone, without a secret; it takes codes on a port of its own",
        auth_method: PUBLIC,
        callbacks: &[],
        // RFC 8252 7.3: the application listens on a loopback address, at any port.
        redirect_uris: &["http://127.0.0.1/callback", "http://[::1]/callback"],
        // Some libraries name the host instead of the address, and take any port there too.
        in_weaker_forms: &[(RedirectUriForm::AnyLocalhostPort, "http://localhost/callback")],
        logouts: &[],
        ..WEB
    },
    Preset {
        name: "machine",
        about: "A program that gets tokens for itself, without a person",
        grants: &["client_credentials"],
        // Scopes about a person make no sense for it (RFC 6749 4.4); it has those that --scope names.
        scope: "",
        callbacks: &[],
        logouts: &[],
        form: Form::Machine,
        ..WEB
    },
    Preset {
        name: "resource-server",
        about: "An API that introspects tokens; URL is the audience that they are for",
        grants: &[],
        scope: "",
        callbacks: &[],
        logouts: &[],
        is_api: true,
        form: Form::ResourceServer,
        ..WEB
    },
    Preset {
        name: "device",
        about: "A device without a browser, such as a television or a command line on a server",
        grants: &[DEVICE, REFRESH],
        auth_method: PUBLIC,
        callbacks: &[],
        logouts: &[],
        ..WEB
    },
    Preset {
        name: "oauth2-proxy",
        about: "oauth2-proxy in front of an application at URL",
        scope: "openid profile email groups offline_access",
        callbacks: &["/oauth2/callback"],
        form: Form::Oauth2Proxy,
        ..WEB
    },
    Preset {
        name: "mod-auth-openidc",
        about: "Apache with mod_auth_openidc; it protects what is below URL",
        scope: "openid profile email groups",
        callbacks: &["/redirect_uri"],
        form: Form::ModAuthOpenidc,
        ..WEB
    },
    Preset {
        name: "kubernetes",
        about: "The API server of Kubernetes, and kubectl with the plugin kubelogin",
        scope: "openid profile email groups offline_access",
        auth_method: PUBLIC,
        callbacks: &[],
        // Where kubelogin listens.
        redirect_uris: &["http://localhost:8000", "http://localhost:18000"],
        logouts: &[],
        // The API server takes the ID token until it expires, whatever is revoked meanwhile.
        settings: &[("id_token_lifetime", "900")],
        form: Form::Kubernetes,
        ..WEB
    },
    Preset {
        name: "spring-boot",
        about: "Spring Boot with oauth2Login, and Spring resource servers that it calls",
        // Access tokens carry roles, and no groups: an API that is called has nothing else to authorise by.
        scope: "openid profile email groups roles",
        callbacks: &["/login/oauth2/code/symbolon"],
        // Spring's resource server takes access tokens of the type JWT, and no at+jwt (RFC 9068 2.1).
        settings: &[("access_token_typ", "\"JWT\"")],
        form: Form::SpringBoot,
        ..WEB
    },
    Preset {
        name: "auth-js",
        about: "Auth.js (NextAuth)",
        scope: "openid profile email groups offline_access",
        // In Next.js, and in every other framework.
        callbacks: &["/api/auth/callback/symbolon", "/auth/callback/symbolon"],
        form: Form::AuthJs,
        ..WEB
    },
    Preset {
        name: "django",
        about: "Django with mozilla-django-oidc",
        scope: "openid profile email groups",
        callbacks: &["/oidc/callback/"],
        form: Form::Django,
        ..WEB
    },
    Preset {
        name: "jupyterhub",
        about: "JupyterHub with GenericOAuthenticator",
        scope: "openid profile email groups",
        callbacks: &["/hub/oauth_callback"],
        form: Form::Jupyterhub,
        ..WEB
    },
];

/// The preset of a name.
pub(super) fn find(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// The metadata of a client of an application at `url`. `explicit` is what the command line says besides: it is laid
    /// over them, so what it names need not be derived from a URL.
    ///
    /// # Errors
    /// [`CommandError::Usage`]: this release does not have a grant of the preset; `url` is malformed, or it is needed
    /// and missing.
    pub(super) fn metadata(
        &self,
        url: Option<&str>,
        explicit: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandError> {
        self.check_grants()?;
        let base = url.map(base).transpose()?;
        let lacks = |member: &str| explicit.get(member).is_none_or(Value::is_null);
        let takes_codes = !self.callbacks.is_empty() && lacks("redirect_uris");
        if base.is_none() && (takes_codes || self.is_api && lacks("audiences")) {
            let instead = if self.is_api { "--audience" } else { "--redirect-uri" };
            return Err(CommandError::Usage(format!(
                "the preset {} needs --url, such as https://app.example.com, or {instead}",
                self.name
            )));
        }
        let below = |paths: &[&str]| -> Vec<String> {
            base.iter().flat_map(|base| paths.iter().map(move |path| format!("{base}{path}"))).collect()
        };
        let mut redirect_uris = below(self.callbacks);
        redirect_uris.extend(self.redirect_uris.iter().map(|uri| (*uri).to_owned()));
        let forms = explicit.get("redirect_uri_forms").and_then(Value::as_array);
        let is_allowed =
            |form: RedirectUriForm| forms.is_some_and(|all| all.iter().any(|it| it == form.as_str()));
        let weaker = self.in_weaker_forms.iter().filter(|(form, _)| is_allowed(*form));
        redirect_uris.extend(weaker.map(|(_, uri)| (*uri).to_owned()));
        // RP-Initiated Logout 3: a logout ends at exactly a registered URI, so a wildcard would stand for none.
        let is_wildcard = base.is_some_and(|base| base.contains('*'));
        let logouts: &[&str] = if is_wildcard { &[] } else { self.logouts };
        let members = json!({
            "client_name": base.map_or(self.name, host),
            "grant_types": self.grants,
            "scope": self.scope,
            "token_endpoint_auth_method": self.auth_method,
            "redirect_uris": redirect_uris,
            "post_logout_redirect_uris": below(logouts),
            "audiences": if self.is_api { below(&[""]) } else { Vec::new() },
            "settings": self.settings(),
        });
        Ok(match members {
            Value::Object(members) => members,
            _ => Map::new(),
        })
    }

    /// A grant that this release does not have would be refused by its name in the API, which says little.
    fn check_grants(&self) -> Result<(), CommandError> {
        match self.grants.iter().find(|grant| GrantType::parse(grant).is_none()) {
            None => Ok(()),
            Some(missing) => Err(CommandError::Usage(format!(
                "the preset {} needs the grant {missing}, which this release does not have",
                self.name
            ))),
        }
    }

    /// The settings.
    fn settings(&self) -> Map<String, Value> {
        let read = |(name, value): &(&str, &str)| {
            ((*name).to_owned(), serde_json::from_str(value).unwrap_or_default())
        };
        self.settings.iter().map(read).collect()
    }
}

/// The address of an application without a slash at its end, so that paths can be appended. Whether its URIs may be
/// registered, the admin API says.
fn base(url: &str) -> Result<&str, CommandError> {
    let base = url.trim_end_matches('/');
    let rest = base.strip_prefix("https://").or_else(|| base.strip_prefix("http://"));
    let is_sound = |rest: &str| {
        rest.starts_with(|first: char| first != '/')
            && rest.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '@'))
    };
    if rest.is_some_and(is_sound) {
        return Ok(base);
    }
    let example = "it must be the address of the application, such as https://app.example.com";
    Err(CommandError::Usage(format!("--url {}: {example}", line(url))))
}

/// The host and port of an address.
fn host(base: &str) -> &str {
    base.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or(base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolon_crypto::digest::HmacKey;
    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::client::TokenEndpointAuthMethod;
    use symbolon_protocol::client_metadata;
    use symbolon_protocol::redirect_uri::check_form;
    use symbolon_protocol::time::Timestamp;

    const URL: &str = "https://app.example.com/";

    fn of(name: &str, url: Option<&str>) -> Result<Map<String, Value>, CommandError> {
        find(name).unwrap().metadata(url, &Map::new())
    }

    /// The presets whose grants this release has.
    fn available() -> impl Iterator<Item = &'static Preset> {
        ALL.iter().filter(|preset| preset.check_grants().is_ok())
    }

    #[test]
    fn every_preset_makes_a_client_by_the_rules() {
        for preset in available() {
            let metadata = preset.metadata(Some(URL), &Map::new()).unwrap();
            let (key, now) = (HmacKey::new(b"key"), Timestamp::from_millis(1));
            let made = client_metadata::create(metadata, &key, now, &SeededRandom::new(1));
            let made = made.unwrap_or_else(|error| panic!("{}: {error:?}", preset.name));
            let client = made.client;
            let is_public = client.token_endpoint_auth_method == TokenEndpointAuthMethod::None;
            assert_eq!(made.client_secret.is_none(), is_public, "{}", preset.name);
            assert_eq!(client.client_name, "app.example.com");
            // A refresh token that outlives the session is asked for by this scope (OpenID Connect Core 11).
            let asks = client.scope.contains("offline_access");
            assert!(!asks || client.may_use(GrantType::RefreshToken), "{}", preset.name);
            let codes = client.may_use(GrantType::AuthorizationCode);
            assert_eq!(codes, !client.redirect_uris.is_empty(), "{}", preset.name);
            assert!(!codes || client.scope.contains("openid"), "{}", preset.name);
        }
        assert_eq!(available().count(), ALL.len());
    }

    #[test]
    fn names_are_unique_and_fit_the_help() {
        for (number, preset) in ALL.iter().enumerate() {
            assert!(std::ptr::eq(find(preset.name).unwrap(), &ALL[number]), "{} twice", preset.name);
            assert!(preset.name.len() < 18 && !preset.about.is_empty());
        }
    }

    #[test]
    fn addresses_are_made_of_the_url_and_the_known_paths() {
        let made = of("spring-boot", Some("https://app.example.com//")).unwrap();
        assert_eq!(made["redirect_uris"], json!(["https://app.example.com/login/oauth2/code/symbolon"]));
        let ends = json!(["https://app.example.com", "https://app.example.com/"]);
        assert_eq!(made["post_logout_redirect_uris"], ends);
        let made = of("django", Some("http://localhost:8000/site")).unwrap();
        assert_eq!(made["redirect_uris"], json!(["http://localhost:8000/site/oidc/callback/"]));
        assert_eq!(made["client_name"], "localhost:8000");
        let made = of("resource-server", Some("https://api.example.com")).unwrap();
        assert_eq!(made["audiences"], json!(["https://api.example.com"]));
        assert_eq!((&made["grant_types"], &made["redirect_uris"]), (&json!([]), &json!([])));
    }

    #[test]
    fn weaker_forms_of_redirect_uris_are_used_where_they_are_allowed_and_nowhere_else() {
        let allowing = |name: &str, url: Option<&str>, form: &str| {
            let explicit = Map::from_iter([("redirect_uri_forms".to_owned(), json!([form]))]);
            find(name).unwrap().metadata(url, &explicit).unwrap()
        };
        let (v4, v6) = ("http://127.0.0.1/callback", "http://[::1]/callback");
        assert_eq!(of("native", None).unwrap()["redirect_uris"], json!([v4, v6]));
        assert_eq!(allowing("native", None, "http_private_host")["redirect_uris"], json!([v4, v6]));
        let with_name = json!([v4, v6, "http://localhost/callback"]);
        assert_eq!(allowing("native", None, "any_localhost_port")["redirect_uris"], with_name);
        let preview = allowing("web-server", Some("https://*.preview.example.com"), "wildcard_host");
        assert_eq!(preview["redirect_uris"], json!(["https://*.preview.example.com/callback"]));
        assert_eq!(preview["post_logout_redirect_uris"], json!([]));
        for preset in available() {
            let weaker = preset.in_weaker_forms.iter().all(|(form, uri)| check_form(uri, &[*form]).is_ok());
            assert!(weaker, "{}", preset.name);
            let usual = preset.metadata(Some(URL), &Map::new()).unwrap();
            assert!(!usual.contains_key("redirect_uri_forms"), "{}: nobody asked for it", preset.name);
        }
    }

    #[test]
    fn what_runs_anywhere_needs_no_url_and_the_rest_says_what_it_needs() {
        for name in ["native", "machine", "kubernetes"] {
            assert_eq!(of(name, None).unwrap()["client_name"], name);
        }
        assert_eq!(of("kubernetes", None).unwrap()["redirect_uris"][0], "http://localhost:8000");
        for (name, option) in [("web-server", "--redirect-uri"), ("resource-server", "--audience")] {
            let refused = of(name, None).unwrap_err().to_string();
            assert!(refused.contains("--url") && refused.contains(option), "{refused}");
        }
        let own = Map::from_iter([("redirect_uris".to_owned(), json!(["https://x.example/cb"]))]);
        assert_eq!(find("web-server").unwrap().metadata(None, &own).unwrap()["redirect_uris"], json!([]));
        let null = Map::from_iter([("redirect_uris".to_owned(), Value::Null)]);
        assert!(find("web-server").unwrap().metadata(None, &null).is_err());
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        for bad in [
            "app.example.com",
            "ftp://app.example.com",
            "https://",
            "https:///x",
            "https://user@app.example.com",
            "https://app.example.com/?a=b",
            "https://app.example.com/#x",
            "https://app example.com",
            "",
        ] {
            assert!(matches!(of("web-server", Some(bad)), Err(CommandError::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn a_grant_that_this_release_lacks_is_named() {
        static OF_TOMORROW: Preset = Preset { grants: &["urn:example:tomorrow"], callbacks: &[], ..WEB };
        let refused = OF_TOMORROW.metadata(None, &Map::new()).unwrap_err().to_string();
        assert!(refused.contains("urn:example:tomorrow"), "{refused}");
        let made = of("device", None).unwrap();
        assert_eq!((&made["grant_types"][0], &made["redirect_uris"]), (&json!(DEVICE), &json!([])));
    }

    #[test]
    fn who_calls_an_api_asks_for_roles() {
        let made = of("spring-boot", Some(URL)).unwrap();
        assert!(made["scope"].as_str().unwrap().split(' ').any(|scope| scope == "roles"), "{made:?}");
    }

    #[test]
    fn settings_are_json_and_a_lifetime_arrives() {
        for (name, value) in ALL.iter().flat_map(|preset| preset.settings) {
            assert!(serde_json::from_str::<Value>(value).is_ok(), "{name}");
        }
        assert_eq!(
            of("single-page", Some(URL)).unwrap()["settings"],
            json!({ "access_token_lifetime": 600 })
        );
        assert_eq!(of("kubernetes", None).unwrap()["settings"], json!({ "id_token_lifetime": 900 }));
    }
}
