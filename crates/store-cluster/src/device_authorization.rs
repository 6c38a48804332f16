//! What devices ask for, in Redis: one hash each, found by either of its two codes.
//!
//! They count for their client, too. Decisions, polls and redemptions are those of [what waits](crate::undecided).

use std::sync::LazyLock;

use async_trait::async_trait;
use symbolon_crypto::random::Random;
use symbolon_figures::StoreKind;
use symbolon_protocol::decision::{Decision, INTERVAL};
use symbolon_protocol::device_authorization::{DeviceAuthorization, DeviceCode, UserCode};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{
    Decided, Deciding, DeviceAuthorizations, DeviceCodes, KeptDeviceAuthorization, Polled, Redemption,
};
use symbolon_store::shard::{ShardKind, device_key};

use crate::redis::{Key, Script, ScriptCall};
use crate::share::OfClients;
use crate::undecided::{GRANT, Place};
use crate::{ClusterStore, from_document, key_text, to_document};

/// How often a user code is drawn before the store gives up: the second draw is taken as rarely as the first.
const DRAWS: usize = 8;

/// Keeps a record unless its user code is taken; returns 1 if it did.
static KEEP: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local there = redis.call('HGET', KEYS[1], 's')
         if there then
           if there == ARGV[1] then return 1 end
           return 0
         end
         redis.call('HSET', KEYS[1], 's', ARGV[1], 'c', ARGV[2], 'a', ARGV[3], 'e', ARGV[4], 'i', ARGV[5])
         redis.call('PEXPIRE', KEYS[1], ARGV[6])
         return 1",
    )
});

impl ClusterStore {
    /// The place of a record by its key, which both codes have.
    fn device_place(&self, issuer: &IssuerId, key: &[u8; 16]) -> (Key, u32) {
        let text = key_text(key);
        let route = self.generations.route(ShardKind::Challenge, issuer, &text);
        (self.redis.tags().shard(ShardKind::Challenge, route).key('d', text.as_bytes()), route.shard)
    }

    fn place_of_device(&self, issuer: &IssuerId, code: &DeviceCode) -> Option<Place> {
        let parts = code.parts(issuer)?;
        let (key, shard) = self.device_place(issuer, &parts.place);
        let kind = StoreKind::DeviceAuthorization;
        Some(Place { kind, key, shard, secret_digest: key_text(&parts.secret_digest) })
    }

    /// Keeps a record under a drawn user code; returns whether that was free.
    async fn keep_device(
        &self,
        place: &Place,
        (asked, document): (&DeviceAuthorization, &str),
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let life = asked.expires_at.since(now).as_millis().max(1_000);
        let end = asked.expires_at.millis().to_string();
        let (interval, life) = (INTERVAL.as_millis().to_string(), life.to_string());
        let arguments = [
            place.secret_digest.as_bytes(),
            asked.client.as_str().as_bytes(),
            document.as_bytes(),
            end.as_bytes(),
            interval.as_bytes(),
            life.as_bytes(),
        ];
        let call = ScriptCall { keys: &[&place.key], arguments: &arguments };
        let run = async { self.redis.run(&KEEP, call).await?.read::<u8>() };
        Ok(self.measured(StoreKind::DeviceAuthorization, place.shard, run).await? == 1)
    }
}

#[async_trait]
impl DeviceAuthorizations for ClusterStore {
    async fn keep_device_authorization(
        &self,
        issuer: &IssuerId,
        asked: DeviceAuthorization,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<DeviceCodes, StoreError> {
        let _pass = self.gate.enter()?;
        let document = to_document(&asked)?;
        // The grant has them a second time.
        let details = asked.authorization_details.as_json().len();
        for _ in 0..DRAWS {
            let user = UserCode::draw(random);
            let device = DeviceCode::draw(&device_key(issuer, &user), random);
            let Some(place) = self.place_of_device(issuer, &device) else { break };
            let room = self.figures.device_authorization_room();
            self.admit(room, (&place.key, place.shard)).await?;
            let of = (issuer, asked.client.as_str());
            let client = self.admit_client(OfClients::DeviceAuthorizations, of).await?;
            let share = self.admit_share_of_codes(issuer, &place.key).await?;
            let counting = self.counting_code(share, asked.expires_at).for_client(client);
            counting.set_grant(document.len() + details + GRANT);
            if self.keep_device(&place, (&asked, &document), now).await? {
                return Ok(DeviceCodes { device, user });
            }
            counting.cancel();
        }
        Err(StoreError::Failed("no user code is free".into()))
    }

    async fn device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        now: Timestamp,
    ) -> Result<Option<KeptDeviceAuthorization>, StoreError> {
        let (key, shard) = self.device_place(issuer, &device_key(issuer, code));
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(key.as_bytes()).arg("a").arg("d");
        let ask = async { self.redis.ask_at(key.hash_slot(), &cmd).await?.read::<Vec<Option<Vec<u8>>>>() };
        let fields = self.measured(StoreKind::DeviceAuthorization, shard, ask).await?;
        let mut fields = fields.into_iter();
        let Some(asked) = fields.next().flatten() else { return Ok(None) };
        let asked: DeviceAuthorization = from_document(asked)?;
        let decision: Option<Decision> = fields.next().flatten().map(from_document).transpose()?;
        let decided = decision.as_ref().map(Decided::from);
        Ok((asked.expires_at > now).then_some(KeptDeviceAuthorization { asked, decided }))
    }

    async fn decide_device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        decision: Decision,
        now: Timestamp,
    ) -> Result<Deciding, StoreError> {
        let _pass = self.gate.enter()?;
        let (key, shard) = self.device_place(issuer, &device_key(issuer, code));
        let at = (StoreKind::DeviceAuthorization, &key, shard);
        self.decide_undecided(at, None, &decision, now).await
    }

    async fn poll_device_authorization(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Polled, StoreError> {
        let _pass = self.gate.enter()?;
        let Some(place) = self.place_of_device(issuer, code) else { return Ok(Polled::Unknown) };
        self.poll_undecided(&place, client, now).await
    }

    async fn redeem_device_code(
        &self,
        issuer: &IssuerId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        let _pass = self.gate.enter()?;
        let Some(place) = self.place_of_device(issuer, code) else { return Ok(Redemption::Unknown) };
        self.redeem_undecided(&place, now).await
    }
}
