//! The port: what a back-end must be able to do.

mod authenticators;
mod deliveries;
mod groups;
mod roles;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use symbolon_crypto::random::Random;
use symbolon_protocol::attribute::{AttributeName, AttributeValue};
use symbolon_protocol::client::Client;
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::consent::Consent;
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::family::{Family, FamilyId, Rotation, RotationRequest};
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};

use crate::backup::{BackupError, BackupReport};
pub use crate::listing::{
    FamilyCursor, InvalidCursor, ListedSession, NextFamilies, NextSessions, Page, PageRequest, SessionCursor,
};
use crate::shard::{Generation, Route, ShardKind};
use crate::transfer::{Freeze, FreezeError};
use crate::{Outcome, StoreError};
pub use authenticators::{AuthenticatorUpdate, Authenticators, Enrolled, authenticators_document};
pub use deliveries::{
    Deliveries, Delivery, DeliveryKind, MOST_CLAIMED, MOST_PAYLOAD, Queued, fairly, ids_of_recipient,
    most_of_recipient,
};
pub use groups::{
    GroupCreation, GroupDeletion, GroupFilter, GroupUpdate, Groups, MemberAddition, MemberRemoval,
};
pub use roles::{RoleCreation, RoleFilter, RoleGrant, RoleHolders, RoleRemoval, RoleUpdate, Roles};
use symbolon_figures::StoreFigures;

/// The result of redeeming an authorization code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redemption {
    /// This caller redeemed the code, and no other caller ever does: the grant from [`Codes::code`] is for this caller.
    Redeemed,
    /// The code was redeemed before: the tokens of its grant must be revoked (RFC 6749 4.1.2).
    Replayed,
    /// There is no such code, or it has expired.
    Unknown,
}

/// Whether a one-time mark was set by this caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Set now, by this caller alone.
    First,
    /// Set before.
    Replayed,
}

/// Whether a record that must be unique was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// Written.
    Created,
    /// Another record has the same id, e-mail address or value of a unique attribute; nothing was written.
    Exists,
}

/// Authorization codes. Kept in memory: they may be lost in a crash, and never reappear.
#[async_trait]
pub trait Codes: Send + Sync {
    /// Draws a code, and keeps its grant until the code expires. The code names the shard that has the grant, in the
    /// form of [`shard`](crate::shard).
    async fn keep_code(
        &self,
        issuer: &IssuerId,
        grant: CodeGrant,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<AuthorizationCode, StoreError>;
    /// Reads a code without redeeming it, whether it was used or not; `None` once it has expired.
    async fn code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Option<KeptCode>, StoreError>;
    /// Redeems a code that was [read](Self::code), once. A used code is remembered until its expiry and 15 minutes
    /// more.
    async fn redeem_code(&self, at: &CodePlace, now: Timestamp) -> Result<Redemption, StoreError>;
}

/// A code that was read.
#[derive(Clone, Debug)]
pub struct KeptCode {
    /// The grant that the code stands for.
    pub grant: Box<CodeGrant>,
    /// Where it is kept.
    pub at: CodePlace,
}

/// Where a store keeps a code. The store returns it together with the code's grant, and gets it back for the
/// redemption, so that it need not look for the code a second time.
#[derive(Clone, Copy, Debug)]
pub struct CodePlace {
    /// The shard.
    pub route: Route,
    /// The digest of issuer and code.
    pub key: [u8; 16],
    /// The place in the shard, for a store that needs more than the key to find a code.
    pub entry: u64,
}

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

/// Sessions. Durable before the answer.
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
    /// The live session of an id. Notes its use (kept in memory, written at most once a minute).
    async fn session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        now: Timestamp,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError>;
    /// Puts a client on the session's list; true if it was not on it before.
    async fn note_client(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        client: &ClientId,
    ) -> Result<Outcome<bool>, StoreError>;
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

/// Marks of what may be used only once.
#[async_trait]
pub trait Assertions: Send + Sync {
    /// Uses a client assertion's `jti` (RFC 7523 3), which is remembered until `expires_at` and 15 minutes more. It is
    /// used up for the whole installation, whichever issuer was asked: its mark is kept under
    /// [`crate::shard::assertion_key`]. A mark under [`crate::shard::assertion_key_before`] of the issuer that was
    /// asked counts too. Durable.
    async fn use_assertion(
        &self,
        issuer: &IssuerId,
        assertion: &AssertionUse,
    ) -> Result<Outcome<Use>, StoreError>;
}

/// Login and consent transactions: JSON that only the server reads, kept in memory, used once.
#[async_trait]
pub trait Challenges: Send + Sync {
    /// Keeps a new challenge until `expires_at`.
    async fn keep_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        value: Arc<[u8]>,
        expires_at: Timestamp,
    ) -> Result<(), StoreError>;
    /// Replaces a challenge that still exists; returns whether it did. A challenge that was used up does not come back.
    async fn replace_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        value: Arc<[u8]>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Reads a challenge without using it up.
    async fn challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError>;
    /// Uses a challenge up: exactly one caller gets it.
    async fn take_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError>;
}

