//! Client assertions, used once.

use std::sync::Arc;

use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::id::{ClientId, Jti};
use symbolon_protocol::time::KEPT_AFTER_END;

use super::sample::{MINUTE, assertion_use};
use super::{BackEnd, Scene, race_for_one, told};
use crate::port::Use;

pub async fn all(back_end: &dyn BackEnd) {
    is_used_once(back_end).await;
    is_used_by_one_racer(back_end).await;
    a_proof_is_used_once(back_end).await;
    a_proof_is_used_by_one_racer(back_end).await;
}

async fn is_used_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "assertion").await;
    let Scene { store, issuer, now, .. } = &scene;
    let (client, stranger) = (ClientId::parse("client").unwrap(), ClientId::parse("stranger").unwrap());
    let (jti, end) = (Jti::parse("jti").unwrap(), *now + 5 * MINUTE);
    let own = assertion_use(&client, &jti, end);
    let of_stranger = assertion_use(&stranger, &jti, end);
    // Another issuer may know another client, with its own key, by the same `client_id`.
    let of_namesake = AssertionUse { key_thumbprint: "another".into(), ..own.clone() };
    assert_eq!(told(store.use_assertion(issuer, &own).await).await, Use::First);
    assert_eq!(told(store.use_assertion(issuer, &own).await).await, Use::Replayed);
    assert_eq!(told(store.use_assertion(issuer, &of_stranger).await).await, Use::First);
    assert_eq!(told(store.use_assertion(issuer, &of_namesake).await).await, Use::First);
    let longer = AssertionUse { expires_at: end + MINUTE, ..own.clone() };
    assert_eq!(
        told(store.use_assertion(issuer, &longer).await).await,
        Use::Replayed,
        "one jti, whatever its end"
    );
    assert_eq!(store.sweep(end + KEPT_AFTER_END - MINUTE).await.unwrap(), 0, "nothing goes early");
    assert_eq!(told(store.use_assertion(issuer, &own).await).await, Use::Replayed);
    if scene.forgets {
        assert_eq!(store.sweep(end + KEPT_AFTER_END).await.unwrap(), 3);
    }
    let after = back_end.after_crash("assertion").await;
    assert_eq!(told(after.use_assertion(issuer, &of_stranger).await).await, Use::Replayed);
}

async fn is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "assertion-race").await;
    race_for_one("use_assertion", |round, _| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let (client, jti) =
            (ClientId::parse("client").unwrap(), Jti::parse(&format!("jti-{round}")).unwrap());
        let assertion = assertion_use(&client, &jti, scene.now + MINUTE);
        async move { told(store.use_assertion(&issuer, &assertion).await).await == Use::First }
    })
    .await;
}

async fn a_proof_is_used_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "proof").await;
    let Scene { store, issuer, now, .. } = &scene;
    assert_eq!(store.forgets_proofs_until(), None, "a new store");
    let end = *now + 5 * MINUTE;
    for (mark, expected) in [([1; 16], Use::First), ([1; 16], Use::Replayed), ([2; 16], Use::First)] {
        assert_eq!(told(store.use_proof(issuer, mark, end).await).await, expected, "{mark:?}");
    }
    assert_eq!(store.sweep(end + KEPT_AFTER_END - MINUTE).await.unwrap(), 0, "nothing goes early");
    assert_eq!(told(store.use_proof(issuer, [1; 16], end).await).await, Use::Replayed);
    let after = back_end.after_crash("proof").await;
    let used = told(after.use_proof(issuer, [2; 16], end).await).await;
    let is_known = after.forgets_proofs_until().is_some_and(|until| until >= *now);
    assert!(used == Use::Replayed || is_known, "forgotten, and nobody is told");
}

async fn a_proof_is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "proof-race").await;
    race_for_one("use_proof", |round, _| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let mut mark = [3; 16];
        mark[..8].copy_from_slice(&(round as u64).to_be_bytes());
        let end = scene.now + MINUTE;
        async move { told(store.use_proof(&issuer, mark, end).await).await == Use::First }
    })
    .await;
}
