//! Client-initiated backchannel authentication (CIBA Core 1.0): a client names a person, and the person decides elsewhere. The
//! client polls, or is told when to ask. How often it may ask is in [`decision`](crate::decision), its token request in
//! [`token::ciba`](crate::token::ciba).

mod auth_req_id;
mod binding_message;
mod metadata;
mod notification;
pub mod request;
pub mod signed_request;

pub use auth_req_id::{AuthReqId, AuthReqIdParts, BackchannelRequestId};
pub use metadata::{DeliveryMode, Metadata};
pub use notification::{Notification, delivery_id};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::authorization_details::AuthorizationDetails;
use crate::code::{CodeGrant, NO_SESSION};
use crate::decision::{INTERVAL, Undecided};
use crate::grant::GrantId;
use crate::id::{ClientId, IssuerId, Sid, UserId};
use crate::scope::Scope;
use crate::session::{Amr, Session};
use crate::sign_in::acr::RequestedAcr;
use crate::time::Timestamp;
use symbolon_crypto::random::Random;

/// How long a person has to decide where the client says nothing else (`expires_in`, CIBA Core 7.3).
pub const LIFETIME: Duration = Duration::from_secs(300);

/// The longest time that a client may ask for (`requested_expiry`, CIBA Core 7.1).
pub const LONGEST_LIFETIME: Duration = Duration::from_secs(900);

/// How many requests of one client may wait for one person at a time.
pub const MOST_WAITING: usize = 10;

/// How many waiting requests a person is shown, those that end first before others.
pub const MOST_SHOWN: usize = 50;

/// What a client asks a person for, until somebody decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackchannelAuthentication {
    /// The client that asks.
    pub client: ClientId,
    /// Who is to decide.
    pub user: UserId,
    /// The scope, with `openid` in it.
    pub scope: Scope,
    /// The resources that tokens may be for (RFC 8707 2.1); empty if none were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The authorization details (RFC 9396).
    #[serde(default, skip_serializing_if = "AuthorizationDetails::is_empty")]
    pub authorization_details: AuthorizationDetails,
    /// The classes of authentication that are asked for.
    #[serde(default, skip_serializing_if = "RequestedAcr::is_empty")]
    pub acr: RequestedAcr,
    /// What the client shows the person too, so that they know which request they allow (CIBA Core 7.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_message: Option<String>,
    /// What the client is to be told once somebody has decided, sealed; `None` for one that polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<String>,
    /// When the client asked.
    pub asked_at: Timestamp,
    /// When the request ends.
    pub expires_at: Timestamp,
}

impl BackchannelAuthentication {
    /// The bytes of its texts, for bounds of memory.
    pub fn text_bytes(&self) -> usize {
        let details = &self.authorization_details;
        let details = if details.is_empty() { 0 } else { details.as_json().len() };
        let resources: usize = self.resources.iter().map(String::len).sum();
        let once = self.binding_message.as_ref().map_or(0, String::len)
            + self.notification.as_ref().map_or(0, String::len);
        // The grant that a decision makes has the others a second time.
        2 * (self.scope.as_str().len() + details + resources) + once
    }
}

impl Undecided for BackchannelAuthentication {
    fn client(&self) -> &ClientId {
        &self.client
    }

    fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

/// What the person allows in a session: a new grant, with the sign-in of that session.
pub fn allowed(
    asked: &BackchannelAuthentication,
    issuer: &IssuerId,
    session: &Session,
    now: Timestamp,
    random: &dyn Random,
) -> CodeGrant {
    CodeGrant {
        sid: session.sid.clone(),
        auth_time: session.auth_time,
        amr: session.amr,
        session_expires_at: session.expires_at,
        acr: asked.acr.satisfied_by(session.amr),
        ..allowed_by_administrator(asked, issuer, session.expires_at, now, random)
    }
}

/// What an administrator allows for the person, who proved nothing here: a new grant in no session, with the time of the decision as its
/// `auth_time`, and without `amr` and `acr`. It ends like a session that begins now, unless `offline_access` is granted: `ends`.
pub fn allowed_by_administrator(
    asked: &BackchannelAuthentication,
    issuer: &IssuerId,
    ends: Timestamp,
    now: Timestamp,
    random: &dyn Random,
) -> CodeGrant {
    CodeGrant {
        grant: GrantId::draw(issuer, asked.user.as_str(), now, random),
        client: asked.client.clone(),
        user: asked.user.clone(),
        sid: Sid::trusted(NO_SESSION),
        redirect_uri: String::new(),
        scope: asked.scope.clone(),
        nonce: None,
        code_challenge: None,
        auth_time: now,
        amr: Amr::default(),
        session_expires_at: ends,
        expires_at: asked.expires_at,
        resources: asked.resources.clone(),
        acr: None,
        dpop_jkt: None,
        authorization_details: asked.authorization_details.clone(),
    }
}

/// The answer of the backchannel authentication endpoint (CIBA Core 7.3), as JSON.
pub fn answer(id: &AuthReqId, asked: &BackchannelAuthentication) -> Vec<u8> {
    let answer = serde_json::json!({
        "auth_req_id": id.expose(),
        "expires_in": asked.expires_at.since(asked.asked_at).as_secs(),
        "interval": INTERVAL.as_secs(),
    });
    answer.to_string().into_bytes()
}

#[cfg(test)]
mod tests;
