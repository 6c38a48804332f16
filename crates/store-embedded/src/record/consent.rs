//! Remembered consents.

use async_trait::async_trait;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_store::StoreError;
use symbolon_store::figures::StoreKind;
use symbolon_store::port::Consents;

use super::statement::{Statements, document};
use super::{from_document, refuse, to_document};
use crate::EmbeddedStore;

const FIND: &str = "SELECT document FROM consents WHERE issuer = ?1 AND user = ?2 AND client = ?3";

/// Everything that was allowed before and now, given when it was given last.
fn joined(before: &Consent, now: &Consent) -> Result<Consent, StoreError> {
    let scope = Scope::parse(&format!("{} {}", before.scope, now.scope)).map_err(crate::failed)?;
    Ok(Consent { scope, granted_at: before.granted_at.max(now.granted_at) })
}

#[async_trait]
impl Consents for EmbeddedStore {
    async fn consent(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
    ) -> Result<Option<Consent>, StoreError> {
        let key = (issuer.clone(), user.clone(), client.clone());
        let read = self.records.read(StoreKind::Consent, move |statements| {
            statements.first(FIND, [key.0.as_str(), key.1.as_str(), key.2.as_str()], document)
        });
        read.await?.map(|found| from_document(&found)).transpose()
    }

    async fn allow(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
        consent: Consent,
    ) -> Result<(), StoreError> {
        let key = (issuer.clone(), user.clone(), client.clone());
        let allow = move |statements: &Statements<'_>| {
            let (issuer, user, client) = (key.0.as_str(), key.1.as_str(), key.2.as_str());
            let before = statements.first(FIND, [issuer, user, client], document)?;
            let joined = match before.as_deref().map(from_document::<Consent>) {
                None => to_document(&consent),
                Some(before) => before.and_then(|before| to_document(&joined(&before, &consent)?)),
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
            Ok(())
        };
        self.records.write(StoreKind::Consent, allow).await
    }

    async fn withdraw(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        client: &ClientId,
    ) -> Result<bool, StoreError> {
        let key = (issuer.clone(), user.clone(), client.clone());
        let withdraw = move |statements: &Statements<'_>| {
            let sql = "DELETE FROM consents WHERE issuer = ?1 AND user = ?2 AND client = ?3";
            Ok(statements.change(sql, [key.0.as_str(), key.1.as_str(), key.2.as_str()])? == 1)
        };
        self.records.write(StoreKind::Consent, withdraw).await
    }
}
