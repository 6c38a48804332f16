//! Errors of OAuth and OpenID Connect: the code that an RFC defines, and a description for the client.

use std::borrow::Cow;
use std::fmt;

use crate::id::UserId;
use crate::refusal::{Details, Reason, Refusal};

/// An error code of the `error` parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the registered code of the same name")]
pub enum ErrorCode {
    // RFC 6749 4.1.2.1 and 5.2
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    UnauthorizedClient,
    UnsupportedGrantType,
    UnsupportedResponseType,
    InvalidScope,
    AccessDenied,
    ServerError,
    TemporarilyUnavailable,
    // RFC 6750 3.1
    InvalidToken,
    InsufficientScope,
    // RFC 8693 2.2.2
    InvalidTarget,
    // RFC 9396 5
    InvalidAuthorizationDetails,
    // RFC 8628 3.5
    AuthorizationPending,
    SlowDown,
    ExpiredToken,
    // CIBA Core 13
    UnknownUserId,
    InvalidBindingMessage,
    // RFC 9449 5, 8
    InvalidDpopProof,
    UseDpopNonce,
    // RFC 7009 2.2.1
    UnsupportedTokenType,
    // OpenID Connect Core 3.1.2.6
    LoginRequired,
    ConsentRequired,
    InteractionRequired,
    AccountSelectionRequired,
    // OpenID Connect Core Error Code unmet_authentication_requirements 1.0
    UnmetAuthenticationRequirements,
    RequestNotSupported,
    RequestUriNotSupported,
    RegistrationNotSupported,
    InvalidRequestObject,
    InvalidRequestUri,
    // RFC 7591 3.2.2
    InvalidRedirectUri,
    InvalidClientMetadata,
    InvalidSoftwareStatement,
    UnapprovedSoftwareStatement,
}

impl ErrorCode {
    /// The code as it is sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::AccessDenied => "access_denied",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::InvalidTarget => "invalid_target",
            Self::InvalidAuthorizationDetails => "invalid_authorization_details",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::UnknownUserId => "unknown_user_id",
            Self::InvalidBindingMessage => "invalid_binding_message",
            Self::InvalidDpopProof => "invalid_dpop_proof",
            Self::UseDpopNonce => "use_dpop_nonce",
            Self::UnsupportedTokenType => "unsupported_token_type",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::InteractionRequired => "interaction_required",
            Self::AccountSelectionRequired => "account_selection_required",
            Self::UnmetAuthenticationRequirements => "unmet_authentication_requirements",
            Self::RequestNotSupported => "request_not_supported",
            Self::RequestUriNotSupported => "request_uri_not_supported",
            Self::RegistrationNotSupported => "registration_not_supported",
            Self::InvalidRequestObject => "invalid_request_object",
            Self::InvalidRequestUri => "invalid_request_uri",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::InvalidSoftwareStatement => "invalid_software_statement",
            Self::UnapprovedSoftwareStatement => "unapproved_software_statement",
        }
    }

    /// The HTTP status if the error is not sent by redirect.
    pub const fn status(self) -> u16 {
        match self {
            // RFC 6749 5.2 for clients, RFC 6750 3.1 for bearer tokens.
            Self::InvalidClient | Self::InvalidToken => 401,
            Self::InsufficientScope => 403,
            Self::ServerError => 500,
            Self::TemporarilyUnavailable => 503,
            _ => 400,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error as sent to the client, with the reason of the refusal, which is not sent. Internal details are logged
/// instead, and never put into the description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {description}")]
pub struct OAuthError {
    /// The code.
    pub code: ErrorCode,
    /// For the developer of the client: RFC 6749 5.2 allows %x20-21 / %x23-5B / %x5D-7E.
    pub description: Cow<'static, str>,
    /// Why the request was refused, for the operator. Every constructor demands one.
    pub reason: Reason,
    /// The values that explain the reason, for the operator.
    pub details: Option<Box<Details>>,
}

impl OAuthError {
    /// An error with a fixed description.
    pub const fn new(code: ErrorCode, reason: Reason, description: &'static str) -> Self {
        Self { code, description: Cow::Borrowed(description), reason, details: None }
    }

    /// An error whose description contains input; characters that RFC 6749 5.2 forbids are replaced.
    pub fn with(code: ErrorCode, reason: Reason, description: String) -> Self {
        let allowed = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
        let description =
            description.chars().map(|c| if allowed(c) { c } else { '?' }).take(300).collect::<String>();
        Self { code, description: Cow::Owned(description), reason, details: None }
    }

    /// `invalid_request`.
    pub const fn invalid_request(reason: Reason, description: &'static str) -> Self {
        Self::new(ErrorCode::InvalidRequest, reason, description)
    }

    /// `invalid_grant`.
    pub const fn invalid_grant(reason: Reason, description: &'static str) -> Self {
        Self::new(ErrorCode::InvalidGrant, reason, description)
    }

    /// `invalid_client`, with one description for all reasons, so that it does not reveal which client ids exist.
    pub const fn invalid_client(reason: Reason) -> Self {
        Self::new(ErrorCode::InvalidClient, reason, "client authentication failed")
    }

    /// The same error for the client, with another reason and its values for the operator.
    #[must_use]
    pub fn because(self, refusal: Refusal) -> Self {
        let Refusal { reason, details } = refusal;
        Self { reason, details, ..self }
    }

    /// The same error with the values that explain the reason, in place of those it had.
    #[must_use]
    pub fn about(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Names the user that the request was about, for the operator.
    #[must_use]
    pub fn of_user(mut self, user: &UserId) -> Self {
        let details = self.details.take().map(|details| *details).unwrap_or_default();
        self.details = Some(Box::new(details.user(user)));
        self
    }

    /// What the operator is told, taken out of the error: what the client is told is all that is left.
    pub fn take_refusal(&mut self) -> Refusal {
        Refusal { reason: self.reason, details: self.details.take() }
    }

    /// What the client is told.
    pub fn told(&self) -> (ErrorCode, &str) {
        (self.code, &self.description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6749 4.1.2.1 and 5.2, RFC 6750 3: %x20-21 / %x23-5B / %x5D-7E. So a challenge cannot be broken up either.
    #[test]
    fn a_description_has_only_characters_of_rfc_6749() {
        let told = |text: &str| {
            OAuthError::with(ErrorCode::InvalidScope, Reason::ScopeMalformed, text.to_owned()).description
        };
        assert_eq!(told("a\"b\\c\u{7f}\0\r\n\u{e9}\u{1f980}~ !"), "a?b?c??????~ !");
        assert_eq!(told(&"x".repeat(10_000)).len(), 300);
        let refused = |c: char| !matches!(c, ' '..='!' | '#'..='[' | ']'..='~');
        for c in '\0'..='\u{2ff}' {
            assert!(!told(&format!("<{c}>")).contains(refused), "{c:?}");
        }
    }
}
