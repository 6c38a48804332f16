//! One call of the admin API: its issuer, path and query parameters, and body.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, InvalidId, IssuerId, UserId};
use symbolon_protocol::logo::{Logo, LogoFault, LogoType};
use symbolon_protocol::params::Params;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use crate::error::AdminError;
use crate::fields::Fields;
use crate::unique_members::UniqueMembers;
use symbolon_app::app::App;
use symbolon_app::audit::{Actor, AuditEntry, ChangedFields, Written};
use symbolon_app::http::{BodyLimits, json, no_store, read_body};
use symbolon_app::issuer::IssuerState;
use symbolon_app::rate_limit::BodyInFlight;
use symbolon_telemetry::RequestId;

/// The longest body that is not a stream, in bytes.
pub(super) const MAX_BODY: usize = 1 << 20;

/// How long a change waits for its audit record.
const AUDITED_WITHIN: Duration = Duration::from_secs(10);

/// The facts about a call that handlers need, apart from its body.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) app: Arc<App>,
    /// The issuer that the call is for.
    pub(super) issuer: Arc<IssuerState>,
    pub(super) path: Vec<(String, String)>,
    pub(super) query: String,
    pub(super) remote: Option<IpAddr>,
    pub(super) request_id: Option<RequestId>,
    /// The audit records of the call's changes, which may not be written yet.
    pub(super) records: Records,
}

/// Audit records that may not be written yet.
pub(super) type Records = Arc<Mutex<Vec<Written>>>;

/// The user and client that an audited change concerns.
#[derive(Default)]
pub(super) struct Concerns<'a> {
    pub(super) user: Option<&'a UserId>,
    pub(super) client: Option<&'a ClientId>,
    /// Further details; nothing secret.
    pub(super) detail: Value,
}

impl Call {
    /// The issuer's id.
    pub(super) fn id(&self) -> &IssuerId {
        &self.issuer.id
    }

    /// The current time.
    pub(super) fn now(&self) -> Timestamp {
        self.app.now()
    }

    /// A path parameter, parsed as an id. A malformed id gives 404, because no record can have it.
    pub(super) fn path<T: std::str::FromStr<Err = InvalidId>>(&self, name: &str) -> Result<T, AdminError> {
        let found = self.path.iter().find(|(own, _)| own == name);
        let text = found.map_or("", |(_, value)| value.as_str());
        text.parse().map_err(|_| AdminError::not_found("there is nothing of this id"))
    }

    /// A query parameter; an empty value counts as absent.
    pub(super) fn query<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, AdminError> {
        let params = Params::parse(self.query.as_bytes())?;
        match params.get(name)?.filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(AdminError::invalid(format!("{name} is not valid"))),
            },
        }
    }

    /// Records a change in the audit log, with the members that changed. The call is answered only when the record is
    /// durable.
    pub(super) fn audit(&self, event: Event, concerns: Concerns<'_>, changed: ChangedFields) {
        let entry = self.entry(event, concerns, changed);
        let record = self.app.audit.record_awaited(self.id(), entry, self.now());
        self.records.lock().extend(record);
    }

    /// Waits until the call's audit records are durable, so that an acknowledged change is in the audit log even
    /// after a crash.
    ///
    /// # Errors
    /// 503: the change is made, but its record may be missing.
    pub(super) async fn audited(&self) -> Result<(), AdminError> {
        audited(&self.records).await
    }

    fn entry(&self, event: Event, concerns: Concerns<'_>, changed: ChangedFields) -> AuditEntry {
        AuditEntry {
            event,
            user: concerns.user.cloned(),
            client: concerns.client.cloned(),
            actor: Actor::Admin,
            address: Some(self.remote.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))),
            request: self.request_id.clone(),
            detail: changed.onto(concerns.detail),
        }
    }
}

/// Why a change is not acknowledged that was made.
pub(super) const NOT_RECORDED: &str = "the change was made, but its audit record is not in the store yet";

/// Waits until these audit records are durable, and takes them.
///
/// # Errors
/// 503: the changes are made, but a record may be missing.
pub(super) async fn audited(records: &Records) -> Result<(), AdminError> {
    let records = std::mem::take(&mut *records.lock());
    let mut all_durable = true;
    for record in records {
        all_durable &= record.within(AUDITED_WITHIN).await;
    }
    if all_durable { Ok(()) } else { Err(StoreError::Unavailable(NOT_RECORDED.to_owned()).into()) }
}

/// A request body that has not been read.
pub(super) struct Payload {
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    /// The time within which the body must arrive, unless it is a stream.
    pub(super) within: Duration,
    /// Counts the body's bytes, unless it is a stream.
    pub(super) in_flight: BodyInFlight,
}

impl Payload {
    /// Reads a JSON object.
    ///
    /// # Errors
    /// 415 for another media type, 413 beyond [`MAX_BODY`], 400 that names line and column.
    pub(super) async fn object(mut self) -> Result<Map<String, Value>, AdminError> {
        self.expect("application/json", &["application/json"])?;
        let limits = BodyLimits { most: MAX_BODY, within: self.within };
        let bytes = read_body(self.body, limits, &mut self.in_flight).await?;
        parse_object(&bytes)
    }

