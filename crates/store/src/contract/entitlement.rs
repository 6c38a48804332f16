//! What a user has by groups and roles, and that nobody reads it stale.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_protocol::entitlement::{EntitlementName, Entitlements, MOST_HELD};
use symbolon_protocol::group::Group;
use symbolon_protocol::id::{ClientId, GroupId, IssuerId, RoleId, UserId};
use symbolon_protocol::role::Role;
use tokio::task::JoinSet;

use super::sample::{client, given_to_group, given_to_user, group, membership, role, user};
use super::{BackEnd, Scene};
use crate::port::{Changed, GroupUpdate, MemberAddition, MemberRemoval, RoleUpdate};

pub async fn all(back_end: &dyn BackEnd) {
    come_by_groups_and_those_above(back_end).await;
    follow_every_change(back_end).await;
    are_told_of(back_end).await;
    are_cut_where_there_are_too_many(back_end).await;
    are_never_read_stale(back_end).await;
}

/// Two issuers, each with the same groups `top` > `mid` > `low` and `side`, the users `ann` and `bob`, the client `app`,
/// the issuer's role `boss` and the client's role `user`.
async fn scene(back_end: &dyn BackEnd, name: &str) -> Scene {
    let scene = Scene::open(back_end, name).await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for issuer in [issuer, other] {
        store.create_client(issuer, client("app", *now)).await.unwrap();
        let users = ["ann", "bob"].map(|id| (user(id, None, *now), None));
        store.create_users(issuer, users.into()).await.unwrap();
        let groups = [("top", ""), ("mid", "top"), ("low", "mid"), ("side", "")];
        let groups = groups.map(|(id, parent)| group(id, parent, *now));
        store.create_groups(issuer, groups.into()).await.unwrap();
        let roles = vec![role("r-boss", "boss", "", *now), role("r-user", "user", "app", *now)];
        store.create_roles(issuer, roles).await.unwrap();
    }
    scene
}

async fn held(scene: &Scene, issuer: &IssuerId, user: &str) -> Arc<Entitlements> {
    scene.store.entitlements(issuer, &UserId::parse(user).unwrap()).await.unwrap()
}

/// The paths of the groups and the names of the roles that a user has, in their order.
async fn told(scene: &Scene, user: &str) -> (Vec<String>, Vec<String>) {
    let held = held(scene, &scene.issuer, user).await;
    let paths = held.groups.iter().map(|group| group.path.to_string());
    (paths.collect(), held.roles.iter().map(|role| role.name.to_string()).collect())
}

fn texts(groups: &[&str], roles: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    (owned(groups), owned(roles))
}

async fn come_by_groups_and_those_above(back_end: &dyn BackEnd) {
    let scene = scene(back_end, "entitlement").await;
    let Scene { store, issuer, other, .. } = &scene;
    for name in ["ann", "nobody"] {
        assert_eq!(*held(&scene, issuer, name).await, Entitlements::default());
    }
    let all = ["low", "side", "mid"].map(|group| membership(group, "ann"));
    store.add_members(issuer, all.into()).await.unwrap();
    let given = vec![
        given_to_group("r-user", "top"),
        given_to_user("r-boss", "ann"),
        given_to_group("r-boss", "mid"),
    ];
    store.give_roles(issuer, given).await.unwrap();
    assert_eq!(
        told(&scene, "ann").await,
        texts(&["/top/mid/low", "/top/mid", "/side", "/top"], &["boss", "user"])
    );
    let held_by_ann = held(&scene, issuer, "ann").await;
    assert_eq!(held_by_ann.groups[0].id, GroupId::parse("low").unwrap());
    assert_eq!(held_by_ann.groups[0].name.as_str(), "low");
    assert_eq!(held_by_ann.roles[0].id, RoleId::parse("r-boss").unwrap());
    assert_eq!(held_by_ann.roles[0].client_id, None);
    assert_eq!(held_by_ann.roles[1].client_id, Some(ClientId::parse("app").unwrap()));
    // Whoever is in a group above has nothing of those below.
    store.add_member(issuer, membership("top", "bob")).await.unwrap();
    assert_eq!(told(&scene, "bob").await, texts(&["/top"], &["user"]));
    for name in ["ann", "bob"] {
        assert!(held(&scene, other, name).await.is_empty());
    }
}