/// Clients.
#[async_trait]
pub trait Clients: Send + Sync {
    /// Creates a client.
    async fn create_client(&self, issuer: &IssuerId, client: Client) -> Result<Created, StoreError> {
        let created = self.create_clients(issuer, vec![client]).await?;
        Ok(created.into_iter().next().unwrap_or(Created::Exists))
    }
    /// Creates many clients; each is created or not, independently of the others.
    async fn create_clients(
        &self,
        issuer: &IssuerId,
        clients: Vec<Client>,
    ) -> Result<Vec<Created>, StoreError>;
    /// The client of an id.
    async fn client(&self, issuer: &IssuerId, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;
    /// Replaces a client whose `updated_at` is still `seen`; [`StoreError::Conflict`] if it is another. False if there
    /// is no such client.
    async fn update_client(
        &self,
        issuer: &IssuerId,
        client: Client,
        seen: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Notes when secrets were used, by their ids, and leaves everything else as it is, `updated_at` too. Of two uses of a
    /// secret the later one stays, whichever note comes first. False if there is no such client.
    async fn note_secret_uses(
        &self,
        issuer: &IssuerId,
        id: &ClientId,
        uses: Vec<(SmolStr, Timestamp)>,
    ) -> Result<bool, StoreError>;
    /// Deletes a client with its roles and the consents to it; returns whether there was one.
    async fn delete_client(&self, issuer: &IssuerId, id: &ClientId) -> Result<bool, StoreError>;
    /// Lists clients, newest first.
    async fn list_clients(
        &self,
        issuer: &IssuerId,
        page: &PageRequest,
    ) -> Result<Page<Arc<Client>>, StoreError>;
    /// The next clients in the order of their ids, at most `limit` (1 to 1,000); fewer at the end only. A client that
    /// exists during the whole listing comes exactly once, even if others are created or deleted.
    async fn next_clients(
        &self,
        issuer: &IssuerId,
        after: Option<&ClientId>,
        limit: u32,
    ) -> Result<Vec<Arc<Client>>, StoreError>;
}

/// Which users to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// Exactly this e-mail address, whatever its case.
    pub email: Option<String>,
    /// Exactly this `preferred_username`, whatever its case. Several users may have the same one.
    pub username: Option<String>,
    /// Only those whose address is, or is not, verified.
    pub verified: Option<bool>,
    /// Only the user with this value of a unique attribute. Nobody is found by an attribute that is not unique.
    pub attribute: Option<(AttributeName, AttributeValue)>,
}

/// Users and their passwords. A value of an attribute that is unique by the issuer's settings belongs to one user, also while
/// the settings change.
#[async_trait]
pub trait Users: Send + Sync {
    /// Creates a user, with a password or without.
    async fn create_user(
        &self,
        issuer: &IssuerId,
        user: User,
        password: Option<PasswordHash>,
    ) -> Result<Created, StoreError> {
        let created = self.create_users(issuer, vec![(user, password)]).await?;
        Ok(created.into_iter().next().unwrap_or(Created::Exists))
    }
    /// Creates many users; each is created or not, independently of the others.
    async fn create_users(
        &self,
        issuer: &IssuerId,
        users: Vec<(User, Option<PasswordHash>)>,
    ) -> Result<Vec<Created>, StoreError>;
    /// The user of an id.
    async fn user(&self, issuer: &IssuerId, id: &UserId) -> Result<Option<Arc<User>>, StoreError>;
    /// The user of an e-mail address or `preferred_username`, whatever its case, and the password's hash.
    async fn user_by_login(
        &self,
        issuer: &IssuerId,
        login: &str,
    ) -> Result<Option<(Arc<User>, Option<PasswordHash>)>, StoreError>;
    /// Replaces a user whose `updated_at` is still `seen`; [`StoreError::Conflict`] if it is another, or if the new
    /// e-mail address, or a value of a unique attribute, belongs to another user. False if there is no such user.
    async fn update_user(&self, issuer: &IssuerId, user: User, seen: Timestamp) -> Result<bool, StoreError>;
    /// Sets or removes the password; returns whether there is such a user.
    async fn set_password(
        &self,
        issuer: &IssuerId,
        id: &UserId,
        password: Option<PasswordHash>,
    ) -> Result<bool, StoreError>;
    /// Replaces a password's hash by another hash of the same password, if it is still `seen`; returns whether it was.
    async fn rehash_password(
        &self,
        issuer: &IssuerId,
        id: &UserId,
        seen: &PasswordHash,
        password: PasswordHash,
    ) -> Result<bool, StoreError>;
    /// Deletes a user with password, authenticators, consents, memberships and given roles; returns whether there was one.
    async fn delete_user(&self, issuer: &IssuerId, id: &UserId) -> Result<bool, StoreError>;
    /// Lists users, newest first.
    async fn list_users(
        &self,
        issuer: &IssuerId,
        filter: &UserFilter,
        page: &PageRequest,
    ) -> Result<Page<Arc<User>>, StoreError>;
    /// The next users in the order of their ids, at most `limit` (1 to 1,000); fewer at the end only. A user who exists
    /// during the whole listing comes exactly once, even if others are created or deleted.
    async fn next_users(
        &self,
        issuer: &IssuerId,
        filter: &UserFilter,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<Arc<User>>, StoreError>;
    /// The hashes of the passwords of these users (at most 1,000), in their order; `None` for a user who has no
    /// password or does not exist.
    async fn passwords_of(
        &self,
        issuer: &IssuerId,
        users: &[UserId],
    ) -> Result<Vec<Option<PasswordHash>>, StoreError>;
}

/// The consents of a user: clients with what they were allowed, in the order of the clients' ids.
pub type Given = Vec<(ClientId, Consent)>;

/// The consent to a client, if there is one.
pub fn given_to<'a>(given: &'a Given, client: &ClientId) -> Option<&'a Consent> {
    let place = given.binary_search_by(|(allowed, _)| allowed.cmp(client)).ok()?;
    given.get(place).map(|(_, consent)| consent)
}

