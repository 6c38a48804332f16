//! What `symbolon client create --preset` prints to paste at the other side: issuer, client and endpoints in the form
//! of that application's own configuration.

use http::Method;
use serde_json::Value;
use symbolon_protocol::discovery::{endpoint, path};

use crate::command::CommandError;
use crate::command::api::Api;
use crate::command::output::line;

/// The form of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The values by their names in OpenID Connect, for an application that has a form of its own for them.
    Plain,
    /// The same for a client that only asks for tokens for itself.
    Machine,
    /// The same for an API that introspects tokens, or checks their signatures.
    ResourceServer,
    /// `oauth2-proxy.cfg`.
    Oauth2Proxy,
    /// Directives of Apache.
    ModAuthOpenidc,
    /// The API server's file and the kubeconfig.
    Kubernetes,
    /// `application.yaml`.
    SpringBoot,
    /// Environment and the provider's module.
    AuthJs,
    /// `settings.py` and `urls.py`.
    Django,
    /// `jupyterhub_config.py`.
    Jupyterhub,
}

/// What applications need to know of the provider.
pub(super) struct Provider {
    /// The issuer's URL.
    pub(super) issuer: String,
    /// The algorithm that signs ID tokens unless the client has one of its own.
    algorithm: String,
}

impl Provider {
    /// Asks the admin API.
    ///
    /// # Errors
    /// [`CommandError::Api`]
    pub(super) fn ask(api: &Api) -> Result<Self, CommandError> {
        let issuer = api.issuer_url()?;
        let settings = api.ask(Method::GET, "/settings", None)?;
        let algorithm = settings.pointer("/settings/signing_algorithm").and_then(Value::as_str);
        Ok(Self { issuer, algorithm: algorithm.unwrap_or("RS256").to_owned() })
    }

    fn endpoint(&self, path: &str) -> String {
        endpoint(&self.issuer, path)
    }
}

/// Where the text belongs.
pub(super) const fn heading(form: Form) -> &'static str {
    match form {
        Form::Plain | Form::Machine | Form::ResourceServer => "For the application's configuration:",
        Form::Oauth2Proxy => "For oauth2-proxy.cfg:",
        Form::ModAuthOpenidc => "For the virtual host of Apache:",
        Form::Kubernetes => "For the API server and for kubectl:",
        Form::SpringBoot => "For application.yaml:",
        Form::AuthJs => "For .env.local and symbolon.js:",
        Form::Django => "For settings.py and urls.py:",
        Form::Jupyterhub => "For jupyterhub_config.py:",
    }
}

/// The configuration of an application, with the values of a client that was just made.
pub(super) fn text(form: Form, provider: &Provider, client: &Value) -> String {
    let of = Values { provider, client };
    match form {
        Form::Plain => plain(&of, &["authorization", "token", "userinfo", "end_session", "jwks_uri"]),
        Form::Machine => plain(&of, &["token"]),
        Form::ResourceServer => plain(&of, &["introspection", "jwks_uri"]),
        Form::Oauth2Proxy => oauth2_proxy(&of),
        Form::ModAuthOpenidc => mod_auth_openidc(&of),
        Form::Kubernetes => kubernetes(&of),
        Form::SpringBoot => spring_boot(&of),
        Form::AuthJs => auth_js(&of),
        Form::Django => django(&of),
        Form::Jupyterhub => jupyterhub(&of),
    }
}

/// The values of a configuration, quoted.
struct Values<'a> {
    provider: &'a Provider,
    client: &'a Value,
}

impl Values<'_> {
    /// A text member of the client; empty if it has none.
    fn bare(&self, member: &str) -> &str {
        self.client.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// The same in quotes.
    fn member(&self, member: &str) -> String {
        quoted(self.bare(member))
    }

    fn issuer(&self) -> String {
        quoted(&self.provider.issuer)
    }

    fn endpoint(&self, path: &str) -> String {
        quoted(&self.provider.endpoint(path))
    }

    /// The first redirect URI.
    fn redirect_uri(&self) -> String {
        quoted(self.client.pointer("/redirect_uris/0").and_then(Value::as_str).unwrap_or_default())
    }

    /// The algorithm of its ID tokens.
    fn algorithm(&self) -> String {
        match self.bare("id_token_signed_response_alg") {
            "" => quoted(&self.provider.algorithm),
            own => quoted(own),
        }
    }
}

/// A text in double quotes. What JSON escapes, TOML, YAML, JavaScript, Python and Apache read the same way. Control
/// characters are replaced: what is printed must not control the terminal.
fn quoted(text: &str) -> String {
    Value::from(line(text)).to_string()
}

