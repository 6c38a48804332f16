use symbolon_protocol::role::MOST_ROLES;
use symbolon_store::contract::sample::{self, given_to_group, group, membership, role};
use symbolon_store::port::{RoleCreation, Roles, Store, Users};

use super::*;
use crate::open::tests::options;
use crate::record::entitlement::HELD;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn store(directory: &tempfile::TempDir) -> (EmbeddedStore, IssuerId) {
    (EmbeddedStore::open(options(directory.path())).unwrap(), IssuerId::default_issuer())
}

fn ann() -> UserId {
    UserId::parse("ann").unwrap()
}

/// Runs a statement behind the store's back.
async fn run(store: &EmbeddedStore, sql: &'static str) {
    let run = move |statements: &Statements<'_>| Ok(statements.change(sql, ())?);
    store.records.write(StoreKind::Group, run).await.unwrap();
}

#[tokio::test]
async fn what_a_user_has_is_read_once_in_one_query_even_if_it_is_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (store, issuer) = store(&directory);
    store.create_user(&issuer, sample::user("ann", None, NOW), None).await.unwrap();
    let queries = || store.figures().snapshot().database.read_queries;
    for _ in 0..10 {
        assert!(store.entitlements(&issuer, &ann()).await.unwrap().is_empty());
    }
    assert_eq!(queries(), 1);
    store.create_group(&issuer, group("top", "", NOW)).await.unwrap();
    store.create_group(&issuer, group("low", "top", NOW)).await.unwrap();
    store.create_role(&issuer, role("r", "admin", "", NOW)).await.unwrap();
    store.give_role(&issuer, given_to_group("r", "top")).await.unwrap();
    store.add_member(&issuer, membership("low", "ann")).await.unwrap();
    let before = queries();
    for _ in 0..10 {
        let held = store.entitlements(&issuer, &ann()).await.unwrap();
        assert_eq!((held.groups.len(), held.roles.len()), (2, 1));
    }
    assert_eq!(queries(), before + 1);
    let snapshot = store.figures().snapshot();
    let cache = snapshot.caches.iter().find(|cache| cache.name == "entitlement").unwrap();
    assert_eq!((cache.hits, cache.misses), (18, 2));
}

/// However many users, groups and roles there are, each step of the look-up finds its rows by an index.
#[tokio::test]
async fn what_a_user_has_is_found_by_indices() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _) = store(&directory);
    let explain = move |statements: &Statements<'_>| {
        statements.all(&format!("EXPLAIN QUERY PLAN {HELD}"), ["default", "ann"], |row| row.get(3))
    };
    let steps: Vec<String> = store.records.read(StoreKind::Group, explain).await.unwrap();
    let searches = steps.iter().filter(|step| step.starts_with("SEARCH")).count();
    assert!(searches >= 6, "{steps:?}");
    // What is scanned are the rows that the query itself has found.
    for step in steps.iter().filter(|step| step.starts_with("SCAN")) {
        assert!(step.ends_with(" held") || step.ends_with(" given"), "{step}");
    }
}

#[tokio::test]
async fn an_issuer_has_so_many_groups_and_roles_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let (store, issuer) = store(&directory);
    let other = IssuerId::parse("other").unwrap();
    store.create_group(&issuer, group("a", "", NOW)).await.unwrap();
    store.create_role(&issuer, role("a", "a", "", NOW)).await.unwrap();
    assert_eq!((MOST_GROUPS, MOST_ROLES), (200_000, 100_000));
    run(&store, "UPDATE entitlement_counts SET group_count = 199999, role_count = 99999").await;
    let groups = ["b", "c"].map(|id| group(id, "", NOW));
    let created = store.create_groups(&issuer, groups.to_vec()).await.unwrap();
    assert_eq!(created, [GroupCreation::Created, GroupCreation::TooMany]);
    let roles = ["b", "c"].map(|id| role(id, id, "", NOW));
    let created = store.create_roles(&issuer, roles.to_vec()).await.unwrap();
    assert_eq!(created, [RoleCreation::Created, RoleCreation::TooMany]);
    assert_eq!(store.create_group(&other, group("c", "", NOW)).await.unwrap(), GroupCreation::Created);
    store.delete_group(&issuer, &GroupId::parse("a").unwrap()).await.unwrap();
    store.delete_role(&issuer, &symbolon_protocol::id::RoleId::parse("a").unwrap()).await.unwrap();
    let [_, group] = groups;
    assert_eq!(store.create_group(&issuer, group).await.unwrap(), GroupCreation::Created);
    let [_, role] = roles;
    assert_eq!(store.create_role(&issuer, role).await.unwrap(), RoleCreation::Created);
}

/// A crash between the transactions of a deletion leaves the group: nothing comes below it, and it can be deleted.
#[tokio::test]
async fn a_deletion_that_was_cut_short_is_finished_by_another() {
    let directory = tempfile::tempdir().unwrap();
    let (store, issuer) = store(&directory);
    store.create_user(&issuer, sample::user("ann", None, NOW), None).await.unwrap();
    let groups = vec![group("a", "", NOW), group("b", "", NOW)];
    store.create_groups(&issuer, groups).await.unwrap();
    run(&store, "UPDATE user_groups SET ending = 1 WHERE id = 'a'").await;
    let below = store.create_group(&issuer, group("c", "a", NOW)).await.unwrap();
    assert_eq!(below, GroupCreation::NoSuchParent);
    let moved = store.update_group(&issuer, group("b", "a", NOW), NOW).await.unwrap();
    assert_eq!(moved, GroupUpdate::NoSuchParent);
    store.add_member(&issuer, membership("a", "ann")).await.unwrap();
    let deleted = store.delete_group(&issuer, &GroupId::parse("a").unwrap()).await.unwrap();
    assert_eq!(deleted, GroupDeletion::Deleted { members: 1 });
    assert!(store.entitlements(&issuer, &ann()).await.unwrap().is_empty());
}
