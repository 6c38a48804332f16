//! Roles, and who was given them.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::id::{ClientId, GroupId, IssuerId, RoleId, UserId};
use symbolon_protocol::role::{MOST_ROLES_OF_HOLDER, Role, RoleHolder};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::sample::{client, given_to_group, given_to_user, group, page, role, search, user};
use super::{BackEnd, Scene};
use crate::StoreError;
use crate::port::{RoleCreation, RoleFilter, RoleGrant, RoleHolders, RoleRemoval, RoleUpdate};

/// How many deletions race with gifts.
const RACES: usize = 100;

/// One deletes, the others give.
const RACERS: usize = 8;

/// More than a back-end deletes in one transaction.
const MANY: u32 = 5_500;

pub async fn all(back_end: &dyn BackEnd) {
    is_created_changed_and_deleted(back_end).await;
    has_a_name_of_its_own_in_its_client(back_end).await;
    belongs_to_one_issuer(back_end).await;
    is_listed_and_found(back_end).await;
    is_given_and_taken(back_end).await;
    is_one_of_so_many(back_end).await;
    is_listed_from_both_ends(back_end).await;
    goes_with_its_client(back_end).await;
    goes_with_many_who_have_it(back_end).await;
    is_given_to_nobody_who_goes_in_a_race(back_end).await;
    is_created_for_no_client_that_goes_in_a_race(back_end).await;
}

fn id(text: &str) -> RoleId {
    RoleId::parse(text).unwrap()
}

fn name(text: &str) -> EntitlementName {
    EntitlementName::parse(text).unwrap()
}

fn of_user(text: &str) -> RoleHolder {
    RoleHolder::User(UserId::parse(text).unwrap())
}

fn of_group(text: &str) -> RoleHolder {
    RoleHolder::Group(GroupId::parse(text).unwrap())
}

/// Creates a client `app`, users and groups of these ids.
async fn create(scene: &Scene, issuer: &IssuerId, users: &[&str], groups: &[&str]) {
    scene.store.create_client(issuer, client("app", scene.now)).await.unwrap();
    let users = users.iter().map(|id| (user(id, None, scene.now), None)).collect();
    scene.store.create_users(issuer, users).await.unwrap();
    let groups = groups.iter().map(|id| group(id, "", scene.now)).collect();
    scene.store.create_groups(issuer, groups).await.unwrap();
}

/// The ids of the roles that a user or group was given.
async fn roles_of(scene: &Scene, issuer: &IssuerId, holder: &RoleHolder) -> Vec<String> {
    let found = scene.store.roles_of(issuer, holder, &page(1, 1_000)).await.unwrap();
    assert_eq!(found.total, found.items.len() as u64);
    found.items.iter().map(|role| role.id.to_string()).collect()
}

async fn is_created_changed_and_deleted(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role").await;
    let Scene { store, issuer, now, .. } = &scene;
    create(&scene, issuer, &[], &[]).await;
    let first = role("a", "admin", "app", *now);
    assert_eq!(store.create_role(issuer, first.clone()).await.unwrap(), RoleCreation::Created);
    assert_eq!(store.role(issuer, &id("a")).await.unwrap(), Some(first.clone()));
    let of_nobody = store.create_role(issuer, role("b", "admin", "nobody", *now)).await.unwrap();
    assert_eq!(of_nobody, RoleCreation::NoSuchClient);
    let second = Role { name: name("Boss"), updated_at: *now + Duration::from_millis(1), ..first.clone() };
    assert_eq!(store.update_role(issuer, second.clone(), *now).await.unwrap(), RoleUpdate::Updated);
    assert_eq!(store.role(issuer, &id("a")).await.unwrap(), Some(second.clone()));
    let stale = store.update_role(issuer, first, *now).await;
    assert!(matches!(stale, Err(StoreError::Conflict)));
    let elsewhere = Role { client_id: None, ..second.clone() };
    let moved = store.update_role(issuer, elsewhere, second.updated_at).await.unwrap();
    assert_eq!(moved, RoleUpdate::OtherClient);
    let nobody = store.update_role(issuer, role("nobody", "x", "", *now), *now).await.unwrap();
    assert_eq!(nobody, RoleUpdate::NoSuchRole);
    assert_eq!(store.role(issuer, &id("a")).await.unwrap(), Some(second));
    let deleted = store.delete_role(issuer, &id("a")).await.unwrap();
    assert_eq!(deleted, Some(RoleHolders::default()));
    assert_eq!(store.delete_role(issuer, &id("a")).await.unwrap(), None);
    assert!(store.role(issuer, &id("a")).await.unwrap().is_none());
    let some = [("a", "x", ""), ("b", "X", ""), ("b", "x", "app"), ("a", "y", "")]
        .map(|(id, name, client)| role(id, name, client, *now));
    use RoleCreation::{Created, Exists};
    let created = store.create_roles(issuer, some.to_vec()).await.unwrap();
    assert_eq!(created, [Created, Exists, Created, Exists]);
}

