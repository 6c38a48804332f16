//! UserInfo as a protected resource that says what it is (RFC 9728): its metadata, and where they are.
//!
//! UserInfo is the one endpoint here that takes access tokens. Its resource identifier is its own URL, and not the issuer's:
//! whoever follows a challenge must find there the URL that was called (RFC 9728 3.3). So the same URL is a resource
//! indicator as well (RFC 8707), and an audience which UserInfo accepts beside the issuer
//! (`docs/decisions/094-userinfo-is-a-resource-by-its-own-address.md`).

use serde::Serialize;
use symbolon_crypto::algorithm::Algorithm;

use crate::discovery::{MutualTls, base, endpoint, path, scopes};
use crate::scope::OFFLINE_ACCESS;
use crate::settings::IssuerSettings;

/// What is inserted between the host and the path of a resource's URL (RFC 9728 3).
pub const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The metadata of a protected resource.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "each field is the metadata of the same name in RFC 9728 2")]
pub struct ProtectedResourceMetadata<'a> {
    pub resource: String,
    pub resource_name: &'a str,
    pub authorization_servers: [&'a str; 1],
    /// The keys of signed answers, which are the issuer's.
    pub jwks_uri: String,
    pub scopes_supported: Vec<&'a str>,
    pub bearer_methods_supported: [&'static str; 2],
    pub resource_signing_alg_values_supported: [&'static str; Algorithm::ALL.len()],
    pub dpop_signing_alg_values_supported: Vec<&'static str>,
    pub dpop_bound_access_tokens_required: bool,
    pub tls_client_certificate_bound_access_tokens: bool,
}

/// The metadata of an issuer's UserInfo. `name` is what people call the issuer; `mutual_tls` is `None` where no client
/// certificates arrive.
pub fn of_userinfo<'a>(
    issuer_url: &'a str,
    name: &'a str,
    settings: &'a IssuerSettings,
    mutual_tls: Option<&MutualTls>,
) -> ProtectedResourceMetadata<'a> {
    let algorithms = Algorithm::ALL.map(Algorithm::as_str);
    ProtectedResourceMetadata {
        resource: endpoint(issuer_url, path::USERINFO),
        resource_name: name,
        authorization_servers: [issuer_url],
        jwks_uri: endpoint(issuer_url, path::JWKS),
        // A refresh token opens nothing at a resource.
        scopes_supported: scopes(settings).into_iter().filter(|scope| *scope != OFFLINE_ACCESS).collect(),
        // RFC 6750 2.1, 2.2; never in the query (RFC 9700 4.3.2).
        bearer_methods_supported: ["header", "body"],
        resource_signing_alg_values_supported: algorithms,
        dpop_signing_alg_values_supported: algorithms.into_iter().chain(["Ed25519"]).collect(),
        // Whether a token must be bound is a matter of its client.
        dpop_bound_access_tokens_required: false,
        tls_client_certificate_bound_access_tokens: mutual_tls.is_some(),
    }
}

/// Where the metadata of an issuer's UserInfo are (RFC 9728 3.1), for challenges (5.1).
pub fn userinfo_metadata_url(issuer_url: &str) -> String {
    let base = base(issuer_url);
    let host = base.find("://").map_or(0, |at| at + 3);
    let path_at = base.get(host..).and_then(|rest| rest.find('/')).map_or(base.len(), |at| host + at);
    let (origin, prefix) = base.split_at_checked(path_at).unwrap_or((base, ""));
    format!("{origin}{WELL_KNOWN}{prefix}{}", path::USERINFO)
}

/// Whether a resource indicator or an audience is an issuer's UserInfo.
pub fn is_userinfo(target: &str, issuer_url: &str) -> bool {
    target.strip_suffix(path::USERINFO) == Some(base(issuer_url))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_metadata_are_whole_and_true() {
        let settings = IssuerSettings::default();
        let document = |mutual_tls: Option<&MutualTls>| -> Value {
            let metadata = of_userinfo("https://op.example/acme", "Acme", &settings, mutual_tls);
            serde_json::to_value(metadata).unwrap()
        };
        let expected = json!({
            "resource": "https://op.example/acme/userinfo",
            "resource_name": "Acme",
            "authorization_servers": ["https://op.example/acme"],
            "jwks_uri": "https://op.example/acme/.well-known/jwks.json",
            "scopes_supported": ["openid", "profile", "email", "address", "phone", "groups", "roles"],
            "bearer_methods_supported": ["header", "body"],
            "resource_signing_alg_values_supported": ["RS256", "PS256", "ES256", "EdDSA"],
            "dpop_signing_alg_values_supported": ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"],
            "dpop_bound_access_tokens_required": false,
            "tls_client_certificate_bound_access_tokens": false,
        });
        assert_eq!(document(None), expected);
        let with = document(Some(&MutualTls::default()));
        assert_eq!(with["tls_client_certificate_bound_access_tokens"], json!(true));
    }

    #[test]
    fn the_well_known_part_stands_between_host_and_path() {
        for (issuer, metadata) in [
            ("https://op.example", "https://op.example/.well-known/oauth-protected-resource/userinfo"),
            ("https://op.example/", "https://op.example/.well-known/oauth-protected-resource/userinfo"),
            ("http://h:80/a/b/", "http://h:80/.well-known/oauth-protected-resource/a/b/userinfo"),
        ] {
            assert_eq!(userinfo_metadata_url(issuer), metadata);
        }
    }

    #[test]
    fn userinfo_is_the_issuers_own() {
        for (target, issuer, is) in [
            ("https://op.example/userinfo", "https://op.example", true),
            ("https://op.example/a/userinfo", "https://op.example/a/", true),
            ("https://op.example/userinfo", "https://op.example/a", false),
            ("https://op.example/userinfo/", "https://op.example", false),
            ("https://op.example", "https://op.example", false),
        ] {
            assert_eq!(is_userinfo(target, issuer), is, "{target} {issuer}");
        }
    }
}
