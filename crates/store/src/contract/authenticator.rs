//! What users have enrolled to prove who they are.

use std::sync::Arc;

use symbolon_protocol::authenticator::{AuthenticatorSet, RecoveryCode};
use symbolon_protocol::id::{IssuerId, UserId};

use super::sample::user;
use super::{BackEnd, RECORD_ROUNDS, Scene, race_record_for_one};
use crate::Store;
use crate::port::{AuthenticatorUpdate, Created, Enrolled};

pub async fn all(back_end: &dyn BackEnd) {
    are_kept_and_go_with_their_user(back_end).await;
    a_code_is_used_by_one_racer(back_end).await;
}

fn codes(count: usize) -> AuthenticatorSet {
    let code = |number| RecoveryCode { digest: format!("digest-{number}") };
    AuthenticatorSet { recovery_codes: (0..count).map(code).collect(), ..AuthenticatorSet::default() }
}

async fn put(
    store: &dyn Store,
    (issuer, user): (&IssuerId, &UserId),
    seen: u64,
    set: &AuthenticatorSet,
) -> AuthenticatorUpdate {
    store.put_authenticators(issuer, user, seen, set).await.unwrap()
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
    assert_eq!(put(&**store, at, 1, &codes(2)).await, AuthenticatorUpdate::Written);
    assert_eq!(store.authenticators(other, &ann.id).await.unwrap(), Enrolled::default());
    let after = back_end.after_crash("authenticator").await;
    let kept = after.authenticators(issuer, &ann.id).await.unwrap();
    assert_eq!(kept, Enrolled { revision: 2, set: codes(2) });
    assert!(after.delete_user(issuer, &ann.id).await.unwrap());
    assert_eq!(put(&*after, at, 2, &codes(1)).await, AuthenticatorUpdate::UserUnknown);
    after.create_user(issuer, ann.clone(), None).await.unwrap();
    assert_eq!(after.authenticators(issuer, &ann.id).await.unwrap(), Enrolled::default());
}

async fn a_code_is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "authenticator-race").await;
    for round in 0..RECORD_ROUNDS {
        let user = user(&format!("ann-{round}"), None, scene.now);
        scene.store.create_user(&scene.issuer, user, None).await.unwrap();
    }
    race_record_for_one("put_authenticators", |round, _| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let user = UserId::trusted(format!("ann-{round}"));
        async move { put(&*store, (&issuer, &user), 0, &codes(1)).await == AuthenticatorUpdate::Written }
    })
    .await;
}