async fn has_a_name_of_its_own_in_its_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-name").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    create(&scene, issuer, &[], &[]).await;
    store.create_client(issuer, client("web", *now)).await.unwrap();
    let owners = ["", "app", "web"];
    for owner in owners {
        let one = role(&format!("r{owner}"), "\u{c4}rzte", owner, *now);
        assert_eq!(store.create_role(issuer, one.clone()).await.unwrap(), RoleCreation::Created);
        let again = role(&format!("s{owner}"), "a\u{308}RZTE", owner, *now);
        assert_eq!(store.create_role(issuer, again).await.unwrap(), RoleCreation::Exists);
    }
    for owner in owners {
        let client = (!owner.is_empty()).then(|| ClientId::parse(owner).unwrap());
        let found = store.role_by_name(issuer, client.as_ref(), &name("\u{e4}RZTE")).await.unwrap();
        assert_eq!(found.map(|role| role.id), Some(id(&format!("r{owner}"))));
        assert!(store.role_by_name(other, client.as_ref(), &name("\u{c4}rzte")).await.unwrap().is_none());
    }
    let second = role("t", "nurse", "app", *now);
    store.create_role(issuer, second.clone()).await.unwrap();
    let later = *now + Duration::from_millis(1);
    let taken = Role { name: name("\u{c4}RZTE"), updated_at: later, ..second };
    assert_eq!(store.update_role(issuer, taken, *now).await.unwrap(), RoleUpdate::NameTaken);
    let respelled = Role { updated_at: later, ..role("rapp", "\u{c4}RZTE", "app", *now) };
    assert_eq!(store.update_role(issuer, respelled, *now).await.unwrap(), RoleUpdate::Updated);
}

async fn belongs_to_one_issuer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-issuers").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    create(&scene, issuer, &["ann"], &["g"]).await;
    create(&scene, other, &["ann"], &["g"]).await;
    store.create_role(issuer, role("r", "admin", "", *now)).await.unwrap();
    assert!(store.role(other, &id("r")).await.unwrap().is_none());
    let updated = store.update_role(other, role("r", "x", "", *now), *now).await.unwrap();
    assert_eq!(updated, RoleUpdate::NoSuchRole);
    assert_eq!(store.delete_role(other, &id("r")).await.unwrap(), None);
    for given in [given_to_user("r", "ann"), given_to_group("r", "g")] {
        assert_eq!(store.give_role(issuer, given.clone()).await.unwrap(), RoleGrant::Given);
        assert_eq!(store.give_role(other, given.clone()).await.unwrap(), RoleGrant::NoSuchRole);
        assert_eq!(store.take_role(other, given.clone()).await.unwrap(), RoleRemoval::WasNotGiven);
        assert_eq!(roles_of(&scene, issuer, &given.holder).await, ["r"]);
        assert!(roles_of(&scene, other, &given.holder).await.is_empty());
    }
}

