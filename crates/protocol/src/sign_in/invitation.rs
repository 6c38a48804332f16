//! An invitation: the right to open one account, for one address.
//!
//! It is not stored: it is sealed into the link that is sent. A mark tells that it was used, or withdrawn.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::random::{self, Random};

use crate::id::{GroupId, RoleId};
use crate::time::Timestamp;

/// How long an invitation lives that says nothing else.
pub const LIVES: Duration = Duration::from_secs(7 * 86_400);
/// The longest that one may live.
pub const LONGEST_LIFE: Duration = Duration::from_secs(30 * 86_400);
/// The most groups, and the most roles, that one may give.
pub const MOST_GIVEN: usize = 20;

/// An invitation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Its id.
    pub id: String,
    /// The address that is invited.
    pub email: String,
    /// Whether the link was sent to that address and nowhere else, so that whoever has it reads its mail.
    pub is_mailed: bool,
    /// The groups that the account will be in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupId>,
    /// The roles that the account will have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleId>,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Invitation {
    /// Draws the id of an invitation. It tells when the invitation ends, so that one can be withdrawn by its id alone.
    pub fn draw_id(expires_at: Timestamp, random: &dyn Random) -> String {
        format!("{}-{}", expires_at.seconds(), random::base64url::<16>(random))
    }

    /// When an invitation of this id ends; `None` if no invitation has it.
    pub fn end_of(id: &str) -> Option<Timestamp> {
        let (seconds, drawn) = id.split_once('-')?;
        let is_drawn = symbolon_crypto::encoding::decode_array::<16>(drawn).is_ok();
        let is_plain = seconds.len() <= 11 && seconds.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = seconds.parse().ok().filter(|_| is_drawn && is_plain)?;
        Some(Timestamp::from_seconds(seconds))
    }

    /// Whether it may still be used.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// The name of the mark of an invitation's use or withdrawal.
pub fn mark(id: &str) -> String {
    format!("invitation.{id}")
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    #[test]
    fn an_id_tells_its_end() {
        let end = Timestamp::from_seconds(1_800_000_000);
        let id = Invitation::draw_id(end, &SeededRandom::new(1));
        assert_eq!(Invitation::end_of(&id), Some(end));
        for bad in [
            "",
            "1800000000",
            "1800000000-x",
            "-AAAA",
            "x-AAAAAAAAAAAAAAAAAAAAAA",
            "99999999999999-AAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(Invitation::end_of(bad), None, "{bad}");
        }
    }
}
