//! Audit records of wrong admin secrets, aggregated per minute, so that endless attempts cannot fill the audit log.
//!
//! The first attempt of an address is recorded at once; its later ones within a minute share one record with their
//! number. From the ([`ADDRESSES`] + 1)th address of a minute on, all further addresses share one record. So a minute
//! adds at most 2 × [`ADDRESSES`] + 1 records.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;

use super::{Actor, AuditEntry, AuditLog};
use symbolon_telemetry::RequestId;

/// How many addresses per minute get records of their own.
const ADDRESSES: usize = 16;
const MINUTE: Duration = Duration::from_secs(60);

/// The attempts of the current minute.
#[derive(Default)]
pub(super) struct RefusedAdmins(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    began: Timestamp,
    /// The latest time passed in by a caller; used when the log closes.
    now: Timestamp,
    /// By network: the address that was recorded, and the number of attempts after the recorded one.
    addresses: HashMap<IpAddr, (IpAddr, u64)>,
    others: u64,
}

impl Minute {
    /// Counts an attempt. True if it is the first of its address and gets its own record.
    fn note(&mut self, address: IpAddr, network: IpAddr, now: Timestamp) -> bool {
        if self.addresses.is_empty() {
            self.began = now;
        }
        if let Some((_, attempts)) = self.addresses.get_mut(&network) {
            *attempts += 1;
            return false;
        }
        let is_own = self.addresses.len() < ADDRESSES;
        if is_own {
            self.addresses.insert(network, (address, 0));
        } else {
            self.others += 1;
        }
        is_own
    }

    /// Takes the attempts without a record once the minute is over; before that, nothing.
    fn end(&mut self, now: Timestamp) -> Vec<(Option<IpAddr>, u64)> {
        self.now = self.now.max(now);
        if now.since(self.began) < MINUTE {
            return Vec::new();
        }
        self.take()
    }

    /// Takes the attempts that have no record yet. `None` as the address stands for all addresses without records of
    /// their own.
    fn take(&mut self) -> Vec<(Option<IpAddr>, u64)> {
        let addresses = std::mem::take(&mut self.addresses).into_values();
        let others = (None, std::mem::take(&mut self.others));
        let all = addresses.map(|(address, attempts)| (Some(address), attempts)).chain([others]);
        all.filter(|(_, attempts)| *attempts > 0).collect()
    }
}

impl AuditLog {
    /// Counts a wrong admin secret, and records it in the audit log of the issuer `default`. Repeated attempts from
    /// one `network` share a record.
    pub fn admin_refused(
        &self,
        (address, network): (IpAddr, IpAddr),
        request: Option<RequestId>,
        now: Timestamp,
    ) {
        self.count(Event::AdminRefused);
        self.sum_up_refused_admins(now);
        if self.refused_admins.0.lock().note(address, network, now) {
            self.record_refused(Some(address), request, 1, now);
        }
    }

    /// Records the remaining attempts of a minute that is over.
    pub fn sum_up_refused_admins(&self, now: Timestamp) {
        let ended = self.refused_admins.0.lock().end(now);
        for (address, attempts) in ended {
            self.record_refused(address, None, attempts, now);
        }
    }

    /// Records the remaining attempts of the current minute, before the log closes.
    pub(super) fn sum_up_last_refused_admins(&self) {
        let (now, ended) = {
            let mut minute = self.refused_admins.0.lock();
            (minute.now, minute.take())
        };
        for (address, attempts) in ended {
            self.record_refused(address, None, attempts, now);
        }
    }

    fn record_refused(
        &self,
        address: Option<IpAddr>,
        request: Option<RequestId>,
        attempts: u64,
        now: Timestamp,
    ) {
        let detail = json!({ "attempts": attempts });
        let entry = AuditEntry {
            actor: Actor::Anonymous,
            address,
            request,
            ..AuditEntry::system(Event::AdminRefused, detail)
        };
        self.queue(&IssuerId::default_issuer(), entry, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn address(number: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + number).into())
    }

    #[test]
    fn a_flood_of_one_address_is_two_records_a_minute() {
        let mut minute = Minute::default();
        let own = (0..10_000).filter(|_| minute.note(address(1), address(1), NOW)).count();
        assert_eq!(own, 1);
        assert_eq!(minute.end(NOW + MINUTE - Duration::from_millis(1)), []);
        assert_eq!(minute.end(NOW + MINUTE), [(Some(address(1)), 9_999)]);
        assert_eq!(minute.end(NOW + 2 * MINUTE), [], "said once");
        assert!(minute.note(address(1), address(1), NOW + 2 * MINUTE));
    }

    #[test]
    fn a_flood_of_many_addresses_is_bounded_too() {
        let mut minute = Minute::default();
        let own = (0..200_000)
            .map(|number| address(number % 100_000))
            .filter(|from| minute.note(*from, *from, NOW))
            .count();
        assert_eq!((own, minute.addresses.len()), (ADDRESSES, ADDRESSES));
        let ended = minute.end(NOW + MINUTE);
        assert_eq!(ended.len(), ADDRESSES + 1);
        assert_eq!(ended.iter().map(|(_, attempts)| attempts).sum::<u64>() + own as u64, 200_000);
        assert!(ended.contains(&(None, 2 * (100_000 - ADDRESSES as u64))));
    }

    #[test]
    fn addresses_of_one_network_are_summed_up() {
        let mut minute = Minute::default();
        assert!(minute.note(address(1), address(0), NOW));
        assert!(!minute.note(address(2), address(0), NOW));
        assert_eq!(minute.end(NOW + MINUTE), [(Some(address(1)), 1)]);
    }
}
