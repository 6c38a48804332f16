//! What devices ask for, in memory: found by either of two codes, decided once, redeemed once. It is lost when the process ends.

use async_trait::async_trait;
use parking_lot::Mutex;
use symbolon_crypto::digest;
use symbolon_crypto::random::Random;
use symbolon_figures::{Room, ShareNumber, StoreKind};
use symbolon_protocol::device_authorization::{
    DeviceAuthorization, DeviceCode, DeviceCodeParts, DeviceDecision, Polling, UserCode,
};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{
    self, Decided, DeviceCodes, DeviceDeciding, DevicePoll, KeptDeviceAuthorization, Redemption,
};
use symbolon_store::shard::device_key;

use crate::EmbeddedStore;
use crate::room::DEVICE_AUTHORIZATIONS;
use crate::sharded::{Key, KeyMap, slot_of_key};

/// The locks that all of them share.
const LOCKS: usize = 64;

/// The most that one client may take of the room, in percent: what it asks for beyond keeps no other client out.
const OF_CLIENT: u64 = 50;

/// Memory of one besides its scope and details, which the grant has a second time: its key, ends and shares, the grant that a decision
/// makes of it, and its place in a table that is three quarters full on average. Counted from the start, so that a decision is never
/// refused.
const BESIDE_SCOPE: usize = 1_024;

/// How often a user code is drawn before the store gives up: the second draw is taken as rarely as the first.
const DRAWS: usize = 8;

/// What one device asks for.
struct Kept {
    asked: DeviceAuthorization,
    secret_digest: [u8; 16],
    polling: Polling,
    decision: Option<DeviceDecision>,
    is_used: bool,
    /// The issuer and the client for which it counts.
    shares: Shares,
}

#[derive(Clone, Copy)]
struct Shares {
    issuer: ShareNumber,
    client: ShareNumber,
}

impl Kept {
    fn bytes(&self) -> usize {
        let details = &self.asked.authorization_details;
        let details = if details.is_empty() { 0 } else { details.as_json().len() };
        2 * (self.asked.scope.as_str().len() + details) + BESIDE_SCOPE
    }

    /// A used code is remembered, so that a second use is recognised.
    fn goes_at(&self) -> Timestamp {
        match self.is_used {
            true => self.asked.expires_at + KEPT_AFTER_END,
            false => self.asked.expires_at,
        }
    }

    fn has_ended(&self, now: Timestamp) -> bool {
        self.asked.expires_at <= now
    }

    fn is_of(&self, parts: &DeviceCodeParts) -> bool {
        digest::constant_time_eq(&self.secret_digest, &parts.secret_digest)
    }

    fn decide(&mut self, decision: DeviceDecision, now: Timestamp) -> DeviceDeciding {
        if self.has_ended(now) {
            return DeviceDeciding::Unknown;
        }
        match &self.decision {
            Some(before) => DeviceDeciding::Before(Decided::from(before)),
            None => {
                self.decision = Some(decision);
                DeviceDeciding::Decided
            }
        }
    }

    fn poll(&mut self, client: &ClientId, now: Timestamp) -> DevicePoll {
        if self.asked.client != *client {
            return DevicePoll::OfOtherClient;
        }
        match &self.decision {
            Some(DeviceDecision::Allowed(grant)) if self.is_used => DevicePoll::Used(grant.clone()),
            _ if self.has_ended(now) => DevicePoll::Unknown,
            Some(DeviceDecision::Allowed(grant)) => DevicePoll::Allowed(grant.clone()),
            Some(DeviceDecision::Denied(user)) => DevicePoll::Denied(user.clone()),
            None => match self.polling.poll(now) {
                true => DevicePoll::Pending,
                false => DevicePoll::SlowDown,
            },
        }
    }

    fn redeem(&mut self, now: Timestamp) -> Redemption {
        if self.is_used {
            return Redemption::Replayed;
        }
        let is_allowed = self.decision.as_ref().is_some_and(DeviceDecision::is_allowed);
        if self.has_ended(now) || !is_allowed {
            return Redemption::Unknown;
        }
        self.is_used = true;
        Redemption::Redeemed
    }
}

