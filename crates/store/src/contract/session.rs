//! Sessions.

use std::sync::Arc;

use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::session::SessionId;

use super::sample::{HOUR, MINUTE, draw_session, page, session};
use super::{BackEnd, ROUNDS, Scene, race_for_one, told};
use crate::shard::{Kind, sid_of};

pub async fn all(back_end: &dyn BackEnd) {
    lives_until_it_ends(back_end).await;
    belongs_to_one_issuer(back_end).await;
    is_found_under_foreign_names(back_end).await;
    is_listed_newest_first(back_end).await;
    is_ended_by_one_racer(back_end).await;
    notes_a_client_for_one_racer(back_end).await;
}

async fn lives_until_it_ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session").await;
    let Scene { store, issuer, now, .. } = &scene;
    let id = draw_session(&**store, &scene.random);
    let (client, user) = (ClientId::parse("client").unwrap(), UserId::parse("user").unwrap());
    assert!(told(store.session(issuer, &id, *now).await).await.is_none());
    assert!(!told(store.note_client(issuer, &id, &client).await).await);
    let opened = session(issuer, &id, "user", *now);
    told(store.open_session(issuer, &id, opened.clone()).await).await;
    assert_eq!(told(store.session(issuer, &id, *now).await).await.as_deref(), Some(&opened));
    assert!(told(store.note_client(issuer, &id, &client).await).await);
    assert!(!told(store.note_client(issuer, &id, &client).await).await);
    // A use that is worth writing loses nothing.
    store.sweep(*now + 5 * MINUTE).await.unwrap();
    let found = told(store.session(issuer, &id, *now + 5 * MINUTE).await).await.expect("live");
    assert_eq!(*found.clients, [client]);
    assert!(told(store.session(issuer, &id, *now + HOUR).await).await.is_none(), "its time is over");

    let ended = told(store.end_session(issuer, &id).await).await.expect("live until now");
    assert_eq!(ended.sid, opened.sid);
    assert!(told(store.end_session(issuer, &id).await).await.is_none());
    store.sweep(*now).await.unwrap();
    assert!(told(store.session(issuer, &id, *now).await).await.is_none());
    assert!(told(store.end_session_by_sid(issuer, opened.sid.as_str()).await).await.is_none());
    assert_eq!(told(store.end_sessions_of(issuer, &user).await).await, 0);

    let ids: Vec<SessionId> = (0..5).map(|_| draw_session(&**store, &scene.random)).collect();
    let many = ids.iter().map(|id| (id.clone(), session(issuer, id, "user", *now))).collect();
    told(store.open_sessions(issuer, many).await).await;
    let sid = sid_of(issuer, &ids[0]);
    assert!(told(store.end_session_by_sid(issuer, sid.as_str()).await).await.is_some());
    assert!(told(store.session(issuer, &ids[0], *now).await).await.is_none());
    for foreign in ["", "sid", "1_0", "1_0_short", "x_y_z"] {
        assert!(told(store.end_session_by_sid(issuer, foreign).await).await.is_none(), "{foreign}");
    }
    assert_eq!(told(store.end_sessions_of(issuer, &user).await).await, 4);
    assert_eq!(told(store.end_sessions_of(issuer, &user).await).await, 0);
    for id in &ids {
        assert!(told(store.session(issuer, id, *now).await).await.is_none());
    }
}

async fn belongs_to_one_issuer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-issuers").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (client, user) = (ClientId::parse("client").unwrap(), UserId::parse("user").unwrap());
    let id = draw_session(&**store, &scene.random);
    told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
    let sid = sid_of(issuer, &id);
    assert!(told(store.session(other, &id, *now).await).await.is_none());
    assert!(!told(store.note_client(other, &id, &client).await).await);
    assert!(told(store.end_session(other, &id).await).await.is_none());
    assert!(told(store.end_session_by_sid(other, sid.as_str()).await).await.is_none());
    assert_eq!(told(store.end_sessions_of(other, &user).await).await, 0);
    assert_eq!(store.list_sessions(other, None, &page(1, 10), *now).await.unwrap().total, 0);
    assert_eq!(store.list_sessions(other, Some(&user), &page(1, 10), *now).await.unwrap().total, 0);
    assert!(told(store.session(issuer, &id, *now).await).await.is_some());
}

