//! Client assertions, used once.

use std::sync::Arc;

use symbolon_protocol::id::{ClientId, Jti};
use symbolon_protocol::time::KEPT_AFTER_END;

use super::sample::MINUTE;
use super::{BackEnd, Scene, race_for_one, told};
use crate::port::Use;

pub async fn all(back_end: &dyn BackEnd) {
    is_used_once(back_end).await;
    is_used_by_one_racer(back_end).await;
}

async fn is_used_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "assertion").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (client, stranger) = (ClientId::parse("client").unwrap(), ClientId::parse("stranger").unwrap());
    let (jti, end) = (Jti::parse("jti").unwrap(), *now + 5 * MINUTE);
    assert_eq!(told(store.use_assertion(issuer, &client, &jti, end).await).await, Use::First);
    assert_eq!(told(store.use_assertion(issuer, &client, &jti, end).await).await, Use::Replayed);
    assert_eq!(told(store.use_assertion(issuer, &stranger, &jti, end).await).await, Use::First);
    assert_eq!(told(store.use_assertion(other, &client, &jti, end).await).await, Use::First);
    assert_eq!(store.sweep(end + KEPT_AFTER_END - MINUTE).await.unwrap(), 0, "nothing goes early");
    assert_eq!(told(store.use_assertion(issuer, &client, &jti, end).await).await, Use::Replayed);
    if scene.forgets {
        assert_eq!(store.sweep(end + KEPT_AFTER_END).await.unwrap(), 3);
    }
    let after = back_end.after_crash("assertion").await;
    assert_eq!(told(after.use_assertion(issuer, &stranger, &jti, end).await).await, Use::Replayed);
}

async fn is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "assertion-race").await;
    race_for_one("use_assertion", |round, _| {
        let (store, issuer, end) = (Arc::clone(&scene.store), scene.issuer.clone(), scene.now + MINUTE);
        let (client, jti) =
            (ClientId::parse("client").unwrap(), Jti::parse(&format!("jti-{round}")).unwrap());
        async move { told(store.use_assertion(&issuer, &client, &jti, end).await).await == Use::First }
    })
    .await;
}
