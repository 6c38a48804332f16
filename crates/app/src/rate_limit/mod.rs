//! Rate limits in memory: per client and endpoint, per address for requests that are not authenticated, for
//! passwords, and for what one address has in flight.
//!
//! Each limit is a bucket that refills evenly (GCRA), stored as one number per key. Tables have a fixed size: a flood
//! of keys evicts those whose buckets are fullest. A limit that is off costs one atomic load.

mod bodies;
mod connections;
mod in_flight;
mod login;
mod one_time;
mod rule;
mod table;

pub use bodies::BodyInFlight;
pub(crate) use bodies::NoRoom;
pub use in_flight::InFlightGuard;
pub(crate) use login::login_name;
pub use login::{LoginFrom, LoginInFlight};
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

/// Groups of endpoints with separate limits.
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
    /// Pushed authorization requests.
    Par,
    /// Device authorization requests.
    DeviceAuthorization,
    /// Backchannel authentication requests.
    BackchannelAuthentication,
    /// Registration of clients by themselves, and its management: per address only.
    ClientRegistration,
    /// The end-session endpoint and its page: per address only.
    Logout,
}

/// Too many requests: 429 with Retry-After (RFC 6585 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests, try again in {retry_after_seconds} s")]
pub struct Limited {
    /// Seconds until the same request may pass; at least 1.
    pub retry_after_seconds: u64,
}

/// Sizes of the tables in sets of eight keys, 128 bytes each: at most 4, 4, 2, 4 and 1 MiB, allocated on first use. A
/// thousand addresses touch every page of the address table, so its size is kept within what a flood may cost.
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
    par: PerEndpoint,
    device_authorization: PerEndpoint,
    backchannel_authentication: PerEndpoint,
    client_registration: RuleCell,
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

/// All limits, and how much of them each key has used.
pub struct RateLimits {
    rules: Rules,
    // Keyed by randomness of this process, so that nobody can choose keys that evict a particular other key.
    hashing: RandomState,
    clients: Table,
    // A separate table, so that many users cannot evict what their client has used.
    users: Table,
    addresses: Table,
    // Separate tables, so that a flood of other requests cannot evict failed sign-ins.
    logins: Table,
    logins_in_flight: Arc<InFlight>,
    admin: Table,
    connections: Arc<InFlight>,
    forwarded: Arc<InFlight>,
    bodies: Arc<Bodies>,
    one_time_refusals: Arc<OneTimeRefusals>,
}

impl RateLimits {
    /// The configured limits, with nothing used.
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

    /// Replaces the limits; what was used stays counted.
    pub fn set(&self, config: &config::RateLimits) {
        let on = config.enabled;
        let rules = &self.rules;
        rules.authorize.set(config.authorize.filter(|_| on));
        rules.token.set(&config.token, on);
        rules.userinfo.set(&config.userinfo, on);
        rules.userinfo_user.set(config.userinfo_user.filter(|_| on));
        rules.introspect.set(&config.introspect, on);
        rules.revoke.set(&config.revoke, on);
        rules.par.set(&config.par, on);
        rules.device_authorization.set(&config.device_authorization, on);
        rules.backchannel_authentication.set(&config.backchannel_authentication, on);
        rules.client_registration.set(config.client_registration.filter(|_| on));
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
    /// [`Limited`]: the limit is used up; the request is not counted.
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

    /// Counts a UserInfo request for a user at a client. Call it before [`check_client`](Self::check_client), so that
    /// a refused request uses up nothing of the limit that all users of the client share.
    ///
    /// # Errors
    /// [`Limited`]: the limit is used up; the request is not counted.
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

    /// Counts a request that is not authenticated, or whose authentication failed.
    ///
    /// # Errors
    /// [`Limited`]: the limit is used up; the request is not counted.
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

    /// Whether an address may be told that its admin secret is wrong. Counts nothing.
    ///
    /// # Errors
    /// [`Limited`]: too many wrong secrets came from this address.
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
            EndpointClass::Authorize | EndpointClass::ClientRegistration | EndpointClass::Logout => None,
            EndpointClass::Token => Some(&self.rules.token),
            EndpointClass::Userinfo => Some(&self.rules.userinfo),
            EndpointClass::Introspect => Some(&self.rules.introspect),
            EndpointClass::Revoke => Some(&self.rules.revoke),
            EndpointClass::Par => Some(&self.rules.par),
            EndpointClass::DeviceAuthorization => Some(&self.rules.device_authorization),
            EndpointClass::BackchannelAuthentication => Some(&self.rules.backchannel_authentication),
        }
    }

    const fn per_address(&self, class: EndpointClass) -> &RuleCell {
        match class {
            EndpointClass::Authorize => &self.rules.authorize,
            EndpointClass::ClientRegistration => &self.rules.client_registration,
            EndpointClass::Logout => &self.rules.logout,
            EndpointClass::Token => &self.rules.token.address,
            EndpointClass::Userinfo => &self.rules.userinfo.address,
            EndpointClass::Introspect => &self.rules.introspect.address,
            EndpointClass::Revoke => &self.rules.revoke.address,
            EndpointClass::Par => &self.rules.par.address,
            EndpointClass::DeviceAuthorization => &self.rules.device_authorization.address,
            EndpointClass::BackchannelAuthentication => &self.rules.backchannel_authentication.address,
        }
    }
}

/// The network that an address is counted by: for IPv6 its /64, because one host can use every address in it.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

impl Rule {
    /// The error for a request that may pass in so many nanoseconds.
    const fn limited(nanoseconds: u64) -> Limited {
        let seconds = nanoseconds.div_ceil(1_000_000_000);
        Limited { retry_after_seconds: if seconds == 0 { 1 } else { seconds } }
    }
}

#[cfg(test)]
mod tests;
