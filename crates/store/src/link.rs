//! Who has what: links from users and groups to the groups and roles that they have.
//!
//! Memberships and given roles differ only by what is at their ends, so a back-end does the same for all of them. Every
//! back-end has the tables and columns that are named here.

use std::collections::BTreeSet;

use symbolon_figures::StoreKind;
use symbolon_protocol::group::{MOST_GROUPS_OF_USER, Membership};
use symbolon_protocol::id::{GroupId, IssuerId, RoleId, UserId};
use symbolon_protocol::role::{GivenRole, MOST_ROLES_OF_HOLDER, RoleHolder};

use crate::port::{Changed, MemberAddition, RoleGrant};
use crate::transfer::Record;

/// How many users one write announces one by one. If it changes what more users have, it announces
/// [`Changed::Groups`], which costs one message instead of hundreds, and drops what is cached of the issuer's other
/// users too.
const MOST_ANNOUNCED: usize = 100;

/// A kind of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Users are members of groups.
    Memberships,
    /// Users were given roles.
    UserRoles,
    /// Groups were given roles.
    GroupRoles,
}

/// A link: the ids of who has something, and of what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// The user or group that has it.
    pub holder: String,
    /// The group or role that is had.
    pub held: String,
}

/// Whether a link was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// Added now.
    Added,
    /// It was there before.
    Was,
    /// There is no such user or group that could have it.
    NoHolder,
    /// There is no such group or role that could be had.
    NoHeld,
    /// The holder has as many as it may have.
    TooMany,
}

impl Links {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Memberships, Self::UserRoles, Self::GroupRoles];

    /// The table of the links.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Memberships => "memberships",
            Self::UserRoles => "user_roles",
            Self::GroupRoles => "group_roles",
        }
    }

    /// The column of the holder's id.
    pub const fn holder(self) -> &'static str {
        match self {
            Self::Memberships | Self::UserRoles => "user_id",
            Self::GroupRoles => "group_id",
        }
    }

    /// The column of the id of what is had.
    pub const fn held(self) -> &'static str {
        match self {
            Self::Memberships => "group_id",
            Self::UserRoles | Self::GroupRoles => "role_id",
        }
    }

    /// The table of the holders.
    pub const fn holders(self) -> &'static str {
        match self {
            Self::Memberships | Self::UserRoles => "users",
            Self::GroupRoles => "user_groups",
        }
    }

    /// The table of what is had.
    pub const fn things(self) -> &'static str {
        match self {
            Self::Memberships => "user_groups",
            Self::UserRoles | Self::GroupRoles => "roles",
        }
    }

    /// How many links a holder may have.
    pub const fn most(self) -> u64 {
        match self {
            Self::Memberships => MOST_GROUPS_OF_USER,
            Self::UserRoles | Self::GroupRoles => MOST_ROLES_OF_HOLDER,
        }
    }

    /// What operations on them are counted under.
    pub const fn kind(self) -> StoreKind {
        match self {
            Self::Memberships => StoreKind::Group,
            Self::UserRoles | Self::GroupRoles => StoreKind::Role,
        }
    }

    /// What changes when links of these holders do.
    pub fn changed<'a>(self, issuer: &IssuerId, holders: impl IntoIterator<Item = &'a Link>) -> Vec<Changed> {
        let users: BTreeSet<&str> = holders.into_iter().map(|link| link.holder.as_str()).collect();
        if self == Self::GroupRoles || users.len() > MOST_ANNOUNCED {
            return vec![Changed::Groups(issuer.clone())];
        }
        users.into_iter().map(|user| Changed::Entitlements(issuer.clone(), UserId::trusted(user))).collect()
    }

    /// The result of giving a role. Not for memberships.
    pub const fn granted(self, linked: Linked) -> RoleGrant {
        match (linked, self) {
            (Linked::Added, _) => RoleGrant::Given,
            (Linked::Was, _) => RoleGrant::WasGiven,
            (Linked::NoHolder, Self::GroupRoles) => RoleGrant::NoSuchGroup,
            (Linked::NoHolder, _) => RoleGrant::NoSuchUser,
            (Linked::NoHeld, _) => RoleGrant::NoSuchRole,
            (Linked::TooMany, _) => RoleGrant::TooMany,
        }
    }

    /// The given role that a link stands for; `None` for a membership.
    pub fn given(self, link: Link) -> Option<GivenRole> {
        let holder = match self {
            Self::Memberships => return None,
            Self::UserRoles => RoleHolder::User(UserId::trusted(link.holder)),
            Self::GroupRoles => RoleHolder::Group(GroupId::trusted(link.holder)),
        };
        Some(GivenRole { role: RoleId::trusted(link.held), holder })
    }

    /// A link as a record that is moved to another store.
    pub fn record(self, issuer: IssuerId, link: Link) -> Record {
        match self.given(link.clone()) {
            Some(given) => Record::GivenRole(issuer, given),
            None => Record::Membership(issuer, link.into()),
        }
    }
}

impl From<Membership> for Link {
    fn from(membership: Membership) -> Self {
        Self { holder: membership.user.as_str().to_owned(), held: membership.group.as_str().to_owned() }
    }
}

impl From<Link> for Membership {
    fn from(link: Link) -> Self {
        Self { group: GroupId::trusted(link.held), user: UserId::trusted(link.holder) }
    }
}

