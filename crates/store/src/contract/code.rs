//! Authorization codes.

use std::sync::Arc;

use symbolon_crypto::random::Random;
use symbolon_protocol::code::AuthorizationCode;
use symbolon_protocol::time::KEPT_AFTER_END;

use super::sample::{MINUTE, code_grant, redeem};
use super::{BackEnd, Scene, race_for_one, rounds};
use crate::Store;
use crate::port::Redemption;
use crate::shard::ShardKind;

pub async fn all(back_end: &dyn BackEnd) {
    is_redeemed_once(back_end).await;
    is_redeemed_by_one_racer(back_end).await;
}

async fn is_redeemed_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "code").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let grant = code_grant(&scene, "user");
    let end = grant.expires_at;
    let code = store.keep_code(issuer, grant.clone(), *now, &scene.random).await.unwrap();
    for unknown in never_kept(&**store, &code, &scene.random) {
        assert!(store.code(issuer, &unknown, *now).await.unwrap().is_none(), "{}", unknown.expose());
        assert_eq!(redeem(&**store, issuer, &unknown, *now).await.unwrap(), Redemption::Unknown);
    }
    assert_eq!(store.code(issuer, &code, *now).await.unwrap().map(|kept| *kept.grant), Some(grant.clone()));
    // Another issuer neither sees nor redeems it.
    assert!(store.code(other, &code, *now).await.unwrap().is_none());
    assert_eq!(redeem(&**store, other, &code, *now).await.unwrap(), Redemption::Unknown);
    // Reading it does not redeem it.
    assert!(store.code(issuer, &code, *now).await.unwrap().is_some());
    store.sweep(*now + MINUTE / 2).await.unwrap();
    assert_eq!(redeem(&**store, issuer, &code, *now).await.unwrap(), Redemption::Redeemed);
    assert_eq!(redeem(&**store, issuer, &code, *now).await.unwrap(), Redemption::Replayed);
    let used = store.code(issuer, &code, *now).await.unwrap();
    assert_eq!(used.map(|used| *used.grant), Some(grant), "used, but a replay must find what to end");

    // A used code is remembered until its end and a quarter of an hour more.
    let late = end + KEPT_AFTER_END - MINUTE;
    store.sweep(late).await.unwrap();
    assert_eq!(redeem(&**store, issuer, &code, late).await.unwrap(), Redemption::Replayed);
    if scene.forgets {
        let over = end + KEPT_AFTER_END + MINUTE;
        assert!(store.sweep(over).await.unwrap() > 0);
        assert_eq!(redeem(&**store, issuer, &code, over).await.unwrap(), Redemption::Unknown);
    }

    // A code that nobody redeemed in time is refused.
    let code = store.keep_code(issuer, code_grant(&scene, "user"), *now, &scene.random).await.unwrap();
    let looked_at_in_time = store.code(issuer, &code, *now).await.unwrap().unwrap();
    assert_eq!(store.redeem_code(&looked_at_in_time.at, end).await.unwrap(), Redemption::Unknown);
    assert!(store.code(issuer, &code, end).await.unwrap().is_none());
    assert_eq!(redeem(&**store, issuer, &code, end).await.unwrap(), Redemption::Unknown);
}

/// Codes that were never issued: other texts, drawn ones in the same form, and a kept one with one character changed,
/// at every position.
fn never_kept(store: &dyn Store, kept: &AuthorizationCode, random: &dyn Random) -> Vec<AuthorizationCode> {
    let place = store.place(ShardKind::Code);
    let drawn = [place.draw::<32>(ShardKind::Code, random), place.draw::<40>(ShardKind::Code, random)];
    let mut texts = vec![String::new(), "ac_".to_owned(), "x".repeat(62), format!("{}A", kept.expose())];
    texts.extend(drawn.iter().map(ToString::to_string));
    for (at, before) in kept.expose().char_indices() {
        let other = if before == 'B' { "C" } else { "B" };
        let mut text = kept.expose().to_owned();
        text.replace_range(at..=at, other);
        texts.push(text);
    }
    texts.into_iter().map(AuthorizationCode::new).collect()
}

async fn is_redeemed_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "code-race").await;
    let mut codes = Vec::new();
    for _ in 0..rounds() {
        let code = code_grant(&scene, "user");
        let code = scene.store.keep_code(&scene.issuer, code, scene.now, &scene.random).await.unwrap();
        codes.push(scene.store.code(&scene.issuer, &code, scene.now).await.unwrap().unwrap().at);
    }
    race_for_one("redeem_code", |round, _| {
        let (store, at, now) = (Arc::clone(&scene.store), codes[round], scene.now);
        async move {
            match store.redeem_code(&at, now).await.unwrap() {
                Redemption::Redeemed => true,
                Redemption::Replayed => false,
                Redemption::Unknown => panic!("a code vanished"),
            }
        }
    })
    .await;
}
