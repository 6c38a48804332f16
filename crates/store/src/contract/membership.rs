//! Members of groups.

use std::sync::Arc;

use symbolon_protocol::group::{MOST_GROUPS_OF_USER, Membership};
use symbolon_protocol::id::{GroupId, IssuerId, UserId};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::sample::{group, membership, page, search, user};
use super::{BackEnd, Scene};
use crate::port::{GroupDeletion, MemberAddition, MemberRemoval};

/// How many deletions race with additions.
const RACES: usize = 100;

/// One deletes, the others add.
const RACERS: usize = 8;

/// More than a back-end deletes in one transaction.
const MANY: u32 = 5_500;

pub async fn all(back_end: &dyn BackEnd) {
    is_added_and_removed(back_end).await;
    is_between_those_who_exist(back_end).await;
    is_one_of_so_many(back_end).await;
    is_listed_from_both_ends(back_end).await;
    is_read_once_whatever_changes(back_end).await;
    goes_with_its_user_and_its_group(back_end).await;
    goes_with_a_group_of_many(back_end).await;
    outlives_nobody_in_a_race(back_end).await;
    stays_within_its_bound_in_a_race(back_end).await;
}

/// Creates users and groups of these ids.
async fn create(scene: &Scene, issuer: &IssuerId, users: &[&str], groups: &[&str]) {
    let users = users.iter().map(|id| (user(id, None, scene.now), None)).collect();
    scene.store.create_users(issuer, users).await.unwrap();
    let groups = groups.iter().map(|id| group(id, "", scene.now)).collect();
    scene.store.create_groups(issuer, groups).await.unwrap();
}

fn of(group: &str, users: &[&str]) -> Vec<Membership> {
    users.iter().map(|user| membership(group, user)).collect()
}

/// The ids of the groups that a user is a member of.
async fn groups_of(scene: &Scene, issuer: &IssuerId, user: &str) -> Vec<String> {
    let user = UserId::parse(user).unwrap();
    let found = scene.store.groups_of(issuer, &user, &page(1, 1_000)).await.unwrap();
    assert_eq!(found.total, found.items.len() as u64);
    found.items.iter().map(|group| group.id.to_string()).collect()
}

async fn is_added_and_removed(back_end: &dyn BackEnd) {
    use MemberAddition::{Added, NoSuchUser, WasMember};
    use MemberRemoval::{Removed, WasNotMember};
    let scene = Scene::open(back_end, "membership").await;
    let Scene { store, issuer, .. } = &scene;
    create(&scene, issuer, &["ann", "bob"], &["g", "h"]).await;
    assert_eq!(store.add_member(issuer, membership("g", "ann")).await.unwrap(), Added);
    assert_eq!(store.add_member(issuer, membership("g", "ann")).await.unwrap(), WasMember);
    let some = of("g", &["ann", "bob", "nobody", "bob"]);
    let added = store.add_members(issuer, some.clone()).await.unwrap();
    assert_eq!(added, [WasMember, Added, NoSuchUser, WasMember]);
    let both = [of("h", &["ann"]), of("g", &["ann"])].concat();
    assert_eq!(store.add_members(issuer, both).await.unwrap(), [Added, WasMember]);
    assert_eq!(groups_of(&scene, issuer, "ann").await, ["g", "h"]);
    let removed = store.remove_members(issuer, some).await.unwrap();
    assert_eq!(removed, [Removed, Removed, WasNotMember, WasNotMember]);
    assert_eq!(store.remove_member(issuer, membership("g", "ann")).await.unwrap(), WasNotMember);
    assert_eq!(store.remove_member(issuer, membership("x", "ann")).await.unwrap(), WasNotMember);
    assert_eq!(groups_of(&scene, issuer, "ann").await, ["h"]);
    assert!(groups_of(&scene, issuer, "bob").await.is_empty());
    assert!(store.add_members(issuer, Vec::new()).await.unwrap().is_empty());
}

async fn is_between_those_who_exist(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-parties").await;
    let Scene { store, issuer, other, .. } = &scene;
    create(&scene, issuer, &["ann"], &["g"]).await;
    create(&scene, other, &["bob"], &["h"]).await;
    for (issuer, group, user, result) in [
        (issuer, "g", "bob", MemberAddition::NoSuchUser),
        (issuer, "h", "ann", MemberAddition::NoSuchGroup),
        (issuer, "h", "bob", MemberAddition::NoSuchUser),
        (other, "g", "bob", MemberAddition::NoSuchGroup),
    ] {
        let added = store.add_member(issuer, membership(group, user)).await.unwrap();
        assert_eq!(added, result, "{issuer} {group} {user}");
    }
    assert_eq!(store.add_member(issuer, membership("g", "ann")).await.unwrap(), MemberAddition::Added);
    let removed = store.remove_member(other, membership("g", "ann")).await.unwrap();
    assert_eq!(removed, MemberRemoval::WasNotMember);
    assert_eq!(groups_of(&scene, issuer, "ann").await, ["g"]);
}

