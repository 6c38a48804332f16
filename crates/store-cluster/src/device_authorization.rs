//! What devices ask for, in Redis: one hash each, found by either of its two codes.
//!
//! They are in the constant slots of the challenges, and count with the codes of their issuer for the share that it may take, and for their client. A
//! decision and a redemption wait for a replica as the redemption of a code does. A poll does not: what may be lost of it is how long
//! the device has to wait.
//!
//! The client library repeats a command whose answer was lost. So whoever keeps, decides or redeems writes a random text of its
//! own, by which a repeated command knows that it was the first. A repeated poll may be told to slow down.

use std::sync::LazyLock;

use async_trait::async_trait;
use symbolon_crypto::random::{self, Random};
use symbolon_figures::StoreKind;
use symbolon_protocol::device_authorization::{
    DeviceAuthorization, DeviceCode, DeviceDecision, INTERVAL, JITTER, LONGEST_INTERVAL, SLOWED_BY, UserCode,
};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{
    Decided, DeviceAuthorizations, DeviceCodes, DeviceDeciding, DevicePoll, KeptDeviceAuthorization,
    Redemption,
};
use symbolon_store::shard::{ShardKind, device_key};

use crate::redis::{Key, Script, ScriptCall};
use crate::share::OfClients;
use crate::{ClusterStore, from_document, key_text, to_document};

/// What a grant adds to a record, in bytes. Counted when it is kept.
const GRANT: usize = 512;

/// How often a user code is drawn before the store gives up: the second draw is taken as rarely as the first.
const DRAWS: usize = 8;

/// Keeps a record unless its user code is taken; returns 1 if it did. The fields: `s` digest of the device code's secret, `c` client,
/// `a` what is asked for, `e` its end, `i` the interval of polls, `p` the last poll, `d` the decision, `o` 1 if it allows, `b` by which
/// call it was decided, `t` by which call it was redeemed. Times are in milliseconds.
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

/// Decides once. Returns the empty text to whoever decided, the decision to all others, and nothing if there is no such record or it
/// has ended.
static DECIDE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local kept = redis.call('HMGET', KEYS[1], 'e', 'd', 'b')
         if not kept[1] or tonumber(kept[1]) <= tonumber(ARGV[4]) then return false end
         if kept[2] then
           if kept[3] == ARGV[3] then return '' end
           return kept[2]
         end
         redis.call('HSET', KEYS[1], 'd', ARGV[1], 'o', ARGV[2], 'b', ARGV[3])
         return ''",
    )
});

/// Says what became of a record, with the decision, and notes the poll: see
/// [`Polling`](symbolon_protocol::device_authorization::Polling).
static POLL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local kept = redis.call('HMGET', KEYS[1], 's', 'c', 'e', 'd', 't', 'p', 'i')
         if kept[1] ~= ARGV[1] then return {'unknown', ''} end
         if kept[2] ~= ARGV[2] then return {'other', ''} end
         if kept[5] then return {'used', kept[4]} end
         local now = tonumber(ARGV[3])
         if tonumber(kept[3]) <= now then return {'unknown', ''} end
         if kept[4] then return {'decided', kept[4]} end
         local interval = tonumber(kept[7])
         local is_early = kept[6] and now + tonumber(ARGV[4]) < tonumber(kept[6]) + interval
         redis.call('HSET', KEYS[1], 'p', ARGV[3])
         if not is_early then return {'pending', ''} end
         interval = math.min(interval + tonumber(ARGV[5]), tonumber(ARGV[6]))
         redis.call('HSET', KEYS[1], 'i', string.format('%.0f', interval))
         return {'slow', ''}",
    )
});

/// Redeems a record that was allowed and has not ended, and lets Redis keep it longer, because a second use must be recognized
/// for a while after the end. Returns 0 if there is no such record, 1 if this caller has redeemed it, 2 if another caller has.
static REDEEM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local kept = redis.call('HMGET', KEYS[1], 's', 'e', 'o', 't')
         if kept[1] ~= ARGV[1] or kept[3] ~= '1' then return 0 end
         if kept[4] then
           if kept[4] == ARGV[2] then return 1 end
           return 2
         end
         local left = tonumber(kept[2]) - tonumber(ARGV[3])
         if left <= 0 then return 0 end
         redis.call('HSET', KEYS[1], 't', ARGV[2])
         redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left + tonumber(ARGV[4])))
         return 1",
    )
});

