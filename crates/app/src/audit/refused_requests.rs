//! Audit records of refused requests: sampled per client, so that a flood neither fills the audit log nor hides what is
//! refused to other clients. `symbolon_refused_requests_total` counts every one by its reason.
//!
//! Per minute and process, a client's refused requests have at most [`PER_CLIENT`] records, of which one reason has at
//! most [`PER_REASON`], and one reason at one network [`PER_PEER`]. Reasons of everyday life
//! ([`Reason::is_routine`]) have [`PER_ROUTINE_REASON`] and do not count towards the client's. Clients that are not
//! registered share one such quota, and so do those beyond the first [`CLIENTS`] of a minute. All clients together have a
//! [`Budget`], [`NOTABLE`] or [`ROUTINE`]: a flood that lasts for days must not push out of the audit log what
//! administrators did.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::refusal::{Reason, Refusal};
use symbolon_protocol::time::Timestamp;

use super::{Actor, AuditEntry, AuditLog};
use symbolon_telemetry::{Endpoint, Exposition, MetricSource, MetricType, RequestId};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
/// Clients with a quota of their own per minute.
const CLIENTS: usize = 512;
/// Records of a client per minute, without routine reasons.
const PER_CLIENT: u32 = 60;
/// Of these, records of one reason.
const PER_REASON: u32 = 30;
/// Of these, records from one network.
const PER_PEER: u32 = 20;
/// Records of one routine reason of a client per minute; half of them from one network.
const PER_ROUTINE_REASON: u32 = 10;
/// The budget of all reasons that are not routine.
const NOTABLE: Budget = Budget { per_day: 20_000, per_minute: 600, beyond: 20 };
/// The budget of routine reasons, of which an application that works causes some every minute.
const ROUTINE: Budget = Budget { per_day: 5_000, per_minute: 100, beyond: 5 };

/// A refused request, as its endpoint reports it.
pub struct RefusedRequest<'a> {
    /// Why.
    pub refusal: Refusal,
    /// The client that the request is from, unless the refusal names one.
    pub client: Option<&'a ClientId>,
    /// Who made the request.
    pub actor: Actor,
    /// The error code and description that the client or the person was told.
    pub told: Option<(&'a str, &'a str)>,
}

impl<'a> RefusedRequest<'a> {
    /// A request of somebody who has proven nothing, who is told no error code.
    pub const fn anonymous(refusal: Refusal, client: Option<&'a ClientId>) -> Self {
        Self { refusal, client, actor: Actor::Anonymous, told: None }
    }
}

/// The circumstances of a refused request.
pub(crate) struct Circumstances<'a> {
    pub(crate) issuer: &'a IssuerId,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) address: IpAddr,
    /// The network that the address is counted by.
    pub(crate) network: IpAddr,
    pub(crate) request: &'a RequestId,
    pub(crate) now: Timestamp,
}

/// Whose quota a record counts against: a registered client's, or that of all others at an issuer.
type Owner = (IssuerId, Option<ClientId>);

/// What an owner has used of its quota in the current minute.
#[derive(Default)]
struct Quota {
    /// Records by reason and network.
    records: Vec<(Reason, IpAddr, u32)>,
    /// Refused requests without a record since the last one with a record.
    unrecorded: u64,
    /// Whether anything came in this minute.
    is_used: bool,
}

impl Quota {
    fn count(&self, of: impl Fn(&(Reason, IpAddr, u32)) -> bool) -> u32 {
        self.records.iter().filter(|record| of(record)).map(|(.., records)| records).sum()
    }

    /// Whether one more record fits.
    fn admits(&self, reason: Reason, peer: IpAddr) -> bool {
        let of_reason = self.count(|(own, ..)| *own == reason);
        let of_peer = self.count(|(own, address, _)| *own == reason && *address == peer);
        if reason.is_routine() {
            return of_reason < PER_ROUTINE_REASON && of_peer < PER_ROUTINE_REASON / 2;
        }
        let of_all = self.count(|(own, ..)| !own.is_routine());
        of_all < PER_CLIENT && of_reason < PER_REASON && of_peer < PER_PEER
    }

    fn add(&mut self, reason: Reason, peer: IpAddr) {
        let known = self.records.iter_mut().find(|(own, address, _)| *own == reason && *address == peer);
        match known {
            Some((.., records)) => *records += 1,
            None => self.records.push((reason, peer, 1)),
        }
    }
}

/// How many records all clients together may have.
struct Budget {
    per_day: u32,
    /// While the day's budget lasts. The first of a client in a minute has its record beyond this too.
    per_minute: u32,
    /// Per minute, once the day's budget is used up; only for the first of a client in a minute.
    beyond: u32,
}

/// What is used of a budget.
#[derive(Default)]
struct Spent {
    in_day: u32,
    in_minute: u32,
}

impl Spent {
    /// Whether one more record fits. `is_first`: it is its owner's first of this minute.
    fn leaves_room(&self, budget: &Budget, is_first: bool) -> bool {
        match self.in_day < budget.per_day {
            true => is_first || self.in_minute < budget.per_minute,
            false => is_first && self.in_minute < budget.beyond,
        }
    }
}

/// The quotas of the current minute.
#[derive(Default)]
struct Minute {
    began: Timestamp,
    day_began: Timestamp,
    notable: Spent,
    routine: Spent,
    quotas: HashMap<Owner, Quota>,
    /// The quota of clients for which there is no room.
    others: Quota,
}

