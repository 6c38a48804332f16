//! A budget for the bytes of all request bodies in flight, with a share for each address.
//!
//! A body counts from its first byte until its request is answered. Bodies of administrators count too, but are never
//! refused, so that the admin API works even when the budget is used up.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::in_flight::{InFlight, InFlightGuard};
use super::{RateLimits, network};
use symbolon_telemetry::{Exposition, MetricSource, MetricType};

/// The part of the budget (one eighth) that an address may use for bodies that arrive in pieces. A body that arrives
/// whole is answered at once, but the sender of pieces decides how long they are held.
const SHARE: u64 = 8;

/// The bytes of bodies in flight.
#[derive(Default)]
pub(crate) struct Bodies {
    /// The budget in bytes; 0 means no budget, as before the first [`set`](Self::set).
    most: AtomicU64,
    /// The share of one address in bytes; 0 means no limit.
    share: AtomicU64,
    bytes: AtomicU64,
    of_addresses: Arc<InFlight>,
    /// Keyed by randomness of this process, so that nobody can choose addresses that share a key.
    hashing: RandomState,
    over_budget: AtomicU64,
    over_share: AtomicU64,
}

/// Why the rest of a body is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The bodies in flight use up the whole budget.
    Budget,
    /// The bodies of this address use up its share.
    Share,
}

impl Bodies {
    pub(super) fn set(&self, most: usize, limits_addresses: bool) {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        self.most.store(most, Ordering::Relaxed);
        self.share.store(if limits_addresses { most / SHARE } else { 0 }, Ordering::Relaxed);
    }
}

impl RateLimits {
    /// Starts counting a body from an address.
    pub fn begin_body(&self, address: IpAddr) -> BodyInFlight {
        BodyInFlight { bodies: Arc::clone(&self.bodies), address: Some(address), bytes: 0, share: None }
    }

    /// Starts counting a body of an administrator, which is never refused.
    pub fn begin_admin_body(&self) -> BodyInFlight {
        BodyInFlight::never_refused(&self.bodies)
    }

    /// Metrics of bodies.
    pub(crate) fn bodies(&self) -> Arc<dyn MetricSource> {
        Arc::clone(&self.bodies) as Arc<dyn MetricSource>
    }
}

/// Counts the bytes of one body until this is dropped.
pub struct BodyInFlight {
    bodies: Arc<Bodies>,
    /// The client's address; `None` if the body is never refused.
    address: Option<IpAddr>,
    bytes: u64,
    share: Option<InFlightGuard>,
}

impl BodyInFlight {
    /// A body that counts against no budget.
    pub fn unlimited() -> Self {
        Self::never_refused(&Arc::default())
    }

    fn never_refused(bodies: &Arc<Bodies>) -> Self {
        Self { bodies: Arc::clone(bodies), address: None, bytes: 0, share: None }
    }

    /// Counts bytes that arrived. `is_whole`: they are the whole body.
    ///
    /// # Errors
    /// [`NoRoom`]: the caller must drop the bytes.
    pub(crate) fn grow(&mut self, bytes: usize, is_whole: bool) -> Result<(), NoRoom> {
        let (bytes, bodies) = (u64::try_from(bytes).unwrap_or(u64::MAX), &self.bodies);
        let all = bodies.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes += bytes;
        let Some(address) = self.address else { return Ok(()) };
        if all > bodies.most.load(Ordering::Relaxed) {
            bodies.over_budget.fetch_add(1, Ordering::Relaxed);
            return Err(NoRoom::Budget);
        }
        let share = bodies.share.load(Ordering::Relaxed);
        if is_whole || share == 0 {
            return Ok(());
        }
        let of_address = self.share.get_or_insert_with(|| {
            // Only for a body in pieces: nearly every body arrives whole, and is not looked up.
            bodies.of_addresses.hold(bodies.hashing.hash_one(network(address)))
        });
        if !of_address.grow(bytes, share) {
            bodies.over_share.fetch_add(1, Ordering::Relaxed);
            return Err(NoRoom::Share);
        }
        Ok(())
    }
}

impl Drop for BodyInFlight {
    fn drop(&mut self) {
        self.bodies.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl MetricSource for Bodies {
    fn expose(&self, page: &mut Exposition) {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        page.family(
            "symbolon_request_body_bytes",
            MetricType::Gauge,
            "Bytes of request bodies that are in flight.",
        );
        page.count(&[], value(&self.bytes));
        let help =
            "Bodies refused because those in flight took the budget, or those of their address its share.";
        page.family("symbolon_request_bodies_refused_total", MetricType::Counter, help);
        page.count(&[("reason", "budget")], value(&self.over_budget));
        page.count(&[("reason", "share")], value(&self.over_share));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the address 192.0.2.`host`.
    fn begin(bodies: &Arc<Bodies>, host: u8) -> BodyInFlight {
        let address = Some(IpAddr::from([192, 0, 2, host]));
        BodyInFlight { bodies: Arc::clone(bodies), address, bytes: 0, share: None }
    }

    fn bodies(limits_addresses: bool) -> Arc<Bodies> {
        let bodies = Arc::new(Bodies::default());
        bodies.set(800, limits_addresses);
        bodies
    }

    #[test]
    fn all_bodies_in_flight_have_one_budget() {
        let bodies = bodies(true);
        let mut all: Vec<BodyInFlight> = (0..8).map(|host| begin(&bodies, host)).collect();
        for body in &mut all {
            body.grow(100, false).unwrap();
        }
        let mut next = begin(&bodies, 9);
        assert_eq!(next.grow(1, true), Err(NoRoom::Budget));
        drop(next);
        let mut administrator = BodyInFlight::never_refused(&bodies);
        administrator.grow(50, false).unwrap();
        drop(all.pop());
        begin(&bodies, 9).grow(50, true).unwrap();
        assert_eq!(begin(&bodies, 9).grow(51, true), Err(NoRoom::Budget));
        drop((all, administrator));
        assert_eq!(bodies.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn pieces_of_one_address_take_its_share_at_most() {
        let bodies = bodies(true);
        let (mut one, mut same, mut other) = (begin(&bodies, 1), begin(&bodies, 1), begin(&bodies, 2));
        one.grow(60, false).unwrap();
        assert_eq!(same.grow(60, false), Err(NoRoom::Share));
        same.grow(40, false).unwrap();
        begin(&bodies, 1).grow(100, true).unwrap();
        other.grow(100, false).unwrap();
        assert_eq!(other.grow(1, false), Err(NoRoom::Share));
        drop(one);
        same.grow(60, false).unwrap();
        drop((same, other));
        assert_eq!(bodies.bytes.load(Ordering::Relaxed), 0);
        bodies.set(800, false);
        begin(&bodies, 1).grow(800, false).unwrap();
    }
}
