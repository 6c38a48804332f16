//! Entitlements: the groups and roles that a user has, by which applications authorize (RFC 9068 2.2.3.1).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

use crate::id::{ClientId, GroupId, RoleId};
use crate::precis::login_key;

/// How many groups, and how many roles, [`Entitlements`] hold at most. Every claim of a token is made from them, so
/// this also bounds a token's size and the work for it.
pub const MOST_HELD: usize = 1_000;

/// The longest name, in characters.
const LONGEST_NAME: usize = 200;

/// The longest [normal form](EntitlementName::key) of a name, in bytes. It may have more characters than the name: one
/// character may stand for 18 (NFKC). A database's index takes no more than a few thousand bytes.
const LONGEST_KEY: usize = 1_000;

/// The longest description, in characters.
const LONGEST_DESCRIPTION: usize = 2_000;

/// A text that is not the name of a group or role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a name must have 1 to 200 characters, none of them a control or invisible character, and no space at its ends"
)]
pub struct InvalidName;

/// A text that is not a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a description must have at most 2,000 characters, and no control characters but line breaks and tabs"
)]
pub struct InvalidDescription;

/// The name of a group or role. Applications authorize by it, so two names that are read as the same one must not both
/// exist: names are compared by their [`key`](Self::key), and invisible characters are refused.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct EntitlementName(SmolStr);

impl EntitlementName {
    /// Takes a name as it was typed.
    ///
    /// # Errors
    /// [`InvalidName`] if it is empty or longer than 200 characters, begins or ends with white space, or has a
    /// character that is not seen.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        Self::check(text).map(|()| Self(SmolStr::new(text)))
    }

    fn check(text: &str) -> Result<(), InvalidName> {
        // The length in bytes first: a character has at most four, so a longer text need not be counted.
        let is_short = text.len() <= 4 * LONGEST_NAME && text.chars().count() <= LONGEST_NAME;
        let is_good = is_short && !text.is_empty() && text.trim() == text && !text.chars().any(is_unseen);
        if is_good && login_key(text).len() <= LONGEST_KEY { Ok(()) } else { Err(InvalidName) }
    }

    /// Takes a name that was checked before it was stored.
    pub fn trusted(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// The name as it was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The normal form that is looked up and must be unique: the one of user names ([`login_key`]).
    pub fn key(&self) -> String {
        login_key(&self.0)
    }
}

impl fmt::Display for EntitlementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntitlementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl std::str::FromStr for EntitlementName {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for EntitlementName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SmolStr::deserialize(deserializer)?;
        Self::check(&text).map_err(serde::de::Error::custom)?;
        Ok(Self(text))
    }
}

/// Whether a character cannot be seen, so that two names may differ by it and look the same: control characters, line
/// and paragraph separators, and those that Unicode lists as Default_Ignorable_Code_Point, which RFC 8264 9.13
/// disallows in every string.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The description of a group or role, for administrators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Description(String);

impl Description {
    /// Takes a description as it was typed.
    ///
    /// # Errors
    /// [`InvalidDescription`] if it is longer than 2,000 characters, or has a control character that is neither a line
    /// break nor a tab.
    pub fn parse(text: &str) -> Result<Self, InvalidDescription> {
        Self::check(text).map(|()| Self(text.to_owned()))
    }

    fn check(text: &str) -> Result<(), InvalidDescription> {
        let is_short = text.len() <= 4 * LONGEST_DESCRIPTION && text.chars().count() <= LONGEST_DESCRIPTION;
        let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
        if is_short && text.chars().all(is_text) { Ok(()) } else { Err(InvalidDescription) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::check(&text).map_err(serde::de::Error::custom)?;
        Ok(Self(text))
    }
}

/// What a token needs to know of its user: the groups that the user is in and the roles that the user has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entitlements {
    /// The groups that the user is a member of, and those above them: by name, then by id; each once.
    pub groups: Vec<HeldGroup>,
    /// The roles that were given to the user or to one of these groups: by name, then by client (the issuer's own
    /// first), then by id; each once.
    pub roles: Vec<HeldRole>,
    /// Whether the user has more than [`MOST_HELD`] groups or roles, so that some are left out.
    pub is_cut: bool,
}

/// A group that a user is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldGroup {
    /// The group.
    pub id: GroupId,
    /// Its name.
    pub name: EntitlementName,
    /// The names from the topmost group down to this one ([`path`]).
    pub path: SmolStr,
}

/// A role that a user has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRole {
    /// The role.
    pub id: RoleId,
    /// Its name.
    pub name: EntitlementName,
    /// The client whose role it is; `None` for a role of the issuer.
    pub client_id: Option<ClientId>,
}

impl Entitlements {
    /// The entitlements with these groups and roles, which may come in any order and more than once.
    pub fn of(mut groups: Vec<HeldGroup>, mut roles: Vec<HeldRole>) -> Self {
        groups.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        groups.dedup_by(|a, b| a.id == b.id);
        roles.sort_by(|a, b| (&a.name, &a.client_id, &a.id).cmp(&(&b.name, &b.client_id, &b.id)));
        roles.dedup_by(|a, b| a.id == b.id);
        let is_cut = groups.len() > MOST_HELD || roles.len() > MOST_HELD;
        groups.truncate(MOST_HELD);
        roles.truncate(MOST_HELD);
        groups.shrink_to_fit();
        roles.shrink_to_fit();
        Self { groups, roles, is_cut }
    }