impl Minute {
    /// Whether a refused request gets a record. If so, how many of the same owner had none since the one before.
    fn admit(&mut self, owner: Owner, reason: Reason, peer: IpAddr, now: Timestamp) -> Option<u64> {
        if now.since(self.began) >= MINUTE {
            self.begin(now);
        }
        let (spent, budget) = match reason.is_routine() {
            true => (&mut self.routine, &ROUTINE),
            false => (&mut self.notable, &NOTABLE),
        };
        let has_room = self.quotas.len() < CLIENTS || self.quotas.contains_key(&owner);
        let quota = if has_room { self.quotas.entry(owner).or_default() } else { &mut self.others };
        quota.is_used = true;
        let is_first = quota.count(|(own, ..)| own.is_routine() == reason.is_routine()) == 0;
        if !quota.admits(reason, peer) || !spent.leaves_room(budget, is_first) {
            quota.unrecorded += 1;
            return None;
        }
        quota.add(reason, peer);
        spent.in_day += 1;
        spent.in_minute += 1;
        Some(std::mem::take(&mut quota.unrecorded))
    }

    /// Begins a minute: everybody's quota is full again. Owners from whom nothing came for a minute are forgotten.
    fn begin(&mut self, now: Timestamp) {
        self.began = now;
        let is_new_day = now.since(self.day_began) >= DAY;
        if is_new_day {
            self.day_began = now;
        }
        for spent in [&mut self.notable, &mut self.routine] {
            spent.in_minute = 0;
            if is_new_day {
                spent.in_day = 0;
            }
        }
        self.quotas.retain(|_, quota| {
            quota.records.clear();
            std::mem::take(&mut quota.is_used) && quota.unrecorded > 0
        });
        self.others.records.clear();
    }
}

/// Counts refused requests by reason, and decides which have records.
pub(super) struct RefusedRequests {
    minute: Mutex<Minute>,
    by_reason: Box<[AtomicU64]>,
}

impl RefusedRequests {
    pub(super) fn new() -> Arc<Self> {
        let by_reason = Reason::ALL.iter().map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self { minute: Mutex::default(), by_reason })
    }

    fn count(&self, reason: Reason) {
        if let Some(counter) = self.by_reason.get(reason as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl MetricSource for RefusedRequests {
    fn expose(&self, page: &mut Exposition) {
        let help = "Refused requests by their reason; reasons that did not occur are left out.";
        page.family("symbolon_refused_requests_total", MetricType::Counter, help);
        for (reason, counter) in Reason::ALL.iter().zip(&self.by_reason) {
            let count = counter.load(Ordering::Relaxed);
            if count > 0 {
                page.count(&[("reason", reason.name())], count);
            }
        }
    }
}

impl AuditLog {
    /// Counts a refused request, and records it unless its client's quota is used up. Returns whether it is recorded.
    pub(crate) fn request_refused(&self, refused: &RefusedRequest<'_>, of: &Circumstances<'_>) -> bool {
        let RefusedRequest { refusal, client, .. } = refused;
        self.refused_requests.count(refusal.reason);
        let client = refusal.client().or(*client);
        // Anybody can name clients that do not exist, so they share one quota.
        let owner = client.filter(|_| !refusal.reason.names_anybody()).cloned();
        let owner = (of.issuer.clone(), owner);
        let admitted = self.refused_requests.minute.lock().admit(owner, refusal.reason, of.network, of.now);
        let Some(unrecorded) = admitted else {
            self.count(Event::RequestRefused);
            return false;
        };
        let mut detail = detail(refused, of.endpoint);
        if unrecorded > 0 {
            detail.insert("unrecorded".to_owned(), unrecorded.into());
        }
        self.record(of.issuer, entry(Event::RequestRefused, refused, detail, of), of.now);
        true
    }

    /// Records a refused login name or password. Every one has a record: rate limits bound their number.
    pub(crate) fn sign_in_failed(&self, refused: &RefusedRequest<'_>, of: &Circumstances<'_>) {
        self.refused_requests.count(refused.refusal.reason);
        let detail = detail(refused, of.endpoint);
        self.record(of.issuer, entry(Event::SignInFailed, refused, detail, of), of.now);
    }
}

fn detail(refused: &RefusedRequest<'_>, endpoint: Option<Endpoint>) -> Map<String, Value> {
    let mut detail = refused.refusal.to_members();
    if let Some(endpoint) = endpoint {
        detail.insert("endpoint".to_owned(), endpoint.name().into());
    }
    if let Some((error, description)) = refused.told {
        detail.insert("error".to_owned(), error.into());
        detail.insert("error_description".to_owned(), description.into());
    }
    detail
}

fn entry(
    event: Event,
    refused: &RefusedRequest<'_>,
    detail: Map<String, Value>,
    of: &Circumstances<'_>,
) -> AuditEntry {
    let RefusedRequest { refusal, client, actor, .. } = refused;
    AuditEntry {
        event,
        user: refusal.user().cloned(),
        client: refusal.client().or(*client).cloned(),
        actor: *actor,
        address: Some(of.address),
        request: Some(of.request.clone()),
        detail: Value::Object(detail),
    }
}

#[cfg(test)]
#[path = "refused_requests_tests.rs"]
mod tests;
