//! The part of the port for requests that wait for the decision of a person whom the client named (CIBA Core 1.0).

use async_trait::async_trait;
use symbolon_protocol::backchannel_authentication::{
    AuthReqId, BackchannelAuthentication, BackchannelRequestId,
};
use symbolon_protocol::decision::Decision;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;

use super::{Decided, Deciding, Polled, Redemption};
use crate::StoreError;

/// A request as it was found by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBackchannelAuthentication {
    /// Its id.
    pub id: BackchannelRequestId,
    /// What the client asks for.
    pub asked: BackchannelAuthentication,
    /// What was decided, once somebody has.
    pub decided: Option<Decided>,
}

/// What clients ask people for, and what is decided. Kept in memory until its end, and 15 minutes more once it is redeemed: it may be
/// lost in a crash, and never reappears.
#[async_trait]
pub trait BackchannelAuthentications: Send + Sync {
    /// Keeps what a client asks a person for, under an `auth_req_id` that was drawn for that person. False, and nothing is kept, if as
    /// many requests of the client wait for the person already as [may](symbolon_protocol::backchannel_authentication::MOST_WAITING).
    ///
    /// # Errors
    /// [`StoreError`]: the store is out of reach, or has no room for one more.
    async fn keep_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &AuthReqId,
        asked: BackchannelAuthentication,
    ) -> Result<bool, StoreError>;
    /// Finds a request; `None` once it has ended.
    async fn backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &BackchannelRequestId,
        now: Timestamp,
    ) -> Result<Option<KeptBackchannelAuthentication>, StoreError>;
    /// The requests that wait for a person's decision, those that end first before others; at most
    /// [`MOST_SHOWN`](symbolon_protocol::backchannel_authentication::MOST_SHOWN).
    async fn waiting_backchannel_authentications(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<KeptBackchannelAuthentication>, StoreError>;
    /// Decides, once: exactly one caller is told that it has. A decision for another user than the request's finds none.
    async fn decide_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &BackchannelRequestId,
        decision: Decision,
        now: Timestamp,
    ) -> Result<Deciding, StoreError>;
    /// Looks what became of a request, and notes that its client polled ([`Polling`](symbolon_protocol::decision::Polling)).
    async fn poll_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        id: &AuthReqId,
        now: Timestamp,
    ) -> Result<Polled, StoreError>;
    /// Redeems the `auth_req_id` of a request that was allowed, once. A used one is remembered until its end and 15 minutes more.
    async fn redeem_auth_req_id(
        &self,
        issuer: &IssuerId,
        id: &AuthReqId,
        now: Timestamp,
    ) -> Result<Redemption, StoreError>;
}
