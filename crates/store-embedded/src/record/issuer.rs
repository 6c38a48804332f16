//! Issuers, their settings and signing keys.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rusqlite::{Connection, Row, params};
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::columns::AttributeReindex;
use symbolon_store::port::{Changed, Created, Issuers, SettingsUpdate};

use super::statement::{Statements, document};
use super::{from_document, millis, refuse, to_document, user_attribute};
use crate::EmbeddedStore;

const KEYS: &str = "SELECT document, sealed FROM signing_keys WHERE issuer = ?1 ORDER BY position";
const SETTINGS: &str = "SELECT settings FROM issuers WHERE id = ?1";

const ISSUERS: &str = "SELECT id, url, sealed_secret, created_at FROM issuers ORDER BY created_at, id";

fn issuer_of(row: &Row<'_>) -> rusqlite::Result<Issuer> {
    Ok(Issuer {
        id: IssuerId::trusted(row.get::<_, String>(0)?),
        url: row.get(1)?,
        sealed_secret: row.get(2)?,
        created_at: Timestamp::from_millis(row.get::<_, i64>(3)?.unsigned_abs()),
    })
}

/// Every issuer that a connection sees.
pub(crate) fn issuers(connection: &Connection) -> rusqlite::Result<Vec<Issuer>> {
    connection.prepare(ISSUERS)?.query_map((), issuer_of)?.collect()
}

