//! Limits of sign-in: attempts in flight, wrong passwords, right passwords, and sessions per user.

use std::hash::BuildHasher;
use std::net::IpAddr;

use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;

use super::in_flight::{CapCell, InFlightGuard};
use super::rule::{Rule, RuleCell};
use super::{Limited, RateLimits, network};
use symbolon_config as config;

/// An hour, in nanoseconds.
const HOUR: u64 = 3_600_000_000_000;

/// How many mails about new browsers an account gets: five in an hour.
const NEW_DEVICES: Rule = Rule { interval: HOUR / 5, burst: HOUR };

/// How many times as much as one browser all together have that are known by one name. A name may have been somebody else's before,
/// who has kept as many marks as they liked; the person's own browsers are few.
const KNOWN_TOGETHER: u64 = 10;

/// The limits of sign-in.
#[derive(Default)]
pub(super) struct LoginRules {
    account: RuleCell,
    address: RuleCell,
    success: RuleCell,
    account_in_flight: CapCell,
    address_in_flight: CapCell,
    sessions: CapCell,
    email_codes: RuleCell,
    mails: RuleCell,
}

impl LoginRules {
    pub(super) fn set(&self, limits: &config::LoginLimits, on: bool) {
        self.account.set(limits.account.filter(|_| on));
        self.address.set(limits.address.filter(|_| on));
        self.success.set(limits.success.filter(|_| on));
        self.account_in_flight.set(limits.account_in_flight.filter(|_| on));
        self.address_in_flight.set(limits.address_in_flight.filter(|_| on));
        self.sessions.set(limits.sessions.filter(|_| on));
        self.email_codes.set(limits.email_codes.filter(|_| on));
        self.mails.set(limits.mails.filter(|_| on));
    }
}

/// Where a sign-in attempt comes from, as the limits count it.
#[derive(Clone, Debug)]
pub struct LoginFrom {
    address: IpAddr,
    /// The id of a browser in which somebody has signed in by the name that is tried.
    known_browser: Option<String>,
}

impl LoginFrom {
    /// A browser in which somebody has signed in before by the name that is tried. It has limits of its own, as large as those of
    /// an address for a name: what others do at its address does not count for it, but for others that are known by the name too,
    /// which have ten times as much together.
    pub const fn known_browser(address: IpAddr, id: String) -> Self {
        Self { address, known_browser: Some(id) }
    }
}

impl From<IpAddr> for LoginFrom {
    fn from(address: IpAddr) -> Self {
        Self { address, known_browser: None }
    }
}

/// A sign-in attempt in flight, whether its password is right or wrong.
#[must_use = "the attempt counts until this is dropped"]
pub struct LoginInFlight {
    _account: Option<InFlightGuard>,
    _address: Option<InFlightGuard>,
}

impl RateLimits {
    /// Begins a sign-in attempt; call it before verifying the password.
    ///
    /// # Errors
    /// [`Limited`]: this address has too many attempts in flight, wrong passwords or right passwords for this name;
    /// or too many attempts in flight or wrong passwords in total. The limits delay and never lock an account: it
    /// stays open from other addresses.
    pub fn begin_login(
        &self,
        issuer: &IssuerId,
        name: &str,
        from: impl Into<LoginFrom>,
        now: Timestamp,
    ) -> Result<LoginInFlight, Limited> {
        let (rules, from) = (&self.rules.login, from.into());
        let address = from.address;
        if let Some(rule) = rules.account.get() {
            self.logins.look(self.login_key(issuer, name, &from), rule, now)?;
            if from.known_browser.is_some() {
                let together = self.known_together_key(issuer, name, address);
                self.logins.look(together, rule.times(KNOWN_TOGETHER), now)?;
            }
        }
        if let Some(rule) = rules.address.get().filter(|_| from.known_browser.is_none()) {
            self.logins.look(self.login_address_key(address), rule, now)?;
        }
        if let Some(rule) = rules.success.get() {
            self.logins.look(self.login_success_key(issuer, name, address), rule, now)?;
        }
        let account = rules.account_in_flight.get();
        let account = account.map(|most| self.in_flight(self.login_key(issuer, name, &from), most));
        let on_address = rules.address_in_flight.get();
        let on_address = on_address.map(|most| self.in_flight(self.login_address_key(address), most));
        Ok(LoginInFlight { _account: account.transpose()?, _address: on_address.transpose()? })
    }

