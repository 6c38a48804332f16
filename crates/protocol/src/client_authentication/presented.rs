//! Reading credentials from a request.

use symbolon_crypto::jws::Compact;

use super::assertion::{Assertion, CLIENT_ASSERTION_TYPE, malformed};
use super::{AuthenticationFailed, basic, secret_digest};
use crate::assertion_claims::Claims;
use crate::client::TokenEndpointAuthMethod;
use crate::client_secret::SecretDigest;
use crate::id::ClientId;
use crate::params::Params;
use crate::refusal::{Details, Reason};
use crate::trusted_issuer::IssuedAssertion;

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
    /// An assertion that the client signed (RFC 7523 2.2).
    Assertion(Box<Assertion<'a>>),
    /// An assertion that another issuer signed (RFC 7521 6.1, RFC 7523 2.2).
    Issued {
        /// The client id that the request names beside it.
        client_id: ClientId,
        /// The assertion.
        assertion: Box<IssuedAssertion<'a>>,
    },
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
            (_, _, Some(assertion)) => read_assertion(assertion, sent.client_id)?,
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
            Self::Secret { client_id, .. } | Self::Public { client_id } | Self::Issued { client_id, .. } => {
                client_id
            }
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
            Self::Assertion(_) | Self::Issued { .. } => TokenEndpointAuthMethod::PrivateKeyJwt,
            Self::Public { .. } => TokenEndpointAuthMethod::None,
        }
    }
}

/// Reads an assertion, to know whose it is and which client to load. `named`: the request's `client_id`.
pub(super) fn read_assertion<'a>(
    text: &'a str,
    named: Option<&str>,
) -> Result<PresentedCredentials<'a>, AuthenticationFailed> {
    let token = Compact::parse(text).map_err(|_| malformed())?;
    let payload = token.payload().map_err(|_| malformed())?;
    let claims: Claims = serde_json::from_slice(&payload).map_err(|_| malformed())?;
    let is_own = claims.iss == claims.sub || named == Some(claims.iss.as_str());
    match named.filter(|_| !is_own) {
        // RFC 7521 4.2: client_id is unnecessary where the subject is the client. The subject of another issuer is not, so that the
        // request names the client.
        Some(named) => {
            let client_id = ClientId::parse(named).map_err(|_| not_named())?;
            let assertion = IssuedAssertion::of(token, claims, &payload).ok_or_else(malformed)?;
            Ok(PresentedCredentials::Issued { client_id, assertion: Box::new(assertion) })
        }
        // Most likely such an assertion whose client was left out: issuers are URLs.
        None if !is_own && claims.iss.contains("://") => Err(not_named()),
        // RFC 7523 3, items 1 and 2: a client's own has it as issuer and subject.
        None => Ok(PresentedCredentials::Assertion(Box::new(Assertion::of_client(token, claims)?))),
    }
}

fn not_named() -> AuthenticationFailed {
    AuthenticationFailed::invalid_client(Reason::ClientNotNamed, false)
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
        self.client_id.and_then(|id| ClientId::parse(id).ok()).ok_or_else(not_named)
    }

    /// Names the client of the parameter `client_id` in an error, if there is one.
    fn named(&self, failed: AuthenticationFailed) -> AuthenticationFailed {
        match self.client_id.and_then(|id| ClientId::parse(id).ok()) {
            Some(id) => failed.naming(&id),
            None => failed,
        }
    }
}
