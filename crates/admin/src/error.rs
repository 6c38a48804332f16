//! Errors of the admin API as JSON: `{"error","error_description"}`, each with a fitting status.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::unknown_member::UnknownMember;
use symbolon_store::StoreError;
use symbolon_store::backup::BackupError;
use symbolon_store::transfer::FreezeError;

use super::call::NOT_RECORDED;
use symbolon_app::http::{Failure, json, no_store};
use symbolon_app::issuer::IssuerError;
use symbolon_telemetry::RequestFacts;

/// Why a call of the admin API fails.
#[derive(Debug)]
pub(super) enum AdminError {
    /// The request cannot be carried out; the description says why.
    Refused { status: StatusCode, code: &'static str, description: Cow<'static, str> },
    /// 409: something of a user is another's, or the user is there already.
    Taken { what: Taken, description: Cow<'static, str> },
    /// A failure that all endpoints map alike: too large, too many requests, unavailable, internal.
    Failure(Failure),
}

/// What of a user is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Id,
    Email,
    Attribute,
}

impl Taken {
    /// The member `taken` of an answer.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Email => "email",
            Self::Attribute => "attribute",
        }
    }
}

/// The result of a handler.
pub(super) type Answer = Result<Response, AdminError>;

impl AdminError {
    fn refused(status: StatusCode, code: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Self::Refused { status, code, description: description.into() }
    }

    /// 400: the request is malformed; `description` names the member or line.
    pub(super) fn invalid(description: impl Into<Cow<'static, str>>) -> Self {
        Self::refused(StatusCode::BAD_REQUEST, "invalid_request", description)
    }

    /// 401 (RFC 6750 3.1).
    pub(super) fn unauthenticated() -> Self {
        Self::refused(
            StatusCode::UNAUTHORIZED,
            "invalid_token",
            "the admin secret is needed as a bearer token",
        )
    }

    /// 403: the feature is switched off.
    pub(super) fn access_denied(description: &'static str) -> Self {
        Self::refused(StatusCode::FORBIDDEN, "access_denied", description)
    }

    /// 404: there is no such record.
    pub(super) fn not_found(description: impl Into<Cow<'static, str>>) -> Self {
        Self::refused(StatusCode::NOT_FOUND, "not_found", description)
    }

    /// 405.
    pub(super) fn method_not_allowed() -> Self {
        Self::refused(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this path does not take the method")
    }

    /// 409: another record has the same id or address.
    pub(super) fn conflict(description: impl Into<Cow<'static, str>>) -> Self {
        Self::refused(StatusCode::CONFLICT, "conflict", description)
    }

    /// 409: something of a user is taken.
    pub(super) fn taken(what: Taken, description: impl Into<Cow<'static, str>>) -> Self {
        Self::Taken { what, description: description.into() }
    }

    /// 413: the body is larger than what it is may be.
    pub(super) fn too_large(description: impl Into<Cow<'static, str>>) -> Self {
        Self::refused(StatusCode::PAYLOAD_TOO_LARGE, "invalid_request", description)
    }

    /// 415.
    pub(super) fn media_type(wanted: &'static str) -> Self {
        Self::refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "invalid_request",
            format!("the body must be {wanted}"),
        )
    }

    /// 503: the change was made, and must not be tried again; its audit record is not in the store yet.
    pub(super) fn not_recorded() -> Self {
        Self::refused(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", NOT_RECORDED)
    }

    /// 503: what is asked about is not in the audit log yet.
    pub(super) fn not_written_yet() -> Self {
        Self::refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "temporarily_unavailable",
            "the latest refused requests are not in the audit log yet, because the store is slow: ask again in a moment",
        )
    }

    /// 500: a fault of the server; the reason is logged and not sent to the caller.
    pub(super) fn internal(reason: impl std::fmt::Display) -> Self {
        Self::Failure(Failure::Internal(reason.to_string()))
    }

    /// The same error for another line of a batch. Only the first one carries the reason, which is logged once.
    pub(super) fn again(&self) -> Self {
        let (code, description) = self.told();
        Self::Refused { status: StatusCode::INTERNAL_SERVER_ERROR, code, description }
    }

    /// The code and description for a line of a bulk answer.
    pub(super) fn told(&self) -> (&'static str, Cow<'static, str>) {
        match self {
            Self::Refused { code, description, .. } => (code, description.clone()),
            Self::Taken { description, .. } => ("conflict", description.clone()),
            Self::Failure(Failure::OAuth(error)) => (error.code.as_str(), error.description.clone()),
            Self::Failure(Failure::Unavailable { .. } | Failure::TooMany { .. }) => {
                ("temporarily_unavailable", Cow::Borrowed("try again in a moment"))
            }
            Self::Failure(_) => ("server_error", Cow::Borrowed("something went wrong on our side")),
        }
    }
}

impl AdminError {
    /// The error as JSON.
    pub(super) fn document(&self) -> serde_json::Value {
        let (code, description) = self.told();
        let mut document = json!({ "error": code, "error_description": description });
        if let (Self::Taken { what, .. }, Some(members)) = (self, document.as_object_mut()) {
            members.insert("taken".to_owned(), what.as_str().into());
        }
        document
    }
}

impl From<OAuthError> for AdminError {
    fn from(error: OAuthError) -> Self {
        let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::BAD_REQUEST);
        Self::Refused { status, code: error.code.as_str(), description: error.description }
    }
}

impl From<UnknownMember> for AdminError {
    fn from(unknown: UnknownMember) -> Self {
        Self::invalid(unknown.to_string())
    }
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        Self::Failure(error.into())
    }
}

impl From<BackupError> for AdminError {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Target(why) => Self::invalid(why),
            BackupError::Store(error) => error.into(),
        }
    }
}

impl From<FreezeError> for AdminError {
    fn from(error: FreezeError) -> Self {
        match error {
            FreezeError::OutOfOrder { .. } => Self::conflict(error.to_string()),
            FreezeError::Store(error) => error.into(),
        }
    }
}

impl From<IssuerError> for AdminError {
    fn from(error: IssuerError) -> Self {
        match error {
            IssuerError::Store(error) => error.into(),
            other => Self::internal(other),
        }
    }
}

impl From<Failure> for AdminError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        let body = self.document().to_string();
        let (status, code) = match self {
            Self::Failure(failure) => return failure.into_json(),
            Self::Refused { status, code, .. } => (status, code),
            Self::Taken { .. } => (StatusCode::CONFLICT, "conflict"),
        };
        let mut response = no_store(json(status, body));
        if status == StatusCode::UNAUTHORIZED {
            // RFC 6750 3: a 401 names the authentication scheme.
            let challenge =
                HeaderValue::from_static("Bearer realm=\"symbolon admin\", error=\"invalid_token\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        RequestFacts::new().oauth_error(code).note();
        response
    }
}