/// Everything that devices ask for.
pub(crate) struct DeviceAuthorizations {
    locks: Box<[Mutex<KeyMap<Kept>>]>,
    /// What each client takes.
    clients: Room,
}

impl Default for DeviceAuthorizations {
    fn default() -> Self {
        let clients = Room::new();
        clients.set_most(DEVICE_AUTHORIZATIONS);
        clients.set_share(OF_CLIENT);
        Self { locks: (0..LOCKS).map(|_| Mutex::default()).collect(), clients }
    }
}

impl DeviceAuthorizations {
    fn of(&self, key: &Key) -> Result<&Mutex<KeyMap<Kept>>, StoreError> {
        let lock = slot_of_key(key) as usize % LOCKS;
        self.locks.get(lock).ok_or_else(|| StoreError::Failed("a device authorization has no place".into()))
    }
}

impl EmbeddedStore {
    fn room_of_device(&self, issuer: &IssuerId, client: &ClientId) -> Result<Shares, StoreError> {
        let (room, clients) = (self.figures.device_authorization_room(), &self.device_authorizations.clients);
        // A single issuer has no share to be counted for.
        let of_issuer = room.share_percent().map_or(ShareNumber::NOBODY, |_| room.share_of(issuer.as_str()));
        // No id contains a space.
        let of_client = clients.share_of(&format!("{issuer} {client}"));
        if !room.admits(of_issuer) {
            return Err(StoreError::no_room("device authorizations", !room.is_within_share(of_issuer)));
        }
        if !clients.is_within_share(of_client) {
            room.refuse();
            let why = "device authorizations of one client take all that one client may";
            return Err(StoreError::Unavailable(why.into()));
        }
        Ok(Shares { issuer: of_issuer, client: of_client })
    }

    fn count_device(&self, kept: &Kept, (before, after): (usize, usize)) {
        let room = self.figures.device_authorization_room();
        room.moved(before, after);
        room.moved_of(kept.shares.issuer, before, after);
        self.device_authorizations.clients.moved_of(kept.shares.client, before, after);
    }

    /// Runs `work` on the records of a key, under their lock and measured.
    fn on_devices<R>(&self, key: &Key, work: impl FnOnce(&mut KeyMap<Kept>) -> R) -> Result<R, StoreError> {
        let mut timer = self.figures.kind(StoreKind::DeviceAuthorization).start(0);
        let lock = self.device_authorizations.of(key)?;
        let mut devices = lock.try_lock().unwrap_or_else(|| {
            let devices = lock.lock();
            timer.admitted();
            devices
        });
        let result = work(&mut devices);
        drop(devices);
        timer.finish(true);
        Ok(result)
    }

    /// Runs `work` on the record of a device code, if there is one.
    fn on_device<R>(
        &self,
        (issuer, code): (&IssuerId, &DeviceCode),
        work: impl FnOnce(&mut Kept) -> R,
    ) -> Result<Option<R>, StoreError> {
        let Some(parts) = code.parts(issuer) else { return Ok(None) };
        self.on_devices(&parts.place, |devices| {
            devices.get_mut(&parts.place).filter(|kept| kept.is_of(&parts)).map(work)
        })
    }

    /// Keeps a record unless its user code is taken, in which case it is given back. One that is over makes room.
    fn keep_device(&self, key: &Key, kept: Kept, now: Timestamp) -> Result<Option<Kept>, StoreError> {
        let added = kept.bytes();
        let shares = kept.shares;
        let given_back = self.on_devices(key, |devices| {
            if devices.get(key).is_some_and(|there| there.goes_at() > now) {
                return Some(kept);
            }
            if let Some(over) = devices.insert(*key, kept) {
                self.count_device(&over, (over.bytes(), 0));
            }
            None
        })?;
        if given_back.is_none() {
            let room = self.figures.device_authorization_room();
            room.moved(0, added);
            room.moved_of(shares.issuer, 0, added);
            self.device_authorizations.clients.moved_of(shares.client, 0, added);
        }
        Ok(given_back)
    }

    pub(crate) async fn sweep_device_authorizations(&self, now: Timestamp) -> u64 {
        let mut gone = 0;
        for lock in &self.device_authorizations.locks {
            gone += self.sweep_some_devices(&mut lock.lock(), now);
            tokio::task::yield_now().await;
        }
        gone
    }

