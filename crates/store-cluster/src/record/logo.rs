//! Logos of issuers and clients. A change of an issuer's is answered when every node follows it, as one of its settings.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::logo::Logo;
use symbolon_store::StoreError;
use symbolon_store::port::{Changed, Logos};
use tokio_postgres::Row;

use super::{Records, Written, each};
use crate::ClusterStore;
use crate::nodes::next_control;
use crate::postgres::{Connection, Transaction, column};

const FIND: &str =
    "SELECT issuer, client_id, media_type, content FROM logos WHERE issuer = $1 AND client_id = $2";
/// The issuer's own has an empty text in the place of a client.
const NEXT: &str = "SELECT issuer, client_id, media_type, content FROM logos
    WHERE issuer = $1 AND client_id > $2 ORDER BY client_id LIMIT $3";
const PUT: &str = "INSERT INTO logos (issuer, client_id, media_type, content) VALUES ($1, $2, $3, $4)
    ON CONFLICT (issuer, client_id) DO UPDATE SET media_type = excluded.media_type, content = excluded.content";
const DELETE: &str = "DELETE FROM logos WHERE issuer = $1 AND client_id = $2";
/// Keeps a client from being deleted before its logo is written, as a foreign key would.
const CLIENT: &str = "SELECT 1 FROM clients WHERE issuer = $1 AND id = $2 FOR KEY SHARE";
const ISSUER: &str = "SELECT 1 FROM issuers WHERE id = $1 FOR KEY SHARE";
const IMPORT: &str = "INSERT INTO logos (issuer, client_id, media_type, content)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[])";

/// Whether something changed, and the control version that every node must follow before the answer.
type Strictly = (bool, Option<i64>);

/// A logo of a row that has all columns in the order of the table, with its client if it is one's.
///
/// # Errors
/// [`StoreError::Failed`]: the image is of a kind that this build does not know.
pub(crate) fn logo(row: &Row) -> Result<(Option<ClientId>, Logo), StoreError> {
    let client = column::<&str>(row, 1)?;
    let logo = Logo::kept(column(row, 2)?, column(row, 3)?);
    let unknown = || StoreError::Failed("a logo is of a kind that this release does not know".into());
    Ok(((!client.is_empty()).then(|| ClientId::trusted(client)), logo.ok_or_else(unknown)?))
}

fn key(client: Option<&ClientId>) -> &str {
    client.map_or("", ClientId::as_str)
}

async fn write(
    issuer: &str,
    client: &str,
    logo: &Logo,
    transaction: &Transaction<'_>,
) -> Result<(), StoreError> {
    let (media_type, content) = (logo.media_type(), &**logo.content());
    transaction.change(PUT, &[&issuer, &client, &media_type, &content]).await.map(drop)
}

async fn put_for_client(given: Arc<(IssuerId, ClientId, Logo)>, mut connection: Connection) -> Written<bool> {
    let (issuer, client) = (given.0.as_str(), given.1.as_str());
    let transaction = connection.transaction().await?;
    if transaction.first(CLIENT, &[&issuer, &client]).await?.is_none() {
        return Ok(Some(false));
    }
    write(issuer, client, &given.2, &transaction).await?;
    transaction.commit().await?;
    Ok(Some(true))
}

async fn put_for_issuer(given: Arc<(IssuerId, Logo)>, mut connection: Connection) -> Written<Strictly> {
    let issuer = given.0.as_str();
    let transaction = connection.transaction().await?;
    if transaction.first(ISSUER, &[&issuer]).await?.is_none() {
        return Ok(Some((false, None)));
    }
    write(issuer, "", &given.1, &transaction).await?;
    let version = next_control(&transaction).await?;
    transaction.commit().await?;
    Ok(Some((true, Some(version))))
}

async fn delete_for_client(key: Arc<(IssuerId, ClientId)>, connection: Connection) -> Written<bool> {
    let (issuer, client) = (key.0.as_str(), key.1.as_str());
    Ok(Some(connection.change(DELETE, &[&issuer, &client]).await? == 1))
}