async fn is_listed_and_found(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-list").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    create(&scene, issuer, &[], &[]).await;
    let roles = (0..25_u32).map(|n| {
        let owner = if n < 20 { "app" } else { "" };
        role(&format!("Id-{n:02}"), &format!("Duty {n:02}"), owner, *now + n * Duration::from_secs(1))
    });
    store.create_roles(issuer, roles.collect()).await.unwrap();
    let list = async |filter: &RoleFilter, page: &_| store.list_roles(issuer, filter, page).await.unwrap();
    let first = list(&RoleFilter::All, &page(1, 10)).await;
    let last = list(&RoleFilter::All, &page(3, 10)).await;
    assert_eq!((first.total, first.items.len(), last.items.len()), (25, 10, 5));
    assert_eq!((&first.items[0].id, &last.items[4].id), (&id("Id-24"), &id("Id-00")), "newest first");
    let app = RoleFilter::OfClient(ClientId::parse("app").unwrap());
    assert_eq!(list(&RoleFilter::OfIssuer, &page(1, 10)).await.total, 5);
    assert_eq!(list(&app, &page(2, 15)).await.items.len(), 5);
    for (text, total) in [("duty 1", 10), ("ID-2", 5), ("%", 0), ("", 25)] {
        assert_eq!(list(&RoleFilter::All, &search(text)).await.total, total, "{text:?}");
    }
    assert_eq!(list(&app, &search("duty 2")).await.total, 0);
    assert_eq!(store.list_roles(other, &RoleFilter::All, &page(1, 10)).await.unwrap().total, 0);
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let some = store.next_roles(issuer, after.as_ref(), 10).await.unwrap();
        seen.extend(some.iter().map(|role| role.id.to_string()));
        after = some.last().map(|role| role.id.clone());
        if some.len() < 10 {
            break;
        }
    }
    assert_eq!(seen, (0..25).map(|n| format!("Id-{n:02}")).collect::<Vec<_>>());
}

async fn is_given_and_taken(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-given").await;
    let Scene { store, issuer, now, .. } = &scene;
    create(&scene, issuer, &["ann", "bob"], &["g"]).await;
    let roles = vec![role("r", "admin", "", *now), role("s", "user", "app", *now)];
    store.create_roles(issuer, roles).await.unwrap();
    let given = vec![
        given_to_group("r", "g"),
        given_to_user("r", "ann"),
        given_to_user("x", "ann"),
        given_to_user("r", "nobody"),
        given_to_group("r", "nobody"),
        given_to_user("r", "ann"),
        given_to_group("s", "g"),
        given_to_group("x", "g"),
    ];
    use RoleGrant::{Given, NoSuchGroup, NoSuchRole, NoSuchUser, WasGiven};
    let granted = store.give_roles(issuer, given.clone()).await.unwrap();
    assert_eq!(granted, [Given, Given, NoSuchRole, NoSuchUser, NoSuchGroup, WasGiven, Given, NoSuchRole]);
    assert_eq!(store.give_role(issuer, given_to_group("r", "g")).await.unwrap(), WasGiven);
    assert_eq!(roles_of(&scene, issuer, &of_user("ann")).await, ["r"]);
    assert_eq!(roles_of(&scene, issuer, &of_group("g")).await, ["r", "s"]);
    assert!(roles_of(&scene, issuer, &of_user("bob")).await.is_empty());
    use RoleRemoval::{Taken, WasNotGiven};
    let taken = store.take_roles(issuer, given).await.unwrap();
    assert_eq!(taken, [Taken, Taken, WasNotGiven, WasNotGiven, WasNotGiven, WasNotGiven, Taken, WasNotGiven]);
    assert!(roles_of(&scene, issuer, &of_user("ann")).await.is_empty());
    assert!(roles_of(&scene, issuer, &of_group("g")).await.is_empty());
    assert_eq!(store.take_role(issuer, given_to_user("r", "ann")).await.unwrap(), WasNotGiven);
    assert!(store.give_roles(issuer, Vec::new()).await.unwrap().is_empty());
}

async fn is_one_of_so_many(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-bound").await;
    let Scene { store, issuer, now, .. } = &scene;
    create(&scene, issuer, &["ann"], &["g"]).await;
    let names: Vec<String> = (0..=MOST_ROLES_OF_HOLDER).map(|n| format!("r-{n:04}")).collect();
    let roles = names.iter().map(|name| role(name, name, "", *now)).collect();
    store.create_roles(issuer, roles).await.unwrap();
    for (holder, give) in [
        (of_user("ann"), names.iter().map(|name| given_to_user(name, "ann")).collect::<Vec<_>>()),
        (of_group("g"), names.iter().map(|name| given_to_group(name, "g")).collect()),
    ] {
        let granted = store.give_roles(issuer, give.clone()).await.unwrap();
        let (last, fit) = granted.split_last().unwrap();
        assert!(fit.iter().all(|granted| *granted == RoleGrant::Given));
        assert_eq!(*last, RoleGrant::TooMany);
        assert_eq!(store.give_role(issuer, give[0].clone()).await.unwrap(), RoleGrant::WasGiven);
        store.take_role(issuer, give[0].clone()).await.unwrap();
        let last = give.last().unwrap().clone();
        assert_eq!(store.give_role(issuer, last).await.unwrap(), RoleGrant::Given);
        assert_eq!(roles_of(&scene, issuer, &holder).await.len() as u64, MOST_ROLES_OF_HOLDER);
    }
}

