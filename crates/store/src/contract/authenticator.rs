//! What users have enrolled to prove who they are.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use symbolon_protocol::authenticator::{
    AuthenticatorSet, MOST_PASSKEYS, MOST_RECOVERY_CODES, Passkey, RecoveryCode, Totp,
};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::sample::{MINUTE, user};
use super::{BackEnd, Scene, race_record_for_one, record_rounds};
use crate::Store;
use crate::port::{AuthenticatorUpdate, Created, Enrolled};

/// How many deletions race with enrolments.
const RACES: usize = 100;

/// One deletes, the others enrol.
const RACERS: usize = 8;

pub async fn all(back_end: &dyn BackEnd) {
    are_kept_and_go_with_their_user(back_end).await;
    are_bounded(back_end).await;
    a_code_is_used_by_one_racer(back_end).await;
    outlive_nobody_in_a_race(back_end).await;
}

fn codes(count: usize) -> AuthenticatorSet {
    let code = |number| RecoveryCode { digest: format!("digest-{number}") };
    AuthenticatorSet { recovery_codes: (0..count).map(code).collect(), ..AuthenticatorSet::default() }
}

fn passkey(id: &str, now: Timestamp) -> Passkey {
    Passkey {
        id: id.to_owned(),
        name: "Ann's \u{1f511} \"phone\"".to_owned(),
        credential: json!({ "cred": { "counter": 7, "key": [1, 2, 3] } }),
        is_synced: true,
        created_at: now,
        last_used_at: Some(now + Duration::from_millis(1)),
    }
}

/// One of everything.
pub(crate) fn full(now: Timestamp) -> AuthenticatorSet {
    AuthenticatorSet {
        passkeys: vec![passkey("a", now), Passkey { last_used_at: None, ..passkey("b", now) }],
        totp: Some(Totp { secret: "sealed".to_owned(), added_at: now, last_step: 60_000_000 }),
        has_signed_in: true,
        ..codes(3)
    }
}

async fn put(
    store: &dyn Store,
    (issuer, user): (&IssuerId, &UserId),
    seen: u64,
    set: &AuthenticatorSet,
) -> AuthenticatorUpdate {
    store.put_authenticators(issuer, user, seen, set).await.unwrap()
}

/// The revision of a user's authenticators.
async fn revision(store: &dyn Store, issuer: &IssuerId, user: &UserId) -> u64 {
    store.authenticators(issuer, user).await.unwrap().revision
}

async fn are_kept_and_go_with_their_user(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "authenticator").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let ann = user("ann", None, *now);
    let at = (issuer, &ann.id);
    assert_eq!(store.authenticators(issuer, &ann.id).await.unwrap(), Enrolled::default());
    assert_eq!(put(&**store, at, 0, &codes(3)).await, AuthenticatorUpdate::UserUnknown);
    for of in [issuer, other] {
        assert_eq!(store.create_user(of, ann.clone(), None).await.unwrap(), Created::Created);
    }
    assert_eq!(put(&**store, at, 1, &codes(3)).await, AuthenticatorUpdate::Overtaken);
    assert_eq!(put(&**store, at, 0, &codes(3)).await, AuthenticatorUpdate::Written);
    assert_eq!(put(&**store, at, 0, &codes(2)).await, AuthenticatorUpdate::Overtaken);
    let first = revision(&**store, issuer, &ann.id).await;
    assert_eq!(put(&**store, at, first, &full(*now)).await, AuthenticatorUpdate::Written);
    assert_eq!(put(&**store, at, first, &codes(2)).await, AuthenticatorUpdate::Overtaken);
    assert_eq!(store.authenticators(other, &ann.id).await.unwrap(), Enrolled::default());
    assert_eq!(put(&**store, (other, &ann.id), 0, &codes(1)).await, AuthenticatorUpdate::Written);

    let after = back_end.after_crash("authenticator").await;
    let kept = after.authenticators(issuer, &ann.id).await.unwrap();
    assert!(kept.revision > first && kept.set == full(*now), "{kept:?}");
    assert!(after.delete_user(issuer, &ann.id).await.unwrap());
    assert_eq!(put(&*after, at, kept.revision, &codes(1)).await, AuthenticatorUpdate::UserUnknown);
    assert_eq!(after.authenticators(issuer, &ann.id).await.unwrap(), Enrolled::default());
    after.create_user(issuer, user("ann", None, *now + MINUTE), None).await.unwrap();
    assert_eq!(after.authenticators(issuer, &ann.id).await.unwrap(), Enrolled::default());
    // Who read those of the user of before changes nothing of this one's, however often they were changed.
    for round in 0..3 {
        let seen = revision(&*after, issuer, &ann.id).await;
        assert_eq!(put(&*after, at, seen, &codes(round)).await, AuthenticatorUpdate::Written);
        for stale in [first, kept.revision] {
            assert_eq!(put(&*after, at, stale, &full(*now)).await, AuthenticatorUpdate::Overtaken);
        }
    }
    let namesake = after.authenticators(other, &ann.id).await.unwrap();
    assert_eq!(namesake.set, codes(1), "the other issuer's user of this id keeps them");
}