    /// Whether the user has neither a group nor a role.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.roles.is_empty()
    }
}

/// The path of a group: a slash before each name, from the topmost group down. In a name, `~` is written as `~0` and
/// `/` as `~1` (RFC 6901 3): otherwise a group `a/b` would have the path of the group `b` below `a`.
pub fn path<'a>(names: impl IntoIterator<Item = &'a EntitlementName>) -> SmolStr {
    let mut path = String::new();
    for name in names {
        path.push('/');
        for c in name.as_str().chars() {
            match c {
                '~' => path.push_str("~0"),
                '/' => path.push_str("~1"),
                c => path.push(c),
            }
        }
    }
    SmolStr::new(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> EntitlementName {
        EntitlementName::parse(text).unwrap()
    }

    #[test]
    fn a_name_is_short_and_everything_in_it_is_seen() {
        for good in
            ["a", "Domain Users", "org/team", "system:masters", "Gr\u{fc}ne", &"\u{1f980}".repeat(200)]
        {
            assert_eq!(name(good).as_str(), good);
            let json = serde_json::to_string(good).unwrap();
            assert_eq!(serde_json::from_str::<EntitlementName>(&json).unwrap(), name(good));
        }
        let long = "x".repeat(201);
        // Each of these characters is composed of 18.
        let expands = "\u{fdfa}".repeat(200);
        for bad in
            ["", " ", " a", "a ", "a\u{a0}", "a\0b", "a\nb", "a\u{7f}", "admin\u{200b}", "\u{202e}nimda"]
                .into_iter()
                .chain(["a\u{2028}b", "a\u{feff}", "a\u{ad}b", &long, &expands])
        {
            assert_eq!(EntitlementName::parse(bad), Err(InvalidName), "{bad:?}");
            let json = serde_json::to_string(bad).unwrap();
            assert!(serde_json::from_str::<EntitlementName>(&json).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_in_two_spellings_have_one_key() {
        for spelled in ["\u{c4}rzte", "A\u{308}RZTE", "\u{ff21}\u{308}rzte"] {
            assert_eq!(name(spelled).key(), "\u{e4}rzte", "{spelled}");
        }
        assert_ne!(name("admin").key(), name("admins").key());
    }

    #[test]
    fn a_description_may_have_lines() {
        for good in ["", "one\r\n\ttwo", &"\u{1f980}".repeat(2_000)] {
            assert_eq!(Description::parse(good).unwrap().as_str(), good);
        }
        for bad in ["a\0b", "\u{1b}[31m", &"x".repeat(2_001)] {
            assert_eq!(Description::parse(bad), Err(InvalidDescription));
            assert!(serde_json::from_str::<Description>(&serde_json::to_string(bad).unwrap()).is_err());
        }
    }

    #[test]
    fn two_groups_never_have_one_path() {
        assert_eq!(path([&name("a"), &name("b")]), "/a/b");
        assert_eq!(path([&name("a/b")]), "/a~1b");
        assert_eq!(path([&name("a~1b")]), "/a~01b");
        assert_eq!(path([]), "");
    }

    fn held_role(id: &str, named: &str, client: Option<&str>) -> HeldRole {
        HeldRole { id: RoleId::trusted(id), name: name(named), client_id: client.map(ClientId::trusted) }
    }

    #[test]
    fn entitlements_are_sorted_and_come_once() {
        let group = |id: &str, named: &str| {
            let name = name(named);
            HeldGroup { id: GroupId::trusted(id), path: path([&name]), name }
        };
        let groups = vec![group("2", "b"), group("3", "a"), group("2", "b")];
        let roles = vec![
            held_role("1", "user", Some("app")),
            held_role("3", "admin", Some("app")),
            held_role("2", "user", None),
            held_role("1", "user", Some("app")),
        ];
        let held = Entitlements::of(groups, roles);
        assert!(held.groups.iter().map(|group| group.id.as_str()).eq(["3", "2"]));
        assert!(held.roles.iter().map(|role| role.id.as_str()).eq(["3", "2", "1"]));
        assert!(!held.is_cut && !held.is_empty() && Entitlements::default().is_empty());
    }

    #[test]
    fn more_than_a_token_can_carry_is_cut_and_said() {
        let many = (0..=MOST_HELD).map(|n| held_role(&n.to_string(), &format!("r{n:04}"), None));
        let held = Entitlements::of(Vec::new(), many.clone().collect());
        assert_eq!((held.roles.len(), held.is_cut), (MOST_HELD, true));
        assert_eq!(held.roles.last().unwrap().name.as_str(), "r0999");
        let held = Entitlements::of(Vec::new(), many.take(MOST_HELD).collect());
        assert_eq!((held.roles.len(), held.is_cut), (MOST_HELD, false));
    }
}