/// Remembered consents. A read that begins after a change was answered sees the change.
#[async_trait]
pub trait Consents: Send + Sync {
    /// The consent of the user to the client, if there is one.
    async fn consent(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
    ) -> Result<Option<Consent>, StoreError>;
    /// All consents of the user, in the order of the clients' ids.
    async fn consents_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Arc<Given>, StoreError>;
    /// Adds to what the user allows the client. False if the user or the client does not exist; then nothing is
    /// written. A consent never outlives its user or client, because a later user or client with the same id would
    /// inherit it.
    async fn allow(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
        consent: Consent,
    ) -> Result<bool, StoreError>;
    /// Withdraws a consent; returns whether there was one.
    async fn withdraw(&self, issuer: &IssuerId, user: &UserId, client: &ClientId)
    -> Result<bool, StoreError>;
}

/// Issuers, their signing keys and settings.
#[async_trait]
pub trait Issuers: Send + Sync {
    /// Creates an issuer with its settings.
    async fn create_issuer(&self, issuer: Issuer, settings: IssuerSettings) -> Result<Created, StoreError>;
    /// Every issuer.
    async fn issuers(&self) -> Result<Vec<Issuer>, StoreError>;
    /// Replaces an issuer's record; returns whether there is such an issuer.
    async fn update_issuer(&self, issuer: Issuer) -> Result<bool, StoreError>;
    /// The keys of an issuer in any state.
    async fn keys(&self, issuer: &IssuerId) -> Result<Vec<KeyRecord>, StoreError>;
    /// Writes the key set of an issuer if it is still `seen` (by kid and state); else [`StoreError::Conflict`].
    async fn put_keys(
        &self,
        issuer: &IssuerId,
        seen: &[KeyRecord],
        keys: &[KeyRecord],
    ) -> Result<(), StoreError>;
    /// The settings of an issuer.
    async fn settings(&self, issuer: &IssuerId) -> Result<IssuerSettings, StoreError>;
    /// Replaces the settings of an issuer if they still are `seen`; else [`StoreError::Conflict`]. If an attribute becomes
    /// unique, the values of all users are compared in the same operation.
    async fn put_settings(
        &self,
        issuer: &IssuerId,
        seen: &IssuerSettings,
        settings: IssuerSettings,
    ) -> Result<SettingsUpdate, StoreError>;
}