/// A record's place, and the digest of its device code's secret as text.
struct Place {
    key: Key,
    shard: u32,
    secret_digest: String,
}

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
        Some(Place { key, shard, secret_digest: key_text(&parts.secret_digest) })
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
        let decision: Option<DeviceDecision> = fields.next().flatten().map(from_document).transpose()?;
        let decided = decision.as_ref().map(Decided::from);
        Ok((asked.expires_at > now).then_some(KeptDeviceAuthorization { asked, decided }))
    }

    async fn decide_device_authorization(
        &self,
        issuer: &IssuerId,
        code: &UserCode,
        decision: DeviceDecision,
        now: Timestamp,
    ) -> Result<DeviceDeciding, StoreError> {
        let _pass = self.gate.enter()?;
        // As for a code: the decision rests on cached records, which are valid only while this node holds its lease.
        self.nodes.check()?;
        let (key, shard) = self.device_place(issuer, &device_key(issuer, code));
        let caller = random::base64url::<12>(&*self.random);
        let (document, now) = (to_document(&decision)?, now.millis().to_string());
        let is_allowed: &[u8] = if decision.is_allowed() { b"1" } else { b"0" };
        let arguments = [document.as_bytes(), is_allowed, caller.as_bytes(), now.as_bytes()];
        let call = ScriptCall { keys: &[&key], arguments: &arguments };
        let run = async { self.redis.run_durably(&DECIDE, call).await?.read::<Option<Vec<u8>>>() };
        Ok(match self.measured(StoreKind::DeviceAuthorization, shard, run).await? {
            None => DeviceDeciding::Unknown,
            Some(before) if before.is_empty() => DeviceDeciding::Decided,
            Some(before) => {
                let before: DeviceDecision = from_document(before)?;
                DeviceDeciding::Before(Decided::from(&before))
            }
        })
    }

    async fn poll_device_authorization(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<DevicePoll, StoreError> {
        let _pass = self.gate.enter()?;
        let Some(place) = self.place_of_device(issuer, code) else { return Ok(DevicePoll::Unknown) };
        let [jitter, slowed_by, longest] =
            [JITTER, SLOWED_BY, LONGEST_INTERVAL].map(|duration| duration.as_millis().to_string());
        let now = now.millis().to_string();
        let arguments = [
            place.secret_digest.as_bytes(),
            client.as_str().as_bytes(),
            now.as_bytes(),
            jitter.as_bytes(),
            slowed_by.as_bytes(),
            longest.as_bytes(),
        ];
        let call = ScriptCall { keys: &[&place.key], arguments: &arguments };
        let run = async { self.redis.run(&POLL, call).await?.read::<(String, Vec<u8>)>() };
        let (state, decision) = self.measured(StoreKind::DeviceAuthorization, place.shard, run).await?;
        let decision: Option<DeviceDecision> = match decision.is_empty() {
            true => None,
            false => Some(from_document(decision)?),
        };
        Ok(match (&*state, decision) {
            ("pending", _) => DevicePoll::Pending,
            ("slow", _) => DevicePoll::SlowDown,
            ("other", _) => DevicePoll::OfOtherClient,
            ("used", Some(DeviceDecision::Allowed(grant))) => DevicePoll::Used(grant),
            (_, Some(DeviceDecision::Allowed(grant))) => DevicePoll::Allowed(grant),
            (_, Some(DeviceDecision::Denied(user))) => DevicePoll::Denied(user),
            _ => DevicePoll::Unknown,
        })
    }

    async fn redeem_device_code(
        &self,
        issuer: &IssuerId,
        code: &DeviceCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        let _pass = self.gate.enter()?;
        self.nodes.check()?;
        let Some(place) = self.place_of_device(issuer, code) else { return Ok(Redemption::Unknown) };
        let caller = random::base64url::<12>(&*self.random);
        let (now, kept) = (now.millis().to_string(), KEPT_AFTER_END.as_millis().to_string());
        let arguments = [place.secret_digest.as_bytes(), caller.as_bytes(), now.as_bytes(), kept.as_bytes()];
        let call = ScriptCall { keys: &[&place.key], arguments: &arguments };
        let run = async { self.redis.run_durably(&REDEEM, call).await?.read::<u8>() };
        Ok(match self.measured(StoreKind::DeviceAuthorization, place.shard, run).await? {
            0 => Redemption::Unknown,
            1 => Redemption::Redeemed,
            _ => Redemption::Replayed,
        })
    }
}