    fn sweep_some_devices(&self, devices: &mut KeyMap<Kept>, now: Timestamp) -> u64 {
        let before = devices.len();
        devices.retain(|_, kept| {
            let stays = kept.goes_at() > now;
            if !stays {
                self.count_device(kept, (kept.bytes(), 0));
            }
            stays
        });
        if devices.capacity() > 4 * devices.len() + 64 {
            devices.shrink_to_fit();
        }
        (before - devices.len()) as u64
    }
}

#[async_trait]
impl port::DeviceAuthorizations for EmbeddedStore {
    async fn keep_device_authorization(
        &self,
        issuer: &IssuerId,
        asked: DeviceAuthorization,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<DeviceCodes, StoreError> {
        self.check_not_frozen()?;
        let shares = self.room_of_device(issuer, &asked.client)?;
        let mut asked = asked;
        for _ in 0..DRAWS {
            let user = UserCode::draw(random);
            let key = device_key(issuer, &user);
            let device = DeviceCode::draw(&key, random);
            let Some(parts) = device.parts(issuer) else { break };
            let kept = Kept {
                asked,
                secret_digest: parts.secret_digest,
                polling: Polling::default(),
                decision: None,
                is_used: false,
                shares,
            };
            match self.keep_device(&key, kept, now)? {
                None => return Ok(DeviceCodes { device, user }),
                Some(given_back) => asked = given_back.asked,
            }
        }
        Err(StoreError::Failed("no user code is free".into()))
    }

    async fn device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        now: Timestamp,
    ) -> Result<Option<KeptDeviceAuthorization>, StoreError> {
        let key = device_key(issuer, code);
        self.on_devices(&key, |devices| {
            let kept = devices.get(&key).filter(|kept| !kept.has_ended(now))?;
            let decided = kept.decision.as_ref().map(Decided::from);
            Some(KeptDeviceAuthorization { asked: kept.asked.clone(), decided })
        })
    }

    async fn decide_device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        decision: DeviceDecision,
        now: Timestamp,
    ) -> Result<DeviceDeciding, StoreError> {
        self.check_not_frozen()?;
        let key = device_key(issuer, code);
        self.on_devices(&key, |devices| match devices.get_mut(&key) {
            Some(kept) => kept.decide(decision, now),
            None => DeviceDeciding::Unknown,
        })
    }

    async fn poll_device_authorization(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<DevicePoll, StoreError> {
        self.check_not_frozen()?;
        let polled = self.on_device((issuer, code), |kept| kept.poll(client, now))?;
        Ok(polled.unwrap_or(DevicePoll::Unknown))
    }

    async fn redeem_device_code(
        &self,
        issuer: &IssuerId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        self.check_not_frozen()?;
        let redeemed = self.on_device((issuer, code), |kept| kept.redeem(now))?;
        Ok(redeemed.unwrap_or(Redemption::Unknown))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::scope::Scope;
    use symbolon_store::port::DeviceAuthorizations as _;

    use super::*;
    use crate::open::tests::options;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[tokio::test]
    async fn a_client_that_asks_without_end_keeps_no_other_out() {
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(home.path())).unwrap();
        let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(1));
        let expires_at = NOW + Duration::from_secs(600);
        let ask = async |client: &str| {
            let (client, scope) = (ClientId::parse(client).unwrap(), Scope::parse("openid").unwrap());
            let asked =
                DeviceAuthorization { client, scope, authorization_details: Default::default(), expires_at };
            store.keep_device_authorization(&issuer, asked, NOW, &random).await
        };
        store.device_authorizations.clients.set_most(1 << 20);
        let taken = (1 << 19) / (2 * "openid".len() + BESIDE_SCOPE) + 1;
        for _ in 0..taken {
            ask("loud").await.unwrap();
        }
        assert!(matches!(ask("loud").await, Err(StoreError::Unavailable(_))));
        ask("quiet").await.unwrap();
        assert_eq!(store.sweep_device_authorizations(expires_at).await, taken as u64 + 1);
        assert_eq!(store.figures.device_authorization_room().snapshot().bytes, 0);
        ask("loud").await.unwrap();
    }
}
