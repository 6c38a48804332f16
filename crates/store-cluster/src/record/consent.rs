//! Remembered consents.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::consent::{Consent, GivenConsent};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_store::StoreError;
use symbolon_store::port::{Changed, Consents, Given, given_to};

use super::Written;
use crate::postgres::{Connection, column};
use crate::{ClusterStore, failed, from_document, to_document};

/// In the order of the bytes of the client's id, as `ClientId` compares.
const ALL: &str =
    "SELECT client_id, document FROM consents WHERE issuer = $1 AND user_id = $2 ORDER BY client_id";
/// No id is empty, so every consent comes after a pair of empty texts.
const NEXT: &str = "SELECT user_id, client_id, document FROM consents
    WHERE issuer = $1 AND (user_id, client_id) > ($2, $3) ORDER BY user_id, client_id LIMIT $4";
/// Inserts only if user and client exist, and keeps both from being deleted before the consent is written, as a foreign
/// key would.
const FIRST: &str = "INSERT INTO consents (issuer, user_id, client_id, document)
    SELECT $1::text, $2::text, $3::text, $4::text
    FROM (SELECT 1 FROM users WHERE issuer = $1 AND id = $2 FOR KEY SHARE) AS of_user,
         (SELECT 1 FROM clients WHERE issuer = $1 AND id = $3 FOR KEY SHARE) AS to_client
    ON CONFLICT DO NOTHING";
/// As [`FIRST`], to a client that is not stored.
const FIRST_TO_DOCUMENT: &str = "INSERT INTO consents (issuer, user_id, client_id, document)
    SELECT $1::text, $2::text, $3::text, $4::text
    FROM (SELECT 1 FROM users WHERE issuer = $1 AND id = $2 FOR KEY SHARE) AS of_user
    ON CONFLICT DO NOTHING";
const USER: &str = "SELECT 1 FROM users WHERE issuer = $1 AND id = $2";
const PARTIES: &str = "SELECT 1 FROM users, clients
    WHERE users.issuer = $1 AND users.id = $2 AND clients.issuer = $1 AND clients.id = $3";
const BEFORE: &str =
    "SELECT document FROM consents WHERE issuer = $1 AND user_id = $2 AND client_id = $3 FOR UPDATE";
const MORE: &str = "UPDATE consents SET document = $4 WHERE issuer = $1 AND user_id = $2 AND client_id = $3";
const WITHDRAW: &str = "DELETE FROM consents WHERE issuer = $1 AND user_id = $2 AND client_id = $3";

/// The issuer, user and client of a consent.
type Key = (IssuerId, UserId, ClientId);

async fn allow(given: Arc<(Key, GivenConsent)>, mut connection: Connection) -> Written<bool> {
    let ((issuer, user, client), given) = &*given;
    let (issuer, user, client) = (issuer.as_str(), user.as_str(), client.as_str());
    let document = to_document(&given.consent)?;
    // Usually this is the first consent.
    let first = if given.is_to_document { FIRST_TO_DOCUMENT } else { FIRST };
    if connection.change(first, &[&issuer, &user, &client, &document]).await? == 1 {
        return Ok(Some(true));
    }
    let transaction = connection.transaction().await?;
    let Some(before) = transaction.first(BEFORE, &[&issuer, &user, &client]).await? else {
        let parties = match given.is_to_document {
            true => transaction.first(USER, &[&issuer, &user]).await?,
            false => transaction.first(PARTIES, &[&issuer, &user, &client]).await?,
        };
        // If both exist, the earlier consent was withdrawn meanwhile, and the write is repeated.
        return if parties.is_some() { Err(StoreError::Conflict) } else { Ok(Some(false)) };
    };
    let before = from_document::<Consent>(column::<&str>(&before, 0)?)?;
    let document = to_document(&before.joined(given).map_err(failed)?)?;
    transaction.change(MORE, &[&issuer, &user, &client, &document]).await?;
    transaction.commit().await?;
    Ok(Some(true))
}

async fn withdraw(key: Arc<Key>, connection: Connection) -> Written<bool> {
    let (issuer, user, client) = &*key;
    let gone = connection.change(WITHDRAW, &[&issuer.as_str(), &user.as_str(), &client.as_str()]).await?;
    Ok(Some(gone == 1))
}

impl ClusterStore {
    /// The consents of a user, from the cache if they are there.
    async fn given(&self, issuer: &IssuerId, user: &UserId) -> Result<Arc<Given>, StoreError> {
        let read = || async {
            let rows = self.records.all(StoreKind::Consent, ALL, &[&issuer.as_str(), &user.as_str()]).await?;
            let one = |row| {
                let client = ClientId::trusted(column::<&str>(row, 0)?);
                Ok((client, from_document::<Consent>(column::<&str>(row, 1)?)?))
            };
            // A user without consents is cached too, because silent authentication asks again and again.
            rows.iter().map(one).collect::<Result<Given, StoreError>>().map(Some)
        };
        let operations = self.figures.kind(StoreKind::Consent);
        let consents = &self.records.caches.consents;
        let given = consents.read_through(issuer, user.as_str(), operations, read).await?;
        Ok(given.unwrap_or_default())
    }
}

#[async_trait]
impl Consents for ClusterStore {
    async fn consent(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
    ) -> Result<Option<Consent>, StoreError> {
        Ok(given_to(&*self.given(issuer, user).await?, client).cloned())
    }

    async fn consents_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Arc<Given>, StoreError> {
        self.given(issuer, user).await
    }

    async fn next_consents(
        &self,
        issuer: &IssuerId,
        after: Option<(&UserId, &ClientId)>,
        limit: u32,
    ) -> Result<Vec<(UserId, ClientId, Consent)>, StoreError> {
        let (user, client) = after.map_or(("", ""), |(user, client)| (user.as_str(), client.as_str()));
        let (issuer, limit) = (issuer.as_str(), i64::from(limit.clamp(1, 1_000)));
        let rows = self.records.all(StoreKind::Consent, NEXT, &[&issuer, &user, &client, &limit]).await?;
        let one = |row| {
            let user = UserId::trusted(column::<&str>(row, 0)?);
            let client = ClientId::trusted(column::<&str>(row, 1)?);
            Ok((user, client, from_document::<Consent>(column::<&str>(row, 2)?)?))
        };
        rows.iter().map(one).collect()
    }

    async fn allow(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
        given: GivenConsent,
    ) -> Result<bool, StoreError> {
        let changed = Changed::Consents(issuer.clone(), user.clone());
        let given = Arc::new(((issuer.clone(), user.clone(), client.clone()), given));
        let allow = move |connection| allow(Arc::clone(&given), connection);
        self.records.change(StoreKind::Consent, changed, allow).await
    }

    async fn withdraw(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
    ) -> Result<bool, StoreError> {
        let changed = Changed::Consents(issuer.clone(), user.clone());
        let key = Arc::new((issuer.clone(), user.clone(), client.clone()));
        let withdraw = move |connection| withdraw(Arc::clone(&key), connection);
        self.records.change(StoreKind::Consent, changed, withdraw).await
    }
}
