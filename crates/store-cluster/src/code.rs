//! Authorization codes in Redis. Each is redeemed once. A redeemed code is kept for a while, so that a replay is
//! recognized.

use std::io::Write;

use async_trait::async_trait;
use symbolon_crypto::random::Random;
use symbolon_figures::StoreKind;
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{CodePlace, Codes, KeptCode, Redemption, Shards};
use symbolon_store::shard::{ShardKind, record_key};

use crate::one_time::Taken;
use crate::redis::Key;
use crate::{ClusterStore, failed, from_document, key_text};

impl ClusterStore {
    /// Where a code is. What a redemption has to count is not known before the code is read.
    fn code_place(&self, issuer: &IssuerId, code: &AuthorizationCode) -> CodePlace {
        let route = self.generations.route(ShardKind::Code, issuer, code.expose());
        CodePlace { route, key: record_key(issuer, code.expose()), entry: 0 }
    }

    /// The Redis key of a code.
    pub(crate) fn code_key(&self, at: &CodePlace) -> Key {
        self.redis.tags().shard(ShardKind::Code, at.route).key('c', key_text(&at.key).as_bytes())
    }

    /// Stores a code that was drawn before. A repeated call changes nothing.
    pub(crate) async fn keep_drawn_code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        grant: &CodeGrant,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let at = self.code_place(issuer, code);
        let key = self.code_key(&at);
        self.admit(self.figures.code_room(), (&key, at.route.shard)).await?;
        let share = self.admit_share_of_codes(issuer).await?;
        let mut bytes = 0;
        let document = |out: &mut dyn Write| {
            let mut counted = Counted { out, bytes: 0 };
            serde_json::to_writer(&mut counted, grant).map_err(failed)?;
            bytes = counted.bytes;
            Ok(())
        };
        let keep = self.keep_once(&key, document, (grant.expires_at, now));
        self.measured(StoreKind::Code, at.route.shard, keep).await?;
        self.count_code(share, bytes, grant.expires_at);
        Ok(())
    }
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: usize,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

#[async_trait]
impl Codes for ClusterStore {
    async fn keep_code(
        &self,
        issuer: &IssuerId,
        grant: CodeGrant,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<AuthorizationCode, StoreError> {
        let _pass = self.gate.enter()?;
        // The authorization was decided on cached records, which are valid only while this node holds its lease. So the
        // lease is checked again before a code is issued.
        self.nodes.check()?;
        let code = AuthorizationCode::new(self.place(ShardKind::Code).draw::<32>(ShardKind::Code, random));
        self.keep_drawn_code(issuer, &code, &grant, now).await?;
        Ok(code)
    }

    async fn code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Option<KeptCode>, StoreError> {
        let at = self.code_place(issuer, code);
        let key = self.code_key(&at);
        let found = self.measured(StoreKind::Code, at.route.shard, self.look_at(&key)).await?;
        // A used code is returned even after it has expired: a replay must find the grant to revoke.
        let found = found.filter(|found| found.used || !found.ended(now));
        let Some(found) = found else { return Ok(None) };
        let at = CodePlace { entry: self.entry_of_code(issuer, found.value().len()), ..at };
        Ok(Some(KeptCode { grant: from_document(found.value())?, at }))
    }

    async fn redeem_code(&self, at: &CodePlace, now: Timestamp) -> Result<Redemption, StoreError> {
        let _pass = self.gate.enter()?;
        self.nodes.check()?;
        let key = self.code_key(at);
        Ok(match self.measured(StoreKind::Code, at.route.shard, self.take(&key, now)).await? {
            Taken::Now => {
                self.count_redeemed_code(at.entry, now + KEPT_AFTER_END);
                Redemption::Redeemed
            }
            Taken::Before => Redemption::Replayed,
            Taken::Absent => Redemption::Unknown,
        })
    }
}