    /// Reads a JSON object as [`Fields`].
    ///
    /// # Errors
    /// As [`object`](Self::object).
    pub(super) async fn fields(self) -> Result<Fields, AdminError> {
        self.object().await.map(Fields::new)
    }

    /// Like [`fields`](Self::fields), but an empty body counts as an empty object.
    ///
    /// # Errors
    /// As [`object`](Self::object).
    pub(super) async fn optional_fields(mut self) -> Result<Fields, AdminError> {
        let limits = BodyLimits { most: MAX_BODY, within: self.within };
        let bytes = read_body(self.body, limits, &mut self.in_flight).await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Fields::new(Map::new()));
        }
        Self { body: Body::from(bytes), ..self }.fields().await
    }

    /// Reads a logo.
    ///
    /// # Errors
    /// 415 for another media type, 413 for a large image, 400 for a body that is no image of the media type; each says what to
    /// do.
    pub(super) async fn logo(mut self) -> Result<Logo, AdminError> {
        const KINDS: &str = "an image/png, image/jpeg, image/webp or image/svg+xml";
        self.expect(KINDS, &LogoType::ALL.map(LogoType::media_type))?;
        let said = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let said = said.and_then(LogoType::of_media_type).ok_or_else(|| AdminError::media_type(KINDS))?;
        let limits = BodyLimits { most: MAX_BODY, within: self.within };
        let bytes = read_body(self.body, limits, &mut self.in_flight).await?;
        Logo::read(said, &bytes).map_err(|fault| match fault {
            LogoFault::TooLarge => AdminError::too_large(fault.to_string()),
            _ => AdminError::invalid(fault.to_string()),
        })
    }

    /// 415 if the media type is not in `accepted`.
    pub(super) fn expect(&self, wanted: &'static str, accepted: &[&str]) -> Result<(), AdminError> {
        let given =
            self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = given.split(';').next().unwrap_or_default().trim();
        if accepted.iter().any(|media_type| essence.eq_ignore_ascii_case(media_type)) {
            return Ok(());
        }
        Err(AdminError::media_type(wanted))
    }
}

/// Parses a JSON object whose members are unique; the error names line and column.
pub(super) fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, AdminError> {
    match serde_json::from_slice(bytes) {
        Ok(UniqueMembers(Value::Object(object))) => Ok(object),
        Ok(_) => Err(AdminError::invalid("the body must be a JSON object")),
        // Any JSON can be read, so an error of the data, and not of the syntax, is a repeated member.
        Err(error) if error.is_data() => Err(AdminError::invalid(format!("the body is ambiguous: {error}"))),
        Err(error) => Err(AdminError::invalid(format!("the body is not JSON: {error}"))),
    }
}

/// A JSON answer that is not cached, because it may contain personal data or a new secret.
pub(super) fn answer(status: StatusCode, body: &Value) -> Response {
    no_store(json(status, body.to_string()))
}

/// 200.
pub(super) fn ok(body: &Value) -> Response {
    answer(StatusCode::OK, body)
}

/// 201.
pub(super) fn created(body: &Value) -> Response {
    answer(StatusCode::CREATED, body)
}

/// 204, without a body.
pub(super) fn done() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    no_store(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn payload(media_type: &'static str, body: impl Into<Body>) -> Payload {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        let in_flight = BodyInFlight::unlimited();
        Payload { headers, body: body.into(), within: Duration::from_secs(1), in_flight }
    }

    async fn status(payload: Payload) -> StatusCode {
        use axum::response::IntoResponse;
        payload.object().await.map_or_else(|error| error.into_response().status(), |_| StatusCode::OK)
    }

    #[tokio::test]
    async fn bodies_are_json_objects_of_bounded_length() {
        assert_eq!(status(payload("application/json; charset=utf-8", "{}")).await, StatusCode::OK);
        assert_eq!(status(payload("text/json", "{}")).await, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(status(payload("application/json", "[]")).await, StatusCode::BAD_REQUEST);
        assert_eq!(status(payload("application/json", r#"{"a":1,"a":1}"#)).await, StatusCode::BAD_REQUEST);
        assert_eq!(status(payload("application/json", "")).await, StatusCode::BAD_REQUEST);
        assert_eq!(status(payload("application/json", "[".repeat(10_000))).await, StatusCode::BAD_REQUEST);
        let long = vec![b' '; MAX_BODY + 1];
        assert_eq!(status(payload("application/json", long)).await, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn no_body_is_an_empty_object_where_that_is_allowed() {
        let none = Payload { headers: HeaderMap::new(), ..payload("text/plain", "") };
        assert!(none.optional_fields().await.and_then(Fields::finish).is_ok());
        assert!(payload("text/plain", "{}").optional_fields().await.is_err());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_parsed_or_refused_by_line(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Err(error) = parse_object(&bytes) {
                prop_assert_eq!(error.told().0, "invalid_request");
            }
        }
    }
}
