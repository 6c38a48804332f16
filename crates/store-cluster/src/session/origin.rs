//! Where sessions began: a record beside each session's own, so that who asks for the session does not read it. It may be
//! lost with the primary, ends with the session, and expires with it.

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::ListedSession;

use super::record::SessionPlace;
use crate::one_time::time_to_live;
use crate::redis::Key;
use crate::{ClusterStore, from_document, key_text, to_document};

/// The key of a `sid` was not computed for the issuer that is asked, so the issuer is stored and compared.
#[derive(Serialize, Deserialize)]
struct Document {
    issuer: IssuerId,
    origin: SessionOrigin,
}

impl ClusterStore {
    /// The key of the record. It has the tag of the session's own, so that the end of a session deletes it in the same call.
    pub(super) fn origin_key(&self, place: SessionPlace) -> Key {
        self.session_tag(place.route).key('o', key_text(&place.key).as_bytes())
    }

    /// Writes where a session began.
    pub(crate) async fn write_origin(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        (expires_at, origin): (Timestamp, &SessionOrigin),
    ) -> Result<(), StoreError> {
        let document = to_document(&Document { issuer: issuer.clone(), origin: origin.clone() })?;
        let mut cmd = redis::cmd("SET");
        cmd.arg(self.origin_key(place).as_bytes()).arg(document);
        cmd.arg("PX").arg(time_to_live(expires_at, self.now()));
        self.redis.ask(&cmd).await.map(drop)
    }

    /// Adds to sessions where they began.
    pub(super) async fn with_origins(
        &self,
        issuer: &IssuerId,
        sessions: Vec<ListedSession>,
    ) -> Result<Vec<ListedSession>, StoreError> {
        let one = async |listed: ListedSession| -> Result<ListedSession, StoreError> {
            let Some(place) = self.sid_place(listed.session.sid.as_str()) else { return Ok(listed) };
            Ok(ListedSession { origin: self.origin_at(issuer, place).await?, ..listed })
        };
        try_join_all(sessions.into_iter().map(one)).await
    }

    /// Where the session at a place began, if that was noted.
    pub(super) async fn origin_at(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
    ) -> Result<Option<SessionOrigin>, StoreError> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(self.origin_key(place).as_bytes());
        let found: Option<String> = self.redis.ask(&cmd).await?.read()?;
        let document = found.as_deref().map(from_document::<Document>).transpose()?;
        Ok(document.filter(|document| document.issuer == *issuer).map(|document| document.origin))
    }
}
