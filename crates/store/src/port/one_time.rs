//! The part of the port for what may be used once: codes, client assertions, codes by e-mail, challenges, pushed
//! requests.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_crypto::random::Random;
use symbolon_protocol::authorize::pushed_request::PushedRequestId;
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, Recipient};
use symbolon_protocol::time::Timestamp;

use crate::shard::Route;
use crate::{Outcome, StoreError};

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
    /// Uses a DPoP proof up (RFC 9449 11.1). `mark` is a digest of whatever makes it this one proof; it is remembered until
    /// `expires_at` and 15 minutes more. After an end at which a store could not write its marks down,
    /// [`Store::forgets_proofs_until`](super::Store::forgets_proofs_until) says which proofs it may have forgotten.
    ///
    /// # Errors
    /// [`StoreError`]: the store is out of reach, is being moved or closed, or has no room for one more.
    async fn use_proof(
        &self,
        issuer: &IssuerId,
        mark: [u8; 16],
        expires_at: Timestamp,
    ) -> Result<Outcome<Use>, StoreError>;
}

/// Codes sent by e-mail: what became of each. A code is named by its id and its end, which must be the same at every call for
/// it; it is remembered until then and 15 minutes more. Durable.
#[async_trait]
pub trait EmailCodes: Send + Sync {
    /// Notes to whom a code was mailed. Whoever is noted first stays.
    ///
    /// # Errors
    /// [`StoreError`]: the store is out of reach, or has no room for one more.
    async fn note_recipient(
        &self,
        issuer: &IssuerId,
        code: (&str, Timestamp),
        recipient: Recipient,
    ) -> Result<Outcome<()>, StoreError>;
    /// Takes a try of a code, and uses the code up if it was right: see
    /// [`EmailCodeUse`](symbolon_protocol::sign_in::email_code_use::EmailCodeUse). Of any number of callers at once, on any number
    /// of nodes, one is told that it was right, and no more than a code has tries are told anything.
    ///
    /// # Errors
    /// [`StoreError`]: the store is out of reach, or has no room for one more.
    async fn try_email_code(
        &self,
        issuer: &IssuerId,
        code: (&str, Timestamp),
        is_right: bool,
    ) -> Result<Outcome<EmailCodeTry>, StoreError>;
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

/// Who pushes a request.
#[derive(Clone, Copy, Debug)]
pub struct PushedBy<'a> {
    /// The client.
    pub client: &'a ClientId,
    /// Whether anybody can be such a client: a public one, or one that registered itself. What they push counts for all of them
    /// together.
    pub is_stranger: bool,
}

/// Pushed authorization requests (RFC 9126). Kept in memory: they may be lost in a crash.
#[async_trait]
pub trait PushedRequests: Send + Sync {
    /// Draws an id, and keeps the parameters of a client's request, as a form, until they are used or `expires_at` has come. The id
    /// names the shard that has them, in the form of [`shard`](crate::shard).
    ///
    /// # Errors
    /// [`StoreError`]: the store is out of reach, or has no room for one more.
    async fn keep_pushed_request(
        &self,
        issuer: &IssuerId,
        by: PushedBy<'_>,
        request: Box<[u8]>,
        expires_at: Timestamp,
        random: &dyn Random,
    ) -> Result<PushedRequestId, StoreError>;
    /// Uses a request up: exactly one caller gets it. Whoever names another client or issuer gets nothing, and changes nothing.
    async fn use_pushed_request(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        id: &PushedRequestId,
        now: Timestamp,
    ) -> Result<Option<Box<[u8]>>, StoreError>;
}