    /// Counts a wrong password or an unknown login name.
    pub fn failed_login(&self, issuer: &IssuerId, name: &str, from: impl Into<LoginFrom>, now: Timestamp) {
        let (rules, from) = (&self.rules.login, from.into());
        if let Some(rule) = rules.account.get() {
            self.logins.charge(self.login_key(issuer, name, &from), rule, now);
            if from.known_browser.is_some() {
                let together = self.known_together_key(issuer, name, from.address);
                self.logins.charge(together, rule.times(KNOWN_TOGETHER), now);
            }
        }
        if let Some(rule) = rules.address.get().filter(|_| from.known_browser.is_none()) {
            self.logins.charge(self.login_address_key(from.address), rule, now);
        }
    }

    /// Counts a right password: each costs a hash and a session, however often it is repeated.
    pub fn right_password(&self, issuer: &IssuerId, name: &str, address: IpAddr, now: Timestamp) {
        if let Some(rule) = self.rules.login.success.get() {
            self.logins.charge(self.login_success_key(issuer, name, address), rule, now);
        }
    }

    /// Counts a login form that the browser sends again after it has signed in: it is answered without a look at the
    /// password, and as often as right passwords are. Call it before answering.
    ///
    /// # Errors
    /// [`Limited`]: this user's browsers at this address have sent such forms too often.
    pub fn form_sent_again(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), Limited> {
        let Some(rule) = self.rules.login.success.get() else { return Ok(()) };
        self.logins.take(self.login_again_key(issuer, user, address), rule, now)
    }

    /// Counts a mail that is about to be sent to another address than the one that [`check_mail`](Self::check_mail) counted: the
    /// one of the account that was found by a name. It counts where that one counted: for the recipient, or for a known browser.
    ///
    /// # Errors
    /// [`Limited`]: the address was sent too many; none may be sent.
    pub fn check_recipient(
        &self,
        issuer: &IssuerId,
        email: &str,
        from: impl Into<LoginFrom>,
        now: Timestamp,
    ) -> Result<(), Limited> {
        let Some(rule) = self.rules.login.email_codes.get() else { return Ok(()) };
        let name = login_name(email);
        let Some(id) = from.into().known_browser else {
            return self.logins.take(self.hashing.hash_one((4_u8, issuer, name)), rule, now);
        };
        self.logins.take(self.hashing.hash_one((8_u8, issuer, id, &name)), rule, now)?;
        // Wherever they are: what they could do together is to flood the recipient.
        self.logins.take(self.hashing.hash_one((11_u8, issuer, name)), rule.times(KNOWN_TOGETHER), now)
    }

    /// Counts a mail that somebody asks for by typing an address or a name, whether there is one to send or not: for who asks,
    /// who could otherwise fill the queue of mail with addresses enough, and for the recipient, whom many could flood. A known
    /// browser has as many mails of its own as a recipient: so nobody keeps its person's mail from them by asking for it.
    ///
    /// # Errors
    /// [`Limited`]: too many were asked for from this address, or for this recipient; none may be sent.
    pub fn check_mail(
        &self,
        issuer: &IssuerId,
        recipient: &str,
        from: impl Into<LoginFrom>,
        now: Timestamp,
    ) -> Result<(), Limited> {
        let from = from.into();
        if let Some(rule) = self.rules.login.mails.get().filter(|_| from.known_browser.is_none()) {
            self.logins.take(self.mails_key(from.address), rule, now)?;
        }
        self.check_recipient(issuer, recipient, from, now)
    }

    /// A code that was asked for from this address was right: its mail counts a tenth for the address from now on. So the
    /// limit holds off nobody who signs in behind an address that many share. The mail of a known browser did not count there.
    pub fn right_mailed_code(&self, from: impl Into<LoginFrom>) {
        let from = from.into();
        if let Some(rule) = self.rules.login.mails.get().filter(|_| from.known_browser.is_none()) {
            self.logins.give_back(self.mails_key(from.address), rule);
        }
    }