/// The result of replacing the settings of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum SettingsUpdate {
    /// They are replaced.
    Written,
    /// Two users have the same value of an attribute that was to become unique; nothing was written.
    NotUnique {
        /// The attribute.
        attribute: AttributeName,
        /// The users.
        users: [UserId; 2],
    },
}

/// Which audit records to find.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFilter {
    /// Only this event.
    pub event: Option<Event>,
    /// Only this user.
    pub user: Option<UserId>,
    /// Only this client.
    pub client: Option<ClientId>,
    /// Only refused requests and sign-ins, whose records say why: [`Event::REFUSALS`] with a reason in the detail.
    pub refused: bool,
    /// Only requests from this address, as it is written in a record.
    pub address: Option<String>,
    /// Only this request.
    pub request: Option<String>,
    /// Only where the login name with this digest was typed.
    pub login_name_digest: Option<String>,
    /// Not before this time.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
}

impl AuditFilter {
    /// Texts that occur in the JSON document of every record that matches, and that decide these conditions alone: a
    /// quotation mark inside a value is written with a backslash, so no value contains such a text.
    pub fn members(&self) -> Vec<String> {
        let member = |name: &str, value: &str| format!("\"{name}\":{}", serde_json::Value::from(value));
        let address = self.address.as_deref().map(|address| member("address", address));
        let request = self.request.as_deref().map(|request| member("request", request));
        let digest = self.login_name_digest.as_deref().map(|digest| member("login_name_digest", digest));
        let reason = self.refused.then(|| "\"reason\":\"".to_owned());
        [address, request, digest, reason].into_iter().flatten().collect()
    }
}

/// The audit log.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Writes records in one batch. The records are shared, so that a caller that has to try again still has them.
    async fn write_audit(&self, records: Arc<[(IssuerId, AuditRecord)]>) -> Result<(), StoreError>;
    /// Searches, newest first.
    async fn search_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRecord>, StoreError>;
    /// Like [`search_audit`](Self::search_audit), for the newest records only: stops when the page is full, and counts no
    /// further.
    async fn newest_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        most: u32,
    ) -> Result<Vec<AuditRecord>, StoreError>;
    /// Deletes older records; returns how many.
    async fn trim_audit(&self, issuer: &IssuerId, before: Timestamp) -> Result<u64, StoreError>;
    /// Deletes records until those of all issuers together take `most` bytes of the disk or less, as closely as the
    /// back-end knows; returns how many. Always deletes the oldest records of the issuer whose records take most, so
    /// that a flood at one issuer does not cost the others their log. Cheap if little was written since the last call.
    async fn trim_audit_to(&self, most: u64) -> Result<u64, StoreError>;
}

