//! Why a request was refused, for the operator: never sent to whoever made the request (decision 013).
//!
//! An error of a rule carries its [`Reason`] and, where that helps, [`Details`]: what was sent beside what is
//! registered. They reach the request log and the audit log, and the admin API explains them.

mod area;
mod details;
mod reason;
mod typed_name;
mod uri_difference;

pub use area::Area;
pub use details::Details;
pub use reason::Reason;
pub use typed_name::shown_login_name;
pub(crate) use uri_difference::closest;

use serde_json::{Map, Value};

use crate::id::{ClientId, UserId};

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// What was sent, and what was expected. Boxed, because most requests are not refused.
    pub details: Option<Box<Details>>,
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self { reason, details: None }
    }
}

impl Refusal {
    /// A refusal with details.
    pub fn about(reason: Reason, details: Details) -> Self {
        Self { reason, details: Some(Box::new(details)) }
    }

    /// Names the client that the request is from, unless one is named already.
    #[must_use]
    pub fn naming(self, client: &ClientId) -> Self {
        let details = self.details.map(|details| *details).unwrap_or_default();
        Self::about(self.reason, details.client(client))
    }

    /// The client that the request named, registered or not.
    pub fn client(&self) -> Option<&ClientId> {
        self.details.as_deref()?.client.as_ref()
    }

    /// The user that the request was about.
    pub fn user(&self) -> Option<&UserId> {
        self.details.as_deref()?.user.as_ref()
    }

    /// The members that an audit record's detail has, besides client and user.
    pub fn to_members(&self) -> Map<String, Value> {
        let details = self.details.as_deref().and_then(|details| serde_json::to_value(details).ok());
        let mut members = match details {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        members.insert("reason".to_owned(), self.reason.name().into());
        members
    }

    /// Reads [`to_members`](Self::to_members) back; `None` for a detail without a reason that this program knows.
    pub fn of_members(detail: &Value) -> Option<Self> {
        let reason = Reason::parse(detail.get("reason")?.as_str()?)?;
        let details: Details = serde_json::from_value(detail.clone()).ok()?;
        Some(Self { reason, details: (details != Details::default()).then(|| Box::new(details)) })
    }

    /// Cause and details in words: what went wrong, with the values of this request.
    pub fn explanation(&self) -> String {
        let cause = self.reason.cause();
        match self.details.as_deref().and_then(Details::sentence) {
            Some(sentence) => format!("{cause} {sentence}"),
            None => cause.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
