//! What users have enrolled to prove who they are.

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::StoreError;
use symbolon_store::port::{AuthenticatorUpdate, Authenticators, Enrolled, authenticators_document};

use super::statement::Statements;
use super::{from_document, refuse};
use crate::{EmbeddedStore, failed};

const FIND: &str = "SELECT revision, document FROM authenticators WHERE issuer = ?1 AND user = ?2";
const REVISION: &str = "SELECT revision FROM authenticators WHERE issuer = ?1 AND user = ?2";
const USER: &str = "SELECT created_at FROM users WHERE issuer = ?1 AND id = ?2";
const PUT: &str = "INSERT INTO authenticators (issuer, user, revision, document) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (issuer, user) DO UPDATE SET revision = excluded.revision, document = excluded.document";

#[async_trait]
impl Authenticators for EmbeddedStore {
    async fn authenticators(&self, issuer: &IssuerId, user: &UserId) -> Result<Enrolled, StoreError> {
        let key = (issuer.clone(), user.clone());
        let find = move |statements: &Statements<'_>| {
            statements.first(FIND, [key.0.as_str(), key.1.as_str()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })
        };
        match self.records.read(StoreKind::Authenticator, find).await? {
            Some((revision, document)) => {
                Ok(Enrolled { revision: revision.cast_unsigned(), set: from_document(&document)? })
            }
            None => Ok(Enrolled::default()),
        }
    }

    async fn put_authenticators(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        seen: u64,
        set: &AuthenticatorSet,
    ) -> Result<AuthenticatorUpdate, StoreError> {
        let key = (issuer.clone(), user.clone());
        let document = authenticators_document(set)?;
        let put = move |statements: &Statements<'_>| {
            let (issuer, user) = (key.0.as_str(), key.1.as_str());
            let Some(created_at) = statements.first(USER, [issuer, user], |row| row.get::<_, i64>(0))? else {
                return Ok(AuthenticatorUpdate::UserUnknown);
            };
            let revision = statements.first(REVISION, [issuer, user], |row| row.get::<_, i64>(0))?;
            if revision.map_or(0, i64::cast_unsigned) != seen {
                return Ok(AuthenticatorUpdate::Overtaken);
            }
            let Some(next) =
                seen.max(created_at.cast_unsigned()).checked_add(1).and_then(|next| i64::try_from(next).ok())
            else {
                return refuse(failed("authenticators were changed too often"));
            };
            statements.change(PUT, (issuer, user, next, &document))?;
            Ok(AuthenticatorUpdate::Written)
        };
        self.records.write(StoreKind::Authenticator, put).await
    }
}
