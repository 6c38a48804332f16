//! Invitations.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::sign_in::invitation::KeptInvitation;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{InvitationKeeping, Invitations, Page, PageRequest};

use super::listing::Listing;
use super::text::searched;
use super::{Records, Written, each, millis};
use crate::postgres::{Connection, Parameter, column};
use crate::revocation::sweep_by;
use crate::{ClusterStore, from_document, to_document};

/// Counts no further than to the bound.
const KEEP: &str = "
    INSERT INTO invitations (issuer, id, search, created_at, expires_at, used_at, document)
    SELECT $1::text, $2::text, $3::text, $4::bigint, $5::bigint, NULL, $6::text
    WHERE (SELECT count(*) FROM (SELECT 1 FROM invitations
        WHERE issuer = $1 AND expires_at > $4 LIMIT $7::bigint) AS waiting) < $7
    ON CONFLICT (issuer, id) DO NOTHING";
const FIND: &str = "SELECT document FROM invitations WHERE issuer = $1 AND id = $2";
/// Of two who use one at the same time, the second waits for the first, and then finds it used.
const USE: &str = "UPDATE invitations SET used_at = $3, document = $4
    WHERE issuer = $1 AND id = $2 AND used_at IS NULL AND expires_at > $3";
const WITHDRAW: &str = "DELETE FROM invitations
    WHERE issuer = $1 AND id = $2 AND used_at IS NULL AND expires_at > $3";
const SWEEP: &str = "
    DELETE FROM invitations WHERE (issuer, id) IN
        (SELECT issuer, id FROM invitations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
const IMPORT: &str = "
    INSERT INTO invitations (issuer, id, search, created_at, expires_at, used_at, document)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])";

async fn keep(
    given: Arc<(IssuerId, KeptInvitation, u32)>,
    connection: Connection,
) -> Written<InvitationKeeping> {
    let (issuer, kept, most) = &*given;
    let invitation = &kept.invitation;
    let (issuer, id, most) = (issuer.as_str(), invitation.id.as_str(), i64::from(*most));
    let (search, text) = (searched(&invitation.email), to_document(kept)?);
    let (created_at, expires_at) = (millis(kept.created_at), millis(invitation.expires_at));
    let values: [Parameter<'_>; 7] = [&issuer, &id, &search, &created_at, &expires_at, &text, &most];
    if connection.change(KEEP, &values).await? == 1 {
        return Ok(Some(InvitationKeeping::Kept));
    }
    // An attempt whose answer was lost has kept it.
    let found = connection.first(FIND, &[&issuer, &id]).await?;
    Ok(Some(if found.is_some() { InvitationKeeping::Kept } else { InvitationKeeping::Full }))
}

async fn use_up(given: Arc<(IssuerId, String, Timestamp)>, connection: Connection) -> Written<bool> {
    let (issuer, id, now) = (given.0.as_str(), given.1.as_str(), given.2);
    let Some(found) = connection.first(FIND, &[&issuer, &id]).await? else { return Ok(Some(false)) };
    let kept: KeptInvitation = from_document(column::<&str>(&found, 0)?)?;
    // Nothing of it changes but this, so what was read is still what is stored.
    let used = to_document(&KeptInvitation { used_at: Some(now), ..kept })?;
    let values: [Parameter<'_>; 4] = [&issuer, &id, &millis(now), &used];
    Ok(Some(connection.change(USE, &values).await? == 1))
}

async fn withdraw(given: Arc<(IssuerId, String, Timestamp)>, connection: Connection) -> Written<bool> {
    let values: [Parameter<'_>; 3] = [&given.0.as_str(), &given.1, &millis(given.2)];
    Ok(Some(connection.change(WITHDRAW, &values).await? == 1))
}

impl Records {
    /// Writes invitations of another store.
    pub(super) async fn import_invitations(
        &self,
        all: &[(IssuerId, KeptInvitation)],
    ) -> Result<(), StoreError> {
        if all.is_empty() {
            return Ok(());
        }
        let documents = all.iter().map(|(_, kept)| to_document(kept)).collect::<Result<Vec<_>, _>>()?;
        let issuers = each(all, |(issuer, _)| issuer.as_str());
        let ids = each(all, |(_, kept)| kept.invitation.id.as_str());
        let searches: Vec<String> = all.iter().map(|(_, kept)| searched(&kept.invitation.email)).collect();
        let created = each(all, |(_, kept)| millis(kept.created_at));
        let ends = each(all, |(_, kept)| millis(kept.invitation.expires_at));
        let used = each(all, |(_, kept)| kept.used_at.map(millis));
        let values: [Parameter<'_>; 7] = [&issuers, &ids, &searches, &created, &ends, &used, &documents];
        self.postgres.connection().await?.change(IMPORT, &values).await.map(drop)
    }
}

impl ClusterStore {
    /// Deletes invitations whose time is over; returns how many.
    pub(crate) async fn sweep_invitations(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep_by(&self.postgres, SWEEP, now).await
    }
}

#[async_trait]
impl Invitations for ClusterStore {
    async fn keep_invitation(
        &self,
        issuer: &IssuerId,
        kept: KeptInvitation,
        most: u32,
    ) -> Result<InvitationKeeping, StoreError> {
        let given = Arc::new((issuer.clone(), kept, most));
        self.records.write(StoreKind::User, move |connection| keep(Arc::clone(&given), connection)).await
    }

    async fn invitation(&self, issuer: &IssuerId, id: &str) -> Result<Option<KeptInvitation>, StoreError> {
        let found = self.records.first(StoreKind::User, FIND, &[&issuer.as_str(), &id]).await?;
        found.map(|row| from_document(column::<&str>(&row, 0)?)).transpose()
    }

    async fn list_invitations(
        &self,
        issuer: &IssuerId,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<KeptInvitation>, StoreError> {
        let listing = Listing::of("invitations", "created_at DESC, id DESC", issuer)
            .only("expires_at > ?", millis(now))
            .searched("strpos(search, ?) > 0", page);
        listing.read(&self.records, StoreKind::User, page, |kept: KeptInvitation| kept).await
    }

    async fn use_invitation(&self, issuer: &IssuerId, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        let given = Arc::new((issuer.clone(), id.to_owned(), now));
        self.records.write(StoreKind::User, move |connection| use_up(Arc::clone(&given), connection)).await
    }

    async fn withdraw_invitation(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let given = Arc::new((issuer.clone(), id.to_owned(), now));
        self.records.write(StoreKind::User, move |connection| withdraw(Arc::clone(&given), connection)).await
    }
}
