//! Clients.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use smol_str::SmolStr;
use symbolon_figures::StoreKind;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::columns::ClientColumns;
use symbolon_store::port::{Changed, Clients, Created, Page, PageRequest};

use super::listing::{Listing, page_of, records_of};
use super::statement::{Statements, document};
use super::{ROWS_PER_WRITE, TEXT_FORM, from_document, logo, millis, refuse, role};
use crate::EmbeddedStore;

/// How many consents one closure deletes for a client that is deleted.
const CONSENTS_PER_WRITE: u16 = 1_000;

const WITHDRAW: &str = "DELETE FROM consents WHERE issuer = ?1 AND client = ?2 AND user IN
                        (SELECT user FROM consents WHERE issuer = ?1 AND client = ?2 LIMIT ?3)";

/// Writes a client, unless the id is taken.
pub(super) fn insert(
    row: &ClientColumns,
    issuer: &IssuerId,
    statements: &Statements<'_>,
) -> rusqlite::Result<Created> {
    let written = statements.change(
        "INSERT INTO clients (issuer, id, search, created_at, updated_at, document)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        params![issuer.as_str(), row.id, row.search, row.created_at, row.updated_at, row.document],
    )?;
    Ok(if written == 1 { Created::Created } else { Created::Exists })
}

#[async_trait]
impl Clients for EmbeddedStore {
    async fn create_clients(
        &self,
        issuer: &IssuerId,
        clients: Vec<Client>,
    ) -> Result<Vec<Created>, StoreError> {
        let mut created = Vec::with_capacity(clients.len());
        for some in clients.chunks(ROWS_PER_WRITE) {
            let rows = some
                .iter()
                .map(|client| ClientColumns::of(client, TEXT_FORM))
                .collect::<Result<Vec<_>, _>>()?;
            let issuer = issuer.clone();
            let written = self.records.write(StoreKind::Client, move |statements| {
                Ok(rows.iter().map(|row| insert(row, &issuer, statements)).collect::<Result<Vec<_>, _>>()?)
            });
            created.extend(written.await?);
        }
        Ok(created)
    }

    async fn client(&self, issuer: &IssuerId, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let read = || async {
            let key = (issuer.clone(), id.clone());
            let found = self.records.read(StoreKind::Client, move |statements| {
                let sql = "SELECT document FROM clients WHERE issuer = ?1 AND id = ?2";
                statements.first(sql, [key.0.as_str(), key.1.as_str()], document)
            });
            found.await?.as_deref().map(from_document::<Client>).transpose()
        };
        let operations = self.figures.kind(StoreKind::Client);
        self.records.caches.clients.read_through(issuer, id.as_str(), operations, read).await
    }

    async fn update_client(
        &self,
        issuer: &IssuerId,
        client: Client,
        seen: Timestamp,
    ) -> Result<bool, StoreError> {
        let row = ClientColumns::of(&client, TEXT_FORM)?;
        let changed = Changed::Client(issuer.clone(), client.client_id.clone());
        let (issuer, seen) = (issuer.clone(), millis(seen));
        let update = move |statements: &Statements<'_>| {
            let written = statements.change(
                "UPDATE clients SET search = ?4, updated_at = ?5, document = ?6
                 WHERE issuer = ?1 AND id = ?2 AND updated_at = ?3",
                params![issuer.as_str(), row.id, seen, row.search, row.updated_at, row.document],
            )?;
            if written == 1 {
                return Ok(true);
            }
            let there = statements.first(
                "SELECT 1 FROM clients WHERE issuer = ?1 AND id = ?2",
                [issuer.as_str(), &row.id],
                |_| Ok(()),
            )?;
            if there.is_some() { refuse(StoreError::Conflict) } else { Ok(false) }
        };
        self.records.change(StoreKind::Client, changed, update).await
    }

    async fn note_secret_uses(
        &self,
        issuer: &IssuerId,
        id: &ClientId,
        uses: Vec<(SmolStr, Timestamp)>,
    ) -> Result<bool, StoreError> {
        let changed = Changed::Client(issuer.clone(), id.clone());
        let (issuer, id) = (issuer.clone(), id.clone());
        let note = move |statements: &Statements<'_>| {
            let key = [issuer.as_str(), id.as_str()];
            let sql = "SELECT document FROM clients WHERE issuer = ?1 AND id = ?2";
            let Some(found) = statements.first(sql, key, document)? else { return Ok(false) };
            let mut client = from_document::<Client>(&found).or_else(refuse)?;
            if client.client_secrets.note_uses(&uses) {
                let row = ClientColumns::of(&client, TEXT_FORM).or_else(refuse)?;
                let sql = "UPDATE clients SET document = ?3 WHERE issuer = ?1 AND id = ?2";
                statements.change(sql, params![issuer.as_str(), id.as_str(), row.document])?;
            }
            Ok(true)
        };
        self.records.change(StoreKind::Client, changed, note).await
    }

    async fn delete_client(&self, issuer: &IssuerId, id: &ClientId) -> Result<bool, StoreError> {
        let changed = Changed::ClientDeleted(issuer.clone(), id.clone());
        let (issuer, id) = (issuer.clone(), id.clone());
        let delete = move |statements: &Statements<'_>| {
            let withdrawn =
                statements.change(WITHDRAW, params![issuer.as_str(), id.as_str(), CONSENTS_PER_WRITE])?;
            if withdrawn == usize::from(CONSENTS_PER_WRITE)
                || !role::delete_some_of(issuer.as_str(), id.as_str(), statements)?
            {
                return Ok(None);
            }
            // In the same transaction as the last consents and roles: so a later client with this id has none, whatever
            // came between the pieces.
            logo::delete_of(issuer.as_str(), id.as_str(), statements)?;
            let sql = "DELETE FROM clients WHERE issuer = ?1 AND id = ?2";
            Ok(Some(statements.change(sql, [issuer.as_str(), id.as_str()])? == 1))
        };
        self.records.change_in_pieces(StoreKind::Client, changed, delete).await
    }

    async fn list_clients(
        &self,
        issuer: &IssuerId,
        page: &PageRequest,
    ) -> Result<Page<Arc<Client>>, StoreError> {
        let listing = Listing::of("clients", "created_at DESC, rowid DESC", issuer)
            .searched("instr(search, ?) > 0", page);
        let page = page.clone();
        let documents =
            self.records.scan(StoreKind::Client, move |statements| listing.read(statements, &page)).await?;
        page_of(documents, Arc::new)
    }

    async fn next_clients(
        &self,
        issuer: &IssuerId,
        after: Option<&ClientId>,
        limit: u32,
    ) -> Result<Vec<Arc<Client>>, StoreError> {
        let listing = Listing::of("clients", "id", issuer);
        let after = after.map(ToString::to_string);
        let read =
            self.records.scan(StoreKind::Client, move |statements| listing.after(statements, after, limit));
        records_of(&read.await?)
    }
}
