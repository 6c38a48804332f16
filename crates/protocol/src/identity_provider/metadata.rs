//! A provider's metadata (OpenID Connect Discovery 1.0 3, 4).

use serde::Deserialize;
use symbolon_crypto::algorithm::Algorithm;
use url::Url;

/// Why a document is not the metadata of a provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// It is not what Discovery 3 describes.
    #[error("the metadata is not valid: {0}")]
    Malformed(String),
    /// It is of another issuer than the one that was asked for.
    #[error(
        "the metadata is of the issuer {0:?}, not of the one that was asked for: use exactly that text as issuer"
    )]
    OtherIssuer(String),
    /// It names an endpoint that cannot be called.
    #[error("{0} is no URL of http or https")]
    Endpoint(&'static str),
    /// It signs ID tokens by no algorithm that is supported.
    #[error("it signs ID tokens by none of RS256, PS256, ES256 and EdDSA")]
    Algorithms,
}

/// How the issuer proves to a provider which client it is (OpenID Connect Core 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientProof {
    /// `client_secret_basic`.
    Basic,
    /// `client_secret_post`.
    Post,
}

/// What is used of a provider's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Where the browser is sent.
    pub authorization_endpoint: Url,
    /// Where codes are redeemed.
    pub token_endpoint: Url,
    /// Where its keys are.
    pub jwks_uri: Url,
    /// Where claims are that the ID token lacks.
    pub userinfo_endpoint: Option<Url>,
    /// Where the browser is sent to sign out there (RP-Initiated Logout 2.1). Nobody is kept from signing in because it is no
    /// address.
    pub end_session_endpoint: Option<Url>,
    /// Whether its authorization responses name it (RFC 9207 3).
    pub sends_iss: bool,
    /// The algorithms of its ID tokens, of those that are supported.
    pub algorithms: Vec<Algorithm>,
    /// How the client is authenticated.
    pub client_proof: ClientProof,
}

#[derive(Deserialize)]
struct Members {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    id_token_signing_alg_values_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// Where an issuer's metadata is (Discovery 4): any slash at its end is taken away first.
pub fn url_of(issuer: &str) -> Option<Url> {
    let base = issuer.strip_suffix('/').unwrap_or(issuer);
    Url::parse(&format!("{base}/.well-known/openid-configuration")).ok()
}

impl Metadata {
    /// Reads the document of an issuer.
    ///
    /// # Errors
    /// [`MetadataError`]
    pub fn parse(json: &[u8], issuer: &str) -> Result<Self, MetadataError> {
        let members: Members =
            serde_json::from_slice(json).map_err(|error| MetadataError::Malformed(error.to_string()))?;
        // Discovery 4.3: the issuer MUST be identical to the one whose document was asked for; or another provider could
        // name its own endpoints in this one's place (RFC 9207 2.4).
        if members.issuer != issuer {
            return Err(MetadataError::OtherIssuer(members.issuer.chars().take(200).collect()));
        }
        // Core 2: RS256 is what every provider signs with, if nothing else is said.
        let named = members.id_token_signing_alg_values_supported.unwrap_or_else(|| vec!["RS256".to_owned()]);
        let algorithms: Vec<Algorithm> = named.iter().filter_map(|name| name.parse().ok()).collect();
        if algorithms.is_empty() {
            return Err(MetadataError::Algorithms);
        }
        let optional = |name, value: Option<String>| value.map(|value| endpoint(name, &value)).transpose();
        Ok(Self {
            authorization_endpoint: endpoint("authorization_endpoint", &members.authorization_endpoint)?,
            token_endpoint: endpoint("token_endpoint", &members.token_endpoint)?,
            jwks_uri: endpoint("jwks_uri", &members.jwks_uri)?,
            userinfo_endpoint: optional("userinfo_endpoint", members.userinfo_endpoint)?,
            end_session_endpoint: members
                .end_session_endpoint
                .and_then(|value| endpoint("end_session_endpoint", &value).ok()),
            sends_iss: members.authorization_response_iss_parameter_supported,
            algorithms,
            client_proof: client_proof(members.token_endpoint_auth_methods_supported.as_deref()),
        })
    }

