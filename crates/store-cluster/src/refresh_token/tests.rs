//! Families beyond the contract: several nodes, and a node that crashes half-way.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::random::{Random, SeededRandom};
use symbolon_protocol::grant::{GrantId, Lineage};
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_store::Store;
use symbolon_store::port::{Issuers, Revocations};
use symbolon_store::shard::Route;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::chain::{Chain, decide};
use super::*;
use crate::testing::{NOW, Place};

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);

fn issuer() -> IssuerId {
    IssuerId::default_issuer()
}

fn family(random: &dyn Random) -> Family {
    Family {
        grant: GrantId::draw(&issuer(), "user", NOW, random),
        client: ClientId::parse("client").unwrap(),
        user: UserId::parse("user").unwrap(),
        sid: None,
        scope: Scope::parse("openid offline_access").unwrap(),
        auth_time: NOW,
        amr: Amr::of(AuthenticationMethod::Pwd),
        version: 1,
        created_at: NOW,
        rotated_at: NOW,
        idle_expires_at: NOW + HOUR,
        expires_at: NOW + 24 * HOUR,
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    }
}

fn draw(random: &dyn Random) -> FamilyId {
    Route { generation: 1, shard: 3 }.draw_family(NOW, random)
}

fn rotation(presented: u32, now: Timestamp) -> RotationRequest {
    RotationRequest {
        presented,
        now,
        retry_window: Duration::ZERO,
        idle: HOUR,
        rotate: true,
        tombstone_until: now + HOUR,
    }
}

fn lineage(grant: &GrantId) -> Lineage {
    Lineage {
        slot: grant.slot(),
        tokens: Vec::new(),
        grant: Some(*grant),
        session: None,
        user: None,
        client: None,
        grantor: None,
        born: grant.at(),
        issued: None,
    }
}

fn chain(stored: &Family, fresh: bool, asks: &[Ask]) -> Option<Chain> {
    decide(&issuer(), Some(Stored::Live(Arc::new(stored.clone()))), fresh, asks.iter())
}

#[test]
fn requests_for_one_family_are_decided_one_after_the_other() {
    let begun = family(&SeededRandom::new(1));
    let (ask, later) = (|version, now| Ask::Rotate(rotation(version, now)), NOW + MINUTE);
    let asks = [ask(1, NOW), ask(1, NOW), ask(2, NOW), ask(1, later), ask(3, later)];
    let chain = chain(&begun, false, &asks).expect("the first moves it");
    let versions = chain.answers.iter().map(|(answer, ended)| match answer {
        Answer::Rotation(Rotation::Rotated(family)) => ("rotated", family.version, *ended),
        Answer::Rotation(Rotation::Retry(family)) => ("retry", family.version, *ended),
        Answer::Rotation(Rotation::Reused(family)) => ("reused", family.version, *ended),
        Answer::Rotation(Rotation::Unknown) => ("unknown", 0, *ended),
        Answer::Ended(_) => ("end", 0, *ended),
    });
    let expected = [
        ("rotated", 2, false),
        ("retry", 2, false),
        ("rotated", 3, false),
        ("reused", 3, true),
        ("unknown", 0, true),
    ];
    assert_eq!(versions.collect::<Vec<_>>(), expected);
    assert!(chain.changed && matches!(chain.state, Some(Stored::Ended(_))));
}

