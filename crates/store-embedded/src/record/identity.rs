//! Who users are to other providers.

use async_trait::async_trait;
use rusqlite::{Row, params};
use symbolon_figures::StoreKind;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::identity_provider::Identity;
use symbolon_protocol::identity_provider::way_left::{HeldWays, OfferedWays};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::columns::UserColumns;
use symbolon_store::port::{Created, Identities, IdentityCreation, IdentityLink, IdentityUnlink};

use super::statement::{Statements, document};
use super::{TEXT_FORM, Written, from_document, millis, refuse, user};
use crate::EmbeddedStore;

/// Every identity, in the order of its key.
pub(crate) const ALL: &str = "SELECT issuer, provider, subject, user, label, linked_at FROM identities
    ORDER BY issuer, provider, subject";
const FIND: &str = "SELECT issuer, provider, subject, user, label, linked_at FROM identities
    WHERE issuer = ?1 AND provider = ?2 AND subject = ?3";
const OF_USER: &str = "SELECT issuer, provider, subject, user, label, linked_at FROM identities
    WHERE issuer = ?1 AND user = ?2 ORDER BY provider";
/// No key and no subject is empty, so every identity comes after a pair of empty texts.
const NEXT: &str = "SELECT issuer, provider, subject, user, label, linked_at FROM identities
    WHERE issuer = ?1 AND (provider, subject) > (?2, ?3) ORDER BY provider, subject LIMIT ?4";
const USER: &str = "SELECT 1 FROM users WHERE issuer = ?1 AND id = ?2";
const INSERT: &str = "INSERT INTO identities (issuer, provider, subject, user, label, linked_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";

const UNLINK: &str = "DELETE FROM identities WHERE issuer = ?1 AND user = ?2 AND provider = ?3";
const PASSWORD: &str = "SELECT 1 FROM passwords WHERE issuer = ?1 AND user = ?2";
const AUTHENTICATORS: &str = "SELECT document FROM authenticators WHERE issuer = ?1 AND user = ?2";
const NEXT_REVISION: &str =
    "UPDATE authenticators SET revision = revision + 1 WHERE issuer = ?1 AND user = ?2";

/// An identity of a row of [`ALL`], with its issuer.
pub(crate) fn identity(row: &Row<'_>) -> rusqlite::Result<(IssuerId, Identity)> {
    let identity = Identity {
        provider: row.get::<_, String>(1)?.into(),
        subject: row.get(2)?,
        user: UserId::trusted(row.get::<_, String>(3)?),
        label: row.get(4)?,
        linked_at: Timestamp::from_millis(row.get::<_, i64>(5)?.cast_unsigned()),
    };
    Ok((IssuerId::trusted(row.get::<_, String>(0)?), identity))
}

/// Inserts an identity; false if it is somebody's, or the user has another one of the provider.
pub(super) fn insert(
    issuer: &IssuerId,
    identity: &Identity,
    statements: &Statements<'_>,
) -> rusqlite::Result<bool> {
    let Identity { provider, subject, user, label, linked_at } = identity;
    let values =
        params![issuer.as_str(), provider.as_str(), subject, user.as_str(), label, millis(*linked_at)];
    Ok(statements.change(INSERT, values)? == 1)
}

fn find(
    (issuer, provider, subject): (&str, &str, &str),
    statements: &Statements<'_>,
) -> rusqlite::Result<Option<Identity>> {
    let found = statements.first(FIND, [issuer, provider, subject], identity)?;
    Ok(found.map(|(_, identity)| identity))
}

/// What a user has besides identities, with those that stay.
fn held<'a>(
    user: [&str; 2],
    identities: &'a [Identity],
    statements: &Statements<'_>,
) -> Written<HeldWays<'a>> {
    let password = statements.first(PASSWORD, user, |_| Ok(()))?.is_some();
    let passkey = match statements.first(AUTHENTICATORS, user, document)? {
        Some(text) => match from_document::<AuthenticatorSet>(&text) {
            Ok(set) => !set.passkeys.is_empty(),
            Err(error) => return refuse(error),
        },
        None => false,
    };
    Ok(HeldWays { password, passkey, identities })
}

#[async_trait]
impl Identities for EmbeddedStore {
    async fn identity(
        &self,
        issuer: &IssuerId,
        provider: &str,
        subject: &str,
    ) -> Result<Option<Identity>, StoreError> {
        let key = (issuer.clone(), provider.to_owned(), subject.to_owned());
        let read = move |statements: &Statements<'_>| find((key.0.as_str(), &key.1, &key.2), statements);
        self.records.read(StoreKind::Authenticator, read).await
    }

