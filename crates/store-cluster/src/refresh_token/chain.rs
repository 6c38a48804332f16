//! Decides several requests to one family, one after the other, before the result is written.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use symbolon_protocol::family::{self, Family, Rotation, RotationRequest, Step};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::revocation::Tombstone;

use crate::revocation::Row;

/// The stored state of a family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stored {
    /// A family.
    Live(Arc<Family>),
    /// A family that was ended, with the tombstone of its grant. The process that ended it may have crashed before it
    /// wrote the tombstone to Redis, so a request that finds this row writes the tombstone there again.
    Ended(Row),
}

/// A request to change a family.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    /// Rotate the live token.
    Rotate(RotationRequest),
    /// End the family, and revoke its grant.
    End(Tombstone),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every answer is a rotation: boxing it would cost each of them"
)]
pub(super) enum Answer {
    /// To [`Ask::Rotate`].
    Rotation(Rotation),
    /// To [`Ask::End`]: the family, if it was live.
    Ended(Option<Arc<Family>>),
}

/// The result of several requests. It is valid once `state` is stored.
pub(super) struct Chain {
    /// The family after them.
    pub(super) state: Option<Stored>,
    /// Whether `state` is another one than before.
    pub(super) changed: bool,
    /// The answers in the order of the requests, each with whether the family has ended by then.
    pub(super) answers: Vec<(Answer, bool)>,
}

/// Decides requests on the `state` of a row. `fresh`: the row was read after all of them came; else it is a copy in memory,
/// which may be old.
///
/// None if an answer would rest on such a copy alone. An answer that writes may, because the conditional UPDATE finds out
/// that the row has changed meanwhile; a refusal writes nothing and would not. The caller reads the row and asks again.
pub(super) fn decide<'a>(
    issuer: &IssuerId,
    state: Option<Stored>,
    fresh: bool,
    asks: impl Iterator<Item = &'a Ask>,
) -> Option<Chain> {
    let mut chain = Chain { state, changed: false, answers: Vec::new() };
    for ask in asks {
        let answer = match (&chain.state, ask) {
            (Some(Stored::Live(family)), Ask::Rotate(request)) => {
                let mut next = (**family).clone();
                let step = family::rotate(&mut next, request);
                if step != Step::Moved && !fresh && !chain.changed {
                    return None;
                }
                Answer::Rotation(chain.take(issuer, step, Arc::new(next), request))
            }
            (Some(Stored::Live(family)), Ask::End(tombstone)) => {
                let family = Arc::clone(family);
                chain.end(issuer, tombstone);
                Answer::Ended(Some(family))
            }
            (Some(Stored::Ended(_)) | None, _) if !fresh && !chain.changed => return None,
            (Some(Stored::Ended(_)) | None, Ask::Rotate(_)) => Answer::Rotation(Rotation::Unknown),
            (Some(Stored::Ended(_)) | None, Ask::End(_)) => Answer::Ended(None),
        };
        let ended = matches!(chain.state, Some(Stored::Ended(_)));
        chain.answers.push((answer, ended));
    }
    Some(chain)
}

impl Chain {
    fn take(
        &mut self,
        issuer: &IssuerId,
        step: Step,
        next: Arc<Family>,
        request: &RotationRequest,
    ) -> Rotation {
        match step {
            Step::Moved => {
                self.state = Some(Stored::Live(Arc::clone(&next)));
                self.changed = true;
                Rotation::Rotated(next)
            }
            Step::Retry => Rotation::Retry(next),
            Step::Unknown => Rotation::Unknown,
            Step::Reused => {
                self.end(issuer, &Tombstone::grant(next.grant, request.tombstone_until));
                Rotation::Reused(next)
            }
        }
    }

    fn end(&mut self, issuer: &IssuerId, tombstone: &Tombstone) {
        self.state = Some(Stored::Ended(Row::of(issuer, tombstone)));
        self.changed = true;
    }
}
