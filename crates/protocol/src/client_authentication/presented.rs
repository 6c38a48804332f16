//! Reading credentials from a request.

use super::assertion::{Assertion, CLIENT_ASSERTION_TYPE};
use super::{AuthenticationFailed, basic, secret_digest};
use crate::client::TokenEndpointAuthMethod;
use crate::client_secret::SecretDigest;
use crate::id::ClientId;
use crate::params::Params;
use crate::refusal::{Details, Reason};

/// How a secret was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// In the `Authorization` header: `client_secret_basic`.
    Basic,
    /// In the form: `client_secret_post`.
    Post,
}

/// The credentials of a request, which uses exactly one method. Only the digest of a secret is kept.
pub enum PresentedCredentials<'a> {
    /// A client secret.
    Secret {
        /// The claimed client id.
        client_id: ClientId,
        /// The digest of the secret.
        digest: SecretDigest,
        /// The digest of the secret without form-decoding, if that differs.
        verbatim: Option<SecretDigest>,
        /// How it was sent.
        transport: Transport,
    },
    /// A signed assertion (RFC 7523 2.2).
    Assertion(Box<Assertion<'a>>),
    /// Only a `client_id`: a public client.
    Public {
        /// The claimed client id.
        client_id: ClientId,
    },
}

impl<'a> PresentedCredentials<'a> {
    /// Reads the credentials from the `Authorization` header and the form.
    ///
    /// # Errors
    /// `invalid_request` for more than one method (RFC 6749 2.3) and for contradicting parameters, `invalid_client`
    /// for missing or malformed credentials.
    pub fn read(authorization: Option<&[u8]>, form: &'a Params<'_>) -> Result<Self, AuthenticationFailed> {
        let sent = Sent::read(form)?;
        let methods = [authorization.is_some(), sent.secret.is_some(), sent.assertion.is_some()];
        // RFC 6749 2.3: the client MUST NOT use more than one authentication method in each request.
        if methods.into_iter().filter(|used| *used).count() > 1 {
            return Err(sent.named(AuthenticationFailed::invalid_request(
                Reason::ClientAuthenticatedTwice,
                "more than one client authentication method",
            )));
        }
        let presented = match (authorization, sent.secret, sent.assertion) {
            (Some(header), ..) => Self::from_header(header)?,
            (_, Some(secret), _) => {
                let (digest, verbatim) = (secret_digest(secret), None);
                Self::Secret { client_id: sent.client_id()?, digest, verbatim, transport: Transport::Post }
            }
            (_, _, Some(assertion)) => Self::Assertion(Box::new(Assertion::read(assertion)?)),
            _ => Self::Public { client_id: sent.client_id()? },
        };
        // RFC 7521 4.2, and by analogy for Basic: a client_id parameter must equal that of the credentials.
        match sent.client_id {
            Some(id) if id != presented.client_id().as_str() => Err(contradicting(id, presented.client_id())),
            _ => Ok(presented),
        }
    }

    fn from_header(header: &[u8]) -> Result<Self, AuthenticationFailed> {
        let basic::Credentials { client_id, digest, verbatim } = basic::read(header)
            .ok_or_else(|| AuthenticationFailed::invalid_client(Reason::ClientCredentialsMalformed, true))?;
        Ok(Self::Secret { client_id, digest, verbatim, transport: Transport::Basic })
    }

    /// The claimed client id, not authenticated yet: the client to load.
    pub fn client_id(&self) -> &ClientId {
        match self {
            Self::Secret { client_id, .. } | Self::Public { client_id } => client_id,
            Self::Assertion(assertion) => assertion.client_id(),
        }
    }

    pub(super) fn is_basic(&self) -> bool {
        matches!(self, Self::Secret { transport: Transport::Basic, .. })
    }

    /// The method that the request uses.
    pub(super) fn method(&self) -> TokenEndpointAuthMethod {
        match self {
            Self::Secret { transport: Transport::Basic, .. } => TokenEndpointAuthMethod::ClientSecretBasic,
            Self::Secret { transport: Transport::Post, .. } => TokenEndpointAuthMethod::ClientSecretPost,
            Self::Assertion(_) => TokenEndpointAuthMethod::PrivateKeyJwt,
            Self::Public { .. } => TokenEndpointAuthMethod::None,
        }
    }
}

fn contradicting(sent: &str, credentials: &ClientId) -> AuthenticationFailed {
    let details = Details::of("client_id").sent(sent).expected([credentials.as_str()]).client(credentials);
    AuthenticationFailed::invalid_request(
        Reason::ClientIdContradicts,
        "client_id is not the authenticated client",
    )
    .about(details)
}

/// The parameters for client authentication.
struct Sent<'a> {
    client_id: Option<&'a str>,
    secret: Option<&'a str>,
    assertion: Option<&'a str>,
}

impl<'a> Sent<'a> {
    fn read(form: &'a Params<'_>) -> Result<Self, AuthenticationFailed> {
        let assertion = form.get("client_assertion")?;
        // RFC 7521 4.2 requires the type; RFC 7523 2.2 defines the only one for JWTs.
        match (assertion, form.get("client_assertion_type")?) {
            (None, None) | (Some(_), Some(CLIENT_ASSERTION_TYPE)) => {}
            (None, Some(_)) => {
                return Err(AuthenticationFailed::invalid_request(
                    Reason::AssertionTypeWrong,
                    "client_assertion is missing",
                )
                .about(Details::of("client_assertion")));
            }
            (Some(_), kind) => {
                let details = Details::of("client_assertion_type").sent(kind.unwrap_or_default());
                return Err(AuthenticationFailed::invalid_request(
                    Reason::AssertionTypeWrong,
                    "client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                )
                .about(details.expected([CLIENT_ASSERTION_TYPE])));
            }
        }
        Ok(Self { client_id: form.get("client_id")?, secret: form.get("client_secret")?, assertion })
    }

    /// RFC 6749 5.2: missing client authentication is `invalid_client`; a malformed id is treated as unknown.
    fn client_id(&self) -> Result<ClientId, AuthenticationFailed> {
        self.client_id
            .and_then(|id| ClientId::parse(id).ok())
            .ok_or_else(|| AuthenticationFailed::invalid_client(Reason::ClientNotNamed, false))
    }

    /// Names the client of the parameter `client_id` in an error, if there is one.
    fn named(&self, failed: AuthenticationFailed) -> AuthenticationFailed {
        match self.client_id.and_then(|id| ClientId::parse(id).ok()) {
            Some(id) => failed.naming(&id),
            None => failed,
        }
    }
}
