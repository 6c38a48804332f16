//! Sessions.

use std::sync::Arc;

use symbolon_protocol::id::{ClientId, IssuerId, Sid, UserId};
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::{Amr, AuthenticationMethod, Session, SessionId};
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::time::Timestamp;

use super::sample::{HOUR, MINUTE, draw_session, lineage_in, page, session, with_tokens};
use super::{BackEnd, Scene, race, race_for_one, rounds, told};
use crate::Store;
use crate::shard::{ShardKind, sid_of};

pub async fn all(back_end: &dyn BackEnd) {
    lives_until_it_ends(back_end).await;
    belongs_to_one_issuer(back_end).await;
    is_found_under_foreign_names(back_end).await;
    is_found_by_its_public_name(back_end).await;
    is_listed_newest_first(back_end).await;
    is_listed_with_where_it_began(back_end).await;
    is_beyond_the_number_of_sign_ins(back_end).await;
    is_listed_once_while_others_come_and_go(back_end).await;
    takes_its_tokens_along(back_end).await;
    is_never_gone_before_its_tokens(back_end).await;
    is_ended_by_one_racer(back_end).await;
    notes_a_client_for_one_racer(back_end).await;
}

async fn lives_until_it_ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session").await;
    let Scene { store, issuer, now, .. } = &scene;
    let id = draw_session(&**store, &scene.random);
    let (client, user) = (ClientId::parse("client").unwrap(), UserId::parse("user").unwrap());
    assert!(told(store.session(issuer, &id, *now).await).await.is_none());
    assert!(!told(store.note_client(issuer, &id, &client, false).await).await);
    let opened = session(issuer, &id, "user", *now);
    told(store.open_session(issuer, &id, opened.clone()).await).await;
    assert_eq!(told(store.session(issuer, &id, *now).await).await.as_deref(), Some(&opened));
    assert!(told(store.note_client(issuer, &id, &client, false).await).await);
    assert!(!told(store.note_client(issuer, &id, &client, false).await).await);
    // A use that is written keeps the session's other members.
    store.sweep(*now + 5 * MINUTE).await.unwrap();
    let found = told(store.session(issuer, &id, *now + 5 * MINUTE).await).await.expect("live");
    assert_eq!(*found.clients, [client]);
    assert!(told(store.session(issuer, &id, *now + HOUR).await).await.is_none(), "its time is over");

    let ended = told(store.end_session(issuer, &id, &with_tokens(*now)).await).await.expect("live until now");
    assert_eq!(ended.sid, opened.sid);
    assert!(told(store.end_session(issuer, &id, &with_tokens(*now)).await).await.is_none());
    store.sweep(*now).await.unwrap();
    assert!(told(store.session(issuer, &id, *now).await).await.is_none());
    assert!(
        told(store.end_session_by_sid(issuer, opened.sid.as_str(), &with_tokens(*now)).await).await.is_none()
    );
    assert_eq!(told(store.end_sessions_of(issuer, &user, &with_tokens(*now)).await).await, 0);

    let ids: Vec<SessionId> = (0..5).map(|_| draw_session(&**store, &scene.random)).collect();
    let many = ids.iter().map(|id| (id.clone(), session(issuer, id, "user", *now))).collect();
    told(store.open_sessions(issuer, many).await).await;
    let sid = sid_of(issuer, &ids[0]);
    assert!(told(store.end_session_by_sid(issuer, sid.as_str(), &with_tokens(*now)).await).await.is_some());
    assert!(told(store.session(issuer, &ids[0], *now).await).await.is_none());
    for foreign in ["", "sid", "1_0", "1_0_short", "x_y_z"] {
        assert!(
            told(store.end_session_by_sid(issuer, foreign, &with_tokens(*now)).await).await.is_none(),
            "{foreign}"
        );
    }
    assert_eq!(told(store.end_sessions_of(issuer, &user, &with_tokens(*now)).await).await, 4);
    assert_eq!(told(store.end_sessions_of(issuer, &user, &with_tokens(*now)).await).await, 0);
    for id in &ids {
        assert!(told(store.session(issuer, id, *now).await).await.is_none());
    }
}

