//! The part of the port for devices that wait for a person's decision (RFC 8628).

use async_trait::async_trait;
use symbolon_crypto::random::Random;
use symbolon_protocol::decision::Decision;
use symbolon_protocol::device_authorization::{DeviceAuthorization, DeviceCode, UserCode};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;

use super::{Decided, Deciding, Polled, Redemption};
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
        decision: Decision,
        now: Timestamp,
    ) -> Result<Deciding, StoreError>;
    /// Looks what became of what a device asks for, and notes that it polled
    /// ([`Polling`](symbolon_protocol::decision::Polling)).
    async fn poll_device_authorization(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Polled, StoreError>;
    /// Redeems the code of a device that was allowed something, once. A used code is remembered until its end and 15 minutes
    /// more.
    async fn redeem_device_code(
        &self,
        issuer: &IssuerId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError>;
}
