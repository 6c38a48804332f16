//! The request by which a browser is sent to another provider (OpenID Connect Core 3.1.2.1, RFC 7636), and its answer.

use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;
use symbolon_crypto::{digest, encoding};
use url::Url;

use super::metadata::Metadata;
use super::{IdentityProvider, ProviderKind, ProviderResponseMode};

/// Random bytes of a verifier and of a nonce.
const RANDOM: usize = 32;

/// What one request proves itself by later: drawn for it.
pub struct Drawn {
    /// RFC 7636 4.1: 43 characters.
    pub verifier: SecretString,
    /// OpenID Connect Core 3.1.2.1.
    pub nonce: String,
}

impl Drawn {
    /// Draws both.
    pub fn draw(random: &dyn Random) -> Self {
        Self {
            verifier: SecretString::new(random::base64url::<RANDOM>(random)),
            nonce: random::base64url::<RANDOM>(random),
        }
    }

    /// The S256 challenge of a verifier (RFC 7636 4.2).
    pub fn challenge(&self) -> String {
        encoding::encode(&digest::sha256(&[self.verifier.expose().as_bytes()]))
    }
}

/// A request to a provider.
pub struct AuthenticationRequest<'a> {
    /// The provider.
    pub provider: &'a IdentityProvider,
    /// Its metadata.
    pub metadata: &'a Metadata,
    /// Where its answer goes: a path of its own for each provider, so that an answer of one is never taken for another's
    /// (RFC 9700 4.4.2).
    pub redirect_uri: &'a str,
    /// The sealed state.
    pub state: &'a str,
    /// What was drawn.
    pub drawn: &'a Drawn,
    /// Who it may be, if that is known.
    pub login_hint: Option<&'a str>,
    /// Whether the person is to prove anew who they are.
    pub prompts_login: bool,
}

impl AuthenticationRequest<'_> {
    /// The address to which the browser is sent.
    pub fn url(&self) -> Url {
        let mut url = self.metadata.authorization_endpoint.clone();
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.provider.client_id)
                .append_pair("redirect_uri", self.redirect_uri)
                .append_pair("scope", &self.provider.scopes.join(" "))
                .append_pair("state", self.state)
                .append_pair("code_challenge", &self.drawn.challenge())
                .append_pair("code_challenge_method", "S256");
            if self.provider.kind == ProviderKind::Openid {
                query.append_pair("nonce", &self.drawn.nonce);
                if self.prompts_login {
                    query.append_pair("prompt", "login");
                }
            }
            if self.provider.response_mode == ProviderResponseMode::FormPost {
                query.append_pair("response_mode", "form_post");
            }
            if let Some(hint) = self.login_hint {
                let name = if self.provider.kind == ProviderKind::Github { "login" } else { "login_hint" };
                query.append_pair(name, hint);
            }
        }
        url
    }
}

/// Whether an authorization response may be this provider's (RFC 9207 2.4): if it names an issuer, that MUST be the provider,
/// and it MUST name one if the metadata say so.
pub fn is_from(provider: &IdentityProvider, sends_iss: bool, iss: Option<&str>) -> bool {
    match iss {
        Some(iss) => provider.kind == ProviderKind::Github || iss == provider.issuer,
        None => !sends_iss,
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::super::tests::provider;
    use super::*;

    #[test]
    fn the_request_has_pkce_and_keeps_the_query_of_the_endpoint() {
        let own = IdentityProvider { response_mode: ProviderResponseMode::FormPost, ..provider() };
        let metadata =
            br#"{"issuer":"https://acme.example","authorization_endpoint":"https://acme.example/a?tenant=1",
            "token_endpoint":"https://acme.example/t","jwks_uri":"https://acme.example/k"}"#;
        let metadata = Metadata::parse(metadata, &own.issuer).unwrap();
        let drawn = Drawn::draw(&SeededRandom::new(1));
        let request = AuthenticationRequest {
            provider: &own,
            metadata: &metadata,
            redirect_uri: "https://us.example/login/callback/acme",
            state: "sealed",
            drawn: &drawn,
            login_hint: Some("ann@acme.example"),
            prompts_login: true,
        };
        let url = request.url();
        let query: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        for (name, value) in [
            ("tenant", "1"),
            ("response_type", "code"),
            ("client_id", "us"),
            ("redirect_uri", "https://us.example/login/callback/acme"),
            ("scope", "openid email"),
            ("state", "sealed"),
            ("nonce", drawn.nonce.as_str()),
            ("code_challenge", &drawn.challenge()),
            ("code_challenge_method", "S256"),
            ("response_mode", "form_post"),
            ("login_hint", "ann@acme.example"),
            ("prompt", "login"),
        ] {
            assert_eq!(query.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert!(!url.as_str().contains(drawn.verifier.expose()));
        assert_eq!(drawn.challenge().len(), 43);
    }

    #[test]
    fn an_answer_that_names_another_issuer_is_not_this_ones() {
        let own = provider();
        for (sends, iss, expected) in [
            (false, None, true),
            (true, None, false),
            (true, Some("https://acme.example"), true),
            (false, Some("https://acme.example"), true),
            (false, Some("https://evil.example"), false),
            (true, Some("https://acme.example/"), false),
        ] {
            assert_eq!(is_from(&own, sends, iss), expected, "{sends} {iss:?}");
        }
    }
}
