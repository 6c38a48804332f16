//! The part of the port for users, and what they consent to.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::attribute::{AttributeName, AttributeValue};
use symbolon_protocol::consent::{Consent, GivenConsent};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};

use super::Created;
use crate::StoreError;
use crate::listing::{Page, PageRequest};

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
    /// Deletes a user with password, authenticators, identities, consents, memberships and given roles; returns whether there was one.
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
    /// The next consents in the order of the ids of users and clients, at most `limit` (1 to 1,000), after those of a user to
    /// a client; fewer at the end only. Not cached. A consent that exists during the whole listing comes exactly once, even
    /// if others are given or withdrawn.
    async fn next_consents(
        &self,
        issuer: &IssuerId,
        after: Option<(&UserId, &ClientId)>,
        limit: u32,
    ) -> Result<Vec<(UserId, ClientId, Consent)>, StoreError>;
    /// Adds to what the user [allows](Consent::joined) the client. False if the user or the client does not exist; then nothing is
    /// written. A client whose metadata are a document ([`GivenConsent::is_to_document`]) is not stored, so there only the user is looked for. A consent never outlives its user or client, because a later user or client with the same id would
    /// inherit it.
    async fn allow(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
        given: GivenConsent,
    ) -> Result<bool, StoreError>;
    /// Withdraws a consent; returns whether there was one.
    async fn withdraw(&self, issuer: &IssuerId, user: &UserId, client: &ClientId)
    -> Result<bool, StoreError>;
}
