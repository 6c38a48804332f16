//! Refresh-token families.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::family::{Family, FamilyId, Rotation};
use symbolon_protocol::grant::{GrantId, Slot};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::time::Timestamp;

use super::sample::{HOUR, MINUTE, family, lineage_of, rotation};
use super::{BackEnd, Scene, race, race_for_one, rounds, told};
use crate::port::Created;
use crate::shard::ShardKind;
use crate::{Store, StoreError};

pub async fn all(back_end: &dyn BackEnd) {
    moves_on_version_by_version(back_end).await;
    ends_with_its_grant_when_reused(back_end).await;
    belongs_to_one_issuer(back_end).await;
    begins_for_one_racer(back_end).await;
    is_rotated_by_one_racer(back_end).await;
    has_never_two_live_branches(back_end).await;
    is_ended_by_one_racer(back_end).await;
    is_listed_for_its_user_while_it_lives(back_end).await;
    is_listed_once_while_it_moves_on(back_end).await;
}

fn draw(scene: &Scene) -> FamilyId {
    scene.store.place(ShardKind::Refresh).draw_family(scene.now, &scene.random)
}

/// The family of a registered token, which is found by hash.
fn registered(scene: &Scene, name: &str) -> FamilyId {
    FamilyId { generation: 0, shard: u32::from(Slot::of(&scene.issuer, name).number()), name: name.into() }
}

fn grant_ended(family: &Family, now: Timestamp) -> Tombstone {
    Tombstone::grant(family.grant, now + HOUR)
}

async fn moves_on_version_by_version(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family").await;
    let Scene { store, issuer, now, .. } = &scene;
    for id in [draw(&scene), registered(&scene, "registered")] {
        assert!(told(store.family(issuer, &id).await).await.is_none());
        let unknown = told(store.rotate(issuer, &id, &rotation(1, *now)).await).await;
        assert_eq!(unknown, Rotation::Unknown);
        let begun = family(&scene, "user");
        assert_eq!(told(store.begin_family(issuer, &id, begun.clone().into()).await).await, Created::Created);
        let second = family(&scene, "somebody-else");
        assert_eq!(told(store.begin_family(issuer, &id, second.into()).await).await, Created::Exists);
        assert_eq!(told(store.family(issuer, &id).await).await.as_deref(), Some(&begun));

        let later = *now + MINUTE;
        let Rotation::Rotated(moved) = told(store.rotate(issuer, &id, &rotation(1, later)).await).await
        else {
            panic!("the live version rotates");
        };
        assert_eq!((moved.version, moved.rotated_at, moved.idle_expires_at), (2, later, later + HOUR));
        let soon = later + Duration::from_secs(10);
        let retried = told(store.rotate(issuer, &id, &rotation(1, soon)).await).await;
        assert_eq!(retried, Rotation::Retry(moved.clone()));
        let unchanged = told(store.family(issuer, &id).await).await;
        assert_eq!(unchanged, Some(moved), "a retry changes nothing");
        // A higher authentic version: the store has lost rotations (after a restore, for example), and moves up to it.
        let ahead = told(store.rotate(issuer, &id, &rotation(7, soon)).await).await;
        assert!(matches!(ahead, Rotation::Rotated(ref ahead) if ahead.version == 8), "{ahead:?}");
        let mut fixed = rotation(8, soon);
        fixed.rotate = false;
        let same = told(store.rotate(issuer, &id, &fixed).await).await;
        assert!(matches!(same, Rotation::Rotated(ref same) if same.version == 8), "{same:?}");
        store.sweep(soon).await.unwrap();
        let idle = told(store.rotate(issuer, &id, &rotation(8, soon + HOUR)).await).await;
        assert_eq!(idle, Rotation::Unknown, "unused for too long");

        let ended = told(store.end_family(issuer, &id, &grant_ended(&begun, *now)).await)
            .await
            .expect("live until now");
        assert_eq!(ended.grant, begun.grant);
        assert!(
            told(store.revoked(issuer, &lineage_of(&begun.grant)).await).await,
            "its grant has ended too"
        );
        assert!(told(store.end_family(issuer, &id, &grant_ended(&begun, *now)).await).await.is_none());
        assert!(told(store.family(issuer, &id).await).await.is_none());
        assert_eq!(told(store.rotate(issuer, &id, &rotation(8, soon)).await).await, Rotation::Unknown);
    }
    let many: Vec<_> = (0..5).map(|_| (draw(&scene), family(&scene, "user"))).collect();
    told(store.begin_families(issuer, many.clone()).await).await;
    for (id, begun) in &many {
        assert_eq!(told(store.family(issuer, id).await).await.as_deref(), Some(begun));
    }
}