async fn delete_for_issuer(issuer: Arc<IssuerId>, mut connection: Connection) -> Written<Strictly> {
    let transaction = connection.transaction().await?;
    if transaction.change(DELETE, &[&issuer.as_str(), &""]).await? == 0 {
        return Ok(Some((false, None)));
    }
    let version = next_control(&transaction).await?;
    transaction.commit().await?;
    Ok(Some((true, Some(version))))
}

/// Deletes the logo of a client that is being deleted.
pub(super) async fn delete_of(
    issuer: &str,
    client: &str,
    transaction: &Transaction<'_>,
) -> Result<(), StoreError> {
    transaction.change(DELETE, &[&issuer, &client]).await.map(drop)
}

impl Records {
    /// Writes logos of which none exists yet.
    pub(super) async fn import_logos(
        &self,
        all: &[(IssuerId, Option<ClientId>, Logo)],
    ) -> Result<(), StoreError> {
        if all.is_empty() {
            return Ok(());
        }
        let issuers = each(all, |(issuer, ..)| issuer.as_str());
        let clients = each(all, |(_, client, _)| key(client.as_ref()));
        let media_types = each(all, |(.., logo)| logo.media_type());
        let contents = each(all, |(.., logo)| &**logo.content());
        let connection = self.postgres.connection().await?;
        connection.change(IMPORT, &[&issuers, &clients, &media_types, &contents]).await.map(drop)
    }

    async fn logo(&self, issuer: &IssuerId, client: Option<&ClientId>) -> Result<Option<Logo>, StoreError> {
        let found = self.first(StoreKind::Client, FIND, &[&issuer.as_str(), &key(client)]).await?;
        Ok(found.as_ref().map(logo).transpose()?.map(|(_, logo)| logo))
    }
}

#[async_trait]
impl Logos for ClusterStore {
    async fn logo(&self, issuer: &IssuerId, client: Option<&ClientId>) -> Result<Option<Logo>, StoreError> {
        let Some(id) = client else { return self.records.logo(issuer, None).await };
        // That a client has none is cached too, because every sign-in asks for it.
        let read = || async { self.records.logo(issuer, client).await.map(Some) };
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
        let (issuer, after, limit) = (issuer.as_str(), key(after), i64::from(limit.clamp(1, 100)));
        let rows = self.records.all(StoreKind::Client, NEXT, &[&issuer, &after, &limit]).await?;
        // None of the rows is the issuer's own.
        let of_client = |row: &Row| -> Result<Option<(ClientId, Logo)>, StoreError> {
            let (client, logo) = logo(row)?;
            Ok(client.map(|client| (client, logo)))
        };
        rows.iter().filter_map(|row| of_client(row).transpose()).collect()
    }

    async fn put_logo(
        &self,
        issuer: &IssuerId,
        client: Option<&ClientId>,
        logo: Logo,
    ) -> Result<bool, StoreError> {
        let Some(client) = client else {
            let given = Arc::new((issuer.clone(), logo));
            let put = move |connection| put_for_issuer(Arc::clone(&given), connection);
            let changed = Changed::Settings(issuer.clone());
            return self.followed(self.records.change(StoreKind::Client, changed, put).await?).await;
        };
        let changed = Changed::Client(issuer.clone(), client.clone());
        let given = Arc::new((issuer.clone(), client.clone(), logo));
        let put = move |connection| put_for_client(Arc::clone(&given), connection);
        self.records.change(StoreKind::Client, changed, put).await
    }

    async fn delete_logo(&self, issuer: &IssuerId, client: Option<&ClientId>) -> Result<bool, StoreError> {
        let Some(client) = client else {
            let (changed, issuer) = (Changed::Settings(issuer.clone()), Arc::new(issuer.clone()));
            let delete = move |connection| delete_for_issuer(Arc::clone(&issuer), connection);
            return self.followed(self.records.change(StoreKind::Client, changed, delete).await?).await;
        };
        let changed = Changed::Client(issuer.clone(), client.clone());
        let key = Arc::new((issuer.clone(), client.clone()));
        let delete = move |connection| delete_for_client(Arc::clone(&key), connection);
        self.records.change(StoreKind::Client, changed, delete).await
    }
}
