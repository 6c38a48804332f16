//! Pushed authorization requests.

use std::sync::Arc;

use symbolon_protocol::authorize::pushed_request::PushedRequestId;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;

use super::sample::MINUTE;
use super::{BackEnd, Scene, race_for_one, rounds};
use crate::StoreError;
use crate::port::PushedBy;

pub async fn all(back_end: &dyn BackEnd) {
    is_used_once_by_its_client(back_end).await;
    ends(back_end).await;
    is_used_by_one_racer(back_end).await;
    leaves_room_for_other_clients(back_end).await;
}

const REQUEST: &[u8] = b"client_id=app&response_type=code";

fn client(id: &str) -> ClientId {
    ClientId::parse(id).unwrap()
}

async fn push(scene: &Scene, end: Timestamp) -> PushedRequestId {
    let Scene { store, issuer, random, .. } = scene;
    let by = PushedBy { client: &client("app"), is_stranger: false };
    store.keep_pushed_request(issuer, by, REQUEST.into(), end, random).await.unwrap()
}

async fn is_used_once_by_its_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "pushed-request").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (id, another) = (push(&scene, *now + MINUTE).await, push(&scene, *now + MINUTE).await);
    assert_ne!(id, another);
    let used = async |issuer: &IssuerId, by: &str, id: &PushedRequestId| {
        store.use_pushed_request(issuer, &client(by), id, *now).await.unwrap()
    };
    assert!(used(other, "app", &id).await.is_none(), "another issuer's");
    assert!(used(issuer, "other", &id).await.is_none(), "another client's");
    for no_id in ["", "app", "tx_1_0_AAAAAAAAAAAAAAAAAAAAAA", "tx_9_999_x"] {
        assert!(used(issuer, "app", &PushedRequestId::new(no_id)).await.is_none(), "{no_id}");
    }
    store.sweep(*now + MINUTE / 2).await.unwrap();
    assert_eq!(used(issuer, "app", &id).await.as_deref(), Some(REQUEST), "what others tried changed nothing");
    assert!(used(issuer, "app", &id).await.is_none(), "a second time");
    assert_eq!(used(issuer, "app", &another).await.as_deref(), Some(REQUEST));
}

async fn ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "pushed-request-end").await;
    let Scene { store, issuer, now, .. } = &scene;
    let end = *now + MINUTE;
    let (late, forgotten) = (push(&scene, end).await, push(&scene, end).await);
    assert!(store.use_pushed_request(issuer, &client("app"), &late, end).await.unwrap().is_none());
    if scene.forgets {
        assert!(store.sweep(end + 16 * MINUTE).await.unwrap() > 0);
        assert!(store.use_pushed_request(issuer, &client("app"), &forgotten, *now).await.unwrap().is_none());
    }
}

async fn is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "pushed-request-race").await;
    let mut ids = Vec::new();
    for _ in 0..rounds() {
        ids.push(push(&scene, scene.now + MINUTE).await);
    }
    race_for_one("use_pushed_request", |round, _| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let now = scene.now;
        async move { store.use_pushed_request(&issuer, &client("app"), &id, now).await.unwrap().is_some() }
    })
    .await;
}

/// One client that pushes without end, and all together that anybody can be, take half each and keep no other client out.
async fn leaves_room_for_other_clients(back_end: &dyn BackEnd) {
    /// So long that few of them take all that one client may.
    const LONG: usize = 512 * 1024;
    let scene = Scene::open(back_end, "pushed-request-flood").await;
    let Scene { store, issuer, now, random, .. } = &scene;
    let push = async |by: &str, is_stranger: bool| {
        let by = PushedBy { client: &client(by), is_stranger };
        store.keep_pushed_request(issuer, by, vec![b'a'; LONG].into(), *now + MINUTE, random).await
    };
    let mut ids = Vec::new();
    while let Ok(id) = push("loud", false).await {
        ids.push(id);
        assert!(ids.len() < 200, "it took more than any client may");
    }
    assert!(ids.len() > 100, "{} of 512 KiB are half of 128 MiB", ids.len());
    assert!(matches!(push("loud", false).await, Err(StoreError::Unavailable(_))));
    let quiet = push("quiet", false).await.unwrap();
    push("stranger", true).await.unwrap();
    let used = store.use_pushed_request(issuer, &client("quiet"), &quiet, *now).await.unwrap();
    assert_eq!(used.map(|request| request.len()), Some(LONG));
    let own = store.use_pushed_request(issuer, &client("loud"), &ids[0], *now).await.unwrap();
    assert!(own.is_some(), "what is there stays");
}