/// After each change, what a user has is read as it is then, although the cache had what was before.
async fn follow_every_change(back_end: &dyn BackEnd) {
    let scene = scene(back_end, "entitlement-changes").await;
    let Scene { store, issuer, now, .. } = &scene;
    let later = *now + Duration::from_millis(1);
    let name = |text: &str| EntitlementName::parse(text).unwrap();
    let is = async |groups: &[&str], roles: &[&str]| {
        assert_eq!(told(&scene, "ann").await, texts(groups, roles));
        // Once more, from the cache.
        assert_eq!(told(&scene, "ann").await, texts(groups, roles));
    };
    is(&[], &[]).await;
    assert_eq!(store.add_member(issuer, membership("low", "ann")).await.unwrap(), MemberAddition::Added);
    is(&["/top/mid/low", "/top/mid", "/top"], &[]).await;
    store.give_role(issuer, given_to_user("r-boss", "ann")).await.unwrap();
    is(&["/top/mid/low", "/top/mid", "/top"], &["boss"]).await;
    store.give_role(issuer, given_to_group("r-user", "mid")).await.unwrap();
    is(&["/top/mid/low", "/top/mid", "/top"], &["boss", "user"]).await;

    let moved = Group { updated_at: later, ..group("low", "side", *now) };
    assert_eq!(store.update_group(issuer, moved.clone(), *now).await.unwrap(), GroupUpdate::Updated);
    is(&["/side/low", "/side"], &["boss"]).await;
    let renamed = Group { name: name("Low/er"), updated_at: later + Duration::from_millis(1), ..moved };
    assert_eq!(store.update_group(issuer, renamed, later).await.unwrap(), GroupUpdate::Updated);
    is(&["/side/Low~1er", "/side"], &["boss"]).await;
    let renamed = Role { updated_at: later, ..role("r-boss", "chief", "", *now) };
    assert_eq!(store.update_role(issuer, renamed, *now).await.unwrap(), RoleUpdate::Updated);
    is(&["/side/Low~1er", "/side"], &["chief"]).await;
    store.give_role(issuer, given_to_group("r-user", "side")).await.unwrap();
    is(&["/side/Low~1er", "/side"], &["chief", "user"]).await;
    store.take_role(issuer, given_to_user("r-boss", "ann")).await.unwrap();
    is(&["/side/Low~1er", "/side"], &["user"]).await;
    store.give_role(issuer, given_to_user("r-boss", "ann")).await.unwrap();
    assert!(store.delete_role(issuer, &RoleId::parse("r-boss").unwrap()).await.unwrap().is_some());
    is(&["/side/Low~1er", "/side"], &["user"]).await;
    assert!(store.delete_client(issuer, &ClientId::parse("app").unwrap()).await.unwrap());
    is(&["/side/Low~1er", "/side"], &[]).await;
    store.delete_group(issuer, &GroupId::parse("low").unwrap()).await.unwrap();
    is(&[], &[]).await;
    store.add_member(issuer, membership("top", "ann")).await.unwrap();
    is(&["/top"], &[]).await;
    let removed = store.remove_member(issuer, membership("top", "ann")).await.unwrap();
    assert_eq!(removed, MemberRemoval::Removed);
    is(&[], &[]).await;
    store.add_member(issuer, membership("top", "ann")).await.unwrap();
    is(&["/top"], &[]).await;
    assert!(store.delete_user(issuer, &UserId::parse("ann").unwrap()).await.unwrap());
    is(&[], &[]).await;
    store.create_user(issuer, user("ann", None, *now), None).await.unwrap();
    is(&[], &[]).await;
}

