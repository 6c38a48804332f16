//! The part of the port for sessions, and what hangs on them: refresh tokens and revocations.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::family::{Family, FamilyId, Rotation, RotationRequest};
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::time::Timestamp;

use super::Created;
use crate::listing::{
    FamilyCursor, ListedSession, NextFamilies, NextSessions, Page, PageRequest, SessionCursor,
};
use crate::{Outcome, StoreError};

/// How many sessions one call of [`Sessions::sign_ins_beyond`] returns at most.
const MOST_BEYOND: usize = 1_000;

/// The oldest of a user's live sessions beyond the newest `keep`, of those that began by signing in: the result of
/// [`Sessions::sign_ins_beyond`] for every back-end.
pub fn oldest_sign_ins_beyond(live: Vec<ListedSession>, keep: u32) -> Vec<ListedSession> {
    let mut sign_ins: Vec<_> = live.into_iter().filter(|listed| listed.session.is_sign_in()).collect();
    let beyond = sign_ins.len().saturating_sub(keep as usize).min(MOST_BEYOND);
    sign_ins.sort_by_key(|listed| listed.session.created_at);
    sign_ins.truncate(beyond);
    sign_ins
}

/// Some sessions whose time is over.
#[derive(Debug, Default)]
pub struct EndedSessions {
    /// The sessions, each with its issuer.
    pub sessions: Vec<(IssuerId, Arc<Session>)>,
    /// Whether more may be over.
    pub more: bool,
}