/// The shard map.
#[async_trait]
pub trait Shards: Send + Sync {
    /// Where a new id of a kind should live.
    fn place(&self, kind: ShardKind) -> Route;
    /// Where an id lives: in the shard that it names if that generation exists, else in the slot of its hash.
    fn route(&self, issuer: &IssuerId, kind: ShardKind, id: &str) -> Route;
    /// The live generations of a kind, the current one last.
    fn generations(&self, kind: ShardKind) -> Vec<Generation>;
    /// Opens a new generation with `shards` shards (1 to 1,024). Durable.
    async fn set_shards(
        &self,
        kind: ShardKind,
        shards: u32,
        now: Timestamp,
    ) -> Result<Generation, StoreError>;
}

/// What was dropped from a cache, for those who keep copies of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changed {
    /// A client was changed.
    Client(IssuerId, ClientId),
    /// A client was deleted, and with it the consents to it and its roles.
    ClientDeleted(IssuerId, ClientId),
    /// A user was changed or deleted.
    User(IssuerId, UserId),
    /// A user's consents were changed.
    Consents(IssuerId, UserId),
    /// A user's memberships of groups, or the roles given to the user, were changed.
    Entitlements(IssuerId, UserId),
    /// A group or role was changed, or what a group was given: the groups and roles of any user may be others.
    Groups(IssuerId),
    /// Keys were changed.
    Keys(IssuerId),
    /// Settings were changed.
    Settings(IssuerId),
    /// An issuer was created or changed.
    Issuers,
    /// Anything may have changed.
    Everything,
}

/// Resolves when a listener has applied a change to its copies.
pub type Following = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A holder of copies. It is called at once and does not wait; the future that it returns need not be awaited.
pub type ChangeListener = Box<dyn Fn(&Changed) -> Following + Send + Sync>;

/// Everything that keeps an issuer's state.
#[async_trait]
pub trait Store:
    Codes
    + Sessions
    + RefreshTokens
    + Revocations
    + Assertions
    + Challenges
    + Clients
    + Users
    + Consents
    + Authenticators
    + Deliveries
    + Groups
    + Roles
    + Issuers
    + Audit
    + Shards
{
    /// Calls `listener` after every change that a cache in a layer above must apply.
    fn on_change(&self, listener: ChangeListener);
    /// Whether this process's copies of keys, clients and settings are known to be current, so that it may judge tokens
    /// and requests by them.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: this node has received nothing from the others for so long that it may have missed
    /// a change.
    fn check_lease(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// Counts and times of every operation so far, for `/metrics`.
    fn figures(&self) -> &Arc<StoreFigures>;
    /// Whether the state from before the start is loaded. Until then only issuers, keys, settings, clients and users
    /// may be read.
    fn is_recovered(&self) -> bool {
        true
    }
    /// Whether the store can answer: its tombstones are loaded, and its engines answer.
    async fn ready(&self) -> Result<(), StoreError>;
    /// Deletes what ended more than 15 minutes ago, in bounded pieces; returns how many records.
    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError>;
    /// Replaces what was sealed under another master key, of every issuer at once. `seen` and `sealed` have the same
    /// order. [`StoreError::Conflict`], and nothing is written, unless `seen` is still exactly what is stored.
    async fn reseal(
        &self,
        seen: &[(Issuer, Vec<KeyRecord>)],
        sealed: &[(Issuer, Vec<KeyRecord>)],
    ) -> Result<(), StoreError>;
    /// Checks, as far as is possible in advance, whether a backup can be written to the directory `target`.
    async fn check_backup_target(&self, target: &Path) -> Result<(), BackupError>;
    /// Copies everything that is durable now into the new directory `target`, while requests are served. The copy is
    /// what a crash at one moment would have left: everything acknowledged before that moment is in it.
    async fn backup(&self, target: &Path, now: Timestamp) -> Result<BackupReport, BackupError>;
    /// Refuses every write but the audit log's from now on (503), on every node and after every restart, so that the
    /// store can be moved. When it returns, no write is under way that could still be acknowledged. [`Freeze::Lifted`]
    /// allows writes again: on the embedded store from its next start on. Nothing is changed if the present state [may
    /// not be followed](Freeze::may_follow) by this one.
    async fn freeze(&self, freeze: Freeze) -> Result<(), FreezeError>;
    /// Makes everything durable that is under way, and closes the store.
    async fn close(&self) -> Result<(), StoreError>;
}
