//! What users have enrolled to prove who they are.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::StoreError;
use symbolon_store::port::{AuthenticatorUpdate, Authenticators, Enrolled, authenticators_document};

use super::Written;
use crate::postgres::{Connection, column};
use crate::{ClusterStore, from_document};

const FIND: &str = "SELECT revision, document FROM authenticators WHERE issuer = $1 AND user_id = $2";
/// Inserts only if the user exists, and keeps the user from being deleted before it is written, as a foreign key would.
const FIRST: &str = "INSERT INTO authenticators (issuer, user_id, revision, document)
    SELECT $1::text, $2::text, created_at + 1, $3::text
    FROM (SELECT created_at FROM users WHERE issuer = $1 AND id = $2 FOR KEY SHARE) AS of_user
    ON CONFLICT DO NOTHING";
const NEXT: &str = "UPDATE authenticators SET revision = revision + 1, document = $3
    WHERE issuer = $1 AND user_id = $2 AND revision = $4";
const USER: &str = "SELECT 1 FROM users WHERE issuer = $1 AND id = $2";

/// The issuer and user, the revision that was seen, and the document.
type Put = (IssuerId, UserId, i64, String);

async fn put(given: Arc<Put>, connection: Connection) -> Written<AuthenticatorUpdate> {
    let (issuer, user, seen, document) = &*given;
    let (issuer, user) = (issuer.as_str(), user.as_str());
    let written = match seen {
        0 => connection.change(FIRST, &[&issuer, &user, document]).await?,
        seen => connection.change(NEXT, &[&issuer, &user, document, seen]).await?,
    };
    if written == 1 {
        return Ok(Some(AuthenticatorUpdate::Written));
    }
    // Nothing was written, so this only tells why.
    let exists = connection.first(USER, &[&issuer, &user]).await?.is_some();
    Ok(Some(if exists { AuthenticatorUpdate::Overtaken } else { AuthenticatorUpdate::UserUnknown }))
}

#[async_trait]
impl Authenticators for ClusterStore {
    async fn authenticators(&self, issuer: &IssuerId, user: &UserId) -> Result<Enrolled, StoreError> {
        let found =
            self.records.first(StoreKind::Authenticator, FIND, &[&issuer.as_str(), &user.as_str()]).await?;
        let Some(row) = found else { return Ok(Enrolled::default()) };
        Ok(Enrolled {
            revision: column::<i64>(&row, 0)?.cast_unsigned(),
            set: from_document(column::<&str>(&row, 1)?)?,
        })
    }

    async fn put_authenticators(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        seen: u64,
        set: &AuthenticatorSet,
    ) -> Result<AuthenticatorUpdate, StoreError> {
        let given =
            Arc::new((issuer.clone(), user.clone(), seen.cast_signed(), authenticators_document(set)?));
        self.records
            .write(StoreKind::Authenticator, move |connection| put(Arc::clone(&given), connection))
            .await
    }
}