/// A copy that was read before the request came may be out of date. Only an answer that writes something may rest on
/// it, because only a write checks the revision.
#[test]
fn only_a_move_or_an_end_is_decided_on_what_was_read_before() {
    let stored = Family { version: 3, ..family(&SeededRandom::new(1)) };
    let end = Ask::End(Tombstone::grant(stored.grant, NOW));
    let moved = Ask::Rotate(rotation(3, NOW));
    for ask in [end, moved] {
        assert!(chain(&stored, false, &[ask]).is_some_and(|chain| chain.changed));
    }
    let mut retry = rotation(2, NOW);
    retry.retry_window = MINUTE;
    let late = rotation(3, NOW + 2 * HOUR);
    for request in [retry, late, rotation(1, NOW)] {
        assert!(chain(&stored, false, &[Ask::Rotate(request)]).is_none(), "{request:?}");
        assert!(chain(&stored, true, &[Ask::Rotate(request)]).is_some(), "{request:?}");
    }
    let asks = [Ask::Rotate(rotation(1, NOW))];
    assert!(decide(&issuer(), None, false, asks.iter()).is_none());
    assert!(decide(&issuer(), None, true, asks.iter()).is_some_and(|chain| !chain.changed));
}

/// Many requests on two nodes race to rotate each version: exactly one of them does, so there are never two live
/// branches.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_race_for_every_version() {
    const FAMILIES: usize = 100;
    const RACERS: usize = 8;
    const VERSIONS: u32 = 4;
    let place = Place::new("families-of-two-nodes");
    let nodes = [place.open().await, place.open().await];
    let random = SeededRandom::new(1);
    let families: Vec<_> = (0..FAMILIES).map(|_| (draw(&random), family(&random))).collect();
    let _ = nodes[0].begin_families(&issuer(), families.clone()).await.unwrap();
    for version in 1..=VERSIONS {
        let start = Arc::new(Barrier::new(FAMILIES * RACERS));
        let mut racers = JoinSet::new();
        for (index, (id, _)) in families.iter().enumerate() {
            for racer in 0..RACERS {
                let (node, id) = (Arc::clone(&nodes[racer % nodes.len()]), id.clone());
                let start = Arc::clone(&start);
                racers.spawn(async move {
                    // Half of the requests read the family first, as the server does, and then use that copy.
                    if racer % 4 < 2 {
                        drop(node.family(&issuer(), &id).await.unwrap());
                    }
                    start.wait().await;
                    let mut request = rotation(version, NOW);
                    request.retry_window = MINUTE;
                    (index, node.rotate(&issuer(), &id, &request).await.unwrap().in_memory())
                });
            }
        }
        let mut winners = vec![0; FAMILIES];
        while let Some(finished) = racers.join_next().await {
            match finished.unwrap() {
                (index, Rotation::Rotated(family)) if family.version == version + 1 => winners[index] += 1,
                (_, Rotation::Retry(family)) if family.version == version + 1 => {}
                (index, other) => panic!("family {index}, version {version}: {other:?}"),
            }
        }
        assert!(winners.iter().all(|winners| *winners == 1), "version {version}: {winners:?}");
    }
    // An old version, presented at one node, ends the family at both.
    for (index, (id, begun)) in families.iter().enumerate().take(10) {
        let (node, other) = (&nodes[index % 2], &nodes[(index + 1) % 2]);
        let seen = other.family(&issuer(), id).await.unwrap().in_memory().unwrap();
        let reused = node.rotate(&issuer(), id, &rotation(1, NOW + MINUTE)).await.unwrap().in_memory();
        assert!(matches!(reused, Rotation::Reused(_)), "{reused:?}");
        let after = other.rotate(&issuer(), id, &rotation(seen.version, NOW)).await.unwrap().in_memory();
        assert_eq!(after, Rotation::Unknown, "decided on what was read before the end");
        assert!(other.revoked(&issuer(), &lineage(&begun.grant)).await.unwrap().in_memory());
    }
}

