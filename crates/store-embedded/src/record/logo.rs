//! Logos of issuers and clients.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Row, params};
use symbolon_figures::StoreKind;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::logo::Logo;
use symbolon_store::StoreError;
use symbolon_store::port::{Changed, Logos};

use super::statement::Statements;
use crate::EmbeddedStore;

/// Every logo, in the order of its key.
pub(crate) const ALL: &str = "SELECT issuer, client, media_type, content FROM logos ORDER BY issuer, client";
const FIND: &str = "SELECT issuer, client, media_type, content FROM logos WHERE issuer = ?1 AND client = ?2";
/// The issuer's own has an empty text in the place of a client.
const NEXT: &str = "SELECT issuer, client, media_type, content FROM logos
    WHERE issuer = ?1 AND client > ?2 ORDER BY client LIMIT ?3";
const OWNER: &str = "SELECT 1 FROM issuers WHERE id = ?1 AND ?2 = ''
    UNION ALL SELECT 1 FROM clients WHERE issuer = ?1 AND id = ?2";
const PUT: &str = "INSERT INTO logos (issuer, client, media_type, content) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (issuer, client) DO UPDATE SET media_type = excluded.media_type, content = excluded.content";
const DELETE: &str = "DELETE FROM logos WHERE issuer = ?1 AND client = ?2";

/// Left out of a listing, whoever reads it would take it for whole.
const UNKNOWN: &str = "a logo is of a kind that this release does not know";

/// A logo of a row of [`ALL`], with its owner; `None` for a kind of image that this build does not know.
pub(crate) fn logo(row: &Row<'_>) -> rusqlite::Result<Option<(IssuerId, Option<ClientId>, Logo)>> {
    let (issuer, client) = (row.get::<_, String>(0)?, row.get::<_, String>(1)?);
    let content = row.get_ref(3)?.as_blob()?;
    let kept = Logo::kept(row.get_ref(2)?.as_str()?, content);
    let client = (!client.is_empty()).then(|| ClientId::trusted(client));
    Ok(kept.map(|logo| (IssuerId::trusted(issuer), client, logo)))
}

/// Writes a logo in the place of the one before.
pub(super) fn put(
    issuer: &IssuerId,
    client: Option<&ClientId>,
    logo: &Logo,
    statements: &Statements<'_>,
) -> rusqlite::Result<()> {
    let values = params![issuer.as_str(), key(client), logo.media_type(), &**logo.content()];
    statements.change(PUT, values).map(drop)
}

/// Deletes the logo of a client that is being deleted.
pub(super) fn delete_of(issuer: &str, client: &str, statements: &Statements<'_>) -> rusqlite::Result<()> {
    statements.change(DELETE, [issuer, client]).map(drop)
}

fn key(client: Option<&ClientId>) -> &str {
    client.map_or("", ClientId::as_str)
}

fn changed(issuer: &IssuerId, client: Option<&ClientId>) -> Changed {
    match client {
        Some(client) => Changed::Client(issuer.clone(), client.clone()),
        None => Changed::Settings(issuer.clone()),
    }
}

impl EmbeddedStore {
    async fn read_logo(
        &self,
        issuer: &IssuerId,
        client: Option<&ClientId>,
    ) -> Result<Option<Logo>, StoreError> {
        let owner = (issuer.clone(), key(client).to_owned());
        let read = move |statements: &Statements<'_>| {
            let found = statements.first(FIND, [owner.0.as_str(), &owner.1], logo)?;
            Ok(found.flatten().map(|(_, _, logo)| logo))
        };
        self.records.read(StoreKind::Client, read).await
    }
}

#[async_trait]
impl Logos for EmbeddedStore {
    async fn logo(&self, issuer: &IssuerId, client: Option<&ClientId>) -> Result<Option<Logo>, StoreError> {
        let Some(id) = client else { return self.read_logo(issuer, None).await };
        // That a client has none is cached too, because every sign-in asks for it.
        let read = || async { self.read_logo(issuer, client).await.map(Some) };
        let operations = self.figures.kind(StoreKind::Client);
        let found = self.records.caches.logos.read_through(issuer, id.as_str(), operations, read).await?;
        Ok(found.and_then(Arc::unwrap_or_clone))
    }

    async fn next_logos(
        &self,
        issuer: &IssuerId,
        after: Option<&ClientId>,
        limit: u32,
    ) -> Result<Vec<(ClientId, Logo)>, StoreError> {
        let after = (issuer.clone(), key(after).to_owned());
        let next = move |statements: &Statements<'_>| {
            let values = params![after.0.as_str(), after.1, limit.clamp(1, 100)];
            statements.all(NEXT, values, logo)
        };
        let found = self.records.scan(StoreKind::Client, next).await?;
        let of_client = |(_, client, logo): (IssuerId, Option<ClientId>, Logo)| Some((client?, logo));
        found
            .into_iter()
            .map(|row| row.and_then(of_client).ok_or_else(|| StoreError::Failed(UNKNOWN.to_owned())))
            .collect()
    }

    async fn put_logo(
        &self,
        issuer: &IssuerId,
        client: Option<&ClientId>,
        logo: Logo,
    ) -> Result<bool, StoreError> {
        let changed = changed(issuer, client);
        let (issuer, client) = (issuer.clone(), client.cloned());
        let put = move |statements: &Statements<'_>| {
            let owner = [issuer.as_str(), key(client.as_ref())];
            if statements.first(OWNER, owner, |_| Ok(()))?.is_none() {
                return Ok(false);
            }
            put(&issuer, client.as_ref(), &logo, statements)?;
            Ok(true)
        };
        self.records.change(StoreKind::Client, changed, put).await
    }

    async fn delete_logo(&self, issuer: &IssuerId, client: Option<&ClientId>) -> Result<bool, StoreError> {
        let changed = changed(issuer, client);
        let owner = (issuer.clone(), key(client).to_owned());
        let delete = move |statements: &Statements<'_>| {
            Ok(statements.change(DELETE, [owner.0.as_str(), &owner.1])? == 1)
        };
        self.records.change(StoreKind::Client, changed, delete).await
    }
}