/// Ids that are not in our form, or name shards that never were, and a `sid` that was tampered with.
async fn is_found_under_foreign_names(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-names").await;
    let Scene { store, issuer, now, .. } = &scene;
    let user = UserId::parse("user").unwrap();
    for text in
        ["foreign", "se_99_3_abcdefghijklmnopqrstuv", "se_1_4000000_abcdefghijklmnopqrstuv", "se_0_0_x"]
    {
        let id = SessionId::new(text);
        told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
        assert!(told(store.session(issuer, &id, *now).await).await.is_some(), "{text}");
        let sid = sid_of(issuer, &id);
        assert!(told(store.end_session_by_sid(issuer, sid.as_str()).await).await.is_some(), "{text}");
        assert!(told(store.session(issuer, &id, *now).await).await.is_none(), "{text}");
        told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
    }
    assert_eq!(told(store.end_sessions_of(issuer, &user).await).await, 4);

    let current = *store.generations(Kind::Session).last().unwrap();
    let id = draw_session(&**store, &scene.random);
    told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
    let sid = sid_of(issuer, &id);
    let key = sid.as_str().splitn(3, '_').nth(2).unwrap();
    for shard in 0..current.shards {
        let tampered = format!("{}_{shard}_{key}", current.generation);
        if tampered != sid.as_str() {
            assert!(told(store.end_session_by_sid(issuer, &tampered).await).await.is_none(), "{tampered}");
        }
    }
    assert!(told(store.session(issuer, &id, *now).await).await.is_some());
}

async fn is_listed_newest_first(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-list").await;
    let Scene { store, issuer, now, .. } = &scene;
    let user = UserId::parse("user-1").unwrap();
    for n in 0..10_u32 {
        let id = draw_session(&**store, &scene.random);
        let mut opened = session(issuer, &id, &format!("user-{}", n % 2), *now + n * MINUTE);
        opened.expires_at = *now + HOUR + n * MINUTE;
        told(store.open_session(issuer, &id, opened).await).await;
    }
    let mut all = Vec::new();
    for number in 1..=4 {
        let listed = store.list_sessions(issuer, None, &page(number, 3), *now).await.unwrap();
        assert_eq!(listed.total, 10);
        all.extend(listed.items.into_iter().map(|listed| listed.session.created_at));
    }
    assert_eq!(all, (0..10_u32).rev().map(|n| *now + n * MINUTE).collect::<Vec<_>>());
    let of_user = store.list_sessions(issuer, Some(&user), &page(1, 100), *now).await.unwrap();
    assert_eq!((of_user.total, of_user.items.len()), (5, 5));
    assert!(of_user.items.iter().all(|listed| listed.session.user == user));
    let later = store.list_sessions(issuer, None, &page(1, 100), *now + HOUR + 4 * MINUTE).await.unwrap();
    assert_eq!(later.total, 5, "what has ended is not listed");
}

async fn is_ended_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-race").await;
    let ids: Vec<SessionId> = (0..ROUNDS).map(|_| draw_session(&*scene.store, &scene.random)).collect();
    let sessions = ids.iter().map(|id| (id.clone(), session(&scene.issuer, id, "user", scene.now))).collect();
    told(scene.store.open_sessions(&scene.issuer, sessions).await).await;
    race_for_one("end_session", |round, racer| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        async move {
            if racer % 2 == 0 {
                told(store.end_session(&issuer, &id).await).await.is_some()
            } else {
                let sid = sid_of(&issuer, &id);
                told(store.end_session_by_sid(&issuer, sid.as_str()).await).await.is_some()
            }
        }
    })
    .await;
    let left = scene.store.list_sessions(&scene.issuer, None, &page(1, 10), scene.now).await.unwrap();
    assert_eq!(left.total, 0);
}

async fn notes_a_client_for_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-client-race").await;
    let ids: Vec<SessionId> = (0..ROUNDS).map(|_| draw_session(&*scene.store, &scene.random)).collect();
    let sessions = ids.iter().map(|id| (id.clone(), session(&scene.issuer, id, "user", scene.now))).collect();
    told(scene.store.open_sessions(&scene.issuer, sessions).await).await;
    race_for_one("note_client", |round, _| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let client = ClientId::parse("client").unwrap();
        async move { told(store.note_client(&issuer, &id, &client).await).await }
    })
    .await;
}
