//! Remembered consents.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use symbolon_figures::StoreKind;
use symbolon_protocol::consent::{Consent, GivenConsent};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_store::StoreError;
use symbolon_store::port::{Changed, Consents, Given, given_to};

use super::statement::{Statements, document};
use super::{from_document, refuse, to_document};
use crate::{EmbeddedStore, failed};

/// Ordered by the bytes of the client's id, the order of `ClientId`.
const ALL: &str = "SELECT client, document FROM consents WHERE issuer = ?1 AND user = ?2 ORDER BY client";
/// No id is empty, so every consent comes after a pair of empty texts.
const NEXT: &str = "SELECT user, client, document FROM consents
    WHERE issuer = ?1 AND (user, client) > (?2, ?3) ORDER BY user, client LIMIT ?4";
const FIND: &str = "SELECT document FROM consents WHERE issuer = ?1 AND user = ?2 AND client = ?3";
const PARTIES: &str = "SELECT 1 FROM users, clients
    WHERE users.issuer = ?1 AND users.id = ?2 AND clients.issuer = ?1 AND clients.id = ?3";
const USER: &str = "SELECT 1 FROM users WHERE issuer = ?1 AND id = ?2";

impl EmbeddedStore {
    /// The consents of a user, from the cache if they are there.
    async fn given(&self, issuer: &IssuerId, user: &UserId) -> Result<Arc<Given>, StoreError> {
        let read = || async {
            let key = (issuer.clone(), user.clone());
            let rows = self.records.read(StoreKind::Consent, move |statements| {
                statements.all(ALL, [key.0.as_str(), key.1.as_str()], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })
            });
            let one = |(client, found): (String, String)| {
                Ok((ClientId::trusted(client), from_document::<Consent>(&found)?))
            };
            // An empty list is cached too, because silent authentication asks again and again.
            rows.await?.into_iter().map(one).collect::<Result<Given, StoreError>>().map(Some)
        };
        let operations = self.figures.kind(StoreKind::Consent);
        let consents = &self.records.caches.consents;
        let given = consents.read_through(issuer, user.as_str(), operations, read).await?;
        Ok(given.unwrap_or_default())
    }
}

#[async_trait]
impl Consents for EmbeddedStore {
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
        let key = (issuer.clone(), user.to_owned(), client.to_owned());
        let next = move |statements: &Statements<'_>| {
            let values = params![key.0.as_str(), key.1, key.2, limit.clamp(1, 1_000)];
            statements.all(NEXT, values, |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            })
        };
        let one = |(user, client, found): (String, String, String)| {
            Ok((UserId::trusted(user), ClientId::trusted(client), from_document::<Consent>(&found)?))
        };
        self.records.scan(StoreKind::Consent, next).await?.into_iter().map(one).collect()
    }

    async fn allow(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
        given: GivenConsent,
    ) -> Result<bool, StoreError> {
        let changed = Changed::Consents(issuer.clone(), user.clone());
        let key = (issuer.clone(), user.clone(), client.clone());
        let allow = move |statements: &Statements<'_>| {
            let (issuer, user, client) = (key.0.as_str(), key.1.as_str(), key.2.as_str());
            let parties = match given.is_to_document {
                true => statements.first(USER, [issuer, user], |_| Ok(()))?,
                false => statements.first(PARTIES, [issuer, user, client], |_| Ok(()))?,
            };
            if parties.is_none() {
                return Ok(false);
            }
            let before = statements.first(FIND, [issuer, user, client], document)?;
            let joined = match before.as_deref().map(from_document::<Consent>) {
                None => to_document(&given.consent),
                Some(before) => {
                    before.and_then(|before| to_document(&before.joined(&given).map_err(failed)?))
                }
            };
            let document = match joined {
                Ok(document) => document,
                Err(error) => return refuse(error),
            };
            statements.change(
                "INSERT INTO consents (issuer, user, client, document) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (issuer, user, client) DO UPDATE SET document = excluded.document",
                [issuer, user, client, &document],
            )?;
            Ok(true)
        };
        self.records.change(StoreKind::Consent, changed, allow).await
    }

    async fn withdraw(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
    ) -> Result<bool, StoreError> {
        let changed = Changed::Consents(issuer.clone(), user.clone());
        let key = (issuer.clone(), user.clone(), client.clone());
        let withdraw = move |statements: &Statements<'_>| {
            let sql = "DELETE FROM consents WHERE issuer = ?1 AND user = ?2 AND client = ?3";
            Ok(statements.change(sql, [key.0.as_str(), key.1.as_str(), key.2.as_str()])? == 1)
        };
        self.records.change(StoreKind::Consent, changed, withdraw).await
    }
}
