//! Rate limits in memory: per client and endpoint, per address where nobody authenticated, for passwords, and for what one
//! address holds at once.
//!
//! Each limit is a bucket that refills evenly (GCRA): one number per key. Tables have a fixed size; a flood of
//! addresses pushes out those that owe least. A limit that is off costs one atomic load.

mod bodies;
mod connections;
mod in_flight;
mod login;
mod one_time;
mod rule;
mod table;

pub use bodies::BodyInFlight;
pub(crate) use bodies::NoRoom;
pub use in_flight::Counted;
pub use login::LoginInFlight;
pub(crate) use login::login_name;
pub use one_time::OneTimeRefusals;

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;

use bodies::Bodies;
use in_flight::{CapCell, InFlight};
use login::LoginRules;
use one_time::OneTimeRules;
use rule::{Rule, RuleCell};
use symbolon_config as config;
use table::Table;

/// Endpoints with limits of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointClass {
    /// The authorization endpoint: per address only.
    Authorize,
    /// The token endpoint.
    Token,
    /// UserInfo.
    Userinfo,
    /// Introspection.
    Introspect,
    /// Revocation.
    Revoke,
    /// The end-session endpoint and its page: per address only.
    Logout,
}

/// Too many requests: 429 with Retry-After (RFC 6585 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests, try again in {retry_after_seconds} s")]
pub struct Limited {
    /// When the same request may pass, in seconds from now; at least 1.
    pub retry_after_seconds: u64,
}

/// Sets of eight keys per table, 128 bytes each: at most 4, 4, 2, 4 and 1 MiB, taken when first used. A thousand addresses touch
/// every page of the table of addresses, so it is no larger than what a flood may cost.
const CLIENT_SETS: usize = 1 << 15;
const USER_SETS: usize = 1 << 15;
const ADDRESS_SETS: usize = 1 << 14;
const LOGIN_SETS: usize = 1 << 15;
const ADMIN_SETS: usize = 1 << 13;

#[derive(Default)]
struct Rules {
    authorize: RuleCell,
    token: PerEndpoint,
    userinfo: PerEndpoint,
    userinfo_user: RuleCell,
    introspect: PerEndpoint,
    revoke: PerEndpoint,
    logout: RuleCell,
    login: LoginRules,
    admin_address: RuleCell,
    one_time: OneTimeRules,
    connections: CapCell,
}

#[derive(Default)]
struct PerEndpoint {
    client: RuleCell,
    address: RuleCell,
}

impl PerEndpoint {
    fn set(&self, limit: &config::EndpointLimit, enabled: bool) {
        self.client.set(limit.client.filter(|_| enabled));
        self.address.set(limit.address.filter(|_| enabled));
    }
}

/// Every limit and who has used how much of it.
pub struct RateLimits {
    rules: Rules,
    // Keyed by the process's own randomness, so that nobody can choose keys that push out a certain other.
    hashing: RandomState,
    clients: Table,
    // A table of its own, so that no number of users makes what a client used forgotten.
    users: Table,
    addresses: Table,
    // Tables of their own, so that no flood of other requests makes failed logins forgotten.
    logins: Table,
    logins_in_flight: Arc<InFlight>,
    admin: Table,
    connections: Arc<InFlight>,
    forwarded: Arc<InFlight>,
    bodies: Arc<Bodies>,
    one_time_refusals: Arc<OneTimeRefusals>,
}

impl RateLimits {
    /// Limits as configured, nothing used yet.
    pub fn new(config: &config::RateLimits) -> Self {
        let limits = Self {
            rules: Rules::default(),
            hashing: RandomState::new(),
            clients: Table::new(CLIENT_SETS),
            users: Table::new(USER_SETS),
            addresses: Table::new(ADDRESS_SETS),
            logins: Table::new(LOGIN_SETS),
            logins_in_flight: Arc::default(),
            admin: Table::new(ADMIN_SETS),
            connections: Arc::default(),
            forwarded: Arc::default(),
            bodies: Arc::default(),
            one_time_refusals: Arc::default(),
        };
        limits.set(config);
        limits
    }

