//! Issuers, their settings and signing keys. A change of them is answered when every node follows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::columns::AttributeReindex;
use symbolon_store::port::{Changed, Created, Issuers, SettingsUpdate};
use tokio_postgres::Row;

use super::{Written, each, millis, user_attribute};
use crate::nodes::next_control;
use crate::postgres::{Connection, Transaction, column};
use crate::{ClusterStore, from_document, to_document};

const KEYS: &str = "SELECT document, sealed FROM signing_keys WHERE issuer = $1 ORDER BY place";
const SETTINGS: &str = "SELECT settings FROM issuers WHERE id = $1";

/// The result of a change, and the control version that every node must follow before the answer; `None` if nothing
/// changed.
type Strictly<T> = (T, Option<i64>);

fn issuer_of(row: &Row) -> Result<Issuer, StoreError> {
    Ok(Issuer {
        id: IssuerId::trusted(column::<&str>(row, 0)?),
        url: column(row, 1)?,
        sealed_secret: column(row, 2)?,
        created_at: Timestamp::from_millis(column::<i64>(row, 3)?.unsigned_abs()),
    })
}

fn keys_of(rows: &[Row]) -> Result<Vec<KeyRecord>, StoreError> {
    let key = |row| Ok(KeyRecord { sealed: column(row, 1)?, ..from_document(column::<&str>(row, 0)?)? });
    rows.iter().map(key).collect()
}

/// What two key sets must agree on to be the same: the keys, the state of each, when it starts to sign, and its sealed
/// form, which depends on the master key.
fn states(keys: &[KeyRecord]) -> BTreeSet<(&str, u8, Option<Timestamp>, &[u8])> {
    keys.iter()
        .map(|key| (key.kid.as_str(), key.state as u8, key.signs_from, key.sealed.as_slice()))
        .collect()
}

/// Locks an issuer, so that no other transaction changes it, its settings or its keys until this one ends. Returns its
/// settings, if the issuer exists.
async fn lock(issuer: &IssuerId, transaction: &Transaction<'_>) -> Result<Option<String>, StoreError> {
    let sql = "SELECT settings FROM issuers WHERE id = $1 FOR UPDATE";
    transaction.first(sql, &[&issuer.as_str()]).await?.map(|row| column(&row, 0)).transpose()
}

async fn create(given: Arc<(Issuer, String)>, mut connection: Connection) -> Written<Strictly<Created>> {
    let (issuer, settings) = &*given;
    let transaction = connection.transaction().await?;
    let written = transaction
        .change(
            "INSERT INTO issuers (id, url, sealed_secret, created_at, settings) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
            &[&issuer.id.as_str(), &issuer.url, &issuer.sealed_secret, &millis(issuer.created_at), settings],
        )
        .await?;
    if written == 0 {
        return Ok(Some((Created::Exists, None)));
    }
    let version = next_control(&transaction).await?;
    transaction.commit().await?;
    Ok(Some((Created::Created, Some(version))))
}

async fn update(issuer: Arc<Issuer>, mut connection: Connection) -> Written<Strictly<bool>> {
    let transaction = connection.transaction().await?;
    let sql = "UPDATE issuers SET url = $2, sealed_secret = $3 WHERE id = $1";
    let changed = transaction.change(sql, &[&issuer.id.as_str(), &issuer.url, &issuer.sealed_secret]).await?;
    if changed == 0 {
        return Ok(Some((false, None)));
    }
    let version = next_control(&transaction).await?;
    transaction.commit().await?;
    Ok(Some((true, Some(version))))
}

/// A change of a key set: the keys as the caller has read them, and the new ones.
struct NewKeys {
    issuer: IssuerId,
    seen: Vec<KeyRecord>,
    keys: Vec<KeyRecord>,
    /// The documents of `keys`, without the sealed parts, which have a column of their own.
    documents: Vec<String>,
}

async fn put_keys(new: Arc<NewKeys>, mut connection: Connection) -> Written<Strictly<()>> {
    let NewKeys { issuer, seen, keys, documents } = &*new;
    let transaction = connection.transaction().await?;
    if lock(issuer, &transaction).await?.is_none() {
        return Err(unknown(issuer));
    }
    let current = keys_of(&transaction.all(KEYS, &[&issuer.as_str()]).await?)?;
    if states(&current) != states(seen) {
        return Ok(None);
    }
    transaction.change("DELETE FROM signing_keys WHERE issuer = $1", &[&issuer.as_str()]).await?;
    transaction
        .change(
            "INSERT INTO signing_keys (issuer, kid, place, document, sealed)
             SELECT $1::text, new.kid, new.place, new.document, new.sealed
             FROM unnest($2::text[], $3::bigint[], $4::text[], $5::bytea[]) AS new(kid, place, document, sealed)",
            &[
                &issuer.as_str(),
                &each(keys, |key| key.kid.as_str()),
                &(0_i64..).take(keys.len()).collect::<Vec<_>>(),
                documents,
                &each(keys, |key| key.sealed.as_slice()),
            ],
        )
        .await?;
    let version = next_control(&transaction).await?;
    transaction.commit().await?;
    Ok(Some(((), Some(version))))
}