/// Some requests end a family while others rotate it: if a rotation is answered "unknown", the grant is revoked.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_race_for_the_end() {
    let place = Place::new("families-ended-by-nodes");
    let nodes = [place.open().await, place.open().await];
    let random = SeededRandom::new(2);
    let families: Vec<_> = (0..100).map(|_| (draw(&random), family(&random))).collect();
    let _ = nodes[0].begin_families(&issuer(), families.clone()).await.unwrap();
    let mut racers = JoinSet::new();
    for (index, (id, begun)) in families.iter().enumerate() {
        for racer in 0..6 {
            let (node, id, begun) = (Arc::clone(&nodes[racer % 2]), id.clone(), begun.clone());
            racers.spawn(async move {
                let ended = if racer < 2 {
                    let tombstone = Tombstone::grant(begun.grant, NOW + HOUR);
                    node.end_family(&issuer(), &id, &tombstone).await.unwrap().in_memory().is_some()
                } else {
                    let rotated = node.rotate(&issuer(), &id, &rotation(1, NOW)).await.unwrap().in_memory();
                    if rotated == Rotation::Unknown {
                        assert!(node.revoked(&issuer(), &lineage(&begun.grant)).await.unwrap().in_memory());
                    }
                    false
                };
                (index, ended)
            });
        }
    }
    let mut ended = vec![0; families.len()];
    while let Some(finished) = racers.join_next().await {
        let (index, one) = finished.unwrap();
        ended[index] += usize::from(one);
    }
    assert!(ended.iter().all(|ended| *ended == 1), "{ended:?}");
}

/// A node commits the end of a family and crashes before it writes the tombstone to Redis. A request that finds the
/// family ended writes the tombstone itself, so the grant is revoked.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_redis_was_not_told_is_told_by_whoever_finds_it() {
    let place = Place::new("families-half-ended");
    let (node, random) = (place.open().await, SeededRandom::new(3));
    for look in 0..4 {
        let (id, begun) = (draw(&random), family(&random));
        let lineage = lineage(&begun.grant);
        let tombstone = Tombstone::grant(begun.grant, NOW + HOUR);
        drop(node.begin_family(&issuer(), &id, begun.into()).await.unwrap());
        // This look confirms the slot.
        assert!(!node.revoked(&issuer(), &lineage).await.unwrap().in_memory());
        assert!(node.end_family(&issuer(), &id, &tombstone).await.unwrap().in_memory().is_some());
        let tag = node.redis.tags().slot(lineage.slot);
        let grant =
            tag.followed_by(&format!("g:default:{}", lineage.grant.as_ref().unwrap().text().as_str()));
        node.redis.write_durably(::redis::cmd("DEL").arg(grant.as_bytes())).await.unwrap();
        assert!(!node.revoked(&issuer(), &lineage).await.unwrap().in_memory(), "as if Redis had never known");
        match look {
            0 => assert!(node.family(&issuer(), &id).await.unwrap().in_memory().is_none()),
            1 => {
                let rotated = node.rotate(&issuer(), &id, &rotation(1, NOW)).await.unwrap().in_memory();
                assert_eq!(rotated, Rotation::Unknown);
            }
            2 => assert!(node.end_family(&issuer(), &id, &tombstone).await.unwrap().in_memory().is_none()),
            _ => {
                let begun =
                    node.begin_family(&issuer(), &id, family(&random).into()).await.unwrap().in_memory();
                assert_eq!(begun, Created::Exists, "an ended family does not begin again");
                continue;
            }
        }
        assert!(node.revoked(&issuer(), &lineage).await.unwrap().in_memory(), "look {look}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_begin_together_begin_once_each() {
    let place = Place::new("families-begun-at-once");
    let (node, random) = (place.open().await, SeededRandom::new(4));
    let families: Vec<_> = (0..2_500).map(|_| (draw(&random), family(&random))).collect();
    // The same families again, others, and one twice.
    let mut more: Vec<_> = families[..10].iter().map(|(id, _)| (id.clone(), family(&random))).collect();
    more.extend((0..10).map(|_| (draw(&random), family(&random))));
    more.push(more[15].clone());
    let _ = node.begin_families(&issuer(), families.clone()).await.unwrap();
    let _ = node.begin_families(&issuer(), more).await.unwrap();
    assert_eq!(place.psql("SELECT count(*) FROM families"), "2510");
    for (id, begun) in families.iter().take(20) {
        assert_eq!(node.family(&issuer(), id).await.unwrap().in_memory().as_deref(), Some(begun));
    }
}

/// A sweep starts where the last one stopped, and deletes only what ended more than 15 minutes ago.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_walks_the_table() {
    let place = Place::new("families-swept");
    let (node, random) = (place.open().await, SeededRandom::new(5));
    let begun = |index: usize| Family {
        idle_expires_at: if index.is_multiple_of(2) { NOW + HOUR } else { NOW + 2 * HOUR },
        ..family(&random)
    };
    let families: Vec<_> = (0..25_000).map(|index| (draw(&random), begun(index))).collect();
    let _ = node.begin_families(&issuer(), families.clone()).await.unwrap();
    let end = NOW + HOUR + KEPT_AFTER_END;
    for _ in 0..3 {
        assert_eq!(
            node.sweep_families(end - Duration::from_millis(1)).await.unwrap(),
            0,
            "nothing goes early"
        );
    }
    let (mut gone, mut sweeps) = (0, 0);
    while gone < 12_500 {
        sweeps += 1;
        assert!(sweeps <= 4, "{gone} went in {sweeps} sweeps");
        gone += node.sweep_families(end).await.unwrap();
    }
    assert!(sweeps > 1, "a sweep takes a piece at a time");
    assert_eq!(place.psql("SELECT count(*), count(DISTINCT ends_at) FROM families"), "12500|1");
}