async fn is_listed_from_both_ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-holders").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ids: Vec<String> = (0..25).map(|n| format!("h-{n:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    create(&scene, issuer, &ids, &ids).await;
    let roles = vec![role("r", "Zoo", "", *now), role("s", "a", "app", *now), role("t", "b", "", *now)];
    store.create_roles(issuer, roles).await.unwrap();
    let given = ids.iter().rev().flat_map(|id| [given_to_user("r", id), given_to_group("r", id)]);
    store.give_roles(issuer, given.collect()).await.unwrap();
    store.give_roles(issuer, vec![given_to_user("s", "h-07"), given_to_user("t", "h-07")]).await.unwrap();
    let users = store.list_users_with_role(issuer, &id("r"), &page(2, 10)).await.unwrap();
    let groups = store.list_groups_with_role(issuer, &id("r"), &page(2, 10)).await.unwrap();
    let users_ids: Vec<&str> = users.items.iter().map(|user| user.id.as_str()).collect();
    let group_ids: Vec<&str> = groups.items.iter().map(|group| group.id.as_str()).collect();
    assert_eq!((users.total, groups.total), (25, 25));
    assert_eq!((users_ids.as_slice(), group_ids.as_slice()), (&ids[10..20], &ids[10..20]));
    let found = store.list_users_with_role(issuer, &id("r"), &search("h-1")).await.unwrap();
    assert_eq!(found.total, 10);
    assert_eq!(store.list_groups_with_role(issuer, &id("s"), &page(1, 10)).await.unwrap().total, 0);
    assert_eq!(roles_of(&scene, issuer, &of_user("h-07")).await, ["s", "t", "r"], "by name");
    let found = store.roles_of(issuer, &of_user("h-07"), &search("ZO")).await.unwrap();
    assert_eq!(found.total, 1);
}

async fn goes_with_its_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-client").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for issuer in [issuer, other] {
        create(&scene, issuer, &["ann"], &["g"]).await;
        let own = [role("own", "admin", "", *now)];
        let many = (0..1_200).map(|n| role(&format!("r-{n}"), &format!("n-{n}"), "app", *now));
        store.create_roles(issuer, own.into_iter().chain(many).collect()).await.unwrap();
        let given =
            ["own", "r-0", "r-1199"].map(|role| [given_to_user(role, "ann"), given_to_group(role, "g")]);
        store.give_roles(issuer, given.concat()).await.unwrap();
    }
    let app = ClientId::parse("app").unwrap();
    assert!(store.delete_client(issuer, &app).await.unwrap());
    assert_eq!(store.list_roles(issuer, &RoleFilter::All, &page(1, 10)).await.unwrap().total, 1);
    let taken = store.create_role(issuer, role("r-0", "n-0", "app", *now)).await.unwrap();
    assert_eq!(taken, RoleCreation::NoSuchClient);
    // The next ones with these ids are had by nobody.
    store.create_client(issuer, client("app", *now)).await.unwrap();
    let again = store.create_role(issuer, role("r-0", "n-0", "app", *now)).await.unwrap();
    assert_eq!(again, RoleCreation::Created);
    for holder in [of_user("ann"), of_group("g")] {
        assert_eq!(roles_of(&scene, issuer, &holder).await, ["own"]);
        assert_eq!(roles_of(&scene, other, &holder).await, ["own", "r-0", "r-1199"]);
    }
    let kept = store.list_roles(other, &RoleFilter::OfClient(app), &page(1, 1)).await.unwrap();
    assert_eq!(kept.total, 1_200);
}

