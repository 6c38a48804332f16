//! Clients.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use smol_str::SmolStr;
use symbolon_figures::StoreKind;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::columns::ClientColumns;
use symbolon_store::port::{Changed, Clients, Created, Page, PageRequest};

use super::listing::Listing;
use super::text::TEXT_FORM;
use super::{Records, Written, each, entitlement_count, logo, millis, role};
use crate::postgres::{Connection, column};
use crate::{ClusterStore, from_document};

/// Rows that one statement of a bulk creation writes.
const ROWS_PER_WRITE: usize = 500;

/// How many consents to a client that is being deleted one transaction deletes.
const CONSENTS_PER_WRITE: i64 = 5_000;

/// Inserts the clients whose ids are free; returns these ids.
async fn create(
    some: Arc<(IssuerId, Vec<ClientColumns>)>,
    connection: Connection,
) -> Written<HashSet<String>> {
    let (issuer, rows) = &*some;
    let written = connection
        .change_returning(
            "INSERT INTO clients (issuer, id, search, created_at, updated_at, document)
             SELECT $1::text, new.id, new.search, new.created_at, new.updated_at, new.document
             FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
                  AS new(id, search, created_at, updated_at, document)
             ON CONFLICT DO NOTHING RETURNING id",
            &[
                &issuer.as_str(),
                &each(rows, |row| row.id.as_str()),
                &each(rows, |row| row.search.as_str()),
                &each(rows, |row| row.created_at),
                &each(rows, |row| row.updated_at),
                &each(rows, |row| row.document.as_str()),
            ],
        )
        .await?;
    Ok(Some(written.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?))
}

/// Updates a client. False: there is no such client. `None`: it is not as the caller had read it.
async fn update(changed: Arc<(IssuerId, ClientColumns, i64)>, connection: Connection) -> Written<bool> {
    let (issuer, row, seen) = &*changed;
    let written = connection
        .change(
            "UPDATE clients SET search = $4, updated_at = $5, document = $6
             WHERE issuer = $1 AND id = $2 AND updated_at = $3",
            &[&issuer.as_str(), &row.id, seen, &row.search, &row.updated_at, &row.document],
        )
        .await?;
    if written == 1 {
        return Ok(Some(true));
    }
    let sql = "SELECT 1 FROM clients WHERE issuer = $1 AND id = $2";
    let there = connection.first(sql, &[&issuer.as_str(), &row.id]).await?;
    Ok(if there.is_some() { None } else { Some(false) })
}

/// The issuer and the id of a client, and uses of its secrets.
type SecretUses = (IssuerId, ClientId, Vec<(SmolStr, Timestamp)>);

/// Notes uses of secrets. False: there is no such client.
async fn note_uses(noted: Arc<SecretUses>, mut connection: Connection) -> Written<bool> {
    let (issuer, id, uses) = &*noted;
    let (issuer, id) = (issuer.as_str(), id.as_str());
    let transaction = connection.transaction().await?;
    // The lock makes the notes of several nodes come one after the other: each adds to what the others wrote.
    let sql = "SELECT document FROM clients WHERE issuer = $1 AND id = $2 FOR NO KEY UPDATE";
    let Some(found) = transaction.first(sql, &[&issuer, &id]).await? else { return Ok(Some(false)) };
    let mut client = from_document::<Client>(column::<&str>(&found, 0)?)?;
    if client.client_secrets.note_uses(uses) {
        let row = ClientColumns::of(&client, TEXT_FORM)?;
        let sql = "UPDATE clients SET document = $3 WHERE issuer = $1 AND id = $2";
        transaction.change(sql, &[&issuer, &id, &row.document]).await?;
    }
    transaction.commit().await?;
    Ok(Some(true))
}

/// Deletes a client with all consents to it and its roles, in as many transactions as necessary; the client in the last
/// one.
async fn delete(key: Arc<(IssuerId, ClientId)>, mut connection: Connection) -> Written<bool> {
    let (issuer, id) = (key.0.as_str(), key.1.as_str());
    loop {
        let transaction = connection.transaction().await?;
        // Before the client's row, as whoever creates a role does.
        entitlement_count::lock(issuer, &transaction).await?;
        // The lock keeps new consents and roles from being written until the commit. One that was being written is seen
        // by the next statement.
        let sql = "SELECT 1 FROM clients WHERE issuer = $1 AND id = $2 FOR UPDATE";
        transaction.first(sql, &[&issuer, &id]).await?;
        let withdrawn = transaction
            .change(
                "DELETE FROM consents WHERE issuer = $1 AND client_id = $2 AND user_id IN
                 (SELECT user_id FROM consents WHERE issuer = $1 AND client_id = $2 LIMIT $3)",
                &[&issuer, &id, &CONSENTS_PER_WRITE],
            )
            .await?;
        // Fewer than the limit does not mean that none is left: one that was found may have been withdrawn meanwhile.
        if withdrawn > 0 || !role::delete_some_of(issuer, id, &transaction).await? {
            transaction.commit().await?;
            continue;
        }
        logo::delete_of(issuer, id, &transaction).await?;
        let sql = "DELETE FROM clients WHERE issuer = $1 AND id = $2";
        let deleted = transaction.change(sql, &[&issuer, &id]).await?;
        transaction.commit().await?;
        return Ok(Some(deleted == 1));
    }
}

