//! Generations of shards, opened during use.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use symbolon_protocol::code::AuthorizationCode;
use symbolon_protocol::family::{FamilyId, Rotation};
use symbolon_protocol::session::SessionId;
use tokio::task::JoinSet;

use super::sample::{code_grant, draw_session, family, redeem, rotation, session, with_tokens};
use super::{BackEnd, Scene, told};
use crate::port::Redemption;
use crate::shard::{Route, ShardKind};

pub async fn all(back_end: &dyn BackEnd) {
    places_and_routes(back_end).await;
    loses_nothing_when_they_change(back_end).await;
    opens_generations_one_after_the_other(back_end).await;
}

async fn places_and_routes(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "shards").await;
    let Scene { store, issuer, now, .. } = &scene;
    for kind in ShardKind::ALL {
        let current = *store.generations(kind).last().expect("there is always one");
        for _ in 0..100 {
            let route = store.place(kind);
            assert!(route.generation == current.generation && route.shard < current.shards);
            let id = route.draw::<16>(kind, &scene.random);
            assert_eq!(store.route(issuer, kind, &id), route);
        }
        assert_eq!(store.route(issuer, kind, "foreign"), Route::hashed(issuer, "foreign"));
        let opened = store.set_shards(kind, 5, *now).await.unwrap();
        assert_eq!((opened.generation, opened.shards), (current.generation + 1, 5));
        let generations = store.generations(kind);
        assert_eq!(generations.last(), Some(&opened));
        assert_eq!(generations[0].closed_at, Some(*now));
        let placed: BTreeSet<u32> = (0..200).map(|_| store.place(kind).shard).collect();
        assert_eq!(placed.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}

struct Made {
    code: AuthorizationCode,
    session: SessionId,
    family: FamilyId,
}

async fn make(scene: &Scene) -> Made {
    let Scene { store, issuer, now, .. } = scene;
    let grant = code_grant(scene, "user");
    let made = Made {
        code: store.keep_code(issuer, grant, *now, &scene.random).await.unwrap(),
        session: draw_session(&**store, &scene.random),
        family: store.place(ShardKind::Refresh).draw_family(*now, &scene.random),
    };
    told(store.open_session(issuer, &made.session, session(issuer, &made.session, "user", *now)).await).await;
    told(store.begin_family(issuer, &made.family, family(scene, "user").into()).await).await;
    made
}

/// Ids of every generation work before, during and after the change, and after a restart.
async fn loses_nothing_when_they_change(back_end: &dyn BackEnd) {
    let scene = Arc::new(Scene::open(back_end, "shards-change").await);
    let kinds = [ShardKind::Code, ShardKind::Session, ShardKind::Refresh];
    let done = Arc::new(AtomicBool::new(false));
    let mut makers = JoinSet::new();
    for _ in 0..8 {
        let (scene, done) = (Arc::clone(&scene), Arc::clone(&done));
        makers.spawn(async move {
            let mut made = Vec::new();
            while !done.load(Ordering::Relaxed) || made.len() < 20 {
                let one = make(&scene).await;
                let found = told(scene.store.session(&scene.issuer, &one.session, scene.now).await).await;
                assert!(found.is_some(), "lost in the change");
                made.push(one);
            }
            made
        });
    }
    for shards in [3, 200, 1, 64] {
        for kind in kinds {
            scene.store.set_shards(kind, shards, scene.now).await.unwrap();
        }
    }
    done.store(true, Ordering::Relaxed);
    let made: Vec<Made> = makers.join_all().await.into_iter().flatten().collect();
    let Scene { store, issuer, now, .. } = &*scene;
    for Made { code, session, family } in &made {
        let redeemed = redeem(&**store, issuer, code, *now).await.unwrap();
        assert_eq!(redeemed, Redemption::Redeemed);
        let replayed = redeem(&**store, issuer, code, *now).await.unwrap();
        assert_eq!(replayed, Redemption::Replayed);
        assert!(told(store.session(issuer, session, *now).await).await.is_some());
        let rotated = told(store.rotate(issuer, family, &rotation(1, *now)).await).await;
        assert!(matches!(rotated, Rotation::Rotated(_)));
    }
    let generations: Vec<_> = kinds.iter().map(|kind| store.generations(*kind)).collect();
    let after = back_end.after_crash("shards-change").await;
    assert_eq!(kinds.iter().map(|kind| after.generations(*kind)).collect::<Vec<_>>(), generations);
    for Made { session, family, .. } in &made {
        assert!(told(after.session(issuer, session, *now).await).await.is_some());
        let retried = told(after.rotate(issuer, family, &rotation(1, *now)).await).await;
        assert!(matches!(retried, Rotation::Retry(_)));
        assert!(told(after.end_session(issuer, session, &with_tokens(*now)).await).await.is_some());
    }
}

async fn opens_generations_one_after_the_other(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "shards-race").await;
    let mut changes = JoinSet::new();
    for shards in 1..=32 {
        let (store, now) = (Arc::clone(&scene.store), scene.now);
        changes.spawn(async move { store.set_shards(ShardKind::Session, shards, now).await.unwrap() });
    }
    let mut opened = changes.join_all().await;
    opened.sort_by_key(|generation| generation.generation);
    let numbers: BTreeSet<u32> = opened.iter().map(|generation| generation.generation).collect();
    assert_eq!(numbers.len(), 32, "two changes opened the same generation");
    let known = scene.store.generations(ShardKind::Session);
    for one in &opened {
        let same = known.iter().find(|generation| generation.generation == one.generation);
        assert_eq!(same.map(|generation| generation.shards), Some(one.shards));
    }
}
