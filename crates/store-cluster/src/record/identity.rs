//! Who users are to other providers.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::identity_provider::Identity;
use symbolon_protocol::identity_provider::way_left::{HeldWays, OfferedWays};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::{Identities, IdentityCreation, IdentityLink, IdentityUnlink};
use tokio_postgres::Row;

use super::user_row::UserRow;
use super::{Records, Written, each, millis};
use crate::postgres::{Connection, Parameter, Transaction, column};
use crate::{ClusterStore, from_document};

const FIND: &str = "SELECT issuer, provider, subject, user_id, label, linked_at FROM identities
    WHERE issuer = $1 AND provider = $2 AND subject = $3";
const OF_USER: &str = "SELECT issuer, provider, subject, user_id, label, linked_at FROM identities
    WHERE issuer = $1 AND user_id = $2 ORDER BY provider";
/// No key and no subject is empty, so every identity comes after a pair of empty texts.
const NEXT: &str = "SELECT issuer, provider, subject, user_id, label, linked_at FROM identities
    WHERE issuer = $1 AND (provider, subject) > ($2, $3) ORDER BY provider, subject LIMIT $4";
/// Inserts only if the user exists, and keeps the user from being deleted before it is written, as a foreign key would.
const LINK: &str = "INSERT INTO identities (issuer, provider, subject, user_id, label, linked_at)
    SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint
    FROM (SELECT 1 FROM users WHERE issuer = $1 AND id = $4 FOR KEY SHARE) AS of_user
    ON CONFLICT DO NOTHING";
const USER: &str = "SELECT 1 FROM users WHERE issuer = $1 AND id = $2";
const UNLINK: &str = "DELETE FROM identities WHERE issuer = $1 AND user_id = $2 AND provider = $3";
/// Until the commit nothing is connected with this user or enrolled for the first time, and no password is set or removed.
const LOCK: &str = "SELECT password IS NOT NULL FROM users WHERE issuer = $1 AND id = $2 FOR UPDATE";
/// Locks them as well: a passkey that is being taken away is gone when this returns, or stays.
const NEXT_REVISION: &str = "UPDATE authenticators SET revision = revision + 1
    WHERE issuer = $1 AND user_id = $2 RETURNING document";
const UNLINK_ALL: &str = "DELETE FROM identities WHERE issuer = $1 AND provider = $2";
const IMPORT: &str = "INSERT INTO identities (issuer, provider, subject, user_id, label, linked_at)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])";

/// An identity of a row that has all columns in the order of the table.
pub(crate) fn identity(row: &Row) -> Result<Identity, StoreError> {
    Ok(Identity {
        provider: column::<&str>(row, 1)?.into(),
        subject: column(row, 2)?,
        user: UserId::trusted(column::<&str>(row, 3)?),
        label: column(row, 4)?,
        linked_at: Timestamp::from_millis(column::<i64>(row, 5)?.cast_unsigned()),
    })
}