/// The settings and keys of an issuer that a connection sees.
pub(crate) fn keys_and_settings(
    issuer: &IssuerId,
    connection: &Connection,
) -> Result<(IssuerSettings, Vec<KeyRecord>), StoreError> {
    let read = || {
        let settings: String = connection.query_row(SETTINGS, [issuer.as_str()], document)?;
        let mut keys = connection.prepare(KEYS)?;
        let keys = keys.query_map([issuer.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((settings, keys.collect::<rusqlite::Result<Vec<_>>>()?))
    };
    let (settings, keys) = read().map_err(|error: rusqlite::Error| crate::failed(error))?;
    Ok((from_document(&settings)?, keys_of(keys)?))
}

/// Writes an issuer with the document of its settings; returns the number of rows written.
pub(super) fn insert(
    issuer: &Issuer,
    settings: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<usize> {
    statements.change(
        "INSERT INTO issuers (id, url, sealed_secret, created_at, settings) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        params![issuer.id.as_str(), issuer.url, issuer.sealed_secret, millis(issuer.created_at), settings],
    )
}

/// Writes the keys of an issuer that has none.
pub(super) fn insert_keys(
    issuer: &IssuerId,
    keys: &[(String, String, Vec<u8>)],
    statements: &Statements<'_>,
) -> rusqlite::Result<()> {
    for (position, (kid, document, sealed)) in (0_i64..).zip(keys) {
        statements.change(
            "INSERT INTO signing_keys (issuer, kid, position, document, sealed)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![issuer.as_str(), kid, position, document, sealed],
        )?;
    }
    Ok(())
}

/// The key's id, its document without the sealed half, and the sealed half, which has a column of its own.
pub(super) fn key_document(key: &KeyRecord) -> Result<(String, String, Vec<u8>), StoreError> {
    let document = to_document(&KeyRecord { sealed: Vec::new(), ..key.clone() })?;
    Ok((key.kid.as_str().to_owned(), document, key.sealed.clone()))
}

fn read_keys(issuer: &IssuerId, statements: &Statements<'_>) -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
    statements.all(KEYS, [issuer.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn keys_of(rows: Vec<(String, Vec<u8>)>) -> Result<Vec<KeyRecord>, StoreError> {
    let key = |(document, sealed): (String, Vec<u8>)| Ok(KeyRecord { sealed, ..from_document(&document)? });
    rows.into_iter().map(key).collect()
}

/// What must be equal for two key sets to count as the same: the keys, the state of each, the time from which it signs,
/// and its private half as sealed under the master key.
fn states(keys: &[KeyRecord]) -> BTreeSet<(&str, u8, Option<Timestamp>, &[u8])> {
    keys.iter()
        .map(|key| (key.kid.as_str(), key.state as u8, key.signs_from, key.sealed.as_slice()))
        .collect()
}

#[async_trait]
impl Issuers for EmbeddedStore {
    async fn create_issuer(&self, issuer: Issuer, settings: IssuerSettings) -> Result<Created, StoreError> {
        let settings = to_document(&settings)?;
        let create = move |statements: &Statements<'_>| {
            let written = insert(&issuer, &settings, statements)?;
            Ok(if written == 1 { Created::Created } else { Created::Exists })
        };
        self.records.change(StoreKind::Setting, Changed::Issuers, create).await
    }

    async fn issuers(&self) -> Result<Vec<Issuer>, StoreError> {
        self.records.read(StoreKind::Setting, |statements| statements.all(ISSUERS, (), issuer_of)).await
    }

    async fn update_issuer(&self, issuer: Issuer) -> Result<bool, StoreError> {
        let set = move |statements: &Statements<'_>| {
            let changed = statements.change(
                "UPDATE issuers SET url = ?2, sealed_secret = ?3 WHERE id = ?1",
                params![issuer.id.as_str(), issuer.url, issuer.sealed_secret],
            )?;
            Ok(changed == 1)
        };
        self.records.change(StoreKind::Setting, Changed::Issuers, set).await
    }

    async fn keys(&self, issuer: &IssuerId) -> Result<Vec<KeyRecord>, StoreError> {
        let issuer = issuer.clone();
        let read = self.records.read(StoreKind::Key, move |statements| read_keys(&issuer, statements));
        keys_of(read.await?)
    }

    async fn put_keys(
        &self,
        issuer: &IssuerId,
        seen: &[KeyRecord],
        keys: &[KeyRecord],
    ) -> Result<(), StoreError> {
        let changed = Changed::Keys(issuer.clone());
        let (issuer, seen) = (issuer.clone(), seen.to_vec());
        let rows = keys.iter().map(key_document).collect::<Result<Vec<_>, _>>()?;
        let put = move |statements: &Statements<'_>| {
            match keys_of(read_keys(&issuer, statements)?) {
                Ok(current) if states(&current) == states(&seen) => {}
                Ok(_) => return refuse(StoreError::Conflict),
                Err(error) => return refuse(error),
            }
            statements.change("DELETE FROM signing_keys WHERE issuer = ?1", [issuer.as_str()])?;
            Ok(insert_keys(&issuer, &rows, statements)?)
        };
        self.records.change(StoreKind::Key, changed, put).await
    }

    async fn settings(&self, issuer: &IssuerId) -> Result<IssuerSettings, StoreError> {
        let wanted = issuer.clone();
        let read = self.records.read(StoreKind::Setting, move |statements| {
            statements.first(SETTINGS, [wanted.as_str()], document)
        });
        match read.await? {
            Some(found) => from_document(&found),
            None => Err(StoreError::Failed(format!("there is no issuer {issuer}"))),
        }
    }

    async fn put_settings(
        &self,
        issuer: &IssuerId,
        seen: &IssuerSettings,
        settings: IssuerSettings,
    ) -> Result<SettingsUpdate, StoreError> {
        let changed = Changed::Settings(issuer.clone());
        let reindex = AttributeReindex::between(&seen.attributes, &settings.attributes);
        let (issuer, seen, settings) = (issuer.clone(), seen.clone(), to_document(&settings)?);
        let put = move |statements: &Statements<'_>| {
            let current = statements.first(SETTINGS, [issuer.as_str()], document)?;
            // Compared as settings, not as text: an older release may have written equal settings with fewer members.
            match current.as_deref().map(from_document::<IssuerSettings>) {
                Some(Ok(current)) if current == seen => {}
                Some(Err(error)) => return refuse(error),
                _ => return refuse(StoreError::Conflict),
            }
            let followed = user_attribute::reindex(&reindex, &issuer, statements)?;
            if followed == SettingsUpdate::Written {
                statements
                    .change("UPDATE issuers SET settings = ?2 WHERE id = ?1", [issuer.as_str(), &settings])?;
            }
            Ok(followed)
        };
        self.records.change(StoreKind::Setting, changed, put).await
    }
}
