//! Login and consent transactions.

use std::sync::Arc;

use super::sample::MINUTE;
use super::{BackEnd, Scene, race_for_one, rounds};
use crate::shard::ShardKind;

pub async fn all(back_end: &dyn BackEnd) {
    is_taken_once(back_end).await;
    is_replaced_while_it_is_there(back_end).await;
    is_taken_by_one_racer(back_end).await;
    is_not_brought_back_by_racers(back_end).await;
}

fn draw(scene: &Scene) -> String {
    scene.store.place(ShardKind::Challenge).draw::<16>(ShardKind::Challenge, &scene.random).to_string()
}

async fn is_taken_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "challenge").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (id, value, end) = (draw(&scene), Arc::<[u8]>::from(*b"state"), *now + MINUTE);
    assert!(store.take_challenge(issuer, &id, *now).await.unwrap().is_none());
    store.keep_challenge(issuer, &id, Arc::clone(&value), end).await.unwrap();
    assert_eq!(store.challenge(issuer, &id, *now).await.unwrap().as_deref(), Some(&value[..]));
    assert!(store.challenge(other, &id, *now).await.unwrap().is_none());
    assert!(store.take_challenge(other, &id, *now).await.unwrap().is_none());
    store.sweep(*now + MINUTE / 2).await.unwrap();
    assert_eq!(store.take_challenge(issuer, &id, *now).await.unwrap().as_deref(), Some(&value[..]));
    assert!(store.challenge(issuer, &id, *now).await.unwrap().is_none());
    assert!(store.take_challenge(issuer, &id, *now).await.unwrap().is_none());

    let late = draw(&scene);
    store.keep_challenge(issuer, &late, Arc::clone(&value), end).await.unwrap();
    assert!(store.challenge(issuer, &late, end).await.unwrap().is_none());
    assert!(store.take_challenge(issuer, &late, end).await.unwrap().is_none());
    let forgotten = draw(&scene);
    store.keep_challenge(issuer, &forgotten, value, end).await.unwrap();
    if scene.forgets {
        assert!(store.sweep(end + 16 * MINUTE).await.unwrap() > 0);
        assert!(store.challenge(issuer, &forgotten, *now).await.unwrap().is_none());
    }
}

async fn is_replaced_while_it_is_there(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "challenge-replaced").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (id, end) = (draw(&scene), *now + MINUTE);
    let (before, after) = (Arc::<[u8]>::from(*b"before"), Arc::<[u8]>::from(*b"what came after"));
    let replace = async |issuer, id: &str, end, now| {
        store.replace_challenge(issuer, id, Arc::clone(&after), end, now).await.unwrap()
    };
    assert!(!replace(issuer, &id, end, *now).await, "an unknown one");
    assert!(store.challenge(issuer, &id, *now).await.unwrap().is_none());
    store.keep_challenge(issuer, &id, before, end).await.unwrap();
    assert!(!replace(other, &id, end, *now).await, "another issuer's");
    assert!(replace(issuer, &id, end + MINUTE, *now).await);
    assert_eq!(store.challenge(issuer, &id, end).await.unwrap().as_deref(), Some(&after[..]), "a new end");
    assert!(!replace(issuer, &id, end + 2 * MINUTE, end + MINUTE).await, "one that is over");
    assert_eq!(store.take_challenge(issuer, &id, end).await.unwrap().as_deref(), Some(&after[..]));
    assert!(!replace(issuer, &id, end, *now).await, "one that was used up");
    assert!(store.challenge(issuer, &id, *now).await.unwrap().is_none());
    assert!(store.take_challenge(issuer, &id, *now).await.unwrap().is_none());
}

async fn is_taken_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "challenge-race").await;
    let ids: Vec<String> = (0..rounds()).map(|_| draw(&scene)).collect();
    for id in &ids {
        let value = Arc::from(*b"state");
        scene.store.keep_challenge(&scene.issuer, id, value, scene.now + MINUTE).await.unwrap();
    }
    race_for_one("take_challenge", |round, _| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let now = scene.now;
        async move { store.take_challenge(&issuer, &id, now).await.unwrap().is_some() }
    })
    .await;
}

/// Half of the racers read the challenge and write it back, as a second submission of a page does.
async fn is_not_brought_back_by_racers(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "challenge-comeback").await;
    let ids: Vec<String> = (0..rounds()).map(|_| draw(&scene)).collect();
    for id in &ids {
        let value = Arc::from(*b"state");
        scene.store.keep_challenge(&scene.issuer, id, value, scene.now + MINUTE).await.unwrap();
    }
    race_for_one("take_challenge beside replace_challenge", |round, racer| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let now = scene.now;
        async move {
            if racer % 2 == 0
                && let Some(value) = store.challenge(&issuer, &id, now).await.unwrap()
            {
                store.replace_challenge(&issuer, &id, value, now + MINUTE, now).await.unwrap();
            }
            store.take_challenge(&issuer, &id, now).await.unwrap().is_some()
        }
    })
    .await;
    for id in &ids {
        assert!(scene.store.challenge(&scene.issuer, id, scene.now).await.unwrap().is_none());
    }
}
