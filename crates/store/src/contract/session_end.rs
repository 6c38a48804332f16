//! How sessions end by themselves.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::session::{EndByTime, Session, TOLD_WITHIN, USE_WRITTEN_EVERY};
use symbolon_protocol::time::Timestamp;
use tokio::task::JoinSet;

use super::sample::{HOUR, MINUTE, draw_session, page, session, with_tokens};
use super::{BackEnd, RACERS, Scene, told};
use crate::shard::sid_of;

/// How long the sessions of these tests may be idle.
const IDLE: Duration = Duration::from_secs(600);

pub async fn all(back_end: &dyn BackEnd) {
    ends_when_it_is_idle(back_end).await;
    does_not_end_while_it_is_used(back_end).await;
    is_given_when_its_time_is_over(back_end).await;
    is_given_once(back_end).await;
    is_given_to_one(back_end).await;
}

async fn ends_when_it_is_idle(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-idle").await;
    let Scene { store, issuer, now, .. } = &scene;
    let user = UserId::parse("user").unwrap();
    let id = draw_session(&**store, &scene.random);
    let mut opened = session(issuer, &id, "user", *now);
    opened.by_time = EndByTime::after_idle(IDLE);
    told(store.open_session(issuer, &id, opened.clone()).await).await;
    let sid = opened.sid.as_str();
    // A use that is not written may have followed the one that is.
    let over = *now + IDLE + USE_WRITTEN_EVERY;
    let (before, after) = (over - Duration::from_millis(1), over);
    for (at, is_live) in [(before, true), (after, false)] {
        let listed = store.list_sessions(issuer, &user, &page(1, 10), at).await.unwrap();
        assert_eq!(listed.total, u64::from(is_live));
        assert_eq!(
            store.next_sessions(issuer, None, 10, at).await.unwrap().items.len(),
            usize::from(is_live)
        );
        assert_eq!(store.sign_ins_beyond(issuer, &user, 0, at).await.unwrap().len(), usize::from(is_live));
        let found = told(store.session_by_sid(issuer, sid, at).await).await;
        assert_eq!(found.is_some(), is_live);
        assert!(found.is_none_or(|found| found.ends_at == over), "it says when");
    }
    // Nobody brings it back by asking for it.
    assert!(told(store.session(issuer, &id, after).await).await.is_none());
    assert!(told(store.session(issuer, &id, after + HOUR / 4).await).await.is_none());
    assert!(told(store.session_by_sid(issuer, sid, after).await).await.is_none());
    let reopened = back_end.after_crash("session-idle").await;
    assert!(told(reopened.session(issuer, &id, after).await).await.is_none());
    // It is kept like one that expired, and can be ended with what hangs on it.
    let kept = told(reopened.session_by_sid(issuer, sid, *now).await).await.expect("kept");
    assert_eq!(kept.session.by_time, opened.by_time);
    assert!(told(reopened.end_session(issuer, &id, &with_tokens(after)).await).await.is_some());
    assert!(told(reopened.session_by_sid(issuer, sid, *now).await).await.is_none());
}

async fn does_not_end_while_it_is_used(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-in-use").await;
    let Scene { store, issuer, now, .. } = &scene;
    let id = draw_session(&**store, &scene.random);
    let mut opened = session(issuer, &id, "user", *now);
    opened.by_time = EndByTime::after_idle(IDLE);
    told(store.open_session(issuer, &id, opened).await).await;
    // Nearly a minute after it began, so that this use is not written: the session does not end early for that.
    let first = *now + MINUTE - Duration::from_secs(1);
    assert!(told(store.session(issuer, &id, first).await).await.is_some());
    let mut at = first + IDLE - Duration::from_millis(1);
    while at < *now + HOUR {
        assert!(told(store.session(issuer, &id, at).await).await.is_some(), "used {:?} ago", at.since(*now));
        at = at + IDLE - Duration::from_millis(1);
    }
    // The longest life ends it, used or not; and so it is after a crash. Nobody waits for the last use to be written, so another
    // change of the session is waited for.
    let client = ClientId::parse("client").unwrap();
    assert!(told(store.note_client(issuer, &id, &client, false).await).await);
    assert!(told(store.session(issuer, &id, *now + HOUR).await).await.is_none());
    let reopened = back_end.after_crash("session-in-use").await;
    assert!(told(reopened.session(issuer, &id, *now + HOUR - Duration::from_secs(1)).await).await.is_some());
}

/// Which of some sessions a caller is given, by their users' names.
async fn claimed(scene: &Scene, at: Timestamp, until: Timestamp) -> Vec<String> {
    let mut users = Vec::new();
    loop {
        let ended = scene.store.claim_ended_sessions(at, until, 1_000).await.unwrap();
        users.extend(ended.sessions.iter().map(|(_, session)| session.user.as_str().to_owned()));
        if !ended.more {
            users.sort_unstable();
            return users;
        }
    }
}