/// The form of the documents must not change: other releases and operators read them.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_says_what_it_is() {
    let place = Place::new("families-as-documents");
    let (node, random) = (place.open().await, SeededRandom::new(6));
    let (id, begun) = (draw(&random), family(&random));
    drop(node.begin_family(&issuer(), &id, begun.clone().into()).await.unwrap());
    let document = || place.psql("SELECT document FROM families");
    let live: serde_json::Value = serde_json::from_str(&document()).unwrap();
    assert_eq!(live["live"]["grant"], begun.grant.to_string());
    let tombstone = Tombstone::grant(begun.grant, NOW + HOUR);
    let _ = node.end_family(&issuer(), &id, &tombstone).await.unwrap();
    let ended: serde_json::Value = serde_json::from_str(&document()).unwrap();
    assert_eq!(ended["ended"]["id"], format!("g:default:{}", begun.grant));
    assert_eq!(place.psql("SELECT tag FROM tombstones"), begun.grant.slot().number().to_string());
    let options = place.psql("SELECT DISTINCT reloptions FROM pg_class WHERE relname LIKE 'families\\__'");
    assert_eq!(options, "{fillfactor=70}");
}

/// Plans are kept, so the plan that is made for an empty table must suit a full one.
#[tokio::test(flavor = "multi_thread")]
async fn batches_find_their_rows_by_the_index_from_the_start() {
    let place = Place::new("families-planned");
    let connection = place.open().await.postgres.connection().await.unwrap();
    let partitions = place.psql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'families'::regclass");
    let partitions: usize = partitions.parse().unwrap();
    let (keys, numbers, texts): (&[&[u8]], &[i64], &[&str]) = (&[], &[], &[]);
    let all: [crate::postgres::Parameter<'_>; 4] = [&keys, &numbers, &numbers, &texts];
    for (sql, values) in [(table::READ, &all[..1]), (table::MOVE, &all)] {
        let plan = connection.all(&format!("EXPLAIN (COSTS OFF) {sql}"), values).await.unwrap();
        let plan: Vec<&str> = plan.iter().map(|row| row.get(0)).collect();
        let scans = |what: &str| plan.iter().filter(|line| line.contains(what)).count();
        assert_eq!((scans("Index Scan"), scans("Seq Scan"), scans("Hash")), (partitions, 0, 0), "{plan:#?}");
    }
}

/// A document that cannot be read fails the requests for its own family, and no others in the batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_row_fails_alone() {
    let place = Place::new("families-broken");
    let (node, random) = (place.open().await, SeededRandom::new(7));
    let families: Vec<_> = (0..200).map(|_| (draw(&random), family(&random))).collect();
    let _ = node.begin_families(&issuer(), families.clone()).await.unwrap();
    let broken = families[7].1.grant.to_string();
    place.psql(&format!("UPDATE families SET document = '{{}}' WHERE document LIKE '%{broken}%'"));
    let mut requests = JoinSet::new();
    for (index, (id, _)) in families.into_iter().enumerate() {
        let node = Arc::clone(&node);
        requests.spawn(async move {
            let seen = if index % 2 == 1 { node.family(&issuer(), &id).await.map(|_| ()) } else { Ok(()) };
            let rotated = node.rotate(&issuer(), &id, &rotation(1, NOW)).await.map(|_| ());
            (index, seen.and(rotated))
        });
    }
    while let Some(finished) = requests.join_next().await {
        let (index, result) = finished.unwrap();
        assert_eq!(matches!(result, Err(StoreError::Failed(_))), index == 7, "{index}: {result:?}");
    }
}

