//! Limits of what one address has at once: connections, or requests if they come through a trusted proxy.

use std::hash::BuildHasher;
use std::net::IpAddr;

use super::in_flight::InFlightGuard;
use super::{Limited, RateLimits, network};

/// The retry time is a guess: it is not known when a connection of the address ends, and within a second some may.
const LIMITED: Limited = Limited { retry_after_seconds: 1 };

impl RateLimits {
    /// Counts a connection of an address. It counts until the returned value is dropped.
    ///
    /// # Errors
    /// [`Limited`]: the address has reached its limit.
    pub fn begin_connection(&self, address: IpAddr) -> Result<Option<InFlightGuard>, Limited> {
        let Some(most) = self.rules.connections.get() else { return Ok(None) };
        self.connections.begin(self.hashing.hash_one(network(address)), most).map(Some).ok_or(LIMITED)
    }

    /// Counts a request that a trusted proxy forwarded for an address. It counts until the returned value is dropped.
    ///
    /// # Errors
    /// [`Limited`]: the address has reached its limit.
    pub fn begin_forwarded(&self, address: IpAddr) -> Result<Option<InFlightGuard>, Limited> {
        let Some(most) = self.rules.connections.get() else { return Ok(None) };
        self.forwarded.begin(self.hashing.hash_one(network(address)), most).map(Some).ok_or(LIMITED)
    }
}