    /// Takes changed limits over; what was used stays used.
    pub fn set(&self, config: &config::RateLimits) {
        let on = config.enabled;
        let rules = &self.rules;
        rules.authorize.set(config.authorize.filter(|_| on));
        rules.token.set(&config.token, on);
        rules.userinfo.set(&config.userinfo, on);
        rules.userinfo_user.set(config.userinfo_user.filter(|_| on));
        rules.introspect.set(&config.introspect, on);
        rules.revoke.set(&config.revoke, on);
        rules.logout.set(config.logout.filter(|_| on));
        rules.login.set(&config.login, on);
        rules.admin_address.set(config.admin_address.filter(|_| on));
        rules.one_time.set(config, on);
        rules.connections.set(config.connections.filter(|_| on));
        self.bodies.set(config.body_budget, on);
    }

    /// Counts a request of an authenticated client.
    ///
    /// # Errors
    /// [`Limited`]: not now; the request is not counted.
    pub fn check_client(
        &self,
        class: EndpointClass,
        issuer: &IssuerId,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<(), Limited> {
        match self.per_endpoint(class).and_then(|rules| rules.client.get()) {
            Some(rule) => self.clients.take(self.hashing.hash_one((class, issuer, client)), rule, now),
            None => Ok(()),
        }
    }

    /// Counts a UserInfo request for a user at a client. Asked before [`check_client`](Self::check_client): what is
    /// refused here uses nothing of the limit that all users of the client share.
    ///
    /// # Errors
    /// [`Limited`]: not now; the request is not counted.
    pub fn check_userinfo_user(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<(), Limited> {
        match self.rules.userinfo_user.get() {
            Some(rule) => self.users.take(self.hashing.hash_one((issuer, client, user)), rule, now),
            None => Ok(()),
        }
    }

    /// Counts a request that nobody authenticated, or whose authentication failed.
    ///
    /// # Errors
    /// [`Limited`]: not now; the request is not counted.
    pub fn check_address(
        &self,
        class: EndpointClass,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), Limited> {
        match self.per_address(class).get() {
            Some(rule) => self.addresses.take(self.hashing.hash_one((class, network(address))), rule, now),
            None => Ok(()),
        }
    }

    /// Whether a wrong admin secret is told to be wrong now. Counts nothing.
    ///
    /// # Errors
    /// [`Limited`]: too many wrong ones came from this address.
    pub fn may_try_admin(&self, address: IpAddr, now: Timestamp) -> Result<(), Limited> {
        match self.rules.admin_address.get() {
            Some(rule) => self.admin.look(self.hashing.hash_one(network(address)), rule, now),
            None => Ok(()),
        }
    }

    /// Counts a wrong admin secret.
    pub fn failed_admin(&self, address: IpAddr, now: Timestamp) {
        if let Some(rule) = self.rules.admin_address.get() {
            self.admin.charge(self.hashing.hash_one(network(address)), rule, now);
        }
    }

    const fn per_endpoint(&self, class: EndpointClass) -> Option<&PerEndpoint> {
        match class {
            EndpointClass::Authorize | EndpointClass::Logout => None,
            EndpointClass::Token => Some(&self.rules.token),
            EndpointClass::Userinfo => Some(&self.rules.userinfo),
            EndpointClass::Introspect => Some(&self.rules.introspect),
            EndpointClass::Revoke => Some(&self.rules.revoke),
        }
    }

    const fn per_address(&self, class: EndpointClass) -> &RuleCell {
        match class {
            EndpointClass::Authorize => &self.rules.authorize,
            EndpointClass::Logout => &self.rules.logout,
            EndpointClass::Token => &self.rules.token.address,
            EndpointClass::Userinfo => &self.rules.userinfo.address,
            EndpointClass::Introspect => &self.rules.introspect.address,
            EndpointClass::Revoke => &self.rules.revoke.address,
        }
    }
}

/// Whose address it is: one host has a whole /64 of IPv6 to choose from.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

impl Rule {
    /// The answer to whoever may pass in so many nanoseconds.
    const fn limited(nanoseconds: u64) -> Limited {
        let seconds = nanoseconds.div_ceil(1_000_000_000);
        Limited { retry_after_seconds: if seconds == 0 { 1 } else { seconds } }
    }
}

#[cfg(test)]
mod tests;