async fn is_listed_with_where_it_began(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-origins").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let user = UserId::parse("user").unwrap();
    let ids = [(), ()].map(|()| draw_session(&**store, &scene.random));
    for id in &ids {
        told(store.open_session(issuer, id, session(issuer, id, "user", *now)).await).await;
    }
    let [one, unnoted] = ids.each_ref().map(|id| session(issuer, id, "user", *now));
    let address = Some("192.0.2.7".parse().unwrap());
    let origin = SessionOrigin { device: Some("Firefox · Linux".into()), address };
    store.note_origin(issuer, &one, &origin).await.unwrap();
    // Another issuer's word about it changes nothing.
    store.note_origin(other, &unnoted, &origin).await.unwrap();
    let listed = async || {
        let mut items = store.list_sessions(issuer, &user, &page(1, 10), *now).await.unwrap().items;
        items.sort_by_key(|listed| listed.session.sid != one.sid);
        items.into_iter().map(|listed| listed.origin).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [Some(origin.clone()), None]);
    let piece = store.next_sessions(issuer, None, 10, *now).await.unwrap().items;
    for (session, expected) in [(&one, Some(&origin)), (&unnoted, None)] {
        assert_eq!(store.session_origin(issuer, session).await.unwrap().as_ref(), expected);
        let listed = piece.iter().find(|listed| listed.session.sid == session.sid).unwrap();
        assert_eq!(listed.origin.as_ref(), expected, "in the list of all, too");
    }
    assert_eq!(store.session_origin(other, &one).await.unwrap(), None, "of another issuer");
    // A use that is written, and another client, take nothing away.
    store.sweep(*now + 5 * MINUTE).await.unwrap();
    told(store.session(issuer, &ids[0], *now + 5 * MINUTE).await).await.expect("live");
    told(store.note_client(issuer, &ids[0], &ClientId::parse("client").unwrap(), false).await).await;
    assert_eq!(listed().await, [Some(origin.clone()), None]);
    told(store.end_session(issuer, &ids[0], &with_tokens(*now)).await).await.expect("live until now");
    store.note_origin(issuer, &one, &origin).await.unwrap();
    assert_eq!(listed().await, [None], "the one that has ended is in no list");
}

async fn belongs_to_one_issuer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-issuers").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (client, user) = (ClientId::parse("client").unwrap(), UserId::parse("user").unwrap());
    let id = draw_session(&**store, &scene.random);
    told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
    let sid = sid_of(issuer, &id);
    assert!(told(store.session(other, &id, *now).await).await.is_none());
    assert!(!told(store.note_client(other, &id, &client, false).await).await);
    assert!(told(store.end_session(other, &id, &with_tokens(*now)).await).await.is_none());
    assert!(told(store.end_session_by_sid(other, sid.as_str(), &with_tokens(*now)).await).await.is_none());
    assert_eq!(told(store.end_sessions_of(other, &user, &with_tokens(*now)).await).await, 0);
    assert!(told(store.session_by_sid(other, sid.as_str(), *now).await).await.is_none());
    assert!(everything(&**store, other, *now).await.is_empty());
    assert_eq!(store.list_sessions(other, &user, &page(1, 10), *now).await.unwrap().total, 0);
    assert!(told(store.session(issuer, &id, *now).await).await.is_some());
}