async fn ends_with_its_grant_when_reused(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-reuse").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    // Any old version; and the one before the live version once its retry window is over.
    for (presented, after) in [(1, Duration::from_secs(1)), (2, Duration::from_secs(11))] {
        let (id, begun) = (draw(&scene), family(&scene, "user"));
        told(store.begin_family(issuer, &id, begun.clone().into()).await).await;
        for version in 1..=2 {
            let moved = told(store.rotate(issuer, &id, &rotation(version, *now)).await).await;
            assert!(matches!(moved, Rotation::Rotated(_)));
        }
        let lineage = lineage_of(&begun.grant);
        assert!(!told(store.revoked(issuer, &lineage).await).await);
        let reused = told(store.rotate(issuer, &id, &rotation(presented, *now + after)).await).await;
        assert!(matches!(reused, Rotation::Reused(_)), "{reused:?}");
        assert!(told(store.revoked(issuer, &lineage).await).await, "its access tokens have ended too");
        assert!(!told(store.revoked(other, &lineage).await).await);
        assert!(told(store.family(issuer, &id).await).await.is_none());
        assert_eq!(told(store.rotate(issuer, &id, &rotation(3, *now)).await).await, Rotation::Unknown);
    }
}

async fn belongs_to_one_issuer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-issuers").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for id in [draw(&scene), registered(&scene, "registered")] {
        told(store.begin_family(issuer, &id, family(&scene, "user").into()).await).await;
        assert!(told(store.family(other, &id).await).await.is_none());
        assert_eq!(told(store.rotate(other, &id, &rotation(1, *now)).await).await, Rotation::Unknown);
        let begun = told(store.family(issuer, &id).await).await.expect("live");
        let ended = grant_ended(&begun, *now);
        assert!(told(store.end_family(other, &id, &ended).await).await.is_none());
        assert!(!told(store.revoked(issuer, &lineage_of(&begun.grant)).await).await);
        let own = family(&scene, "another");
        assert_eq!(told(store.begin_family(other, &id, own.clone().into()).await).await, Created::Created);
        assert_eq!(told(store.family(other, &id).await).await.as_deref(), Some(&own));
        let moved = told(store.rotate(issuer, &id, &rotation(1, *now)).await).await;
        assert!(matches!(moved, Rotation::Rotated(_)));
    }
}

async fn begins_for_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-begin-race").await;
    let id = |round| match round % 2 {
        0 => draw(&scene),
        _ => registered(&scene, &format!("registered-{round}")),
    };
    let ids: Vec<FamilyId> = (0..rounds()).map(id).collect();
    let begun = family(&scene, "user");
    race_for_one("begin_family", |round, _| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let begun = begun.clone();
        async move { told(store.begin_family(&issuer, &id, begun.into()).await).await == Created::Created }
    })
    .await;
}

async fn is_rotated_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-rotate-race").await;
    let families: Vec<_> = (0..rounds()).map(|_| (draw(&scene), family(&scene, "user"))).collect();
    told(scene.store.begin_families(&scene.issuer, families.clone()).await).await;
    let rounds = race(|round, _| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), families[round].0.clone());
        let request = rotation(1, scene.now);
        async move { told(store.rotate(&issuer, &id, &request).await).await }
    })
    .await;
    for outcomes in rounds {
        let mut successors = Vec::new();
        let mut rotated = 0;
        for outcome in outcomes {
            match outcome {
                Rotation::Rotated(family) => {
                    rotated += 1;
                    successors.push(family);
                }
                Rotation::Retry(family) => successors.push(family),
                refused => panic!("within the window every racer gets the successor, not {refused:?}"),
            }
        }
        assert_eq!(rotated, 1);
        assert!(successors.iter().all(|family| *family == successors[0] && family.version == 2));
    }
}

