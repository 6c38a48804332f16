//! Authorization codes.

use std::sync::Arc;

use symbolon_protocol::time::KEPT_AFTER_END;

use super::sample::{MINUTE, code_grant, draw_code};
use super::{BackEnd, ROUNDS, Scene, race_for_one};
use crate::port::Redemption;

pub async fn all(back_end: &dyn BackEnd) {
    is_redeemed_once(back_end).await;
    is_redeemed_by_one_racer(back_end).await;
}

async fn is_redeemed_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "code").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (code, grant) = (draw_code(&**store, &scene.random), code_grant(&scene, "user"));
    let end = grant.expires_at;
    assert!(store.code(issuer, &code, *now).await.unwrap().is_none());
    assert_eq!(store.redeem_code(issuer, &code, *now).await.unwrap(), Redemption::Unknown);
    store.keep_code(issuer, &code, grant.clone(), *now).await.unwrap();
    assert_eq!(store.code(issuer, &code, *now).await.unwrap().as_deref(), Some(&grant));
    // Another issuer neither sees nor spends it.
    assert!(store.code(other, &code, *now).await.unwrap().is_none());
    assert_eq!(store.redeem_code(other, &code, *now).await.unwrap(), Redemption::Unknown);
    // Looking at it does not spend it.
    assert!(store.code(issuer, &code, *now).await.unwrap().is_some());
    store.sweep(*now + MINUTE / 2).await.unwrap();
    assert_eq!(store.redeem_code(issuer, &code, *now).await.unwrap(), Redemption::Redeemed);
    assert_eq!(store.redeem_code(issuer, &code, *now).await.unwrap(), Redemption::Replayed);
    let used = store.code(issuer, &code, *now).await.unwrap();
    assert_eq!(used.as_deref(), Some(&grant), "used, but a replay must find what to end");

    // A used code is remembered until its end and a quarter of an hour more.
    let late = end + KEPT_AFTER_END - MINUTE;
    store.sweep(late).await.unwrap();
    assert_eq!(store.redeem_code(issuer, &code, late).await.unwrap(), Redemption::Replayed);
    if scene.forgets {
        let over = end + KEPT_AFTER_END + MINUTE;
        assert!(store.sweep(over).await.unwrap() > 0);
        assert_eq!(store.redeem_code(issuer, &code, over).await.unwrap(), Redemption::Unknown);
    }

    // A code that nobody redeemed in time is refused.
    let (code, grant) = (draw_code(&**store, &scene.random), code_grant(&scene, "user"));
    store.keep_code(issuer, &code, grant, *now).await.unwrap();
    assert!(store.code(issuer, &code, end).await.unwrap().is_none());
    assert_eq!(store.redeem_code(issuer, &code, end).await.unwrap(), Redemption::Unknown);
}

async fn is_redeemed_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "code-race").await;
    let mut codes = Vec::new();
    for _ in 0..ROUNDS {
        let code = draw_code(&*scene.store, &scene.random);
        let grant = code_grant(&scene, "user");
        scene.store.keep_code(&scene.issuer, &code, grant, scene.now).await.unwrap();
        codes.push(code);
    }
    race_for_one("redeem_code", |round, _| {
        let (store, issuer, code) = (Arc::clone(&scene.store), scene.issuer.clone(), codes[round].clone());
        let now = scene.now;
        async move {
            match store.redeem_code(&issuer, &code, now).await.unwrap() {
                Redemption::Redeemed => true,
                Redemption::Replayed => false,
                Redemption::Unknown => panic!("a code vanished"),
            }
        }
    })
    .await;
}
