//! What becomes of requests that wait for somebody's decision while their clients poll: of devices, and of backchannel
//! authentication.

use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::decision::Decision;
use symbolon_protocol::id::UserId;

/// Who decided, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Who.
    pub user: UserId,
    /// Whether the client was allowed what it asked for.
    pub is_allowed: bool,
}

impl From<&Decision> for Decided {
    fn from(decision: &Decision) -> Self {
        Self { user: decision.user().clone(), is_allowed: decision.is_allowed() }
    }
}

/// The result of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deciding {
    /// It is this one: no other caller decides.
    Decided,
    /// Somebody decided before, or the same person twice: nothing was changed.
    Before(Decided),
    /// There is no such request, or it has ended.
    Unknown,
}

/// The result of a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Polled {
    /// Nobody has decided.
    Pending,
    /// Nobody has decided, and the client polled too early.
    SlowDown,
    /// It was allowed this, and may redeem its code.
    Allowed(Box<CodeGrant>),
    /// It has redeemed its code before: the tokens of this grant must be revoked.
    Used(Box<CodeGrant>),
    /// It was denied by this user.
    Denied(UserId),
    /// The code is another client's. Nothing was changed.
    OfOtherClient,
    /// There is no such request, or it has ended.
    Unknown,
}
