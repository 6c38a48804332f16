//! What clients ask people for, in memory. All requests of a person have the person's slot in their key, so that one lock has them.

use async_trait::async_trait;
use symbolon_figures::{StoreFigures, StoreKind};
use symbolon_protocol::backchannel_authentication::{
    AuthReqId, BackchannelAuthentication, BackchannelRequestId, MOST_SHOWN, MOST_WAITING,
};
use symbolon_protocol::decision::{Decision, Undecided};
use symbolon_protocol::grant::Slot;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{self, Deciding, KeptBackchannelAuthentication, Polled, Redemption};

use crate::EmbeddedStore;
use crate::room::BACKCHANNEL_AUTHENTICATIONS;
use crate::sharded::Key;
use crate::undecided::{Kept, Waiting};

/// Memory of one besides its texts: as for what devices ask for.
const BESIDE_TEXTS: usize = 1_024;

/// A request, and the issuer at which it was made: an id means nothing to another.
pub(crate) struct AskedAt {
    issuer: IssuerId,
    asked: BackchannelAuthentication,
}

impl Undecided for AskedAt {
    fn client(&self) -> &ClientId {
        &self.asked.client
    }

    fn expires_at(&self) -> Timestamp {
        self.asked.expires_at
    }
}

/// Everything that clients ask people for.
pub(crate) fn none() -> Waiting<AskedAt> {
    let kind = (StoreKind::BackchannelAuthentication, "backchannel authentication requests");
    Waiting::new(kind, StoreFigures::backchannel_authentication_room, BACKCHANNEL_AUTHENTICATIONS)
}

/// A key with the slot of a user: that of no record, but with the same lock as all of the user's.
fn key_of_user(issuer: &IssuerId, user: &UserId) -> Key {
    let [high, low] = Slot::of(issuer, user.as_str()).number().to_be_bytes();
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, high, low]
}

impl Kept<AskedAt> {
    fn is_of(&self, issuer: &IssuerId, user: &UserId) -> bool {
        self.asked.issuer == *issuer && self.asked.asked.user == *user
    }

    fn waits_for(&self, issuer: &IssuerId, user: &UserId, now: Timestamp) -> bool {
        self.decided().is_none() && !self.has_ended(now) && self.is_of(issuer, user)
    }

    fn found(&self, id: BackchannelRequestId) -> KeptBackchannelAuthentication {
        KeptBackchannelAuthentication { id, asked: self.asked.asked.clone(), decided: self.decided() }
    }
}

impl EmbeddedStore {
    /// Runs `work` on the record of an `auth_req_id`, if there is one.
    fn on_auth_req_id<R>(
        &self,
        (issuer, id): (&IssuerId, &AuthReqId),
        work: impl FnOnce(&mut Kept<AskedAt>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let Some(parts) = id.parts(issuer) else { return Ok(None) };
        let key = (parts.request.bytes(), &parts.secret_digest);
        self.backchannel_authentications.on_secret(&self.figures, key, work)
    }

    pub(crate) async fn sweep_backchannel_authentications(&self, now: Timestamp) -> u64 {
        self.backchannel_authentications.sweep(&self.figures, now).await
    }
}

#[async_trait]
impl port::BackchannelAuthentications for EmbeddedStore {
    async fn keep_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &AuthReqId,
        asked: BackchannelAuthentication,
    ) -> Result<bool, StoreError> {
        self.check_not_frozen()?;
        let all = &self.backchannel_authentications;
        let shares = all.admit(&self.figures, issuer, &asked.client)?;
        let parts = id.parts(issuer).ok_or_else(|| StoreError::Failed("no auth_req_id".into()))?;
        let (bytes, now) = (asked.text_bytes() + BESIDE_TEXTS, asked.asked_at);
        let asked = AskedAt { issuer: issuer.clone(), asked };
        let kept = Kept::new(asked, parts.secret_digest, shares, bytes);
        all.on_all(&self.figures, parts.request.bytes(), |records| {
            let new = &kept.asked.asked;
            let is_same = |own: &&Kept<AskedAt>| {
                own.asked.asked.client == new.client && own.waits_for(issuer, &new.user, now)
            };
            if records.values().filter(is_same).count() >= MOST_WAITING {
                return Ok(false);
            }
            // 112 random bits are never drawn twice.
            match all.insert(&self.figures, records, (parts.request.bytes(), kept), now) {
                None => Ok(true),
                Some(_) => Err(StoreError::Failed("the auth_req_id is taken".into())),
            }
        })?
    }