async fn are_told_of(back_end: &dyn BackEnd) {
    let scene = scene(back_end, "entitlement-told").await;
    let Scene { store, issuer, now, .. } = &scene;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    store.on_change(Box::new(move |changed| {
        // A node may also be told that it missed something.
        if *changed != Changed::Everything {
            listener.lock().push(changed.clone());
        }
        Box::pin(std::future::ready(()))
    }));
    let of = |user: &str| Changed::Entitlements(issuer.clone(), UserId::parse(user).unwrap());
    let groups = Changed::Groups(issuer.clone());
    let next = || std::mem::take(&mut *heard.lock());
    let both = ["ann", "bob"].map(|user| membership("low", user));
    store.add_members(issuer, both.to_vec()).await.unwrap();
    assert_eq!(next(), [of("ann"), of("bob")]);
    store.remove_members(issuer, both.to_vec()).await.unwrap();
    assert_eq!(next(), [of("ann"), of("bob")]);
    store.give_role(issuer, given_to_user("r-boss", "ann")).await.unwrap();
    assert_eq!(next(), [of("ann")]);
    store.take_role(issuer, given_to_user("r-boss", "ann")).await.unwrap();
    assert_eq!(next(), [of("ann")]);
    store.give_role(issuer, given_to_group("r-boss", "low")).await.unwrap();
    assert_eq!(next(), std::slice::from_ref(&groups));
    store.take_role(issuer, given_to_group("r-boss", "low")).await.unwrap();
    assert_eq!(next(), std::slice::from_ref(&groups));
    store.create_group(issuer, group("new", "", *now)).await.unwrap();
    store.create_role(issuer, role("new", "new", "", *now)).await.unwrap();
    assert!(next().is_empty(), "nobody is in it, and nobody has it");
    store.update_group(issuer, group("new", "", *now), *now).await.unwrap();
    assert_eq!(next(), std::slice::from_ref(&groups));
    store.update_role(issuer, role("new", "new", "", *now), *now).await.unwrap();
    assert_eq!(next(), std::slice::from_ref(&groups));
    store.delete_group(issuer, &GroupId::parse("new").unwrap()).await.unwrap();
    assert_eq!(next(), std::slice::from_ref(&groups));
    store.delete_role(issuer, &RoleId::parse("new").unwrap()).await.unwrap();
    assert_eq!(next(), std::slice::from_ref(&groups));
}

async fn are_cut_where_there_are_too_many(back_end: &dyn BackEnd) {
    let scene = scene(back_end, "entitlement-cut").await;
    let Scene { store, issuer, now, .. } = &scene;
    let half = MOST_HELD / 2 + 1;
    let names: Vec<String> = (0..2 * half).map(|n| format!("r-{n:04}")).collect();
    let roles = names.iter().map(|name| role(name, name, "", *now)).collect();
    store.create_roles(issuer, roles).await.unwrap();
    let (own, of_group) = names.split_at(half);
    let given = own.iter().map(|role| given_to_user(role, "ann"));
    let given = given.chain(of_group.iter().map(|role| given_to_group(role, "top")));
    store.give_roles(issuer, given.collect()).await.unwrap();
    let before = held(&scene, issuer, "ann").await;
    assert_eq!((before.roles.len(), before.is_cut), (half, false));
    store.add_member(issuer, membership("low", "ann")).await.unwrap();
    let cut = held(&scene, issuer, "ann").await;
    assert_eq!((cut.groups.len(), cut.roles.len(), cut.is_cut), (3, MOST_HELD, true));
    assert!(cut.roles.iter().map(|role| role.name.as_str()).eq(names[..MOST_HELD].iter()));
}

/// A read that begins after a change was answered sees the change, however many readers fill the cache meanwhile.
async fn are_never_read_stale(back_end: &dyn BackEnd) {
    let scene = scene(back_end, "entitlement-cache").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ann = UserId::parse("ann").unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for _ in 0..8 {
        let (store, issuer, done, ann) = (Arc::clone(store), issuer.clone(), Arc::clone(&done), ann.clone());
        readers.spawn(async move {
            while !done.load(Ordering::Relaxed) {
                store.entitlements(&issuer, &ann).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    let mut at = *now;
    for round in 0..60_u32 {
        store.add_member(issuer, membership("low", "ann")).await.unwrap();
        assert_eq!(held(&scene, issuer, "ann").await.groups.len(), 3, "round {round}");
        let (parent, number) = if round % 2 == 0 { ("", 2) } else { ("top", 3) };
        let next = at + Duration::from_millis(1);
        let moved = Group { updated_at: next, ..group("mid", parent, *now) };
        assert_eq!(store.update_group(issuer, moved, at).await.unwrap(), GroupUpdate::Updated);
        at = next;
        assert_eq!(held(&scene, issuer, "ann").await.groups.len(), number, "round {round}");
        store.remove_member(issuer, membership("low", "ann")).await.unwrap();
        assert!(held(&scene, issuer, "ann").await.is_empty(), "round {round}");
        // As it was.
        if round % 2 == 0 {
            let back = Group { updated_at: at + Duration::from_millis(1), ..group("mid", "top", *now) };
            assert_eq!(store.update_group(issuer, back, at).await.unwrap(), GroupUpdate::Updated);
            at = at + Duration::from_millis(1);
        }
    }
    done.store(true, Ordering::Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
}
