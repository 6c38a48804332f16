//! The part of the port for devices that wait for a person's decision (RFC 8628).

use async_trait::async_trait;
use symbolon_crypto::random::Random;
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::device_authorization::{DeviceAuthorization, DeviceCode, DeviceDecision, UserCode};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;

use super::Redemption;
use crate::StoreError;

/// The two codes of what a device asks for.
#[derive(Clone, Debug)]
pub struct DeviceCodes {
    /// The device's.
    pub device: DeviceCode,
    /// The person's.
    pub user: UserCode,
}

/// What a device asks for, as it was found by its user code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDeviceAuthorization {
    /// What it asks for.
    pub asked: DeviceAuthorization,
    /// What was decided, once somebody has.
    pub decided: Option<Decided>,
}

/// Who decided, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Who.
    pub user: UserId,
    /// Whether the device was allowed what it asked for.
    pub is_allowed: bool,
}

impl From<&DeviceDecision> for Decided {
    fn from(decision: &DeviceDecision) -> Self {
        Self { user: decision.user().clone(), is_allowed: decision.is_allowed() }
    }
}

/// The result of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceDeciding {
    /// It is this one: no other caller decides.
    Decided,
    /// Somebody decided before, or the same person twice: nothing was changed.
    Before(Decided),
    /// There is no such code, or it has ended.
    Unknown,
}

/// The result of a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DevicePoll {
    /// Nobody has decided.
    Pending,
    /// Nobody has decided, and the device polled too early.
    SlowDown,
    /// It was allowed this, and may redeem its code.
    Allowed(Box<CodeGrant>),
    /// It has redeemed its code before: the tokens of this grant must be revoked.
    Used(Box<CodeGrant>),
    /// It was denied by this user.
    Denied(UserId),
    /// The code is another client's. Nothing was changed.
    OfOtherClient,
    /// There is no such code, or it has ended.
    Unknown,
}

/// What devices ask for, and what people decide. Kept in memory until its end, and 15 minutes more once it is redeemed: it may be lost in
/// a crash, and never reappears.
#[async_trait]
pub trait DeviceAuthorizations: Send + Sync {
    /// Keeps what a device asks for, and draws its codes. No two that are kept have the same user code.
    ///
    /// # Errors
    /// [`StoreError`]: the store is out of reach, or has no room for one more.
    async fn keep_device_authorization(
        &self,
        issuer: &IssuerId,
        asked: DeviceAuthorization,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<DeviceCodes, StoreError>;
    /// Finds what a device asks for by the code that a person typed; `None` once it has ended.
    async fn device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        now: Timestamp,
    ) -> Result<Option<KeptDeviceAuthorization>, StoreError>;
    /// Decides, once: exactly one caller is told that it has.
    async fn decide_device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        decision: DeviceDecision,
        now: Timestamp,
    ) -> Result<DeviceDeciding, StoreError>;
    /// Looks what became of what a device asks for, and notes that it polled
    /// ([`Polling`](symbolon_protocol::device_authorization::Polling)).
    async fn poll_device_authorization(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<DevicePoll, StoreError>;
    /// Redeems the code of a device that was allowed something, once. A used code is remembered until its end and 15 minutes
    /// more.
    async fn redeem_device_code(
        &self,
        issuer: &IssuerId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError>;
}
