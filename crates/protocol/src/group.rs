//! Groups of users.

use serde::{Deserialize, Serialize};

use crate::entitlement::{Description, EntitlementName};
use crate::id::{GroupId, UserId};
use crate::time::Timestamp;

/// How many groups an issuer may have.
pub const MOST_GROUPS: u64 = 200_000;

/// How deep groups may be nested: a group without a parent has depth 1.
pub const MOST_DEPTH: u32 = 8;

/// How many groups a user may be a member of, not counting the groups above them.
pub const MOST_GROUPS_OF_USER: u64 = 1_000;

/// A group as stored. A member of a group is in all groups above it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its id.
    pub id: GroupId,
    /// Its name, unique within the issuer by its [`key`](EntitlementName::key).
    pub name: EntitlementName,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The group above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<GroupId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A user's membership of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Membership {
    /// The group.
    pub group: GroupId,
    /// The member.
    pub user: UserId,
}

/// Why a group cannot be where it is to be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// There is no group of the id of its parent.
    NoSuchParent,
    /// Its parent is the group itself or a group below it.
    Cycle,
    /// It, or a group below it, would be nested deeper than [`MOST_DEPTH`].
    TooDeep,
}

/// Checks whether a group may be put below a parent. `above` are the ids of the groups above its new place: the parent,
/// then that one's parent, up to the topmost; none if there is no such parent. `height` is the number of levels that the
/// group has with those below it: 1 for a group without any.
///
/// # Errors
/// [`Misplaced`].
pub fn check_place<T: AsRef<str>>(group: &str, height: u32, above: &[T]) -> Result<(), Misplaced> {
    if above.is_empty() {
        return Err(Misplaced::NoSuchParent);
    }
    if above.iter().any(|id| id.as_ref() == group) {
        return Err(Misplaced::Cycle);
    }
    let depth = u32::try_from(above.len()).unwrap_or(u32::MAX);
    if depth.saturating_add(height) > MOST_DEPTH { Err(Misplaced::TooDeep) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_may_be_below_another_but_not_below_itself_and_not_too_deep() {
        assert_eq!(check_place("a", 1, &["b"]), Ok(()));
        assert_eq!(check_place::<&str>("a", 1, &[]), Err(Misplaced::NoSuchParent));
        assert_eq!(check_place("a", 1, &["a"]), Err(Misplaced::Cycle));
        assert_eq!(check_place("a", 2, &["c", "b", "a"]), Err(Misplaced::Cycle));
        let seven: Vec<String> = (0..7).map(|n| n.to_string()).collect();
        assert_eq!(check_place("a", 1, &seven), Ok(()));
        assert_eq!(check_place("a", 2, &seven), Err(Misplaced::TooDeep));
        assert_eq!(check_place("a", 3, &seven[..5]), Ok(()));
        assert_eq!(check_place("a", u32::MAX, &seven), Err(Misplaced::TooDeep));
    }

    #[test]
    fn a_group_is_a_document_without_what_it_does_not_have() {
        let text = r#"{"id":"g","name":"Ops","created_at":1,"updated_at":2}"#;
        let mut group: Group = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&group).unwrap(), text);
        group.parent = Some(GroupId::trusted("top"));
        group.description = Some(Description::parse("On call").unwrap());
        let text = serde_json::to_string(&group).unwrap();
        assert!(text.contains(r#""parent":"top""#) && text.contains(r#""description":"On call""#), "{text}");
        assert_eq!(serde_json::from_str::<Group>(&text).unwrap(), group);
    }
}