/// A change of settings: those that the caller has read, the document of the new ones, and what follows for the rows of
/// unique attributes.
struct NewSettings {
    issuer: IssuerId,
    seen: IssuerSettings,
    document: String,
    reindex: AttributeReindex,
}

async fn put_settings(
    new: Arc<NewSettings>,
    mut connection: Connection,
) -> Written<Strictly<SettingsUpdate>> {
    let NewSettings { issuer, seen, document, reindex } = &*new;
    let transaction = connection.transaction().await?;
    // Compared as settings, not as text: an older release may have written the same with fewer members.
    match lock(issuer, &transaction).await?.as_deref().map(from_document::<IssuerSettings>).transpose()? {
        Some(current) if current == *seen => {}
        _ => return Ok(None),
    }
    let followed = user_attribute::reindex(reindex, issuer, &transaction).await?;
    if followed != SettingsUpdate::Written {
        return Ok(Some((followed, None)));
    }
    let sql = "UPDATE issuers SET settings = $2 WHERE id = $1";
    transaction.change(sql, &[&issuer.as_str(), document]).await?;
    let version = next_control(&transaction).await?;
    transaction.commit().await?;
    Ok(Some((followed, Some(version))))
}

fn unknown(issuer: &IssuerId) -> StoreError {
    StoreError::Failed(format!("there is no issuer {issuer}"))
}

impl ClusterStore {
    /// Waits until every node follows a change.
    pub(super) async fn followed<T>(&self, (value, version): Strictly<T>) -> Result<T, StoreError> {
        if let Some(version) = version {
            self.nodes.followed(version).await?;
        }
        Ok(value)
    }
}

#[async_trait]
impl Issuers for ClusterStore {
    async fn create_issuer(&self, issuer: Issuer, settings: IssuerSettings) -> Result<Created, StoreError> {
        let given = Arc::new((issuer, to_document(&settings)?));
        let create = move |connection| create(Arc::clone(&given), connection);
        self.followed(self.records.change(StoreKind::Setting, Changed::Issuers, create).await?).await
    }

    async fn issuers(&self) -> Result<Vec<Issuer>, StoreError> {
        let sql = "SELECT id, url, sealed_secret, created_at FROM issuers ORDER BY created_at, id";
        self.records.all(StoreKind::Setting, sql, &[]).await?.iter().map(issuer_of).collect()
    }

    async fn update_issuer(&self, issuer: Issuer) -> Result<bool, StoreError> {
        let issuer = Arc::new(issuer);
        let update = move |connection| update(Arc::clone(&issuer), connection);
        self.followed(self.records.change(StoreKind::Setting, Changed::Issuers, update).await?).await
    }

    async fn keys(&self, issuer: &IssuerId) -> Result<Vec<KeyRecord>, StoreError> {
        keys_of(&self.records.all(StoreKind::Key, KEYS, &[&issuer.as_str()]).await?)
    }

    async fn put_keys(
        &self,
        issuer: &IssuerId,
        seen: &[KeyRecord],
        keys: &[KeyRecord],
    ) -> Result<(), StoreError> {
        let bare = |key: &KeyRecord| to_document(&KeyRecord { sealed: Vec::new(), ..key.clone() });
        let documents = keys.iter().map(bare).collect::<Result<_, _>>()?;
        let (seen, keys) = (seen.to_vec(), keys.to_vec());
        let new = Arc::new(NewKeys { issuer: issuer.clone(), seen, keys, documents });
        let put = move |connection| put_keys(Arc::clone(&new), connection);
        self.followed(self.records.change(StoreKind::Key, Changed::Keys(issuer.clone()), put).await?).await
    }

    async fn settings(&self, issuer: &IssuerId) -> Result<IssuerSettings, StoreError> {
        let found = self.records.first(StoreKind::Setting, SETTINGS, &[&issuer.as_str()]).await?;
        from_document(column::<&str>(&found.ok_or_else(|| unknown(issuer))?, 0)?)
    }

    async fn put_settings(
        &self,
        issuer: &IssuerId,
        seen: &IssuerSettings,
        settings: IssuerSettings,
    ) -> Result<SettingsUpdate, StoreError> {
        let reindex = AttributeReindex::between(&seen.attributes, &settings.attributes);
        let (issuer, seen, document) = (issuer.clone(), seen.clone(), to_document(&settings)?);
        let new = Arc::new(NewSettings { issuer: issuer.clone(), seen, document, reindex });
        let changed = Changed::Settings(issuer);
        let put = move |connection| put_settings(Arc::clone(&new), connection);
        self.followed(self.records.change(StoreKind::Setting, changed, put).await?).await
    }
}