/// Families that were begun by a release without the list are on it after a start. The mark is set only when no older
/// node runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn families_of_before_the_list_are_on_it_after_a_start() {
    let place = Place::new("families-of-before");
    let random = SeededRandom::new(11);
    let user = UserId::parse("user").unwrap();
    let store = place.open().await;
    let issuer_record = symbolon_store::contract::sample::issuer(issuer().as_str(), NOW);
    store.create_issuer(issuer_record, Default::default()).await.unwrap();
    for _ in 0..3 {
        drop(store.begin_family(&issuer(), &draw(&random), family(&random).into()).await.unwrap());
    }
    let listed = async |store: &ClusterStore| {
        store.next_families_of(&issuer(), &user, None, 100, NOW).await.unwrap().items.len()
    };
    assert_eq!(listed(&store).await, 3);
    place.psql("DELETE FROM families_of_users; DELETE FROM meta WHERE name = 'families_of_users'");
    assert_eq!(listed(&store).await, 0);
    store.close().await.unwrap();
    // An older node runs beside the new one.
    place.psql(
        "UPDATE leases SET closed = true; INSERT INTO leases (node, until, closed, told, seen, version)
                VALUES ('older', now() + interval '1 hour', false, 0, 1000000, '0.1.0')",
    );
    let store = place.open().await;
    assert_eq!(listed(&store).await, 3);
    let mark = "SELECT count(*) FROM meta WHERE name = 'families_of_users'";
    assert_eq!(place.psql(mark).trim(), "0");
    store.close().await.unwrap();
    place.psql("UPDATE leases SET closed = true, until = now()");
    let store = place.open().await;
    assert_eq!(place.psql(mark).trim(), "1");
    store.close().await.unwrap();
}

/// A family's row in the list is deleted once the family was swept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_cleans_the_list() {
    let place = Place::new("families-list-swept");
    let random = SeededRandom::new(12);
    let store = place.open().await;
    let (id, other) = (draw(&random), draw(&random));
    let begun = family(&random);
    drop(store.begin_family(&issuer(), &id, begun.clone().into()).await.unwrap());
    let lasting = Family { idle_expires_at: NOW + 24 * HOUR, ..family(&random) };
    drop(store.begin_family(&issuer(), &other, lasting.into()).await.unwrap());
    let end = Tombstone::grant(begun.grant, NOW + HOUR);
    drop(store.end_family(&issuer(), &id, &end).await.unwrap());
    let rows = || place.psql("SELECT count(*) FROM families_of_users").trim().to_owned();
    store.sweep_families(NOW + HOUR).await.unwrap();
    assert_eq!(rows(), "2", "Redis may still have to be told of its end");
    store.sweep_families(NOW + HOUR + KEPT_AFTER_END).await.unwrap();
    assert_eq!(rows(), "1");
    store.close().await.unwrap();
}
