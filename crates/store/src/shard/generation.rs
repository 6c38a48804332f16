//! Generations of shards: one for each setting of their number, from the first start on.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_protocol::settings::LONGEST_LIFE;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};

use super::ShardKind;

/// The most shards that a generation may have.
pub const MOST_SHARDS: u32 = 1024;

/// The number of shards per kind of hot state at the first start, 1 to [`MOST_SHARDS`] each; later starts use the
/// stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstShards {
    /// Authorization codes.
    pub code: u32,
    /// Sessions.
    pub session: u32,
    /// Pending logins and consents.
    pub challenge: u32,
    /// Refresh-token families.
    pub refresh: u32,
    /// Revocation tombstones.
    pub revocation: u32,
    /// Replay marks of client assertions.
    pub assertion: u32,
}

impl FirstShards {
    /// The number of a kind.
    pub const fn of(self, kind: ShardKind) -> u32 {
        match kind {
            ShardKind::Code => self.code,
            ShardKind::Session => self.session,
            ShardKind::Challenge => self.challenge,
            ShardKind::Refresh => self.refresh,
            ShardKind::Revocation => self.revocation,
            ShardKind::Assertion => self.assertion,
        }
    }
}

impl Default for FirstShards {
    fn default() -> Self {
        Self { code: 64, session: 64, challenge: 64, refresh: 64, revocation: 64, assertion: 64 }
    }
}

/// One setting of the number of shards of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// Counts from 1.
    pub generation: u32,
    /// How many shards it has, 1 to 1,024.
    pub shards: u32,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When the next one was opened; `None` for the current one.
    pub closed_at: Option<Timestamp>,
}

/// How long an id of a kind may live: a closed generation is dropped that long after it was closed.
const fn longest_life(kind: ShardKind) -> Duration {
    match kind {
        ShardKind::Code | ShardKind::Challenge | ShardKind::Assertion => Duration::from_secs(86_400),
        ShardKind::Session | ShardKind::Refresh | ShardKind::Revocation => LONGEST_LIFE,
    }
}

/// The list with one generation more, and that generation; the one before it is closed.
pub fn opened(generations: &[Generation], shards: u32, now: Timestamp) -> (Vec<Generation>, Generation) {
    let mut list: Vec<Generation> = generations.to_vec();
    let number = list.last().map_or(0, |last| last.generation) + 1;
    if let Some(last) = list.last_mut() {
        last.closed_at = Some(now);
    }
    let opened = Generation {
        generation: number,
        shards: shards.clamp(1, MOST_SHARDS),
        opened_at: now,
        closed_at: None,
    };
    list.push(opened);
    (list, opened)
}

/// The list without the generations that closed so long ago that every id drawn in them has expired.
pub fn without_the_dead(kind: ShardKind, generations: &[Generation], now: Timestamp) -> Vec<Generation> {
    let life = longest_life(kind) + KEPT_AFTER_END;
    generations.iter().copied().filter(|g| g.closed_at.is_none_or(|closed| closed + life > now)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_generation_lives_as_long_as_its_ids() {
        let start = Timestamp::from_seconds(1_000_000);
        let (list, first) = opened(&[], 64, start);
        assert_eq!((first.generation, first.shards), (1, 64));
        let (list, second) = opened(&list, 4_000, start + Duration::from_secs(5));
        assert_eq!((second.generation, second.shards), (2, 1024));
        let soon = start + Duration::from_secs(86_400);
        assert_eq!(without_the_dead(ShardKind::Code, &list, soon).len(), 2);
        let late = soon + KEPT_AFTER_END + Duration::from_secs(6);
        assert_eq!(without_the_dead(ShardKind::Code, &list, late), [second]);
        for kind in [ShardKind::Session, ShardKind::Refresh] {
            // The end of an id that was given out at the last moment.
            let end = start + Duration::from_secs(5) + LONGEST_LIFE;
            assert_eq!(without_the_dead(kind, &list, end).len(), 2);
            let over = end + KEPT_AFTER_END + Duration::from_secs(1);
            assert_eq!(without_the_dead(kind, &list, over), [second]);
        }
    }
}
