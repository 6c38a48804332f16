//! Groups, roles and who has them, in a store that is moved.

use std::time::Duration;

use symbolon_protocol::entitlement::{Description, EntitlementName, Entitlements};
use symbolon_protocol::group::Group;
use symbolon_protocol::id::{GroupId, UserId};
use symbolon_protocol::role::{Role, RoleHolder};

use crate::contract::Scene;
use crate::contract::sample::{given_to_group, given_to_user, group, membership, page, role, user};
use crate::port::{
    GroupCreation, GroupDeletion, GroupFilter, MemberAddition, RoleCreation, RoleFilter, RoleGrant,
};
use crate::{Store, StoreError};

/// More than are moved in one piece.
const MANY: usize = 1_100;

/// The groups and roles that the source has, oldest first.
pub(super) struct Planted {
    groups: Vec<Group>,
    roles: Vec<Role>,
    /// What `ann` has by them.
    held: Entitlements,
}

/// Groups below each other, not in the order of their ids, with a member, and roles of the issuer and of the client
/// `app`, which exist already with the user `ann`.
pub(super) async fn plant(scene: &Scene) -> Planted {
    let Scene { store, issuer, other, now, .. } = scene;
    let groups = vec![
        Group { description: Some(Description::parse("All\nof us").unwrap()), ..group("z", "", *now) },
        Group { name: EntitlementName::parse("R/D \u{c4}rzte").unwrap(), ..group("a", "z", *now) },
        group("m", "a", *now),
    ];
    let roles = vec![role("y", "admin", "app", *now), role("b", "admin", "", *now)];
    store.create_groups(issuer, groups.clone()).await.unwrap();
    store.create_roles(issuer, roles.clone()).await.unwrap();
    let added =
        store.add_members(issuer, vec![membership("m", "ann"), membership("z", "zoe")]).await.unwrap();
    assert_eq!(added, [MemberAddition::Added; 2]);
    let given = vec![given_to_user("b", "ann"), given_to_group("y", "z"), given_to_group("b", "a")];
    let granted = store.give_roles(issuer, given).await.unwrap();
    assert_eq!(granted, [RoleGrant::Given; 3]);
    // Another issuer's, enough for more than one piece.
    let members: Vec<String> = (0..MANY).map(|n| format!("u-{n}")).collect();
    let users = members.iter().map(|id| (user(id, None, *now), None)).collect();
    store.create_users(other, users).await.unwrap();
    store.create_group(other, group("all", "", *now)).await.unwrap();
    let all = members.iter().map(|id| membership("all", id)).collect();
    assert_eq!(store.add_members(other, all).await.unwrap(), [MemberAddition::Added; MANY]);
    let held = store.entitlements(issuer, &ann()).await.unwrap();
    assert_eq!((held.groups.len(), held.roles.len()), (3, 2));
    Planted { groups, roles, held: (*held).clone() }
}

fn ann() -> UserId {
    UserId::parse("ann").unwrap()
}

impl Planted {
    pub(super) async fn check(&self, scene: &Scene, store: &dyn Store) {
        let Scene { issuer, other, .. } = scene;
        let mut groups = store.list_groups(issuer, &GroupFilter::All, &page(1, 10)).await.unwrap().items;
        groups.reverse();
        assert_eq!(groups, self.groups, "in the order of their listing");
        let mut roles = store.list_roles(issuer, &RoleFilter::All, &page(1, 10)).await.unwrap().items;
        roles.reverse();
        assert_eq!(roles, self.roles);
        assert_eq!(*store.entitlements(issuer, &ann()).await.unwrap(), self.held);
        let name = EntitlementName::parse("r/d a\u{308}RZTE").unwrap();
        let found = store.group_by_name(issuer, &name).await.unwrap();
        assert_eq!(found.as_ref(), self.groups.get(1));
        let of_group = RoleHolder::Group(GroupId::parse("z").unwrap());
        assert_eq!(store.roles_of(issuer, &of_group, &page(1, 10)).await.unwrap().items, self.roles[..1]);
        let all = GroupId::parse("all").unwrap();
        let members = store.list_members(other, &all, &page(2, 1_000)).await.unwrap();
        assert_eq!((members.total, members.items.len()), (MANY as u64, MANY - 1_000));
    }

    /// Names and ids are taken, groups are nested as they were, and what was moved is changed as any other.
    pub(super) async fn goes_on(&self, scene: &Scene, store: &dyn Store) {
        let Scene { issuer, other, now, .. } = scene;
        let taken = Group { name: EntitlementName::parse("M").unwrap(), ..group("new", "", *now) };
        assert_eq!(store.create_group(issuer, taken).await.unwrap(), GroupCreation::Exists);
        let taken = role("new", "ADMIN", "app", *now);
        assert_eq!(store.create_role(issuer, taken).await.unwrap(), RoleCreation::Exists);
        let below = (0..6).map(|n| group(&format!("b{n}"), &before(n), *now));
        let created = store.create_groups(issuer, below.collect()).await.unwrap();
        assert_eq!(created[..5], [GroupCreation::Created; 5]);
        assert_eq!(created[5], GroupCreation::TooDeep);
        let newest = store.list_groups(issuer, &GroupFilter::All, &page(1, 1)).await.unwrap().items;
        assert_eq!(newest[0].id.as_str(), "b4", "behind those that were moved");
        let updated_at = *now + Duration::from_millis(1);
        let moved = Group { parent: None, updated_at, ..self.groups[2].clone() };
        store.update_group(issuer, moved, *now).await.unwrap();
        let held = store.entitlements(issuer, &ann()).await.unwrap();
        assert_eq!((held.groups.len(), held.roles.len()), (1, 1));
        let all = GroupId::parse("all").unwrap();
        let deleted = store.delete_group(other, &all).await.unwrap();
        assert_eq!(deleted, GroupDeletion::Deleted { members: MANY as u64 });
    }
}

fn before(n: u32) -> String {
    n.checked_sub(1).map_or_else(|| "m".to_owned(), |n| format!("b{n}"))
}

/// The errors of writes on a store that is being moved.
pub(super) async fn refused(scene: &Scene) -> Vec<(&'static str, Option<StoreError>)> {
    let Scene { store, issuer, now, .. } = scene;
    vec![
        ("group", store.create_group(issuer, group("new", "", *now)).await.err()),
        ("deletion of a group", store.delete_group(issuer, &GroupId::parse("m").unwrap()).await.err()),
        ("member", store.add_member(issuer, membership("z", "mia")).await.err()),
        ("role", store.create_role(issuer, role("new", "new", "", *now)).await.err()),
        ("given role", store.give_role(issuer, given_to_user("b", "zoe")).await.err()),
        ("taken role", store.take_role(issuer, given_to_user("b", "ann")).await.err()),
    ]
}