async fn are_bounded(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "authenticator-bounds").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ann = user("ann", None, *now);
    store.create_user(issuer, ann.clone(), None).await.unwrap();
    let keys = |count: usize| {
        let passkeys = (0..count).map(|number| passkey(&number.to_string(), *now)).collect();
        AuthenticatorSet { passkeys, ..codes(MOST_RECOVERY_CODES) }
    };
    let most = keys(MOST_PASSKEYS);
    assert_eq!(put(&**store, (issuer, &ann.id), 0, &most).await, AuthenticatorUpdate::Written);
    let mut long = keys(1);
    long.passkeys[0].credential = json!("x".repeat(64 << 10));
    let seen = revision(&**store, issuer, &ann.id).await;
    for beyond in [keys(MOST_PASSKEYS + 1), codes(MOST_RECOVERY_CODES + 1), long] {
        assert!(store.put_authenticators(issuer, &ann.id, seen, &beyond).await.is_err());
    }
    let kept = store.authenticators(issuer, &ann.id).await.unwrap();
    assert_eq!(kept, Enrolled { revision: seen, set: most });
}

/// Sixty-four use the same recovery code at once: of those that saw it unused, one wins, whether it is the first change
/// of all or a later one.
async fn a_code_is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "authenticator-race").await;
    let mut seen = Vec::new();
    for round in 0..record_rounds() {
        let user = user(&format!("ann-{round}"), None, scene.now);
        scene.store.create_user(&scene.issuer, user.clone(), None).await.unwrap();
        if round % 2 == 1 {
            let first = put(&*scene.store, (&scene.issuer, &user.id), 0, &codes(2)).await;
            assert_eq!(first, AuthenticatorUpdate::Written);
        }
        seen.push(revision(&*scene.store, &scene.issuer, &user.id).await);
    }
    race_record_for_one("put_authenticators", |round, _| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let user = UserId::trusted(format!("ann-{round}"));
        let seen = seen[round];
        async move { put(&*store, (&issuer, &user), seen, &codes(1)).await == AuthenticatorUpdate::Written }
    })
    .await;
}

/// Authenticators are added while their user is deleted: nothing may be left for a later user of the same id.
async fn outlive_nobody_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "authenticator-deletion").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..RACES {
        let ann = user(&format!("ann-{round}"), None, *now);
        store.create_user(issuer, ann.clone(), None).await.unwrap();
        if round % 2 == 1 {
            assert_eq!(put(&**store, (issuer, &ann.id), 0, &codes(2)).await, AuthenticatorUpdate::Written);
        }
        let seen = revision(&**store, issuer, &ann.id).await;
        let start = Arc::new(Barrier::new(RACERS));
        let mut racers = JoinSet::new();
        for racer in 0..RACERS {
            let (store, issuer, user) = (Arc::clone(store), issuer.clone(), ann.id.clone());
            let start = Arc::clone(&start);
            racers.spawn(async move {
                start.wait().await;
                match racer {
                    0 => assert!(store.delete_user(&issuer, &user).await.unwrap()),
                    _ => drop(put(&*store, (&issuer, &user), seen, &codes(1)).await),
                }
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap();
        }
        store.create_user(issuer, ann.clone(), None).await.unwrap();
        let inherited = store.authenticators(issuer, &ann.id).await.unwrap();
        assert_eq!(inherited, Enrolled::default(), "round {round}");
    }
}