    /// The endpoints of GitHub, or of a GitHub Enterprise Server, which have no metadata.
    ///
    /// # Errors
    /// [`MetadataError::Endpoint`]
    pub fn of_github(address: &str) -> Result<Self, MetadataError> {
        let base = address.strip_suffix('/').unwrap_or(address);
        let api = match base {
            "https://github.com" => "https://api.github.com".to_owned(),
            own => format!("{own}/api/v3"),
        };
        let at = |path: &str| endpoint("issuer", &format!("{base}{path}"));
        Ok(Self {
            authorization_endpoint: at("/login/oauth/authorize")?,
            token_endpoint: at("/login/oauth/access_token")?,
            jwks_uri: at("/")?,
            userinfo_endpoint: Some(endpoint("issuer", &format!("{api}/user"))?),
            end_session_endpoint: None,
            sends_iss: false,
            algorithms: Vec::new(),
            client_proof: ClientProof::Post,
        })
    }
}

/// What is used of the metadata of an issuer that only signs, and has none of the endpoints by which people sign in.
#[derive(Deserialize)]
struct KeysMember {
    issuer: String,
    jwks_uri: String,
}

/// Where an issuer's keys are, by its metadata.
///
/// # Errors
/// [`MetadataError`]
pub fn keys_address(json: &[u8], issuer: &str) -> Result<Url, MetadataError> {
    let members: KeysMember =
        serde_json::from_slice(json).map_err(|error| MetadataError::Malformed(error.to_string()))?;
    // Discovery 4.3, as in `Metadata::parse`.
    if members.issuer != issuer {
        return Err(MetadataError::OtherIssuer(members.issuer.chars().take(200).collect()));
    }
    endpoint("jwks_uri", &members.jwks_uri)
}

/// Core 9: `client_secret_basic` if nothing else is said.
fn client_proof(methods: Option<&[String]>) -> ClientProof {
    let has = |wanted: &str| methods.is_some_and(|methods| methods.iter().any(|own| own == wanted));
    match methods.is_none() || has("client_secret_basic") || !has("client_secret_post") {
        true => ClientProof::Basic,
        false => ClientProof::Post,
    }
}

fn endpoint(name: &'static str, value: &str) -> Result<Url, MetadataError> {
    let url = Url::parse(value).map_err(|_| MetadataError::Endpoint(name))?;
    let is_web = matches!(url.scheme(), "https" | "http") && url.has_host() && url.fragment().is_none();
    is_web.then_some(url).ok_or(MetadataError::Endpoint(name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ISSUER: &str = "https://acme.example/o";

    fn document() -> Value {
        json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://acme.example/authorize?x=1",
            "token_endpoint": "https://acme.example/token",
            "jwks_uri": "https://acme.example/jwks",
        })
    }

    fn parse(document: &Value) -> Result<Metadata, MetadataError> {
        Metadata::parse(document.to_string().as_bytes(), ISSUER)
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let read = parse(&document()).unwrap();
        assert_eq!(
            (read.algorithms.as_slice(), read.client_proof),
            (&[Algorithm::Rs256][..], ClientProof::Basic)
        );
        assert!(!read.sends_iss && read.userinfo_endpoint.is_none());
        let mut own = document();
        own["id_token_signing_alg_values_supported"] = json!(["none", "HS256", "ES256"]);
        own["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
        own["authorization_response_iss_parameter_supported"] = json!(true);
        let read = parse(&own).unwrap();
        assert_eq!(
            (read.algorithms.as_slice(), read.client_proof),
            (&[Algorithm::Es256][..], ClientProof::Post)
        );
        assert!(read.sends_iss);
    }

    #[test]
    fn another_issuer_and_what_cannot_be_called_are_refused() {
        let with = |name: &str, value: Value| {
            let mut own = document();
            own[name] = value;
            parse(&own).unwrap_err()
        };
        for other in ["https://acme.example/o/", "https://acme.example", "https://evil.example"] {
            assert_eq!(with("issuer", json!(other)), MetadataError::OtherIssuer(other.into()));
        }
        assert_eq!(
            with("token_endpoint", json!("file:///etc/passwd")),
            MetadataError::Endpoint("token_endpoint")
        );
        assert_eq!(with("jwks_uri", json!("/jwks")), MetadataError::Endpoint("jwks_uri"));
        assert_eq!(with("id_token_signing_alg_values_supported", json!(["none"])), MetadataError::Algorithms);
        assert!(matches!(with("jwks_uri", json!(5)), MetadataError::Malformed(_)));
        assert!(matches!(Metadata::parse(b"<html>", ISSUER), Err(MetadataError::Malformed(_))));
    }

    #[test]
    fn the_document_is_below_the_issuer() {
        let at = |issuer| url_of(issuer).map(String::from);
        let told = Some("https://a.example/o/.well-known/openid-configuration".to_owned());
        assert_eq!((at("https://a.example/o"), at("https://a.example/o/")), (told.clone(), told));
        let github = Metadata::of_github("https://github.com").unwrap();
        assert_eq!(github.userinfo_endpoint.unwrap().as_str(), "https://api.github.com/user");
        let own = Metadata::of_github("https://git.acme.example/").unwrap();
        assert_eq!(own.userinfo_endpoint.unwrap().as_str(), "https://git.acme.example/api/v3/user");
    }
}