async fn is_one_of_so_many(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-bound").await;
    let Scene { store, issuer, .. } = &scene;
    let ids: Vec<String> = (0..=MOST_GROUPS_OF_USER).map(|n| format!("g-{n:04}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    create(&scene, issuer, &["ann", "bob"], &ids).await;
    let all = ids.iter().map(|id| membership(id, "ann")).collect();
    let added = store.add_members(issuer, all).await.unwrap();
    let (last, fit) = added.split_last().unwrap();
    assert!(fit.iter().all(|added| *added == MemberAddition::Added));
    assert_eq!(*last, MemberAddition::TooMany);
    let was = store.add_member(issuer, membership(ids[0], "ann")).await.unwrap();
    assert_eq!(was, MemberAddition::WasMember, "what was there before is no more than before");
    let last = *ids.last().unwrap();
    assert_eq!(store.add_member(issuer, membership(last, "bob")).await.unwrap(), MemberAddition::Added);
    store.remove_member(issuer, membership(ids[0], "ann")).await.unwrap();
    assert_eq!(store.add_member(issuer, membership(last, "ann")).await.unwrap(), MemberAddition::Added);
    assert_eq!(groups_of(&scene, issuer, "ann").await.len() as u64, MOST_GROUPS_OF_USER);
}

async fn is_listed_from_both_ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-list").await;
    let Scene { store, issuer, other, .. } = &scene;
    let ids: Vec<String> = (0..25).map(|n| format!("u-{n:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    create(&scene, issuer, &ids, &["Zoo", "g", "h"]).await;
    create(&scene, other, &ids, &["g"]).await;
    let mut all = of("g", &ids);
    all.reverse();
    store.add_members(issuer, all).await.unwrap();
    store.add_members(issuer, of("Zoo", &["u-07"])).await.unwrap();
    store.add_members(issuer, of("h", &["u-07"])).await.unwrap();
    let g = GroupId::parse("g").unwrap();
    let first = store.list_members(issuer, &g, &page(1, 10)).await.unwrap();
    let last = store.list_members(issuer, &g, &page(3, 10)).await.unwrap();
    assert_eq!((first.total, first.items.len(), last.items.len()), (25, 10, 5));
    assert!(first.items.iter().chain(&last.items).is_sorted_by_key(|user| user.id.clone()));
    for (text, total) in [("u-1", 10), ("NAME OF U-0", 10), ("nobody", 0), ("", 25)] {
        let found = store.list_members(issuer, &g, &search(text)).await.unwrap();
        assert_eq!((found.total, found.items.len() as u64), (total, total), "{text:?}");
    }
    assert_eq!(store.list_members(other, &g, &page(1, 10)).await.unwrap().total, 0);
    let nobody = GroupId::parse("nobody").unwrap();
    assert_eq!(store.list_members(issuer, &nobody, &page(1, 10)).await.unwrap().total, 0);

    assert_eq!(groups_of(&scene, issuer, "u-07").await, ["g", "h", "Zoo"], "by the names' normal forms");
    let one = UserId::parse("u-07").unwrap();
    let second = store.groups_of(issuer, &one, &page(2, 2)).await.unwrap();
    assert_eq!((second.total, second.items.len()), (3, 1));
    assert_eq!(store.groups_of(issuer, &one, &search("zO")).await.unwrap().total, 1);
    assert!(groups_of(&scene, issuer, "nobody").await.is_empty());
    assert!(groups_of(&scene, other, "u-07").await.is_empty());
}

async fn is_read_once_whatever_changes(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-next").await;
    let Scene { store, issuer, other, .. } = &scene;
    for issuer in [issuer, other] {
        create(&scene, issuer, &["ann", "bob", "cid"], &["g", "h", "i"]).await;
    }
    let all = [of("g", &["bob", "ann", "cid"]), of("h", &["bob", "ann"])].concat();
    store.add_members(issuer, all).await.unwrap();
    store.add_members(other, of("i", &["ann"])).await.unwrap();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let some = store.next_memberships(issuer, after.as_ref(), 2).await.unwrap();
        seen.extend(some.iter().map(|one| format!("{} {}", one.user, one.group)));
        if some.len() < 2 {
            break;
        }
        after = some.into_iter().next_back();
        // In front of, at and behind the position of the listing.
        store.remove_members(issuer, of("h", &["ann", "cid"])).await.unwrap();
        store.add_members(issuer, of("i", &["ann", "cid"])).await.unwrap();
    }
    assert_eq!(seen, ["ann g", "ann h", "ann i", "bob g", "bob h", "cid g", "cid i"]);
    assert_eq!(store.next_memberships(other, None, 1_000).await.unwrap(), of("i", &["ann"]));
}

async fn goes_with_its_user_and_its_group(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-ends").await;
    let Scene { store, issuer, other, .. } = &scene;
    for issuer in [issuer, other] {
        create(&scene, issuer, &["ann", "bob"], &["g", "h"]).await;
        let all = [of("g", &["ann", "bob"]), of("h", &["ann"])].concat();
        store.add_members(issuer, all).await.unwrap();
    }
    let (ann, g) = (UserId::parse("ann").unwrap(), GroupId::parse("g").unwrap());
    let deleted = store.delete_group(issuer, &g).await.unwrap();
    assert_eq!(deleted, GroupDeletion::Deleted { members: 2 });
    assert_eq!(groups_of(&scene, issuer, "ann").await, ["h"]);
    assert!(store.delete_user(issuer, &ann).await.unwrap());
    // The next ones with these ids inherit nothing.
    create(&scene, issuer, &["ann"], &["g"]).await;
    assert!(groups_of(&scene, issuer, "ann").await.is_empty());
    assert_eq!(store.list_members(issuer, &g, &page(1, 10)).await.unwrap().total, 0);
    let h = GroupId::parse("h").unwrap();
    assert_eq!(store.list_members(issuer, &h, &page(1, 10)).await.unwrap().total, 0);
    assert_eq!(groups_of(&scene, other, "ann").await, ["g", "h"]);
}

async fn goes_with_a_group_of_many(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-many").await;
    let Scene { store, issuer, .. } = &scene;
    let ids: Vec<String> = (0..MANY).map(|n| format!("u-{n:05}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    create(&scene, issuer, &ids, &["all", "few"]).await;
    let added = store.add_members(issuer, of("all", &ids)).await.unwrap();
    assert!(added.iter().all(|added| *added == MemberAddition::Added));
    store.add_members(issuer, of("few", &ids[..3])).await.unwrap();
    let all = GroupId::parse("all").unwrap();
    assert_eq!(store.list_members(issuer, &all, &page(1, 1)).await.unwrap().total, u64::from(MANY));
    let below = group("below", "all", scene.now);
    store.create_group(issuer, below.clone()).await.unwrap();
    assert_eq!(store.delete_group(issuer, &all).await.unwrap(), GroupDeletion::HasChildren);
    assert_eq!(store.list_members(issuer, &all, &page(1, 1)).await.unwrap().total, u64::from(MANY));
    store.delete_group(issuer, &below.id).await.unwrap();
    let deleted = store.delete_group(issuer, &all).await.unwrap();
    assert_eq!(deleted, GroupDeletion::Deleted { members: u64::from(MANY) });
    assert_eq!(groups_of(&scene, issuer, ids[0]).await, ["few"]);
    assert!(groups_of(&scene, issuer, ids[MANY as usize - 1]).await.is_empty());
}

/// A user is added to a group while one of the two is deleted: nothing may be left for a later one with the same id.
async fn outlives_nobody_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-race").await;
    let Scene { store, issuer, .. } = &scene;
    for round in 0..RACES {
        let one = membership(&format!("g-{round}"), &format!("u-{round}"));
        create(&scene, issuer, &[one.user.as_str()], &[one.group.as_str()]).await;
        let start = Arc::new(Barrier::new(RACERS));
        let mut racers = JoinSet::new();
        for racer in 0..RACERS {
            let (store, issuer, one, start) =
                (Arc::clone(store), issuer.clone(), one.clone(), Arc::clone(&start));
            racers.spawn(async move {
                start.wait().await;
                match (racer, round % 2) {
                    (0, 0) => store.delete_group(&issuer, &one.group).await.map(drop),
                    (0, _) => store.delete_user(&issuer, &one.user).await.map(drop),
                    _ => store.add_member(&issuer, one).await.map(drop),
                }
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap().unwrap();
        }
        create(&scene, issuer, &[one.user.as_str()], &[one.group.as_str()]).await;
        assert!(groups_of(&scene, issuer, one.user.as_str()).await.is_empty(), "round {round}");
        assert_eq!(store.list_members(issuer, &one.group, &page(1, 1)).await.unwrap().total, 0);
    }
}

/// A user who may have one group more is added to several at the same time.
async fn stays_within_its_bound_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "membership-bound-race").await;
    let Scene { store, issuer, .. } = &scene;
    let before = MOST_GROUPS_OF_USER as usize - 1;
    let ids: Vec<String> = (0..before + RACERS).map(|n| format!("g-{n:04}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    create(&scene, issuer, &["ann"], &ids).await;
    store.add_members(issuer, ids[..before].iter().map(|id| membership(id, "ann")).collect()).await.unwrap();
    let mut racers = JoinSet::new();
    for id in &ids[before..] {
        let (store, issuer, one) = (Arc::clone(store), issuer.clone(), membership(id, "ann"));
        racers.spawn(async move { store.add_member(&issuer, one).await.unwrap() });
    }
    let added = racers.join_all().await;
    assert_eq!(added.iter().filter(|added| **added == MemberAddition::Added).count(), 1, "{added:?}");
}
