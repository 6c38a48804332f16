//! Groups, and how they are nested.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::entitlement::{Description, EntitlementName};
use symbolon_protocol::group::{Group, MOST_DEPTH};
use symbolon_protocol::id::{GroupId, IssuerId};
use tokio::task::JoinSet;

use super::sample::{group, page, search};
use super::{BackEnd, Scene};
use crate::port::{GroupCreation, GroupDeletion, GroupFilter, GroupUpdate};
use crate::{Store, StoreError};

/// How often groups are moved or deleted at the same time.
const RACES: usize = 100;

pub async fn all(back_end: &dyn BackEnd) {
    is_created_changed_and_deleted(back_end).await;
    has_a_name_of_its_own(back_end).await;
    belongs_to_one_issuer(back_end).await;
    is_nested_so_deep_and_no_deeper(back_end).await;
    is_never_below_itself(back_end).await;
    is_listed_and_found(back_end).await;
    comes_once_while_others_come_and_go(back_end).await;
    is_created_and_changed_by_one_racer(back_end).await;
    makes_no_cycle_in_a_race(back_end).await;
    outlives_no_parent_in_a_race(back_end).await;
}

fn id(text: &str) -> GroupId {
    GroupId::parse(text).unwrap()
}

fn name(text: &str) -> EntitlementName {
    EntitlementName::parse(text).unwrap()
}

/// The group below another parent, changed a moment later.
fn moved(group: &Group, parent: Option<&str>) -> Group {
    Group { parent: parent.map(id), updated_at: group.updated_at + Duration::from_millis(1), ..group.clone() }
}

/// The ids of a group and of those above it.
async fn upwards(store: &dyn Store, issuer: &IssuerId, from: &str) -> Vec<String> {
    let (mut ids, mut next) = (Vec::new(), Some(id(from)));
    while let Some(group) = next {
        assert!(ids.len() < MOST_DEPTH as usize, "{ids:?} is too deep, or a cycle");
        ids.push(group.to_string());
        next = store.group(issuer, &group).await.unwrap().expect("a group's parent exists").parent;
    }
    ids
}

async fn is_created_changed_and_deleted(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group").await;
    let Scene { store, issuer, now, .. } = &scene;
    let first = Group { description: Some(Description::parse("On\ncall").unwrap()), ..group("a", "", *now) };
    assert!(store.group(issuer, &id("a")).await.unwrap().is_none());
    assert_eq!(store.create_group(issuer, first.clone()).await.unwrap(), GroupCreation::Created);
    assert_eq!(store.group(issuer, &id("a")).await.unwrap(), Some(first.clone()));
    let orphan = group("b", "nobody", *now);
    assert_eq!(store.create_group(issuer, orphan).await.unwrap(), GroupCreation::NoSuchParent);

    let second = Group { name: name("Another"), ..moved(&first, None) };
    assert_eq!(store.update_group(issuer, second.clone(), *now).await.unwrap(), GroupUpdate::Updated);
    assert_eq!(store.group(issuer, &id("a")).await.unwrap(), Some(second.clone()));
    let stale = store.update_group(issuer, first, *now).await;
    assert!(matches!(stale, Err(StoreError::Conflict)));
    let nobody = store.update_group(issuer, group("nobody", "", *now), *now).await.unwrap();
    assert_eq!(nobody, GroupUpdate::NoSuchGroup);
    assert_eq!(store.group(issuer, &id("a")).await.unwrap(), Some(second));

    assert_eq!(store.create_group(issuer, group("below", "a", *now)).await.unwrap(), GroupCreation::Created);
    assert_eq!(store.delete_group(issuer, &id("a")).await.unwrap(), GroupDeletion::HasChildren);
    for gone in ["below", "a"] {
        let deleted = store.delete_group(issuer, &id(gone)).await.unwrap();
        assert_eq!(deleted, GroupDeletion::Deleted { members: 0 });
        assert_eq!(store.delete_group(issuer, &id(gone)).await.unwrap(), GroupDeletion::NoSuchGroup);
        assert!(store.group(issuer, &id(gone)).await.unwrap().is_none());
    }
    let some = [("a", ""), ("b", "a"), ("c", "b"), ("b", ""), ("d", "e"), ("e", "")]
        .map(|(id, parent)| group(id, parent, *now));
    use GroupCreation::{Created, Exists, NoSuchParent};
    let created = store.create_groups(issuer, some.to_vec()).await.unwrap();
    assert_eq!(created, [Created, Created, Created, Exists, NoSuchParent, Created]);
    assert_eq!(upwards(&**store, issuer, "c").await, ["c", "b", "a"]);
}