impl Records {
    /// Creates clients in the given order; returns the ids of those that were created. Nothing else may create clients
    /// meanwhile.
    pub(super) async fn create_in_order_of(
        &self,
        issuer: &IssuerId,
        clients: &[Client],
    ) -> Result<HashSet<String>, StoreError> {
        let rows = clients
            .iter()
            .map(|client| ClientColumns::of(client, TEXT_FORM))
            .collect::<Result<Vec<_>, _>>()?;
        let rows = Arc::new((issuer.clone(), rows));
        self.write(StoreKind::Client, |connection| create(Arc::clone(&rows), connection)).await
    }
}

#[async_trait]
impl Clients for ClusterStore {
    async fn create_clients(
        &self,
        issuer: &IssuerId,
        clients: Vec<Client>,
    ) -> Result<Vec<Created>, StoreError> {
        let mut created = Vec::with_capacity(clients.len());
        for some in clients.chunks(ROWS_PER_WRITE) {
            let mut rows = some
                .iter()
                .map(|client| ClientColumns::of(client, TEXT_FORM))
                .collect::<Result<Vec<_>, _>>()?;
            // Every writer sorts by id, so that writers do not deadlock. The sort is stable: of two with the same id,
            // the first is created.
            rows.sort_by(|a, b| a.id.cmp(&b.id));
            let rows = Arc::new((issuer.clone(), rows));
            let write =
                self.records.write(StoreKind::Client, |connection| create(Arc::clone(&rows), connection));
            let mut written = write.await?;
            created.extend(some.iter().map(|client| {
                if written.remove(client.client_id.as_str()) { Created::Created } else { Created::Exists }
            }));
        }
        Ok(created)
    }

    async fn client(&self, issuer: &IssuerId, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let read = || async {
            let sql = "SELECT document FROM clients WHERE issuer = $1 AND id = $2";
            let found = self.records.first(StoreKind::Client, sql, &[&issuer.as_str(), &id.as_str()]).await?;
            found.map(|row| from_document::<Client>(column::<&str>(&row, 0)?)).transpose()
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
        let row = Arc::new((issuer.clone(), ClientColumns::of(&client, TEXT_FORM)?, millis(seen)));
        let changed = Changed::Client(issuer.clone(), client.client_id);
        let update = move |connection| update(Arc::clone(&row), connection);
        self.records.change(StoreKind::Client, changed, update).await
    }

    async fn note_secret_uses(
        &self,
        issuer: &IssuerId,
        id: &ClientId,
        uses: Vec<(SmolStr, Timestamp)>,
    ) -> Result<bool, StoreError> {
        let changed = Changed::Client(issuer.clone(), id.clone());
        let noted = Arc::new((issuer.clone(), id.clone(), uses));
        let note = move |connection| note_uses(Arc::clone(&noted), connection);
        self.records.change(StoreKind::Client, changed, note).await
    }

    async fn delete_client(&self, issuer: &IssuerId, id: &ClientId) -> Result<bool, StoreError> {
        let changed = Changed::ClientDeleted(issuer.clone(), id.clone());
        let key = Arc::new((issuer.clone(), id.clone()));
        let delete = move |connection| delete(Arc::clone(&key), connection);
        self.records.change(StoreKind::Client, changed, delete).await
    }

    async fn list_clients(
        &self,
        issuer: &IssuerId,
        page: &PageRequest,
    ) -> Result<Page<Arc<Client>>, StoreError> {
        let listing = Listing::of("clients", "created_at DESC, sequence DESC", issuer)
            .searched("position(? in search) > 0", page);
        listing.read(&self.records, StoreKind::Client, page, Arc::new).await
    }

    async fn next_clients(
        &self,
        issuer: &IssuerId,
        after: Option<&ClientId>,
        limit: u32,
    ) -> Result<Vec<Arc<Client>>, StoreError> {
        let after = after.map(ClientId::as_str);
        Listing::of("clients", "id", issuer).after(&self.records, StoreKind::Client, after, limit).await
    }
}