/// Without a retry window: one racer rotates, and a racer that comes a millisecond later with the same version ends the
/// family.
async fn has_never_two_live_branches(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-branch-race").await;
    let families: Vec<_> = (0..rounds()).map(|_| (draw(&scene), family(&scene, "user"))).collect();
    told(scene.store.begin_families(&scene.issuer, families.clone()).await).await;
    let rounds = race(|round, racer| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), families[round].0.clone());
        let mut request = rotation(1, scene.now + Duration::from_millis(racer as u64));
        request.retry_window = Duration::ZERO;
        async move { told(store.rotate(&issuer, &id, &request).await).await }
    })
    .await;
    let mut ended = 0;
    for (outcomes, (id, begun)) in rounds.into_iter().zip(&families) {
        let count = |is: fn(&Rotation) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
        let rotated = count(|outcome| matches!(outcome, Rotation::Rotated(_)));
        let reused = count(|outcome| matches!(outcome, Rotation::Reused(_)));
        assert_eq!(rotated, 1);
        assert!(reused <= 1, "{reused} racers ended the same family");
        let live = told(scene.store.family(&scene.issuer, id).await).await;
        let revoked = told(scene.store.revoked(&scene.issuer, &lineage_of(&begun.grant)).await).await;
        assert_eq!((live.is_none(), revoked), (reused == 1, reused == 1));
        ended += reused;
    }
    assert!(ended > 0, "the race never came to a reuse: it proves nothing");
}

async fn is_ended_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-end-race").await;
    let families: Vec<_> = (0..rounds()).map(|_| (draw(&scene), family(&scene, "user"))).collect();
    told(scene.store.begin_families(&scene.issuer, families.clone()).await).await;
    race_for_one("end_family", |round, racer| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), families[round].0.clone());
        let (request, ended) = (rotation(1, scene.now), grant_ended(&families[round].1, scene.now));
        async move {
            if racer % 8 == 7 {
                told(store.rotate(&issuer, &id, &request).await).await;
                return false;
            }
            told(store.end_family(&issuer, &id, &ended).await).await.is_some()
        }
    })
    .await;
    for (id, begun) in &families {
        assert!(told(scene.store.family(&scene.issuer, id).await).await.is_none(), "rotated back to life");
        assert!(told(scene.store.revoked(&scene.issuer, &lineage_of(&begun.grant)).await).await);
    }
}