/// Ids in another form or with shards that never existed, and a `sid` that was tampered with.
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
        assert!(
            told(store.end_session_by_sid(issuer, sid.as_str(), &with_tokens(*now)).await).await.is_some(),
            "{text}"
        );
        assert!(told(store.session(issuer, &id, *now).await).await.is_none(), "{text}");
        // An id that has ended does not come back.
        let id = SessionId::new(format!("{text}2"));
        told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
    }
    assert_eq!(told(store.end_sessions_of(issuer, &user, &with_tokens(*now)).await).await, 4);

    let current = *store.generations(ShardKind::Session).last().unwrap();
    let id = draw_session(&**store, &scene.random);
    told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
    let sid = sid_of(issuer, &id);
    let key = sid.as_str().splitn(3, '_').nth(2).unwrap();
    for shard in 0..current.shards {
        let tampered = format!("{}_{shard}_{key}", current.generation);
        if tampered != sid.as_str() {
            assert!(
                told(store.end_session_by_sid(issuer, &tampered, &with_tokens(*now)).await).await.is_none(),
                "{tampered}"
            );
        }
    }
    assert!(told(store.session(issuer, &id, *now).await).await.is_some());
}

/// Reads every live session of an issuer, a few at a time.
async fn everything(store: &dyn Store, issuer: &IssuerId, now: Timestamp) -> Vec<Arc<Session>> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let piece = store.next_sessions(issuer, after, 7, now).await.unwrap();
        assert!(piece.items.len() <= 7);
        all.extend(piece.items.into_iter().map(|listed| listed.session));
        match piece.next {
            Some(next) => after = Some(next),
            None => return all,
        }
    }
}

async fn is_listed_newest_first(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-list").await;
    let Scene { store, issuer, now, .. } = &scene;
    let user = UserId::parse("user-1").unwrap();
    for n in 0..20_u32 {
        let id = draw_session(&**store, &scene.random);
        let mut opened = session(issuer, &id, &format!("user-{}", n % 2), *now + n * MINUTE);
        opened.expires_at = *now + HOUR + n * MINUTE;
        told(store.open_session(issuer, &id, opened).await).await;
    }
    let mut all = Vec::new();
    for number in 1..=4 {
        let listed = store.list_sessions(issuer, &user, &page(number, 3), *now).await.unwrap();
        assert_eq!(listed.total, 10);
        all.extend(listed.items.into_iter().map(|listed| listed.session.created_at));
    }
    assert_eq!(all, (0..10_u32).rev().map(|n| *now + (2 * n + 1) * MINUTE).collect::<Vec<_>>());
    let late = *now + HOUR + 9 * MINUTE;
    let later = store.list_sessions(issuer, &user, &page(1, 100), late).await.unwrap();
    assert_eq!(later.total, 5, "what has ended is not listed");
    assert!(later.items.iter().all(|listed| listed.session.user == user));
    assert_eq!(everything(&**store, issuer, late).await.len(), 10);
}

async fn is_beyond_the_number_of_sign_ins(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-beyond").await;
    let Scene { store, issuer, now, .. } = &scene;
    let user = UserId::parse("user").unwrap();
    let mut sids = Vec::new();
    for n in 0..6_u32 {
        let id = draw_session(&**store, &scene.random);
        let mut opened = session(issuer, &id, "user", *now + n * MINUTE);
        if n == 2 {
            opened.amr = Amr::of(AuthenticationMethod::AdminApi);
        }
        sids.push(opened.sid.clone());
        told(store.open_session(issuer, &id, opened).await).await;
    }
    let beyond = async |keep, at| {
        let found = store.sign_ins_beyond(issuer, &user, keep, at).await.unwrap();
        found.into_iter().map(|listed| listed.session.sid.clone()).collect::<Vec<_>>()
    };
    assert_eq!(beyond(2, *now).await, [sids[0].clone(), sids[1].clone(), sids[3].clone()]);
    assert!(beyond(5, *now).await.is_empty(), "one was not begun by signing in");
    assert!(beyond(100, *now).await.is_empty());
    assert_eq!(beyond(2, *now + HOUR + MINUTE).await, [sids[3].clone()], "two are over by then");
    let other = UserId::parse("other").unwrap();
    assert!(store.sign_ins_beyond(issuer, &other, 0, *now).await.unwrap().is_empty());
}

