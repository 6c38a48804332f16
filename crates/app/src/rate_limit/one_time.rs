//! Limits of records that make something single-use: authorization codes per user, and used client assertions per
//! client.
//!
//! A request beyond a limit is refused and nothing is stored, so that one user's or client's records never evict
//! another's.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_telemetry::{Exposition, MetricSource, MetricType};

use super::rule::RuleCell;
use super::{Limited, RateLimits};
use symbolon_config as config;

/// The limits.
#[derive(Default)]
pub(super) struct OneTimeRules {
    codes: RuleCell,
    assertions: RuleCell,
}

impl OneTimeRules {
    pub(super) fn set(&self, limits: &config::RateLimits, on: bool) {
        self.codes.set(limits.authorize_user.filter(|_| on));
        self.assertions.set(limits.assertion_client.filter(|_| on));
    }
}

/// Counters of refusals.
#[derive(Default)]
pub struct OneTimeRefusals {
    codes: AtomicU64,
    assertions: AtomicU64,
}

impl RateLimits {
    /// Counts an authorization code for a user; call it before making the code. It counts a
    /// tenth once it is [redeemed](Self::redeemed_code).
    ///
    /// # Errors
    /// [`Limited`]: the limit is used up; no code may be made.
    pub fn check_code(&self, issuer: &IssuerId, user: &UserId, now: Timestamp) -> Result<(), Limited> {
        let Some(rule) = self.rules.one_time.codes.get() else { return Ok(()) };
        let taken = self.users.take(self.code_key(issuer, user), rule, now);
        taken.inspect_err(|_| count(&self.one_time_refusals.codes))
    }

    /// A code was redeemed, and counts a tenth from now on: whoever completes each login may begin ten times as many. It
    /// still counts, because a redeemed code is kept too, 15 minutes beyond its end: with many addresses and a public
    /// client, one user could otherwise fill the room of everybody's codes.
    pub fn redeemed_code(&self, issuer: &IssuerId, user: &UserId) {
        if let Some(rule) = self.rules.one_time.codes.get() {
            self.users.give_back(self.code_key(issuer, user), rule);
        }
    }

    /// Whether a client may use one more assertion now. Counts nothing, because an assertion that somebody else
    /// replays must not use up the client's limit.
    ///
    /// # Errors
    /// [`Limited`]: the limit is used up; no assertion may be marked as used.
    pub fn may_use_assertion(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<(), Limited> {
        let Some(rule) = self.rules.one_time.assertions.get() else { return Ok(()) };
        let may = self.clients.look(self.assertion_key(issuer, client), rule, now);
        may.inspect_err(|_| count(&self.one_time_refusals.assertions))
    }

    /// Counts an assertion that was used for the first time.
    pub fn used_assertion(&self, issuer: &IssuerId, client: &ClientId, now: Timestamp) {
        if let Some(rule) = self.rules.one_time.assertions.get() {
            self.clients.charge(self.assertion_key(issuer, client), rule, now);
        }
    }

    fn code_key(&self, issuer: &IssuerId, user: &UserId) -> u64 {
        self.hashing.hash_one((0_u8, issuer, user))
    }

    fn assertion_key(&self, issuer: &IssuerId, client: &ClientId) -> u64 {
        self.hashing.hash_one((1_u8, issuer, client))
    }

    /// Metrics of refusals.
    pub fn one_time_refusals(&self) -> Arc<OneTimeRefusals> {
        Arc::clone(&self.one_time_refusals)
    }
}

impl MetricSource for OneTimeRefusals {
    fn expose(&self, page: &mut Exposition) {
        let help = "Records of one use that were refused because whoever asked had too many.";
        page.family("symbolon_one_time_refused_total", MetricType::Counter, help);
        for (kind, refused) in [("code", &self.codes), ("assertion", &self.assertions)] {
            page.count(&[("kind", kind)], refused.load(Ordering::Relaxed));
        }
    }
}

fn count(refusals: &AtomicU64) {
    refusals.fetch_add(1, Ordering::Relaxed);
}
