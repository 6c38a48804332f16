//! Limits of what one address holds at once: connections, or requests where a trusted proxy stands between.

use std::hash::BuildHasher;
use std::net::IpAddr;

use super::in_flight::Counted;
use super::{Limited, RateLimits, network};

/// When it may be tried again: nobody knows when something of the address ends, and much may in a second.
const LIMITED: Limited = Limited { retry_after_seconds: 1 };

impl RateLimits {
    /// Counts a connection of an address, until it is dropped.
    ///
    /// # Errors
    /// [`Limited`]: the address has as many as it may.
    pub fn begin_connection(&self, address: IpAddr) -> Result<Option<Counted>, Limited> {
        let Some(most) = self.rules.connections.get() else { return Ok(None) };
        self.connections.begin(self.hashing.hash_one(network(address)), most).map(Some).ok_or(LIMITED)
    }

    /// Counts a request that a trusted proxy forwarded for an address, until it is dropped.
    ///
    /// # Errors
    /// [`Limited`]: as many of this address are in flight as may be.
    pub fn begin_forwarded(&self, address: IpAddr) -> Result<Option<Counted>, Limited> {
        let Some(most) = self.rules.connections.get() else { return Ok(None) };
        self.forwarded.begin(self.hashing.hash_one(network(address)), most).map(Some).ok_or(LIMITED)
    }
}