/// Sessions begin and end while the list is read: those that live all the while come once.
async fn is_listed_once_while_others_come_and_go(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-list-all").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let open = async |issuer: &IssuerId| {
        let id = draw_session(&**store, &scene.random);
        told(store.open_session(issuer, &id, session(issuer, &id, "user", *now)).await).await;
        id
    };
    let (mut stay, mut go) = (Vec::new(), Vec::new());
    for n in 0..100 {
        let id = open(if n % 4 == 3 { other } else { issuer }).await;
        match n % 4 {
            0 | 1 => stay.push(sid_of(issuer, &id)),
            2 => go.push(id),
            _ => {}
        }
    }
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let piece = store.next_sessions(issuer, after, 5, *now).await.unwrap();
        listed.extend(piece.items.into_iter().map(|listed| listed.session.sid.clone()));
        open(issuer).await;
        if let Some(id) = go.pop() {
            told(store.end_session(issuer, &id, &with_tokens(*now)).await).await;
        }
        match piece.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let distinct: std::collections::BTreeSet<_> = listed.iter().collect();
    assert_eq!(distinct.len(), listed.len(), "a session came twice");
    assert!(stay.iter().all(|sid| distinct.contains(sid)), "a session was left out");
}

async fn is_found_by_its_public_name(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-sid").await;
    let Scene { store, issuer, now, .. } = &scene;
    let id = draw_session(&**store, &scene.random);
    let opened = session(issuer, &id, "user", *now);
    let sid = opened.sid.as_str();
    assert!(told(store.session_by_sid(issuer, sid, *now).await).await.is_none());
    told(store.open_session(issuer, &id, opened.clone()).await).await;
    told(store.session(issuer, &id, *now + MINUTE / 2).await).await;
    for _ in 0..2 {
        let found = told(store.session_by_sid(issuer, sid, *now + 20 * MINUTE).await).await.expect("live");
        assert_eq!((*found.session).clone(), opened);
        assert_eq!(found.last_used_at, *now + MINUTE / 2, "looking is not using");
    }
    assert!(told(store.session_by_sid(issuer, sid, *now + HOUR).await).await.is_none(), "its time is over");
    for foreign in ["", "sid", "1_0", "1_0_short", "x_y_z"] {
        assert!(told(store.session_by_sid(issuer, foreign, *now).await).await.is_none(), "{foreign}");
    }
    let after = back_end.after_crash("session-sid").await;
    assert!(told(after.session_by_sid(issuer, sid, *now).await).await.is_some(), "the disk is asked");
    told(after.end_session_by_sid(issuer, sid, &with_tokens(*now)).await).await.expect("live");
    assert!(told(after.session_by_sid(issuer, sid, *now).await).await.is_none());
}