/// Sessions. Durable before the answer.
///
/// A session is live until it [ends by itself](Session::ends_at), by the last use that was written, or is ended. One whose time
/// is over is kept until [`Session::kept_until`] and for [`KEPT_AFTER_END`](symbolon_protocol::time::KEPT_AFTER_END) after that, and
/// can still be ended.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Opens a session.
    async fn open_session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        session: Session,
    ) -> Result<Outcome<()>, StoreError>;
    /// Opens many at once, for bulk creation.
    async fn open_sessions(
        &self,
        issuer: &IssuerId,
        sessions: Vec<(SessionId, Session)>,
    ) -> Result<Outcome<()>, StoreError>;
    /// Notes where a session began, for the list of its user's sessions. It goes with the session. Nobody waits for it to be
    /// durable, and it may be lost: it is kept beside the session, so that who asks for the session does not read it.
    async fn note_origin(
        &self,
        issuer: &IssuerId,
        session: &Session,
        origin: &SessionOrigin,
    ) -> Result<(), StoreError>;
    /// Where a session began, if that was noted. It must be a live one of the issuer: of another the answer says nothing.
    async fn session_origin(
        &self,
        issuer: &IssuerId,
        session: &Session,
    ) -> Result<Option<SessionOrigin>, StoreError>;
    /// The live session of an id. Notes its use: kept in memory, written at most once a minute
    /// ([`USE_WRITTEN_EVERY`](symbolon_protocol::session::USE_WRITTEN_EVERY)). Of one whose time is over none is noted.
    async fn session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        now: Timestamp,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError>;
    /// Puts a client on the session's list; true if it was not on it before. `is_told`: the client is to be told when the session
    /// ends by itself ([`claim_ended_sessions`](Self::claim_ended_sessions)); one that is on the list already stays as it is.
    async fn note_client(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        client: &ClientId,
        is_told: bool,
    ) -> Result<Outcome<bool>, StoreError>;
    /// Sessions whose time is over, which nobody has ended, and which [must be looked
    /// at](symbolon_protocol::session::EndByTime::is_looked_at): a client is to be told, or they were idle: each for this
    /// caller alone until `until`, after which it is given again if it was not ended meanwhile. The claim is written when this
    /// returns. It may be lost with a primary of the cluster: then a session is given again before `until`. At most `limit` (1 to
    /// 1,000), and the work is bounded: there may be fewer although more follow. A session is kept for that until
    /// [`Session::kept_until`]. While nothing may be written there is none. One that cannot be read or reached is left out, and holds
    /// up no other.
    async fn claim_ended_sessions(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<EndedSessions, StoreError>;
    /// The live session of a `sid`, for callers that do not have its id. Does not count as a use.
    async fn session_by_sid(
        &self,
        issuer: &IssuerId,
        sid: &str,
        now: Timestamp,
    ) -> Result<Outcome<Option<ListedSession>>, StoreError>;
    /// Ends a session by its id, together with what `end` names, in one atomic change: nobody sees the one without the
    /// other, in memory or after a crash. Returns the session if it was live.
    async fn end_session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        end: &SessionEnd,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError>;
    /// As [`end_session`](Self::end_session), by its `sid`.
    async fn end_session_by_sid(
        &self,
        issuer: &IssuerId,
        sid: &str,
        end: &SessionEnd,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError>;
    /// Ends every session that a user has now, each as [`end_session`](Self::end_session) does; returns how many.
    async fn end_sessions_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        end: &SessionEnd,
    ) -> Result<Outcome<u64>, StoreError>;
    /// Live sessions of a user, newest first.
    async fn list_sessions(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<ListedSession>, StoreError>;
    /// Of a user's live sessions that began by signing in ([`Session::is_sign_in`]), those beyond the newest `keep`:
    /// the oldest, 1,000 at most. If the user has no more than `keep` sessions of any kind, only counts them.
    async fn sign_ins_beyond(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        keep: u32,
        now: Timestamp,
    ) -> Result<Vec<ListedSession>, StoreError>;
    /// Live sessions of all users, in no meaningful order, from `after` on. The work is bounded: there may be fewer
    /// than `limit` (1 to 1,000) sessions, or none, although more follow. A session that is live during the whole
    /// listing comes exactly once, even if others begin or end.
    async fn next_sessions(
        &self,
        issuer: &IssuerId,
        after: Option<SessionCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextSessions, StoreError>;
}

/// Refresh-token families. Durable before the answer, and never two live branches.
#[async_trait]
pub trait RefreshTokens: Send + Sync {
    /// Begins a family. [`Created::Exists`] if the id is taken: nothing changes.
    async fn begin_family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        family: Arc<Family>,
    ) -> Result<Outcome<Created>, StoreError>;
    /// Begins many at once, for bulk creation.
    async fn begin_families(
        &self,
        issuer: &IssuerId,
        families: Vec<(FamilyId, Family)>,
    ) -> Result<Outcome<()>, StoreError>;
    /// Reads a family without changing it.
    async fn family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
    ) -> Result<Outcome<Option<Arc<Family>>>, StoreError>;
    /// Rotates a family by the rule of [`symbolon_protocol::family::rotate`]. If an older version is presented again,
    /// the family is deleted and its grant gets a tombstone in this same operation.
    async fn rotate(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        request: &RotationRequest,
    ) -> Result<Outcome<Rotation>, StoreError>;
    /// Ends a family, and its grant by `tombstone` in this same operation. Returns the family if it was live; if it was
    /// not, writes nothing.
    async fn end_family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        tombstone: &Tombstone,
    ) -> Result<Outcome<Option<Arc<Family>>>, StoreError>;
    /// Live families of a user, from `after` on, in an order that does not change. The work is bounded: there may be
    /// fewer than `limit` (1 to 1,000) families, or none, although more follow. A family that is live during the whole
    /// listing comes exactly once, however often it is rotated meanwhile. A family that only a tombstone of its user,
    /// client, consent, session or issuer ended is still listed: ask [`Revocations::revoked`].
    async fn next_families_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        after: Option<FamilyCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextFamilies, StoreError>;
}

/// Tombstones. Durable before the answer, and effective at once. A token whose state is unknown counts as revoked.
#[async_trait]
pub trait Revocations: Send + Sync {
    /// Writes tombstones. To end a session or a family, use the operations that end them.
    async fn revoke(&self, issuer: &IssuerId, tombstones: &[Tombstone]) -> Result<Outcome<()>, StoreError>;
    /// Whether anything in the lineage has ended, or the token was issued before the store's epoch. The epoch is the
    /// time at which the store was restored from a backup, which does not contain later revocations.
    async fn revoked(&self, issuer: &IssuerId, lineage: &Lineage) -> Result<Outcome<bool>, StoreError>;
}
