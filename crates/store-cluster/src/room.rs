//! Bounds for authorization codes, login challenges, marks of client assertions and codes by e-mail.
//!
//! Redis refuses every write, revocations included, once it uses its `maxmemory`. So no code and no challenge is stored
//! while a primary uses three quarters of it: the last quarter is for sessions and revocations. The memory of a shard's
//! primary is looked at before every 64th code or challenge of the shard. Marks of client assertions and codes by
//! e-mail are rows of PostgreSQL, whose number is bounded. A record beyond a bound is refused, and no stored record is removed for it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use symbolon_figures::{Room, ShareNumber, StoreFigures};
use symbolon_store::StoreError;

use crate::ClusterStore;
use crate::postgres::column;
use crate::redis::{Key, Script, ScriptCall};

/// The share of `maxmemory` that a primary may use while codes and challenges are accepted, in quarters.
const QUARTERS: u64 = 3;

/// How many records a shard accepts between two checks of its primary's memory.
const LOOK_EVERY: u32 = 64;

/// How long after a primary was found full its shards refuse records without another check, in milliseconds.
const FULL_FOR: u64 = 1_000;

/// The number of entries for shards. Where there are more shards, several share an entry.
const SHARDS: usize = 64;

/// The most bytes for marks of client assertions: a million marks.
const ASSERTIONS: u64 = 128 << 20;

/// The bytes that one mark takes, with its index entry.
pub(crate) const ASSERTION_MARK: u64 = 128;

/// The most bytes for codes by e-mail: two and a half million, so that those who sign in by one keep no client's assertion out.
const EMAIL_CODES: u64 = 480 << 20;

/// The bytes that one code by e-mail takes, with its index entries, and with what its changes leave until it is vacuumed.
pub(crate) const EMAIL_CODE: u64 = 200;

/// Returns `used_memory` and `maxmemory`, in bytes. A `maxmemory` of 0 means no limit.
static MEMORY: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local info = redis.call('INFO', 'memory')
         return {tonumber(string.match(info, 'used_memory:(%d+)')), tonumber(string.match(info, 'maxmemory:(%d+)'))}",
    )
});

/// `n_live_tup` is the database's own estimate: counting the rows would read them all. Each partition has its own, and the table
/// as a whole none.
const ROWS: &str = r"SELECT
    COALESCE(sum(n_live_tup) FILTER (WHERE relname LIKE 'assertion\_marks%'), 0)::bigint,
    COALESCE(sum(n_live_tup) FILTER (WHERE relname LIKE 'email\_codes%'), 0)::bigint
    FROM pg_stat_user_tables WHERE schemaname = current_schema()";

/// What this node knows of the memory of the primaries, by shard.
#[derive(Default)]
pub(crate) struct RedisRoom {
    taken: Shards<AtomicU32>,
    /// When the shard's primary was found full, in milliseconds since 1970; 0 if it was not full at the last check.
    full_at: Shards<AtomicU64>,
}

struct Shards<T>([T; SHARDS]);

impl<T: Default> Default for Shards<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

impl<T> Shards<T> {
    fn of(&self, shard: u32) -> Option<&T> {
        self.0.get(shard as usize % SHARDS)
    }
}

/// Sets the bounds of what is kept in PostgreSQL.
pub(crate) fn set_bounds(figures: &StoreFigures) {
    figures.assertion_room().set_most(ASSERTIONS);
    figures.email_code_room().set_most(EMAIL_CODES);
}

impl ClusterStore {
    /// Checks whether the primary of a key has room for one more code or challenge.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: it has not.
    pub(crate) async fn admit(&self, room: &Room, (key, shard): (&Key, u32)) -> Result<(), StoreError> {
        let (Some(taken), Some(full_at)) =
            (self.redis_room.taken.of(shard), self.redis_room.full_at.of(shard))
        else {
            return Ok(());
        };
        let count = taken.fetch_add(1, Ordering::Relaxed);
        let full = full_at.load(Ordering::Relaxed);
        let now = self.now().millis();
        if full == 0 && count % LOOK_EVERY != 0 {
            return Ok(());
        }
        let is_full = match full != 0 && now.saturating_sub(full) < FULL_FOR {
            true => true,
            false => {
                // Boxed to keep the callers' futures small: this branch is rarely taken.
                let is_full = Box::pin(self.is_full(room, key)).await;
                full_at.store(if is_full { now.max(1) } else { 0 }, Ordering::Relaxed);
                is_full
            }
        };
        if is_full {
            room.refuse();
            return Err(StoreError::no_room("codes and challenges", false));
        }
        Ok(())
    }

