//! Invitations.

use async_trait::async_trait;
use rusqlite::params;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::sign_in::invitation::KeptInvitation;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{InvitationKeeping, Invitations, Page, PageRequest};

use super::listing::{Listing, page_of};
use super::statement::{Statements, document};
use super::{Records, TEXT_FORM, Written, from_document, millis, refuse, to_document};
use crate::EmbeddedStore;

/// Every invitation, in the order of its key.
pub(crate) const ALL: &str = "SELECT issuer, document FROM invitations ORDER BY issuer, id";
/// Counts no further than to the bound.
const COUNT: &str = "SELECT count(*) FROM
    (SELECT 1 FROM invitations WHERE issuer = ?1 AND expires_at > ?2 LIMIT ?3)";
const INSERT: &str = "INSERT INTO invitations (issuer, id, search, created_at, expires_at, used_at, document)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const FIND: &str = "SELECT document FROM invitations WHERE issuer = ?1 AND id = ?2";
const USE: &str = "UPDATE invitations SET used_at = ?3, document = ?4
    WHERE issuer = ?1 AND id = ?2 AND used_at IS NULL AND expires_at > ?3";
const WITHDRAW: &str = "DELETE FROM invitations
    WHERE issuer = ?1 AND id = ?2 AND used_at IS NULL AND expires_at > ?3";
const IS_ANY_OVER: &str = "SELECT 1 FROM invitations WHERE expires_at <= ?1 LIMIT 1";
const SWEEP: &str = "DELETE FROM invitations WHERE (issuer, id) IN
    (SELECT issuer, id FROM invitations WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";

/// How many invitations one write of a sweep deletes: all other writes wait for it.
const SWEPT_AT_ONCE: i64 = 200;

/// Inserts an invitation that is not there yet.
pub(super) fn insert(
    issuer: &IssuerId,
    kept: &KeptInvitation,
    text: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<()> {
    let invitation = &kept.invitation;
    let search = (TEXT_FORM.searched)(&invitation.email);
    let used_at = kept.used_at.map(millis);
    let times = (millis(kept.created_at), millis(invitation.expires_at), used_at);
    let values = params![issuer.as_str(), invitation.id, search, times.0, times.1, times.2, text];
    statements.change(INSERT, values).map(drop)
}

fn use_up((issuer, id): (&IssuerId, &str), now: Timestamp, statements: &Statements<'_>) -> Written<bool> {
    let Some(found) = statements.first(FIND, [issuer.as_str(), id], document)? else { return Ok(false) };
    let used = from_document::<KeptInvitation>(&found)
        .and_then(|kept| to_document(&KeptInvitation { used_at: Some(now), ..kept }));
    match used {
        Ok(used) => Ok(statements.change(USE, params![issuer.as_str(), id, millis(now), used])? == 1),
        Err(error) => refuse(error),
    }
}

impl Records {
    /// Deletes invitations whose time is over, in bounded pieces; returns how many.
    pub(crate) async fn sweep_invitations(&self, now: Timestamp) -> Result<u64, StoreError> {
        let ended = millis(now - KEPT_AFTER_END);
        let is_over = move |statements: &Statements<'_>| statements.first(IS_ANY_OVER, [ended], |_| Ok(()));
        let mut gone = 0;
        // Without the look, every sweep would be a commit.
        while self.read(StoreKind::User, is_over).await?.is_some() {
            let sweep =
                move |statements: &Statements<'_>| Ok(statements.change(SWEEP, [ended, SWEPT_AT_ONCE])?);
            gone += self.write(StoreKind::User, sweep).await? as u64;
        }
        Ok(gone)
    }
}

#[async_trait]
impl Invitations for EmbeddedStore {
    async fn keep_invitation(
        &self,
        issuer: &IssuerId,
        kept: KeptInvitation,
        most: u32,
    ) -> Result<InvitationKeeping, StoreError> {
        let (issuer, text) = (issuer.clone(), to_document(&kept)?);
        let keep = move |statements: &Statements<'_>| {
            let values = params![issuer.as_str(), millis(kept.created_at), most];
            let waiting = statements.first(COUNT, values, |row| row.get::<_, i64>(0))?;
            if waiting.unwrap_or(0) >= i64::from(most) {
                return Ok(InvitationKeeping::Full);
            }
            insert(&issuer, &kept, &text, statements)?;
            Ok(InvitationKeeping::Kept)
        };
        self.records.write(StoreKind::User, keep).await
    }

    async fn invitation(&self, issuer: &IssuerId, id: &str) -> Result<Option<KeptInvitation>, StoreError> {
        let key = (issuer.clone(), id.to_owned());
        let read =
            move |statements: &Statements<'_>| statements.first(FIND, [key.0.as_str(), &key.1], document);
        let found = self.records.read(StoreKind::User, read).await?;
        found.as_deref().map(from_document).transpose()
    }

    async fn list_invitations(
        &self,
        issuer: &IssuerId,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<KeptInvitation>, StoreError> {
        let listing = Listing::of("invitations", "created_at DESC, id DESC", issuer)
            .only("expires_at > ?", millis(now))
            .searched("instr(search, ?) > 0", page);
        let page = page.clone();
        let read = self.records.scan(StoreKind::User, move |statements| listing.read(statements, &page));
        page_of(read.await?, |kept| kept)
    }

    async fn use_invitation(&self, issuer: &IssuerId, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        let key = (issuer.clone(), id.to_owned());
        let work = move |statements: &Statements<'_>| use_up((&key.0, &key.1), now, statements);
        self.records.write(StoreKind::User, work).await
    }

    async fn withdraw_invitation(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let key = (issuer.clone(), id.to_owned());
        let withdraw = move |statements: &Statements<'_>| {
            Ok(statements.change(WITHDRAW, params![key.0.as_str(), key.1, millis(now)])? == 1)
        };
        self.records.write(StoreKind::User, withdraw).await
    }
}