/// The values by their names in OpenID Connect Discovery 3 and RFC 7591 2.
fn plain(of: &Values<'_>, endpoints: &[&str]) -> String {
    let mut lines = vec![("issuer".to_owned(), of.provider.issuer.clone())];
    for member in ["client_id", "client_secret", "token_endpoint_auth_method", "scope"] {
        lines.push((member.to_owned(), of.bare(member).to_owned()));
    }
    for list in ["redirect_uris", "post_logout_redirect_uris", "audiences"] {
        let values = of.client.get(list).and_then(Value::as_array).into_iter().flatten();
        lines.extend(values.filter_map(|value| Some((list.to_owned(), value.as_str()?.to_owned()))));
    }
    lines.push(("discovery".to_owned(), of.provider.endpoint(path::OPENID_CONFIGURATION)));
    for name in endpoints {
        let (label, path) = match *name {
            "authorization" => ("authorization_endpoint", path::AUTHORIZATION),
            "token" => ("token_endpoint", path::TOKEN),
            "userinfo" => ("userinfo_endpoint", path::USERINFO),
            "end_session" => ("end_session_endpoint", path::END_SESSION),
            "introspection" => ("introspection_endpoint", path::INTROSPECTION),
            _ => ("jwks_uri", path::JWKS),
        };
        lines.push((label.to_owned(), of.provider.endpoint(path)));
    }
    let given = lines.iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| format!("{name:28}{}\n", line(value))).collect()
}

fn oauth2_proxy(of: &Values<'_>) -> String {
    format!(
        r#"provider = "oidc"
oidc_issuer_url = {issuer}
client_id = {client_id}
client_secret = {client_secret}
redirect_url = {redirect_uri}
scope = {scope}
code_challenge_method = "S256"
oidc_groups_claim = "groups"
cookie_refresh = "30m"
email_domains = ["*"]
# allowed_groups = ["staff"]
# cookie_secret = what this prints: openssl rand -base64 32 | tr -- '+/' '-_'
"#,
        issuer = of.issuer(),
        client_id = of.member("client_id"),
        client_secret = of.member("client_secret"),
        redirect_uri = of.redirect_uri(),
        scope = of.member("scope"),
    )
}

fn mod_auth_openidc(of: &Values<'_>) -> String {
    let redirect_uri = of.client.pointer("/redirect_uris/0").and_then(Value::as_str).unwrap_or_default();
    format!(
        r#"OIDCProviderMetadataURL {metadata}
OIDCClientID {client_id}
OIDCClientSecret {client_secret}
OIDCRedirectURI {redirect_uri}
OIDCScope {scope}
OIDCPKCEMethod S256
OIDCRemoteUserClaim email
# OIDCCryptoPassphrase takes what this prints: openssl rand -base64 32
<Location {protected}>
    AuthType openid-connect
    Require valid-user
    # Require claim groups:staff
</Location>
"#,
        metadata = of.endpoint(path::OPENID_CONFIGURATION),
        client_id = of.member("client_id"),
        client_secret = of.member("client_secret"),
        redirect_uri = quoted(redirect_uri),
        scope = of.member("scope"),
        protected = quoted(folder(redirect_uri)),
    )
}

/// The path in front of the last segment of a URL: what Apache protects, since the redirect URI must lie in it.
fn folder(url: &str) -> &str {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..)));
    match path.and_then(|path| path.rsplit_once('/')) {
        Some((folder, _)) if !folder.is_empty() => folder,
        _ => "/",
    }
}

fn kubernetes(of: &Values<'_>) -> String {
    let argument = |name: &str, value: &str| quoted(&format!("--{name}={value}"));
    let scopes = of.bare("scope").split(' ').filter(|scope| !matches!(*scope, "" | "openid"));
    let scopes: String =
        scopes.map(|scope| format!("\n      - {}", argument("oidc-extra-scope", scope))).collect();
    format!(
        r#"# kube-apiserver --authentication-config=FILE
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: {issuer}
    audiences: [{client_id}]
  claimMappings:
    username: {{claim: email, prefix: "oidc:"}}
    groups: {{claim: groups, prefix: "oidc:"}}
---
# ~/.kube/config
users:
- name: oidc
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      interactiveMode: IfAvailable
      command: kubectl
      args:
      - oidc-login
      - get-token
      - {issuer_argument}
      - {client_argument}{scopes}
"#,
        issuer = of.issuer(),
        client_id = of.member("client_id"),
        issuer_argument = argument("oidc-issuer-url", &of.provider.issuer),
        client_argument = argument("oidc-client-id", of.bare("client_id")),
    )
}