    /// Whether the primary of a key uses more memory than codes and challenges may take. False if the memory cannot be
    /// read: the write that follows fails if the primary cannot be reached or is full.
    pub(crate) async fn is_full(&self, room: &Room, key: &Key) -> bool {
        let call = ScriptCall { keys: &[key], arguments: &[] };
        let looked = self.redis.run(&MEMORY, call).await.and_then(|answer| answer.read::<(u64, u64)>());
        let Ok((used, most)) = looked else { return false };
        let most = if most == 0 { u64::MAX } else { most / 4 * QUARTERS };
        room.set_bytes(used);
        room.set_most(most);
        used >= most
    }

    /// Checks whether there is room for one more mark of a client assertion, of an issuer whose share is counted.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: there is none.
    pub(crate) fn admit_assertion(&self, share: ShareNumber) -> Result<(), StoreError> {
        let room = self.figures.assertion_room();
        match room.admits(share) {
            true => Ok(()),
            false => Err(StoreError::no_room("marks of client assertions", !room.is_within_share(share))),
        }
    }

    /// Updates the measured sizes of marks of client assertions and of codes by e-mail.
    pub(crate) async fn measure_marks(&self) -> Result<(), StoreError> {
        let connection = self.postgres.connection().await?;
        let Some(row) = connection.first(ROWS, &[]).await? else { return Ok(()) };
        let bytes = |index, of_one: u64| {
            column::<i64>(&row, index).map(|rows| rows.unsigned_abs().saturating_mul(of_one))
        };
        self.figures.assertion_room().set_bytes(bytes(0, ASSERTION_MARK)?);
        self.figures.email_code_room().set_bytes(bytes(1, EMAIL_CODE)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::client_authentication::AssertionUse;
    use symbolon_protocol::code::CodeGrant;
    use symbolon_protocol::family::{Family, FamilyId, Rotation};
    use symbolon_protocol::grant::Lineage;
    use symbolon_protocol::id::{ClientId, IssuerId, Jti, UserId};
    use symbolon_protocol::revocation::Tombstone;
    use symbolon_protocol::session::SessionId;
    use symbolon_protocol::sign_in::email_code_use::EmailCodeTry;
    use symbolon_store::contract::sample;
    use symbolon_store::port::{
        Assertions, Challenges, Codes, Created, EmailCodes, Redemption, RefreshTokens, Revocations, Sessions,
        Shards as _, Store, Users,
    };
    use symbolon_store::shard::ShardKind;

    use super::*;
    use crate::engines::{RedisCluster, RedisServerOptions};
    use crate::testing::{NOW, Place, code_grant, leave_spare};

    fn used(jti: &str) -> AssertionUse {
        let expires_at = NOW + Duration::from_secs(60);
        sample::assertion_use(&ClientId::parse("app").unwrap(), &Jti::parse(jti).unwrap(), expires_at)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_nobody_needs_stops_before_redis_is_full() {
        let redis = RedisCluster::start(RedisServerOptions::default());
        let place = Place::on(&redis, "full-redis");
        let store = place.open().await;
        let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(1));
        let keep = async || store.keep_code(&issuer, code_grant(&issuer, &random, NOW), NOW, &random).await;
        let challenge = async || {
            let id = store.place(ShardKind::Challenge).draw::<16>(ShardKind::Challenge, &random);
            store.keep_challenge(&issuer, &id, vec![7; 16].into(), NOW + Duration::from_secs(60)).await
        };
        let code = keep().await.unwrap();
        let before = Before::make(&store, &issuer, &random).await;
        // The memory in use is more than three quarters of `maxmemory`, and less than all of it.
        leave_spare(&redis, 17);
        let mut refused = [0_u64; 2];
        for _ in 0..SHARDS as u32 * LOOK_EVERY {
            refused[0] += u64::from(keep().await.is_err());
            refused[1] += u64::from(challenge().await.is_err());
        }
        assert!(refused.iter().all(|refused| *refused > 0), "they were taken to the end: {refused:?}");
        store.figures().assertion_room().set_most(0);
        assert!(store.use_assertion(&issuer, &used("refused")).await.is_err());
        let figures = store.figures();
        let rooms = [figures.code_room(), figures.challenge_room(), figures.assertion_room()];
        let counted = rooms.map(|room| room.snapshot().refused);
        assert_eq!(counted, [refused[0], refused[1], 1]);

        before.goes_on(&store, &issuer, &random).await;
        let at = store.code(&issuer, &code, NOW).await.unwrap().unwrap().at;
        assert_eq!(store.redeem_code(&at, NOW).await.unwrap(), Redemption::Redeemed);
        store.ready().await.unwrap();

        (0..redis.nodes().len()).for_each(|node| {
            redis.cli(node, &["CONFIG", "SET", "maxmemory", "0"]);
        });
        place.advance(Duration::from_millis(FULL_FOR));
        for _ in 0..SHARDS {
            keep().await.unwrap();
        }
    }

    /// What people have from before the memory was full.
    struct Before {
        session: SessionId,
        family: FamilyId,
        /// Of an access token.
        lineage: Lineage,
    }

    impl Before {
        async fn make(store: &ClusterStore, issuer: &IssuerId, random: &SeededRandom) -> Self {
            let created = store.create_user(issuer, sample::user("ann", None, NOW), None).await.unwrap();
            assert_eq!(created, Created::Created);
            let (session, family) = begin(store, issuer, random).await;
            let grant = code_grant(issuer, random, NOW).grant;
            Self { session, family, lineage: sample::lineage_of(&grant) }
        }

        async fn goes_on(&self, store: &ClusterStore, issuer: &IssuerId, random: &SeededRandom) {
            // UserInfo: the token's lineage, its session, its user.
            assert!(!store.revoked(issuer, &self.lineage).await.unwrap().in_memory());
            assert!(store.session(issuer, &self.session, NOW).await.unwrap().in_memory().is_some());
            assert!(store.user(issuer, &UserId::parse("ann").unwrap()).await.unwrap().is_some());
            // A refresh.
            let rotated = store.rotate(issuer, &self.family, &sample::rotation(1, NOW)).await.unwrap();
            let rotated = rotated.told().await.unwrap();
            assert!(matches!(rotated, Rotation::Rotated(_)), "{rotated:?}");
            // Revocations: of a token's grant, of a session with all that hangs on it.
            let grant = self.lineage.grant.unwrap();
            let tombstone = Tombstone::grant(grant, NOW + Duration::from_secs(3_600));
            store.revoke(issuer, &[tombstone]).await.unwrap().told().await.unwrap();
            assert!(store.revoked(issuer, &self.lineage).await.unwrap().in_memory());
            let end = sample::with_tokens(NOW);
            let ended = store.end_session(issuer, &self.session, &end).await.unwrap();
            ended.told().await.unwrap();
            assert!(store.session(issuer, &self.session, NOW).await.unwrap().in_memory().is_none());
            // Somebody else signs in.
            begin(store, issuer, random).await;
        }
    }

    /// A new session and a new family.
    async fn begin(store: &ClusterStore, issuer: &IssuerId, random: &SeededRandom) -> (SessionId, FamilyId) {
        let id = sample::draw_session(store, random);
        let opened = store.open_session(issuer, &id, sample::session(issuer, &id, "ann", NOW)).await.unwrap();
        opened.told().await.unwrap();
        let family = store.place(ShardKind::Refresh).draw_family(NOW, random);
        let begun = store.begin_family(issuer, &family, Arc::new(family_of(issuer, random))).await.unwrap();
        assert_eq!(begun.told().await.unwrap(), Created::Created);
        (id, family)
    }

    fn family_of(issuer: &IssuerId, random: &SeededRandom) -> Family {
        let CodeGrant { grant, client, user, scope, auth_time, amr, session_expires_at, resources, .. } =
            code_grant(issuer, random, NOW);
        Family {
            grant,
            client,
            user,
            sid: None,
            scope,
            auth_time,
            amr,
            version: 1,
            created_at: NOW,
            rotated_at: NOW,
            idle_expires_at: session_expires_at,
            expires_at: session_expires_at,
            binding: None,
            resources,
            authorization_details: Default::default(),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn marks_beyond_their_room_are_refused_and_those_that_are_there_stay() {
        let store = Place::new("full-marks").open().await;
        let first =
            store.use_assertion(&IssuerId::default_issuer(), &used("first")).await.unwrap().in_memory();
        assert_eq!(first, symbolon_store::port::Use::First);
        store.figures().assertion_room().set_most(0);
        assert!(matches!(
            store.use_assertion(&IssuerId::default_issuer(), &used("second")).await,
            Err(StoreError::Unavailable(_))
        ));
        store.figures().assertion_room().set_most(ASSERTIONS);
        let again =
            store.use_assertion(&IssuerId::default_issuer(), &used("first")).await.unwrap().in_memory();
        assert_eq!(again, symbolon_store::port::Use::Replayed);
    }

    /// The database tells of each partition for itself, a second late at most.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_in_postgresql_is_measured() {
        let store = Place::new("measured-marks").open().await;
        let (issuer, end) = (IssuerId::default_issuer(), NOW + Duration::from_secs(60));
        for number in 0..40_u8 {
            let used = AssertionUse {
                client_id: ClientId::parse("app").unwrap(),
                key_thumbprint: "key".into(),
                jti: Jti::parse(&format!("jti-{number}")).unwrap(),
                expires_at: end,
            };
            drop(store.use_assertion(&issuer, &used).await.unwrap());
            for is_right in [false, true] {
                drop(store.try_email_code(&issuer, (&number.to_string(), end), is_right).await.unwrap());
            }
        }
        let mut found = (0, 0);
        for _ in 0..600 {
            store.measure_marks().await.unwrap();
            let bytes = |room: &Room| room.snapshot().bytes;
            found = (bytes(store.figures().assertion_room()), bytes(store.figures().email_code_room()));
            if found == (40 * ASSERTION_MARK, 40 * EMAIL_CODE) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{found:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn codes_by_e_mail_beyond_their_room_are_refused_and_take_none_from_assertions() {
        let store = Place::new("full-email-codes").open().await;
        let (issuer, end) = (IssuerId::default_issuer(), NOW + Duration::from_secs(60));
        let tried = store.try_email_code(&issuer, ("before", end), false).await.unwrap().in_memory();
        assert_eq!(tried, EmailCodeTry::Wrong { left: 4 });
        store.figures().email_code_room().set_most(0);
        let tried = store.try_email_code(&issuer, ("code", end), true).await;
        assert!(matches!(tried, Err(StoreError::Unavailable(_))));
        // What is there already needs no room.
        let tried = store.try_email_code(&issuer, ("before", end), true).await.unwrap().in_memory();
        assert_eq!(tried, EmailCodeTry::Right { recipient: None });
        assert_eq!(store.figures().email_code_room().snapshot().refused, 1);
        let used = AssertionUse {
            client_id: ClientId::parse("app").unwrap(),
            key_thumbprint: "key".into(),
            jti: Jti::parse("jti").unwrap(),
            expires_at: end,
        };
        drop(store.use_assertion(&issuer, &used).await.unwrap());
        store.figures().email_code_room().set_most(EMAIL_CODES);
        let tried = store.try_email_code(&issuer, ("code", end), true).await.unwrap().in_memory();
        assert_eq!(tried, EmailCodeTry::Right { recipient: None });
    }
}
