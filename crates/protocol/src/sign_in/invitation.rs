//! An invitation: the right to open one account, for one address.
//!
//! What it gives is sealed into the link that is sent, so the list of invitations leads nobody in. A record is kept until the
//! invitation's time is over: it makes the list, and it is what is used once or withdrawn.

use std::net::IpAddr;
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

/// The most invitations of one issuer that wait for their end, used or not.
pub const MOST_KEPT: u32 = 10_000;

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
    /// Draws the id of an invitation.
    pub fn draw_id(random: &dyn Random) -> String {
        format!("i{}", random::token_128(random))
    }

    /// When an invitation of an earlier release ends, of which no record is kept: its id tells. `None` for an id of another
    /// form.
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

/// An invitation as it is kept until its time is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it, as the audit log names actors.
    pub made_by: String,
    /// The address that they asked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<IpAddr>,
    /// When it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

impl KeptInvitation {
    /// Whether it may still be used: its time is not over, and nobody has used it.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.used_at.is_none() && self.invitation.is_live(now)
    }
}

/// The name of the mark of the use or withdrawal of an invitation of an earlier release.
pub fn mark(id: &str) -> String {
    format!("invitation.{id}")
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    #[test]
    fn an_id_of_an_earlier_release_tells_its_end_and_one_of_today_does_not() {
        let end = Timestamp::from_seconds(1_800_000_000);
        assert_eq!(Invitation::end_of("1800000000-AAAAAAAAAAAAAAAAAAAAAA"), Some(end));
        let drawn: Vec<String> =
            (0..1_000).map(|seed| Invitation::draw_id(&SeededRandom::new(seed))).collect();
        for id in &drawn {
            assert_eq!(Invitation::end_of(id), None, "{id}");
        }
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