async fn link(given: Arc<(IssuerId, Identity)>, connection: Connection) -> Written<IdentityLink> {
    let (issuer, identity) = &*given;
    let (issuer, user) = (issuer.as_str(), identity.user.as_str());
    let (provider, subject) = (identity.provider.as_str(), identity.subject.as_str());
    let (label, linked_at) = (&identity.label, millis(identity.linked_at));
    let values: [Parameter<'_>; 6] = [&issuer, &provider, &subject, &user, label, &linked_at];
    if connection.change(LINK, &values).await? == 1 {
        return Ok(Some(IdentityLink::Linked));
    }
    // Nothing was written, so this only tells why.
    if connection.first(USER, &[&issuer, &user]).await?.is_none() {
        return Ok(Some(IdentityLink::UserUnknown));
    }
    let found = connection.first(FIND, &[&issuer, &provider, &subject]).await?;
    Ok(Some(match found.as_ref().map(self::identity).transpose()? {
        Some(found) if found.user == identity.user => IdentityLink::AlreadyLinked,
        Some(_) => IdentityLink::OfAnother,
        None => IdentityLink::HasOther,
    }))
}

/// Inserts the identity of a user whom the transaction has made; false if it is somebody's.
pub(super) async fn insert(
    issuer: &IssuerId,
    identity: &Identity,
    transaction: &Transaction<'_>,
) -> Result<bool, StoreError> {
    let (issuer, user, linked_at) = (issuer.as_str(), identity.user.as_str(), millis(identity.linked_at));
    let (provider, subject) = (identity.provider.as_str(), identity.subject.as_str());
    let values: [Parameter<'_>; 6] = [&issuer, &provider, &subject, &user, &identity.label, &linked_at];
    Ok(transaction.change(LINK, &values).await? == 1)
}

impl Records {
    /// Writes identities of which none exists yet.
    pub(super) async fn import_identities(&self, all: &[(IssuerId, Identity)]) -> Result<(), StoreError> {
        if all.is_empty() {
            return Ok(());
        }
        let issuers = each(all, |(issuer, _)| issuer.as_str());
        let providers = each(all, |(_, own)| own.provider.as_str());
        let subjects = each(all, |(_, own)| own.subject.as_str());
        let users = each(all, |(_, own)| own.user.as_str());
        let labels = each(all, |(_, own)| own.label.as_deref());
        let times = each(all, |(_, own)| millis(own.linked_at));
        let connection = self.postgres.connection().await?;
        connection.change(IMPORT, &[&issuers, &providers, &subjects, &users, &labels, &times]).await.map(drop)
    }
}

#[async_trait]
impl Identities for ClusterStore {
    async fn identity(
        &self,
        issuer: &IssuerId,
        provider: &str,
        subject: &str,
    ) -> Result<Option<Identity>, StoreError> {
        let key: [Parameter<'_>; 3] = [&issuer.as_str(), &provider, &subject];
        let found = self.records.first(StoreKind::Authenticator, FIND, &key).await?;
        found.as_ref().map(identity).transpose()
    }

    async fn identities_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Vec<Identity>, StoreError> {
        let key: [Parameter<'_>; 2] = [&issuer.as_str(), &user.as_str()];
        let rows = self.records.all(StoreKind::Authenticator, OF_USER, &key).await?;
        rows.iter().map(identity).collect()
    }

    async fn next_identities(
        &self,
        issuer: &IssuerId,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<Identity>, StoreError> {
        let (provider, subject) = after.unwrap_or_default();
        let (issuer, limit) = (issuer.as_str(), i64::from(limit.clamp(1, 1_000)));
        let values: [Parameter<'_>; 4] = [&issuer, &provider, &subject, &limit];
        let rows = self.records.all(StoreKind::Authenticator, NEXT, &values).await?;
        rows.iter().map(identity).collect()
    }

    async fn link_identity(&self, issuer: &IssuerId, identity: Identity) -> Result<IdentityLink, StoreError> {
        let given = Arc::new((issuer.clone(), identity));
        self.records
            .write(StoreKind::Authenticator, move |connection| link(Arc::clone(&given), connection))
            .await
    }

    async fn create_user_with_identity(
        &self,
        issuer: &IssuerId,
        user: User,
        identity: Identity,
    ) -> Result<IdentityCreation, StoreError> {
        self.records.create_user_with_identity(issuer, UserRow::of(&user, None)?, identity).await
    }

    async fn unlink_identity(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        provider: &str,
        offered: Option<&OfferedWays>,
    ) -> Result<IdentityUnlink, StoreError> {
        let (issuer, user, provider) = (issuer.clone(), user.clone(), provider.to_owned());
        let given = Arc::new(Unlinking { issuer, user, provider, offered: offered.cloned() });
        self.records
            .write(StoreKind::Authenticator, move |connection| unlink(Arc::clone(&given), connection))
            .await
    }

    async fn unlink_provider(&self, issuer: &IssuerId, provider: &str) -> Result<u64, StoreError> {
        let given = Arc::new((issuer.clone(), provider.to_owned()));
        self.records
            .write(StoreKind::Authenticator, move |connection| unlink_all(Arc::clone(&given), connection))
            .await
    }
}

async fn unlink_all(given: Arc<(IssuerId, String)>, connection: Connection) -> Written<u64> {
    let key: [Parameter<'_>; 2] = [&given.0.as_str(), &given.1];
    connection.change(UNLINK_ALL, &key).await.map(Some)
}

struct Unlinking {
    issuer: IssuerId,
    user: UserId,
    provider: String,
    /// What must be left of it to the user.
    offered: Option<OfferedWays>,
}

/// A transaction that is not committed is rolled back.
async fn unlink(given: Arc<Unlinking>, mut connection: Connection) -> Written<IdentityUnlink> {
    let (issuer, user) = (given.issuer.as_str(), given.user.as_str());
    let key: [Parameter<'_>; 2] = [&issuer, &user];
    let transaction = connection.transaction().await?;
    let Some(locked) = transaction.first(LOCK, &key).await? else {
        return Ok(Some(IdentityUnlink::NotLinked));
    };
    let rows = transaction.all(OF_USER, &key).await?;
    let mut rest = rows.iter().map(identity).collect::<Result<Vec<_>, _>>()?;
    rest.retain(|identity| identity.provider != given.provider);
    if rest.len() == rows.len() {
        return Ok(Some(IdentityUnlink::NotLinked));
    }
    let set = match transaction.change_returning(NEXT_REVISION, &key).await?.first() {
        Some(row) => from_document(column::<&str>(row, 0)?)?,
        None => AuthenticatorSet::default(),
    };
    let (password, passkey) = (column(&locked, 0)?, !set.passkeys.is_empty());
    let held = HeldWays { password, passkey, identities: &rest };
    if given.offered.as_ref().is_some_and(|offered| !offered.let_in(held)) {
        return Ok(Some(IdentityUnlink::LastWay));
    }
    transaction.change(UNLINK, &[&issuer, &user, &given.provider]).await?;
    transaction.commit().await?;
    Ok(Some(IdentityUnlink::Unlinked))
}