/// Reads a user's families in pieces of `limit`; returns their grants.
async fn listed(
    store: &dyn Store,
    issuer: &IssuerId,
    user: &str,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<GrantId>, StoreError> {
    let user = UserId::parse(user).unwrap();
    let (mut grants, mut after) = (Vec::new(), None);
    loop {
        let piece = store.next_families_of(issuer, &user, after, limit, now).await?;
        assert!(piece.items.len() <= limit as usize, "a piece is bounded");
        assert!(piece.items.iter().all(|family| family.user == user));
        grants.extend(piece.items.iter().map(|family| family.grant));
        after = match piece.next {
            Some(next) => Some(next),
            None => return Ok(grants),
        };
    }
}

fn sorted(mut grants: Vec<GrantId>) -> Vec<GrantId> {
    grants.sort_unstable_by_key(GrantId::to_string);
    grants
}

async fn is_listed_for_its_user_while_it_lives(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-list").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    assert_eq!(listed(&**store, issuer, "ann", 10, *now).await.unwrap(), []);
    let mut own = Vec::new();
    for n in 0..7 {
        let id = if n % 2 == 0 { draw(&scene) } else { registered(&scene, &format!("registered-{n}")) };
        let begun = family(&scene, "ann");
        assert_eq!(told(store.begin_family(issuer, &id, begun.clone().into()).await).await, Created::Created);
        own.push((id, begun));
    }
    let many: Vec<_> = (0..3).map(|_| (draw(&scene), family(&scene, "ann"))).collect();
    told(store.begin_families(issuer, many.clone()).await).await;
    own.extend(many);
    // Families of another user, and of a user with the same id at another issuer.
    told(store.begin_family(issuer, &draw(&scene), family(&scene, "bob").into()).await).await;
    told(store.begin_family(other, &draw(&scene), family(&scene, "ann").into()).await).await;
    let grants = |of: &[(FamilyId, Family)]| sorted(of.iter().map(|(_, family)| family.grant).collect());
    for limit in [1, 3, 10, 1_000] {
        let found = listed(&**store, issuer, "ann", limit, *now).await.unwrap();
        assert_eq!(sorted(found), grants(&own), "limit {limit}");
    }
    assert_eq!(listed(&**store, other, "ann", 10, *now).await.unwrap().len(), 1);
    assert_eq!(listed(&**store, other, "bob", 10, *now).await.unwrap(), []);

    // Families that ended: by revocation, by reuse, and by themselves.
    let (revoked, begun) = own.remove(0);
    told(store.end_family(issuer, &revoked, &grant_ended(&begun, *now)).await).await.expect("live");
    let (reused, _) = own.remove(0);
    for version in [1, 2] {
        told(store.rotate(issuer, &reused, &rotation(version, *now)).await).await;
    }
    let again = told(store.rotate(issuer, &reused, &rotation(1, *now)).await).await;
    assert!(matches!(again, Rotation::Reused(_)));
    let (moved, _) = &own[0];
    told(store.rotate(issuer, moved, &rotation(1, *now + MINUTE)).await).await;
    let found = listed(&**store, issuer, "ann", 3, *now + MINUTE).await.unwrap();
    assert_eq!(sorted(found), grants(&own));
    // After an hour without use, only the one that was used is still alive.
    let found = listed(&**store, issuer, "ann", 3, *now + HOUR).await.unwrap();
    assert_eq!(found, [own[0].1.grant]);
    store.sweep(*now).await.unwrap();
    let after = back_end.after_crash("family-list").await;
    let found = listed(&*after, issuer, "ann", 2, *now + MINUTE).await.unwrap();
    assert_eq!(sorted(found), grants(&own));
}

/// While some families are rotated and others begin and end, those that live all the while come exactly once.
async fn is_listed_once_while_it_moves_on(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "family-list-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    let stay: Vec<_> = (0..40).map(|_| (draw(&scene), family(&scene, "ann"))).collect();
    let go: Vec<_> = (0..40).map(|_| (draw(&scene), family(&scene, "ann"))).collect();
    told(store.begin_families(issuer, stay.iter().chain(&go).cloned().collect()).await).await;
    let ids: Vec<_> = (0..40).map(|_| draw(&scene)).collect();
    let (store_of_task, issuer_of_task, now_of_task) = (Arc::clone(store), issuer.clone(), *now);
    let (begun, of_task, ended) = (family(&scene, "ann"), stay.clone(), go.clone());
    let changes = tokio::spawn(async move {
        let (store, issuer, now) = (store_of_task, issuer_of_task, now_of_task);
        for (round, new) in (1..).zip(ids) {
            for (id, _) in &of_task {
                let moved = told(store.rotate(&issuer, id, &rotation(round, now)).await).await;
                assert!(matches!(moved, Rotation::Rotated(_)), "{moved:?}");
            }
            told(store.begin_family(&issuer, &new, begun.clone().into()).await).await;
            let (id, gone) = &ended[round as usize - 1];
            told(store.end_family(&issuer, id, &grant_ended(gone, now)).await).await.expect("live");
        }
    });
    let mut rounds = 0;
    while !changes.is_finished() || rounds == 0 {
        let found = listed(&**store, issuer, "ann", 7, *now).await.unwrap();
        for (_, family) in &stay {
            let times = found.iter().filter(|grant| **grant == family.grant).count();
            assert_eq!(times, 1, "round {rounds}");
        }
        rounds += 1;
    }
    changes.await.unwrap();
    let found = listed(&**store, issuer, "ann", 7, *now).await.unwrap();
    assert!(go.iter().all(|(_, gone)| !found.contains(&gone.grant)));
    assert_eq!(found.len(), stay.len() + 40);
}