fn spring_boot(of: &Values<'_>) -> String {
    format!(
        r#"spring:
  security:
    oauth2:
      client:
        registration:
          symbolon:
            client-id: {client_id}
            client-secret: {client_secret}
            redirect-uri: {redirect_uri}
            scope: {scope}
        provider:
          symbolon:
            issuer-uri: {issuer}
      # In a resource server:
      # resourceserver:
      #   jwt:
      #     issuer-uri: {issuer}
"#,
        client_id = of.member("client_id"),
        client_secret = of.member("client_secret"),
        redirect_uri = of.redirect_uri(),
        scope = quoted(&of.bare("scope").replace(' ', ",")),
        issuer = of.issuer(),
    )
}

/// The provider alone, and not a call of `NextAuth`: each framework that Auth.js is for has an entry of its own.
fn auth_js(of: &Values<'_>) -> String {
    format!(
        r#"# .env.local; AUTH_SECRET takes what this prints: openssl rand -hex 32
AUTH_SYMBOLON_ISSUER={issuer}
AUTH_SYMBOLON_ID={client_id}
AUTH_SYMBOLON_SECRET={client_secret}

// symbolon.js: an element of Auth.js's providers
export const symbolon = {{
  id: "symbolon",
  name: "Symbolon",
  type: "oidc",
  issuer: process.env.AUTH_SYMBOLON_ISSUER,
  clientId: process.env.AUTH_SYMBOLON_ID,
  clientSecret: process.env.AUTH_SYMBOLON_SECRET,
  authorization: {{ params: {{ scope: {scope} }} }},
  checks: ["pkce", "state", "nonce"],
}}
"#,
        issuer = of.issuer(),
        client_id = of.member("client_id"),
        client_secret = of.member("client_secret"),
        scope = of.member("scope"),
    )
}

fn django(of: &Values<'_>) -> String {
    format!(
        r#"# settings.py
INSTALLED_APPS += ["mozilla_django_oidc"]
AUTHENTICATION_BACKENDS = ["mozilla_django_oidc.auth.OIDCAuthenticationBackend"]
OIDC_RP_CLIENT_ID = {client_id}
OIDC_RP_CLIENT_SECRET = {client_secret}
OIDC_RP_SCOPES = {scope}
OIDC_RP_SIGN_ALGO = {algorithm}
OIDC_OP_AUTHORIZATION_ENDPOINT = {authorization}
OIDC_OP_TOKEN_ENDPOINT = {token}
OIDC_OP_USER_ENDPOINT = {userinfo}
OIDC_OP_JWKS_ENDPOINT = {jwks}
OIDC_USE_PKCE = True
OIDC_PKCE_CODE_CHALLENGE_METHOD = "S256"
LOGIN_URL = "oidc_authentication_init"

# urls.py
from django.urls import include, path
urlpatterns += [path("oidc/", include("mozilla_django_oidc.urls"))]
"#,
        client_id = of.member("client_id"),
        client_secret = of.member("client_secret"),
        scope = of.member("scope"),
        algorithm = of.algorithm(),
        authorization = of.endpoint(path::AUTHORIZATION),
        token = of.endpoint(path::TOKEN),
        userinfo = of.endpoint(path::USERINFO),
        jwks = of.endpoint(path::JWKS),
    )
}

fn jupyterhub(of: &Values<'_>) -> String {
    let scopes: Vec<&str> = of.bare("scope").split_whitespace().collect();
    format!(
        r#"c.JupyterHub.authenticator_class = "generic-oauth"
c.GenericOAuthenticator.client_id = {client_id}
c.GenericOAuthenticator.client_secret = {client_secret}
c.GenericOAuthenticator.oauth_callback_url = {redirect_uri}
c.GenericOAuthenticator.authorize_url = {authorization}
c.GenericOAuthenticator.token_url = {token}
c.GenericOAuthenticator.userdata_url = {userinfo}
c.GenericOAuthenticator.scope = {scopes}
c.GenericOAuthenticator.username_claim = "email"
c.GenericOAuthenticator.manage_groups = True
c.GenericOAuthenticator.auth_state_groups_key = "oauth_user.groups"
# c.GenericOAuthenticator.allowed_groups = {{"staff"}}
"#,
        client_id = of.member("client_id"),
        client_secret = of.member("client_secret"),
        redirect_uri = of.redirect_uri(),
        authorization = of.endpoint(path::AUTHORIZATION),
        token = of.endpoint(path::TOKEN),
        userinfo = of.endpoint(path::USERINFO),
        scopes = Value::from(scopes),
    )
}

#[cfg(test)]
mod tests;
