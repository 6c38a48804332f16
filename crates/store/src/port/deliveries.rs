//! The part of the port for what has to reach somebody else: a queue that outlives the process.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::{DeliveryId, IssuerId};
use symbolon_protocol::time::Timestamp;

use crate::StoreError;

/// The most bytes of a delivery's payload.
pub const MOST_PAYLOAD: usize = 64 << 10;

/// The most deliveries that one [claim](Deliveries::claim_deliveries) takes.
pub const MOST_CLAIMED: u32 = 1_000;

/// The part of an issuer's room in the queue that one recipient may take: a tenth.
const RECIPIENT_SHARE: u32 = 10;

/// How many deliveries for one recipient may wait of `most` of their kind; at least one.
#[must_use]
pub const fn most_of_recipient(most: u32) -> u32 {
    let share = most / RECIPIENT_SHARE;
    if share == 0 { 1 } else { share }
}

/// The ids from the first to before the second are those for this recipient ([`DeliveryId::recipient`]). No character of an
/// id comes after `z`.
#[must_use]
pub fn ids_of_recipient(recipient: &str) -> (String, String) {
    (recipient.to_owned(), format!("{recipient}~"))
}

/// What kind of thing has to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryKind {
    /// A mail.
    Mail,
    /// A logout token for a client.
    BackChannelLogout,
    /// That somebody has decided what a client asked for (CIBA Core 10.2).
    CibaPing,
}

impl DeliveryKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Mail, Self::BackChannelLogout, Self::CibaPing];

    /// The text that back-ends store, and the label in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::BackChannelLogout => "back_channel_logout",
            Self::CibaPing => "ciba_ping",
        }
    }

    /// Parses the text that a back-end stored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Something that has to reach somebody else, and is kept until it has arrived or its time is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// Its kind.
    pub kind: DeliveryKind,
    /// What has to arrive, sealed by the caller; at most [`MOST_PAYLOAD`] bytes.
    pub payload: String,
    /// When it was put into the queue.
    pub created_at: Timestamp,
    /// When it is to be tried next. While somebody has claimed it: until when the claim lasts.
    pub due_at: Timestamp,
    /// When it is of no use any more.
    pub expires_at: Timestamp,
    /// How often it was claimed so far.
    pub attempts: u32,
    /// How many claims ended without [`finish_delivery`](Deliveries::finish_delivery) or
    /// [`postpone_delivery`](Deliveries::postpone_delivery), the present one included: each other one is a process that
    /// ended meanwhile, and that may have sent it.
    pub unanswered: u32,
}

impl Delivery {
    /// Checks the bound of the payload.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the payload is longer than [`MOST_PAYLOAD`].
    pub fn check(&self) -> Result<(), StoreError> {
        if self.payload.len() <= MOST_PAYLOAD {
            return Ok(());
        }
        let (kind, length) = (self.kind.as_str(), self.payload.len());
        Err(StoreError::Failed(format!(
            "a delivery of the kind {kind} has {length} bytes, over {MOST_PAYLOAD}"
        )))
    }
}

/// Whether a delivery was put into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Queued {
    /// It waits.
    Queued,
    /// As many of the issuer's and of its kind wait as the caller allows, or as many for its recipient; nothing was
    /// written.
    Full,
}

/// The queue of what has to reach somebody else. Every worker on every node takes from it, and a delivery is taken by
/// exactly one at a time.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Puts a delivery into the queue, durable when it returns. One that is there already stays as it is, and counts as
    /// queued: a caller that did not learn whether it was written may try again with the same id. [`Queued::Full`]: the
    /// issuer has `most` of this kind waiting, those included that expired and were not swept yet: one kind never pushes
    /// out another. Or [`most_of_recipient`] wait for the recipient that its id names, if it names one: a recipient that takes
    /// nothing never pushes out the others. Those that several nodes queue in the same moment may exceed the bounds by their
    /// number.
    async fn queue_delivery(
        &self,
        issuer: &IssuerId,
        delivery: Delivery,
        most: u32,
    ) -> Result<Queued, StoreError>;
    /// Takes what is due, for this caller alone until `until`, and returns it as it is stored from now on: due again at
    /// `until`, `attempts` and `unanswered` one higher. That is durable when it returns. At most `limit` (1 to
    /// [`MOST_CLAIMED`]), fairly among issuers: first the longest due of each, then the next of each. What is past its
    /// `expires_at` is not taken.
    async fn claim_deliveries(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<(IssuerId, Delivery)>, StoreError>;
    /// It arrived, or is given up: deletes it. Durable; returns whether it was there.
    async fn finish_delivery(&self, issuer: &IssuerId, id: &DeliveryId) -> Result<bool, StoreError>;
    /// It was refused for now: due again at `due_at`, and `unanswered` is what it was before the claim. Durable;
    /// returns whether it was there.
    async fn postpone_delivery(
        &self,
        issuer: &IssuerId,
        id: &DeliveryId,
        due_at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// How many wait, by kind, of all issuers together. Kinds of which none waits may be missing.
    async fn waiting_deliveries(&self) -> Result<Vec<(DeliveryKind, u64)>, StoreError>;
}

/// Chooses fairly among issuers: from the due deliveries of each, the longest due first, first the first of each issuer,
/// then the second of each, and so on; of equal places the longest due first. For back-ends that cannot say so to their
/// engine.
#[must_use]
pub fn fairly<T>(of_issuers: Vec<Vec<(Timestamp, T)>>, limit: u32) -> Vec<T> {
    let placed = of_issuers.into_iter().flat_map(|of_one| of_one.into_iter().enumerate());
    let mut placed: Vec<_> = placed.map(|(place, (due_at, delivery))| (place, due_at, delivery)).collect();
    placed.sort_by_key(|(place, due_at, _)| (*place, *due_at));
    placed.truncate(limit as usize);
    placed.into_iter().map(|(_, _, delivery)| delivery).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_with_many_does_not_keep_the_others_waiting() {
        let at = Timestamp::from_seconds;
        let many = (1..100).map(|second| (at(second), "many")).collect();
        let chosen = fairly(vec![many, vec![(at(500), "few"), (at(501), "few")], vec![(at(0), "one")]], 5);
        assert_eq!(chosen, ["one", "many", "few", "many", "few"]);
    }

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for kind in DeliveryKind::ALL {
            assert_eq!(DeliveryKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert_eq!(DeliveryKind::parse("letter"), None);
    }
}