impl From<Linked> for MemberAddition {
    fn from(linked: Linked) -> Self {
        match linked {
            Linked::Added => Self::Added,
            Linked::Was => Self::WasMember,
            Linked::NoHolder => Self::NoSuchUser,
            Linked::NoHeld => Self::NoSuchGroup,
            Linked::TooMany => Self::TooMany,
        }
    }
}

/// The kind of the links by which a user or group has roles, and its id.
pub fn of_holder(holder: &RoleHolder) -> (Links, &str) {
    match holder {
        RoleHolder::User(user) => (Links::UserRoles, user.as_str()),
        RoleHolder::Group(group) => (Links::GroupRoles, group.as_str()),
    }
}

/// The link that a given role is, and its kind.
pub fn of_given(given: &GivenRole) -> (Links, Link) {
    let (links, holder) = of_holder(&given.holder);
    (links, Link { holder: holder.to_owned(), held: given.role.as_str().to_owned() })
}

/// The kinds of links in which the given roles after this one are, in the order of a listing, each with the link to
/// begin after.
pub fn rest_of_given(after: Option<&GivenRole>) -> Vec<(Links, Option<Link>)> {
    match after.map(of_given) {
        None => vec![(Links::UserRoles, None), (Links::GroupRoles, None)],
        Some((Links::GroupRoles, link)) => vec![(Links::GroupRoles, Some(link))],
        Some((links, link)) => vec![(links, Some(link)), (Links::GroupRoles, None)],
    }
}

/// Given roles of one kind of links, and the places that they had among all.
pub struct Sorted {
    /// The kind.
    pub links: Links,
    /// The links.
    pub rows: Vec<Link>,
    /// Where each of them was.
    pub places: Vec<usize>,
}

/// Sorts given roles by the kind of their links.
pub fn sorted(given: &[GivenRole]) -> Vec<Sorted> {
    let empty = |links| Sorted { links, rows: Vec::new(), places: Vec::new() };
    let mut sorted = vec![empty(Links::UserRoles), empty(Links::GroupRoles)];
    for (place, given) in given.iter().enumerate() {
        let (links, link) = of_given(given);
        for of_kind in sorted.iter_mut().filter(|of_kind| of_kind.links == links) {
            of_kind.rows.push(link.clone());
            of_kind.places.push(place);
        }
    }
    sorted.retain(|of_kind| !of_kind.rows.is_empty());
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(holder: &str) -> Link {
        Link { holder: holder.to_owned(), held: "x".to_owned() }
    }

    #[test]
    fn a_few_users_are_announced_by_name_and_many_by_their_issuer() {
        let issuer = IssuerId::default_issuer();
        let ann = Changed::Entitlements(issuer.clone(), UserId::trusted("ann"));
        assert_eq!(Links::UserRoles.changed(&issuer, &[link("ann"), link("ann")]), [ann]);
        let many: Vec<Link> = (0..=MOST_ANNOUNCED).map(|n| link(&n.to_string())).collect();
        assert_eq!(Links::Memberships.changed(&issuer, &many[1..]).len(), MOST_ANNOUNCED);
        assert_eq!(Links::Memberships.changed(&issuer, &many), [Changed::Groups(issuer.clone())]);
        assert_eq!(Links::GroupRoles.changed(&issuer, &[link("g")]), [Changed::Groups(issuer)]);
    }

    #[test]
    fn given_roles_are_sorted_by_who_has_them_and_keep_their_places() {
        let role = |id: &str| RoleId::trusted(id);
        let given = [
            GivenRole { role: role("a"), holder: RoleHolder::Group(GroupId::trusted("g")) },
            GivenRole { role: role("b"), holder: RoleHolder::User(UserId::trusted("u")) },
            GivenRole { role: role("c"), holder: RoleHolder::Group(GroupId::trusted("h")) },
        ];
        let sorted = sorted(&given);
        let places: Vec<_> = sorted.iter().map(|of| (of.links, of.places.clone())).collect();
        assert_eq!(places, [(Links::UserRoles, vec![1]), (Links::GroupRoles, vec![0, 2])]);
        for (of, before) in sorted.into_iter().zip([[1, 1], [0, 2]]) {
            for (row, place) in of.rows.into_iter().zip(before) {
                let record = of.links.record(IssuerId::default_issuer(), row);
                assert!(matches!(record, Record::GivenRole(_, again) if again == given[place]));
            }
        }
        assert!(super::sorted(&[]).is_empty());
    }

    #[test]
    fn given_roles_of_users_come_before_those_of_groups() {
        let given = |holder| GivenRole { role: RoleId::trusted("x"), holder };
        let of_user = given(RoleHolder::User(UserId::trusted("u")));
        let of_group = given(RoleHolder::Group(GroupId::trusted("g")));
        assert_eq!(rest_of_given(None), [(Links::UserRoles, None), (Links::GroupRoles, None)]);
        let rest = rest_of_given(Some(&of_user));
        assert_eq!(rest, [(Links::UserRoles, Some(link("u"))), (Links::GroupRoles, None)]);
        assert_eq!(rest_of_given(Some(&of_group)), [(Links::GroupRoles, Some(link("g")))]);
    }

    #[test]
    fn a_membership_is_a_link_and_comes_back_from_it() {
        let membership = Membership { group: GroupId::trusted("g"), user: UserId::trusted("u") };
        let link = Link::from(membership.clone());
        assert_eq!((link.holder.as_str(), link.held.as_str()), ("u", "g"));
        let record = Links::Memberships.record(IssuerId::default_issuer(), link);
        assert!(matches!(record, Record::Membership(_, again) if again == membership));
    }
}