    async fn backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &BackchannelRequestId,
        now: Timestamp,
    ) -> Result<Option<KeptBackchannelAuthentication>, StoreError> {
        self.backchannel_authentications.on_all(&self.figures, id.bytes(), |records| {
            let kept = records.get(id.bytes())?;
            (kept.asked.issuer == *issuer && !kept.has_ended(now)).then(|| kept.found(*id))
        })
    }

    async fn waiting_backchannel_authentications(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<KeptBackchannelAuthentication>, StoreError> {
        let key = key_of_user(issuer, user);
        let mut found: Vec<_> = self.backchannel_authentications.on_all(&self.figures, &key, |records| {
            let of_user = records.iter().filter(|(_, kept)| kept.waits_for(issuer, user, now));
            of_user.map(|(key, kept)| kept.found(BackchannelRequestId::of_bytes(*key))).collect()
        })?;
        found.sort_by_key(|kept: &KeptBackchannelAuthentication| (kept.asked.expires_at, *kept.id.bytes()));
        found.truncate(MOST_SHOWN);
        Ok(found)
    }

    async fn decide_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &BackchannelRequestId,
        decision: Decision,
        now: Timestamp,
    ) -> Result<Deciding, StoreError> {
        self.check_not_frozen()?;
        self.backchannel_authentications.on_all(&self.figures, id.bytes(), |records| {
            match records.get_mut(id.bytes()).filter(|kept| kept.is_of(issuer, decision.user())) {
                Some(kept) => kept.decide(decision, now),
                None => Deciding::Unknown,
            }
        })
    }

    async fn poll_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        id: &AuthReqId,
        now: Timestamp,
    ) -> Result<Polled, StoreError> {
        self.check_not_frozen()?;
        let polled = self.on_auth_req_id((issuer, id), |kept| kept.poll(client, now))?;
        Ok(polled.unwrap_or(Polled::Unknown))
    }

    async fn redeem_auth_req_id(
        &self,
        issuer: &IssuerId,
        id: &AuthReqId,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        self.check_not_frozen()?;
        let redeemed = self.on_auth_req_id((issuer, id), |kept| kept.redeem(now))?;
        Ok(redeemed.unwrap_or(Redemption::Unknown))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::scope::Scope;
    use symbolon_store::port::BackchannelAuthentications as _;

    use super::*;
    use crate::open::tests::options;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[tokio::test]
    async fn a_client_that_asks_without_end_keeps_no_other_out() {
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(home.path())).unwrap();
        let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(1));
        let expires_at = NOW + Duration::from_secs(300);
        let ask = async |client: &str, user: &str| {
            let user = UserId::parse(user).unwrap();
            let asked = BackchannelAuthentication {
                client: ClientId::parse(client).unwrap(),
                user: user.clone(),
                scope: Scope::parse("openid").unwrap(),
                resources: Vec::new(),
                authorization_details: Default::default(),
                acr: Default::default(),
                binding_message: None,
                notification: None,
                asked_at: NOW,
                expires_at,
            };
            let id = AuthReqId::draw(&issuer, &user, &random);
            store.keep_backchannel_authentication(&issuer, &id, asked).await
        };
        store.backchannel_authentications.clients.set_most(1 << 20);
        let taken = (1 << 19) / (2 * "openid".len() + BESIDE_TEXTS) + 1;
        for number in 0..taken {
            assert!(ask("loud", &format!("user-{number}")).await.unwrap());
        }
        assert!(matches!(ask("loud", "one-more").await, Err(StoreError::Unavailable(_))));
        assert!(ask("quiet", "user-1").await.unwrap());
        assert_eq!(store.sweep_backchannel_authentications(expires_at).await, taken as u64 + 1);
        assert_eq!(store.figures.backchannel_authentication_room().snapshot().bytes, 0);
        assert!(ask("loud", "user-1").await.unwrap());
    }
}