async fn has_a_name_of_its_own(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-name").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let named = |id: &str, text: &str| Group { name: name(text), ..group(id, "", *now) };
    let created =
        async |group: Group| store.create_group(issuer, group).await.unwrap() == GroupCreation::Created;
    assert!(created(named("a", "\u{c4}rzte")).await);
    for spelling in ["\u{c4}rzte", "a\u{308}RZTE", "\u{ff21}\u{308}rzte"] {
        assert!(!created(named("b", spelling)).await, "{spelling}");
        let found = store.group_by_name(issuer, &name(spelling)).await.unwrap();
        assert_eq!(found, Some(named("a", "\u{c4}rzte")), "{spelling}");
    }
    // A name that takes as much of an index as any can.
    let long = "\u{1f980}".repeat(200);
    assert!(created(named("long", &long)).await);
    assert!(store.group_by_name(issuer, &name(&long)).await.unwrap().is_some());
    assert!(created(named("b", "arzte")).await);
    let taken = Group { name: name("A\u{308}rzte"), ..moved(&named("b", "x"), None) };
    assert_eq!(store.update_group(issuer, taken, *now).await.unwrap(), GroupUpdate::NameTaken);
    // Its own name, in another spelling.
    let respelled = Group { name: name("A\u{308}RZTE"), ..moved(&named("a", "x"), None) };
    assert_eq!(store.update_group(issuer, respelled.clone(), *now).await.unwrap(), GroupUpdate::Updated);
    assert_eq!(store.group_by_name(issuer, &name("\u{e4}rzte")).await.unwrap(), Some(respelled));
    assert!(store.group_by_name(other, &name("\u{c4}rzte")).await.unwrap().is_none());
    assert!(store.group_by_name(issuer, &name("rzte")).await.unwrap().is_none());
}

async fn belongs_to_one_issuer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-issuers").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    store.create_group(issuer, group("a", "", *now)).await.unwrap();
    assert!(store.group(other, &id("a")).await.unwrap().is_none());
    let updated = store.update_group(other, group("a", "", *now), *now).await.unwrap();
    assert_eq!(updated, GroupUpdate::NoSuchGroup);
    assert_eq!(store.delete_group(other, &id("a")).await.unwrap(), GroupDeletion::NoSuchGroup);
    let below = store.create_group(other, group("b", "a", *now)).await.unwrap();
    assert_eq!(below, GroupCreation::NoSuchParent);
    assert_eq!(store.list_groups(other, &GroupFilter::All, &page(1, 10)).await.unwrap().total, 0);
    assert_eq!(store.create_group(other, group("a", "", *now)).await.unwrap(), GroupCreation::Created);
    store.delete_group(other, &id("a")).await.unwrap();
    assert!(store.group(issuer, &id("a")).await.unwrap().is_some());
}

/// A chain of groups `g0` to `g<length - 1>`, each below the one before.
fn chain(prefix: &str, length: u32, scene: &Scene) -> Vec<Group> {
    let name = |n: u32| format!("{prefix}{n}");
    let parent = |n: u32| n.checked_sub(1).map(name).unwrap_or_default();
    (0..length).map(|n| group(&name(n), &parent(n), scene.now)).collect()
}

async fn is_nested_so_deep_and_no_deeper(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-depth").await;
    let Scene { store, issuer, now, .. } = &scene;
    let created = store.create_groups(issuer, chain("g", MOST_DEPTH + 1, &scene)).await.unwrap();
    let (last, fit) = created.split_last().unwrap();
    assert!(fit.iter().all(|created| *created == GroupCreation::Created), "{created:?}");
    assert_eq!(*last, GroupCreation::TooDeep);
    assert_eq!(upwards(&**store, issuer, "g7").await.len() as u32, MOST_DEPTH);
    let deeper = store.create_group(issuer, group("x", "g7", *now)).await.unwrap();
    assert_eq!(deeper, GroupCreation::TooDeep);
    // With one below it, a group fits one level higher only.
    store.create_groups(issuer, vec![group("x", "", *now), group("y", "x", *now)]).await.unwrap();
    let x = group("x", "", *now);
    let put = async |parent: &str| store.update_group(issuer, moved(&x, Some(parent)), *now).await.unwrap();
    assert_eq!(put("g6").await, GroupUpdate::TooDeep);
    assert_eq!(put("nobody").await, GroupUpdate::NoSuchParent);
    assert_eq!(upwards(&**store, issuer, "y").await, ["y", "x"]);
    assert_eq!(put("g5").await, GroupUpdate::Updated);
    assert_eq!(upwards(&**store, issuer, "y").await.len() as u32, MOST_DEPTH);
    // Where it is already, it stays without being judged anew.
    let before = store.group(issuer, &id("x")).await.unwrap().unwrap();
    let renamed = Group { name: name("X"), ..moved(&before, Some("g5")) };
    assert_eq!(store.update_group(issuer, renamed, before.updated_at).await.unwrap(), GroupUpdate::Updated);
}