async fn goes_with_many_who_have_it(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-many").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ids: Vec<String> = (0..MANY).map(|n| format!("u-{n:05}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    create(&scene, issuer, &ids, &["g", "h"]).await;
    let roles = vec![role("r", "all", "", *now), role("s", "few", "app", *now)];
    store.create_roles(issuer, roles).await.unwrap();
    for role in ["r", "s"] {
        let users = ids.iter().map(|id| given_to_user(role, id));
        let groups = ["g", "h"].map(|id| given_to_group(role, id));
        let granted = store.give_roles(issuer, users.chain(groups).collect()).await.unwrap();
        assert!(granted.iter().all(|granted| *granted == RoleGrant::Given));
    }
    let deleted = store.delete_role(issuer, &id("r")).await.unwrap();
    assert_eq!(deleted, Some(RoleHolders { users: u64::from(MANY), groups: 2 }));
    assert_eq!(roles_of(&scene, issuer, &of_user(ids[0])).await, ["s"]);
    assert!(store.delete_client(issuer, &ClientId::parse("app").unwrap()).await.unwrap());
    assert!(store.role(issuer, &id("s")).await.unwrap().is_none());
    assert!(roles_of(&scene, issuer, &of_user(ids[0])).await.is_empty());
    assert!(roles_of(&scene, issuer, &of_group("g")).await.is_empty());
}

/// A role is given while it, or who is to have it, is deleted: nothing may be left for a later one with the same id.
async fn is_given_to_nobody_who_goes_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..RACES {
        let [r, u, g] = ["r", "u", "g"].map(|of| format!("{of}-{round}"));
        let holders = [of_user(&u), of_group(&g)];
        create(&scene, issuer, &[&u], &[&g]).await;
        store.create_role(issuer, role(&r, &r, "", *now)).await.unwrap();
        let start = Arc::new(Barrier::new(RACERS));
        let mut racers = JoinSet::new();
        for racer in 0..RACERS {
            let (store, issuer, start) = (Arc::clone(store), issuer.clone(), Arc::clone(&start));
            let (gone, ends) = (id(&r), holders.clone());
            let given = if racer % 2 == 0 { given_to_user(&r, &u) } else { given_to_group(&r, &g) };
            racers.spawn(async move {
                start.wait().await;
                match (racer, round % 3, ends) {
                    (0, 0, _) => store.delete_role(&issuer, &gone).await.map(drop),
                    (0, 1, [RoleHolder::User(user), _]) => store.delete_user(&issuer, &user).await.map(drop),
                    (0, _, [_, RoleHolder::Group(group)]) => {
                        store.delete_group(&issuer, &group).await.map(drop)
                    }
                    _ => store.give_role(&issuer, given).await.map(drop),
                }
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap().unwrap();
        }
        create(&scene, issuer, &[&u], &[&g]).await;
        store.create_role(issuer, role(&r, &r, "", *now)).await.unwrap();
        let left = [roles_of(&scene, issuer, &holders[0]).await, roles_of(&scene, issuer, &holders[1]).await];
        let lost = [round % 3 != 2, round % 3 != 1];
        for (left, lost) in left.iter().zip(lost) {
            assert!(!lost || left.is_empty(), "round {round}: {left:?}");
        }
    }
}

/// A role is created for a client that is deleted: it does not outlive the client.
async fn is_created_for_no_client_that_goes_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "role-client-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    let app = ClientId::parse("app").unwrap();
    for round in 0..RACES {
        create(&scene, issuer, &[], &[]).await;
        let mut racers = JoinSet::new();
        for racer in 0..RACERS {
            let (store, issuer, app) = (Arc::clone(store), issuer.clone(), app.clone());
            let one = role(&format!("r-{round}-{racer}"), &format!("n-{racer}"), "app", *now);
            racers.spawn(async move {
                match racer {
                    0 => store.delete_client(&issuer, &app).await.map(drop),
                    _ => store.create_role(&issuer, one).await.map(drop),
                }
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap().unwrap();
        }
        let left = store.list_roles(issuer, &RoleFilter::All, &page(1, 10)).await.unwrap();
        assert_eq!(left.total, 0, "round {round}");
    }
}