/// Those that wait to be told of, each once, and no other.
async fn is_given_when_its_time_is_over(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-claims").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let client = ClientId::parse("client").unwrap();
    let open = async |of: &IssuerId, name: &str, by_time: EndByTime| {
        let id = draw_session(&**store, &scene.random);
        let mut opened = session(of, &id, name, *now);
        opened.by_time = by_time;
        told(store.open_session(of, &id, opened).await).await;
        id
    };
    let plain = EndByTime::default();
    let idle = EndByTime::after_idle(IDLE);
    let noted = open(issuer, "noted", plain).await;
    assert!(told(store.note_client(issuer, &noted, &client, true).await).await);
    open(other, "opened-so", plain.told()).await;
    let used = open(issuer, "used", idle).await;
    assert!(told(store.note_client(issuer, &used, &client, true).await).await);
    let unused = open(issuer, "unused", idle).await;
    assert!(told(store.note_client(issuer, &unused, &client, true).await).await);
    let gone = open(issuer, "ended-before", plain).await;
    assert!(told(store.note_client(issuer, &gone, &client, true).await).await);
    told(store.end_session(issuer, &gone, &with_tokens(*now)).await).await.expect("live");
    let alone = open(issuer, "used-and-nobody-to-tell", idle).await;
    let silent = open(issuer, "nobody-to-tell", plain).await;
    assert!(told(store.note_client(issuer, &silent, &client, false).await).await);

    let used_at = *now + IDLE;
    assert!(told(store.session(issuer, &used, used_at).await).await.is_some());
    assert!(told(store.session(issuer, &alone, used_at).await).await.is_some());
    let over = *now + IDLE + USE_WRITTEN_EVERY;
    let early = over - Duration::from_millis(1);
    assert!(claimed(&scene, early, over + HOUR).await.is_empty(), "nothing is over yet");
    assert_eq!(claimed(&scene, over, over + MINUTE).await, ["unused"]);
    assert!(claimed(&scene, over + MINUTE / 2, over + HOUR).await.is_empty(), "it is somebody's");
    assert_eq!(claimed(&scene, over + MINUTE, over + MINUTE + HOUR).await, ["unused"], "nobody ended it");
    told(store.end_session(issuer, &unused, &with_tokens(over)).await).await.expect("kept");
    let later = used_at + IDLE + USE_WRITTEN_EVERY;
    let both = ["used", "used-and-nobody-to-tell"];
    assert_eq!(claimed(&scene, later, later + MINUTE).await, both, "their last uses count");
    assert_eq!(claimed(&scene, *now + HOUR, *now + 2 * HOUR).await, ["noted", "opened-so", "used"]);
    // They are kept for a day, whatever happens to the process, and nothing is said of them after that.
    let past = *now + HOUR + TOLD_WITHIN;
    store.sweep(past - HOUR).await.unwrap();
    let after = Scene { store: back_end.after_crash("session-claims").await, ..scene };
    let ended = claimed(&after, past - Duration::from_millis(1), past).await;
    assert_eq!(ended, ["noted", "opened-so", "used"]);
    let sid = sid_of(&after.issuer, &noted);
    let end = with_tokens(past);
    assert!(told(after.store.end_session_by_sid(&after.issuer, sid.as_str(), &end).await).await.is_some());
    assert!(claimed(&after, past, past + HOUR).await.is_empty());
}

/// Also one that is looked at for two reasons: because it may be idle, and for the sake of a client that came later.
async fn is_given_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-claims-once").await;
    let Scene { store, issuer, now, .. } = &scene;
    let id = draw_session(&**store, &scene.random);
    let opened = Session { by_time: EndByTime::after_idle(IDLE), ..session(issuer, &id, "idle", *now) };
    told(store.open_session(issuer, &id, opened).await).await;
    let used_at = *now + Duration::from_secs(1);
    assert!(told(store.session(issuer, &id, used_at).await).await.is_some());
    let client = ClientId::parse("client").unwrap();
    assert!(told(store.note_client(issuer, &id, &client, true).await).await);
    let over = used_at + IDLE + USE_WRITTEN_EVERY;
    assert_eq!(claimed(&scene, over, over + MINUTE).await, ["idle"]);
    assert_eq!(claimed(&scene, over + MINUTE, over + HOUR).await, ["idle"]);
}

/// However many ask at once, each session is given to one.
async fn is_given_to_one(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "session-claims-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    let mut sessions = Vec::new();
    for n in 0..500 {
        let id = draw_session(&**store, &scene.random);
        let mut opened = session(issuer, &id, &format!("user-{n}"), *now);
        opened.by_time = EndByTime::default().told();
        sessions.push((id, opened));
    }
    told(store.open_sessions(issuer, sessions).await).await;
    let over = *now + HOUR;
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let store = Arc::clone(store);
        racers.spawn(async move {
            let mut sids = Vec::new();
            loop {
                let ended = store.claim_ended_sessions(over, over + MINUTE, 20).await.unwrap();
                sids.extend(ended.sessions.into_iter().map(|(_, session)| session.sid.clone()));
                if !ended.more {
                    return sids;
                }
            }
        });
    }
    let given: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
    let distinct: BTreeSet<_> = given.iter().collect();
    assert_eq!((given.len(), distinct.len()), (500, 500));
}