/// Ending a session, in every way, revokes the tokens that are bound to it and to the sessions that it stands for.
async fn takes_its_tokens_along(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-tokens").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let user = UserId::parse("user").unwrap();
    let mut ended = Vec::new();
    for way in 0..3 {
        let id = draw_session(&**store, &scene.random);
        let mut opened = session(issuer, &id, "user", *now);
        opened.predecessors = vec![Sid::trusted(format!("before-{way}")), Sid::trusted("first")].into();
        told(store.open_session(issuer, &id, opened.clone()).await).await;
        let lineages: Vec<_> =
            opened.sids().map(|sid| lineage_in(issuer, &opened, sid, *now + MINUTE)).collect();
        assert!(!told(store.revoked(issuer, &lineages[2]).await).await);
        let end = with_tokens(*now);
        match way {
            0 => assert!(told(store.end_session(issuer, &id, &end).await).await.is_some()),
            1 => {
                let sid = opened.sid.as_str();
                assert!(told(store.end_session_by_sid(issuer, sid, &end).await).await.is_some());
            }
            _ => assert_eq!(told(store.end_sessions_of(issuer, &user, &end).await).await, 1),
        }
        ended.extend(lineages);
    }
    // A session whose successor stands for it revokes only the sessions for which the successor has no room.
    let id = draw_session(&**store, &scene.random);
    let opened = session(issuer, &id, "user", *now);
    told(store.open_session(issuer, &id, opened.clone()).await).await;
    let dropped = Sid::trusted("dropped");
    let tombstone = Tombstone::session(issuer, dropped.clone(), &user, *now, HOUR);
    let end = SessionEnd::Succeeded { dropped: Some(tombstone) };
    assert!(told(store.end_session(issuer, &id, &end).await).await.is_some());
    ended.push(lineage_in(issuer, &opened, &dropped, *now));
    let lives_on = lineage_in(issuer, &opened, &opened.sid, *now);

    let after = back_end.after_crash("session-tokens").await;
    for (number, lineage) in ended.iter().enumerate() {
        assert!(told(store.revoked(issuer, lineage).await).await, "{number}");
        assert!(!told(store.revoked(other, lineage).await).await, "{number}");
        assert!(told(after.revoked(issuer, lineage).await).await, "{number} came back");
    }
    assert!(!told(store.revoked(issuer, &lives_on).await).await);
    assert!(told(after.session(issuer, &id, *now).await).await.is_none());
}

/// Nobody sees that a session has ended while its tokens are still valid.
async fn is_never_gone_before_its_tokens(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-tokens-race").await;
    let ids: Vec<SessionId> = (0..rounds()).map(|_| draw_session(&*scene.store, &scene.random)).collect();
    let sessions = ids.iter().map(|id| (id.clone(), session(&scene.issuer, id, "user", scene.now))).collect();
    told(scene.store.open_sessions(&scene.issuer, sessions).await).await;
    let rounds = race(|round, racer| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let now = scene.now;
        async move {
            if racer == 0 {
                store.end_session(&issuer, &id, &with_tokens(now)).await.unwrap().told().await.unwrap();
            }
            let gone = store.session(&issuer, &id, now).await.unwrap().in_memory().is_none();
            let opened = session(&issuer, &id, "user", now);
            let lineage = lineage_in(&issuer, &opened, &opened.sid, now);
            !gone || store.revoked(&issuer, &lineage).await.unwrap().in_memory()
        }
    })
    .await;
    assert!(rounds.into_iter().flatten().all(|sound| sound));
}

async fn is_ended_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-race").await;
    let ids: Vec<SessionId> = (0..rounds()).map(|_| draw_session(&*scene.store, &scene.random)).collect();
    let sessions = ids.iter().map(|id| (id.clone(), session(&scene.issuer, id, "user", scene.now))).collect();
    told(scene.store.open_sessions(&scene.issuer, sessions).await).await;
    race_for_one("end_session", |round, racer| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let now = scene.now;
        async move {
            if racer % 2 == 0 {
                told(store.end_session(&issuer, &id, &with_tokens(now)).await).await.is_some()
            } else {
                let sid = sid_of(&issuer, &id);
                told(store.end_session_by_sid(&issuer, sid.as_str(), &with_tokens(now)).await).await.is_some()
            }
        }
    })
    .await;
    assert!(everything(&*scene.store, &scene.issuer, scene.now).await.is_empty());
}

async fn notes_a_client_for_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-client-race").await;
    let ids: Vec<SessionId> = (0..rounds()).map(|_| draw_session(&*scene.store, &scene.random)).collect();
    let sessions = ids.iter().map(|id| (id.clone(), session(&scene.issuer, id, "user", scene.now))).collect();
    told(scene.store.open_sessions(&scene.issuer, sessions).await).await;
    race_for_one("note_client", |round, _| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let client = ClientId::parse("client").unwrap();
        async move { told(store.note_client(&issuer, &id, &client, false).await).await }
    })
    .await;
}