    async fn identities_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Vec<Identity>, StoreError> {
        let key = (issuer.clone(), user.clone());
        let read = move |statements: &Statements<'_>| {
            statements.all(OF_USER, [key.0.as_str(), key.1.as_str()], |row| Ok(identity(row)?.1))
        };
        self.records.read(StoreKind::Authenticator, read).await
    }

    async fn next_identities(
        &self,
        issuer: &IssuerId,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<Identity>, StoreError> {
        let (provider, subject) = after.unwrap_or_default();
        let key = (issuer.clone(), provider.to_owned(), subject.to_owned());
        let next = move |statements: &Statements<'_>| {
            let values = params![key.0.as_str(), key.1, key.2, limit.clamp(1, 1_000)];
            statements.all(NEXT, values, |row| Ok(identity(row)?.1))
        };
        self.records.scan(StoreKind::Authenticator, next).await
    }

    async fn link_identity(&self, issuer: &IssuerId, identity: Identity) -> Result<IdentityLink, StoreError> {
        let issuer = issuer.clone();
        let link = move |statements: &Statements<'_>| {
            let user = identity.user.as_str();
            if statements.first(USER, [issuer.as_str(), user], |_| Ok(()))?.is_none() {
                return Ok(IdentityLink::UserUnknown);
            }
            if insert(&issuer, &identity, statements)? {
                return Ok(IdentityLink::Linked);
            }
            let key = (issuer.as_str(), identity.provider.as_str(), identity.subject.as_str());
            Ok(match find(key, statements)? {
                Some(found) if found.user == identity.user => IdentityLink::AlreadyLinked,
                Some(_) => IdentityLink::OfAnother,
                None => IdentityLink::HasOther,
            })
        };
        self.records.write(StoreKind::Authenticator, link).await
    }

    async fn create_user_with_identity(
        &self,
        issuer: &IssuerId,
        user: User,
        identity: Identity,
    ) -> Result<IdentityCreation, StoreError> {
        let (issuer, row) = (issuer.clone(), UserColumns::of(&user, TEXT_FORM)?);
        let create = move |statements: &Statements<'_>| {
            let key = (issuer.as_str(), identity.provider.as_str(), identity.subject.as_str());
            if find(key, statements)?.is_some() {
                return Ok(IdentityCreation::OfAnother);
            }
            let schema = user::schema_for([&row], &issuer, statements)?;
            if user::insert(&row, &issuer, None, &schema, statements)? == Created::Exists {
                return Ok(IdentityCreation::UserExists);
            }
            // The only writer of this database has just looked: nobody has the identity, and the user is new.
            insert(&issuer, &identity, statements)?;
            Ok(IdentityCreation::Created)
        };
        self.records.write(StoreKind::User, create).await
    }

    async fn unlink_identity(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        provider: &str,
        offered: Option<&OfferedWays>,
    ) -> Result<IdentityUnlink, StoreError> {
        let key = (issuer.clone(), user.clone(), provider.to_owned());
        let offered = offered.cloned();
        let unlink = move |statements: &Statements<'_>| {
            let (issuer, user) = (key.0.as_str(), key.1.as_str());
            let mut rest = statements.all(OF_USER, [issuer, user], |row| Ok(identity(row)?.1))?;
            let before = rest.len();
            rest.retain(|identity| identity.provider != key.2);
            if rest.len() == before {
                return Ok(IdentityUnlink::NotLinked);
            }
            if let Some(offered) = &offered
                && !offered.let_in(held([issuer, user], &rest, statements)?)
            {
                return Ok(IdentityUnlink::LastWay);
            }
            statements.change(UNLINK, [issuer, user, &key.2])?;
            statements.change(NEXT_REVISION, [issuer, user])?;
            Ok(IdentityUnlink::Unlinked)
        };
        self.records.write(StoreKind::Authenticator, unlink).await
    }

    async fn unlink_provider(&self, issuer: &IssuerId, provider: &str) -> Result<u64, StoreError> {
        let key = (issuer.clone(), provider.to_owned());
        let unlink = move |statements: &Statements<'_>| {
            let sql = "DELETE FROM identities WHERE issuer = ?1 AND provider = ?2";
            Ok(statements.change(sql, [key.0.as_str(), &key.1])? as u64)
        };
        self.records.write(StoreKind::Authenticator, unlink).await
    }
}
