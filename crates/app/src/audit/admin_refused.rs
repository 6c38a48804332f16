//! Wrong admin secrets, summed up: whoever tries them without end fills no audit log.
//!
//! The first of an address is recorded at once, those of the following minute by one record with their number. Beyond
//! [`ADDRESSES`] in one minute there is one record of all the others. So a minute brings at most twice that many and one.

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

/// Addresses that have records of their own in one minute.
const ADDRESSES: usize = 16;
const MINUTE: Duration = Duration::from_secs(60);

/// What was tried in the minute that runs.
#[derive(Default)]
pub(super) struct RefusedAdmins(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    began: Timestamp,
    /// The latest time that it was told.
    now: Timestamp,
    /// By network: the address that was recorded, and how many came after that.
    addresses: HashMap<IpAddr, (IpAddr, u64)>,
    others: u64,
}

impl Minute {
    /// Whether an attempt is the first of its address, and has a record of its own.
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

    /// What has no record yet, once the minute is over.
    fn end(&mut self, now: Timestamp) -> Vec<(Option<IpAddr>, u64)> {
        self.now = self.now.max(now);
        if now.since(self.began) < MINUTE {
            return Vec::new();
        }
        self.take()
    }

    /// What has no record yet.
    fn take(&mut self) -> Vec<(Option<IpAddr>, u64)> {
        let addresses = std::mem::take(&mut self.addresses).into_values();
        let others = (None, std::mem::take(&mut self.others));
        let all = addresses.map(|(address, attempts)| (Some(address), attempts)).chain([others]);
        all.filter(|(_, attempts)| *attempts > 0).collect()
    }
}

impl AuditLog {
    /// Counts a wrong admin secret, and records it in the log of the issuer `default`: summed up, where many come.
    /// Addresses of one `network` are summed up together.
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

    /// Records what was tried in a minute that is over.
    pub fn sum_up_refused_admins(&self, now: Timestamp) {
        let ended = self.refused_admins.0.lock().end(now);
        for (address, attempts) in ended {
            self.record_refused(address, None, attempts, now);
        }
    }

    /// Records what was tried in the minute that runs, before the log is closed.
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
