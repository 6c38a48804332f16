//! What devices ask for, in memory: found by either of two codes.

use async_trait::async_trait;
use symbolon_crypto::random::Random;
use symbolon_figures::{StoreFigures, StoreKind};
use symbolon_protocol::decision::Decision;
use symbolon_protocol::device_authorization::{DeviceAuthorization, DeviceCode, UserCode};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{self, Deciding, DeviceCodes, KeptDeviceAuthorization, Polled, Redemption};
use symbolon_store::shard::device_key;

use crate::EmbeddedStore;
use crate::room::DEVICE_AUTHORIZATIONS;
use crate::undecided::{Kept, Waiting};

/// Memory of one besides its scope and details, which the grant has a second time: its key, ends and shares, the grant that a decision
/// makes of it, and its place in a table that is three quarters full on average. Counted from the start, so that a decision is never
/// refused.
const BESIDE_SCOPE: usize = 1_024;

/// How often a user code is drawn before the store gives up: the second draw is taken as rarely as the first.
const DRAWS: usize = 8;

/// Everything that devices ask for.
pub(crate) fn none() -> Waiting<DeviceAuthorization> {
    let kind = (StoreKind::DeviceAuthorization, "device authorizations");
    Waiting::new(kind, StoreFigures::device_authorization_room, DEVICE_AUTHORIZATIONS)
}

fn bytes(asked: &DeviceAuthorization) -> usize {
    let details = &asked.authorization_details;
    let details = if details.is_empty() { 0 } else { details.as_json().len() };
    2 * (asked.scope.as_str().len() + details) + BESIDE_SCOPE
}

impl EmbeddedStore {
    /// Runs `work` on the record of a device code, if there is one.
    fn on_device<R>(
        &self,
        (issuer, code): (&IssuerId, &DeviceCode),
        work: impl FnOnce(&mut Kept<DeviceAuthorization>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let Some(parts) = code.parts(issuer) else { return Ok(None) };
        self.device_authorizations.on_secret(&self.figures, (&parts.place, &parts.secret_digest), work)
    }

    pub(crate) async fn sweep_device_authorizations(&self, now: Timestamp) -> u64 {
        self.device_authorizations.sweep(&self.figures, now).await
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
        let shares = self.device_authorizations.admit(&self.figures, issuer, &asked.client)?;
        let mut asked = asked;
        for _ in 0..DRAWS {
            let user = UserCode::draw(random);
            let key = device_key(issuer, &user);
            let device = DeviceCode::draw(&key, random);
            let Some(parts) = device.parts(issuer) else { break };
            let bytes = bytes(&asked);
            let kept = Kept::new(asked, parts.secret_digest, shares, bytes);
            match self.device_authorizations.keep(&self.figures, &key, kept, now)? {
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
        self.device_authorizations.on_all(&self.figures, &key, |devices| {
            let kept = devices.get(&key).filter(|kept| !kept.has_ended(now))?;
            Some(KeptDeviceAuthorization { asked: kept.asked.clone(), decided: kept.decided() })
        })
    }

    async fn decide_device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        decision: Decision,
        now: Timestamp,
    ) -> Result<Deciding, StoreError> {
        self.check_not_frozen()?;
        let key = device_key(issuer, code);
        self.device_authorizations.on_all(&self.figures, &key, |devices| match devices.get_mut(&key) {
            Some(kept) => kept.decide(decision, now),
            None => Deciding::Unknown,
        })
    }

    async fn poll_device_authorization(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Polled, StoreError> {
        self.check_not_frozen()?;
        let polled = self.on_device((issuer, code), |kept| kept.poll(client, now))?;
        Ok(polled.unwrap_or(Polled::Unknown))
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