async fn is_never_below_itself(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-cycle").await;
    let Scene { store, issuer, now, .. } = &scene;
    let of_itself = store.create_group(issuer, group("g0", "g0", *now)).await.unwrap();
    assert_eq!(of_itself, GroupCreation::NoSuchParent);
    store.create_groups(issuer, chain("g", 4, &scene)).await.unwrap();
    for below in ["g0", "g1", "g3"] {
        let cycle = moved(&group("g0", "", *now), Some(below));
        assert_eq!(store.update_group(issuer, cycle, *now).await.unwrap(), GroupUpdate::Cycle, "{below}");
    }
    assert_eq!(upwards(&**store, issuer, "g3").await, ["g3", "g2", "g1", "g0"]);
    let top = moved(&group("g2", "g1", *now), None);
    assert_eq!(store.update_group(issuer, top.clone(), *now).await.unwrap(), GroupUpdate::Updated);
    let under = moved(&group("g0", "", *now), Some("g3"));
    assert_eq!(store.update_group(issuer, under, *now).await.unwrap(), GroupUpdate::Updated);
    assert_eq!(upwards(&**store, issuer, "g1").await, ["g1", "g0", "g3", "g2"]);
}

async fn is_listed_and_found(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-list").await;
    let Scene { store, issuer, now, .. } = &scene;
    let mut groups = vec![group("top", "", *now)];
    for n in 0..25_u32 {
        let parent = if n < 20 { "top" } else { "" };
        let at = *now + (n + 1) * Duration::from_secs(1);
        groups
            .push(Group { name: name(&format!("Team {n:02}")), ..group(&format!("Id-{n:02}"), parent, at) });
    }
    store.create_groups(issuer, groups).await.unwrap();
    let list = async |filter: &GroupFilter, page: &_| store.list_groups(issuer, filter, page).await.unwrap();
    let first = list(&GroupFilter::All, &page(1, 10)).await;
    let last = list(&GroupFilter::All, &page(3, 10)).await;
    assert_eq!((first.total, first.items.len(), last.items.len()), (26, 10, 6));
    assert_eq!(first.items[0].id, id("Id-24"), "newest first");
    assert_eq!(last.items[5].id, id("top"));
    assert_eq!(list(&GroupFilter::Topmost, &page(1, 100)).await.total, 6);
    assert_eq!(list(&GroupFilter::Below(id("top")), &page(2, 15)).await.items.len(), 5);
    assert_eq!(list(&GroupFilter::Below(id("Id-00")), &page(1, 10)).await.total, 0);
    for (text, total) in [("team 1", 10), ("ID-0", 10), ("TOP", 1), ("%", 0), ("_", 0), (" ", 26)] {
        assert_eq!(list(&GroupFilter::All, &search(text)).await.total, total, "{text:?}");
    }
    assert_eq!(list(&GroupFilter::Below(id("top")), &search("team 2")).await.total, 0);
}

/// Groups are created and deleted while the list is read: those that exist all the while come once.
async fn comes_once_while_others_come_and_go(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-next").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let names: Vec<String> = (0..40_u32).map(|n| format!("g-{n:02}")).collect();
    for issuer in [issuer, other] {
        let groups = names.iter().rev().map(|id| group(id, "", *now)).collect();
        store.create_groups(issuer, groups).await.unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let some = store.next_groups(issuer, after.as_ref(), 10).await.unwrap();
        seen.extend(some.iter().map(|group| group.id.to_string()));
        if some.len() < 10 {
            break;
        }
        after = some.last().map(|group| group.id.clone());
        // In front of, at and behind the position of the listing.
        for id in ["a-new", "g-09-new", "z-new"] {
            store.create_group(issuer, group(id, "", *now)).await.unwrap();
        }
        store.delete_group(issuer, &id("g-00")).await.unwrap();
        store.delete_group(issuer, &id("g-39")).await.unwrap();
    }
    let mut expected = names[..39].to_vec();
    expected.insert(10, "g-09-new".to_owned());
    expected.push("z-new".to_owned());
    assert_eq!(seen, expected);
    assert!(store.next_groups(&IssuerId::parse("nobody").unwrap(), None, 10).await.unwrap().is_empty());
}