    /// Counts an attempt at a user's second factor, before it is checked, whatever address it comes from: whoever makes one
    /// has proven the password, so nobody else can use the limit up, and a code has only six digits (NIST SP 800-63B 5.2.2).
    ///
    /// # Errors
    /// [`Limited`]: too many were made.
    pub fn check_second_factor(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<(), Limited> {
        let Some(rule) = self.rules.login.account.get() else { return Ok(()) };
        self.logins.take(self.second_factor_key(issuer, user), rule, now)
    }

    /// Counts a mail about a sign-in in a browser that nobody knows, before it is sent. The limit is no setting: whoever has the
    /// password of an account fills neither the mailbox of its person nor the queue, and the first ones always leave.
    ///
    /// # Errors
    /// [`Limited`]: too many were sent for this account; none more may be.
    pub fn check_new_device(&self, issuer: &IssuerId, user: &UserId, now: Timestamp) -> Result<(), Limited> {
        let key = self.hashing.hash_one((9_u8, issuer, user));
        self.logins.take(key, NEW_DEVICES, now)
    }

    /// Whether a person may type one more user code of a device (RFC 8628 5.1). Counts nothing, because right codes are not
    /// counted.
    ///
    /// # Errors
    /// [`Limited`]: too many wrong ones were typed in this account, or by people at this address. No code may be looked up.
    pub fn may_try_user_code(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), Limited> {
        let rules = &self.rules.login;
        if let Some(rule) = rules.account.get() {
            self.logins.look(self.user_code_key(issuer, user), rule, now)?;
        }
        if let Some(rule) = rules.address.get() {
            self.logins.look(self.user_code_address_key(address), rule, now)?;
        }
        Ok(())
    }

    /// Counts a user code that no device has: as a wrong password is, apart from those.
    pub fn wrong_user_code(&self, issuer: &IssuerId, user: &UserId, address: IpAddr, now: Timestamp) {
        let rules = &self.rules.login;
        if let Some(rule) = rules.account.get() {
            self.logins.charge(self.user_code_key(issuer, user), rule, now);
        }
        if let Some(rule) = rules.address.get() {
            self.logins.charge(self.user_code_address_key(address), rule, now);
        }
    }

    /// The second factor was right: its attempt counts a tenth from now on.
    pub fn right_second_factor(&self, issuer: &IssuerId, user: &UserId) {
        if let Some(rule) = self.rules.login.account.get() {
            self.logins.give_back(self.second_factor_key(issuer, user), rule);
        }
    }

    /// The most sessions that a user may have begun by signing in, if limited.
    pub fn sessions_per_user(&self) -> Option<u32> {
        self.rules.login.sessions.get()
    }

    fn in_flight(&self, key: u64, most: u32) -> Result<InFlightGuard, Limited> {
        // Verifying a password takes a fraction of a second, so one second is enough.
        self.logins_in_flight.begin(key, most).ok_or(Limited { retry_after_seconds: 1 })
    }

    fn login_key(&self, issuer: &IssuerId, name: &str, from: &LoginFrom) -> u64 {
        match &from.known_browser {
            Some(id) => self.hashing.hash_one((7_u8, issuer, id, login_name(name))),
            None => self.hashing.hash_one((0_u8, issuer, network(from.address), login_name(name))),
        }
    }

    /// What all browsers at an address that are known by a name count for, too.
    fn known_together_key(&self, issuer: &IssuerId, name: &str, address: IpAddr) -> u64 {
        self.hashing.hash_one((10_u8, issuer, network(address), login_name(name)))
    }

    fn mails_key(&self, remote: IpAddr) -> u64 {
        self.hashing.hash_one((6_u8, network(remote)))
    }

    fn second_factor_key(&self, issuer: &IssuerId, user: &UserId) -> u64 {
        self.hashing.hash_one((5_u8, issuer, user))
    }

    fn user_code_key(&self, issuer: &IssuerId, user: &UserId) -> u64 {
        self.hashing.hash_one((12_u8, issuer, user))
    }

    fn user_code_address_key(&self, address: IpAddr) -> u64 {
        self.hashing.hash_one((13_u8, network(address)))
    }

    fn login_address_key(&self, address: IpAddr) -> u64 {
        self.hashing.hash_one((1_u8, network(address)))
    }

    fn login_success_key(&self, issuer: &IssuerId, name: &str, address: IpAddr) -> u64 {
        self.hashing.hash_one((2_u8, issuer, network(address), login_name(name)))
    }

    fn login_again_key(&self, issuer: &IssuerId, user: &UserId, address: IpAddr) -> u64 {
        self.hashing.hash_one((3_u8, issuer, network(address), user))
    }
}

/// The login name as limits count it: without case, by the same rule as the stores, so that every spelling of a
/// user's name counts as one.
pub(crate) fn login_name(name: &str) -> String {
    symbolon_protocol::precis::login_key(name.trim())
}