async fn is_created_and_changed_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-race").await;
    for round in 0..RACES {
        let mut racers = JoinSet::new();
        for racer in 0..8 {
            let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
            // Other ids, the same name in two spellings.
            let spelled = if racer % 2 == 0 { format!("Name {round}") } else { format!("NAME {round}") };
            let id = format!("g-{round}-{racer}");
            let group = Group { name: name(&spelled), ..group(&id, "", scene.now) };
            racers.spawn(async move { store.create_group(&issuer, group).await.unwrap() });
        }
        let created = racers.join_all().await;
        let winners = created.iter().filter(|created| **created == GroupCreation::Created).count();
        assert_eq!(winners, 1, "round {round}: {created:?}");
    }
    for round in 0..RACES {
        let one = group(&format!("u-{round}"), "", scene.now);
        scene.store.create_group(&scene.issuer, one.clone()).await.unwrap();
        let mut racers = JoinSet::new();
        for racer in 0..8 {
            let (store, issuer, now) = (Arc::clone(&scene.store), scene.issuer.clone(), scene.now);
            let changed = Group { updated_at: now + Duration::from_millis(1 + racer), ..one.clone() };
            racers.spawn(async move {
                match store.update_group(&issuer, changed, now).await {
                    Ok(updated) => updated == GroupUpdate::Updated,
                    Err(StoreError::Conflict) => false,
                    Err(error) => panic!("{error}"),
                }
            });
        }
        let winners = racers.join_all().await.into_iter().filter(|won| *won).count();
        assert_eq!(winners, 1, "round {round}");
    }
}

/// Groups are moved below each other at the same time: whoever comes last must see what the others did.
async fn makes_no_cycle_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-cycle-race").await;
    for round in 0..RACES {
        let names = ["a", "b", "c", "d"].map(|name| format!("{name}-{round}"));
        let groups: Vec<Group> = names.iter().map(|name| group(name, "", scene.now)).collect();
        scene.store.create_groups(&scene.issuer, groups.clone()).await.unwrap();
        let mut racers = JoinSet::new();
        for (one, below) in groups.into_iter().zip(names.iter().cycle().skip(1)) {
            let (store, issuer, now) = (Arc::clone(&scene.store), scene.issuer.clone(), scene.now);
            let change = moved(&one, Some(below));
            racers.spawn(async move { store.update_group(&issuer, change, now).await.unwrap() });
        }
        let updates = racers.join_all().await;
        // Three of the four moves are possible, in whatever order.
        let cycles = updates.iter().filter(|update| **update == GroupUpdate::Cycle).count();
        assert_eq!(cycles, 1, "round {round}: {updates:?}");
        for name in &names {
            upwards(&*scene.store, &scene.issuer, name).await;
        }
    }
}

/// A group is created or moved below another while that one is deleted.
async fn outlives_no_parent_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "group-parent-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..RACES {
        let [parent, old, new] = ["p", "o", "n"].map(|name| format!("{name}-{round}"));
        let groups = vec![group(&parent, "", *now), group(&old, "", *now)];
        store.create_groups(issuer, groups).await.unwrap();
        let change = moved(&group(&old, "", *now), Some(&parent));
        let gone = id(&parent);
        let (created, updated, deleted) = tokio::join!(
            store.create_group(issuer, group(&new, &parent, *now)),
            store.update_group(issuer, change, *now),
            store.delete_group(issuer, &gone),
        );
        let (created, updated, deleted) = (created.unwrap(), updated.unwrap(), deleted.unwrap());
        let came = created == GroupCreation::Created || updated == GroupUpdate::Updated;
        assert_eq!(came, deleted == GroupDeletion::HasChildren, "{created:?} {updated:?} {deleted:?}");
        upwards(&**store, issuer, &old).await;
        assert_eq!(
            store.group(issuer, &id(&new)).await.unwrap().is_some(),
            created == GroupCreation::Created
        );
    }
}
