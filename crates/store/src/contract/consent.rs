//! Remembered consents.

use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::scope::Scope;

use super::sample::{MINUTE, client};
use super::{BackEnd, Scene};

pub async fn all(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (ann, bob) = (UserId::parse("ann").unwrap(), UserId::parse("bob").unwrap());
    let (app, web) = (ClientId::parse("app").unwrap(), ClientId::parse("web").unwrap());
    let consent = |scope, granted_at| Consent { scope: Scope::parse(scope).unwrap(), granted_at };
    store.create_client(issuer, client("app", *now)).await.unwrap();
    assert!(store.consent(issuer, &ann, &app).await.unwrap().is_none());
    store.allow(issuer, &ann, &app, consent("openid email", *now)).await.unwrap();
    store.allow(issuer, &ann, &app, consent("openid phone", *now + MINUTE)).await.unwrap();
    let found = store.consent(issuer, &ann, &app).await.unwrap();
    assert_eq!(found, Some(consent("openid email phone", *now + MINUTE)), "what was allowed before stays");
    for (issuer, user, client) in [(other, &ann, &app), (issuer, &bob, &app), (issuer, &ann, &web)] {
        assert!(store.consent(issuer, user, client).await.unwrap().is_none());
        assert!(!store.withdraw(issuer, user, client).await.unwrap());
    }
    store.allow(issuer, &ann, &web, consent("openid", *now)).await.unwrap();
    store.allow(other, &ann, &app, consent("openid", *now)).await.unwrap();
    store.allow(issuer, &bob, &app, consent("openid", *now)).await.unwrap();
    assert!(store.withdraw(issuer, &ann, &app).await.unwrap());
    assert!(!store.withdraw(issuer, &ann, &app).await.unwrap());
    assert!(store.consent(issuer, &ann, &app).await.unwrap().is_none());

    // A client takes the consents that it was given along, and no others.
    assert!(store.delete_client(issuer, &app).await.unwrap());
    assert!(store.consent(issuer, &bob, &app).await.unwrap().is_none());
    assert!(store.consent(issuer, &ann, &web).await.unwrap().is_some());
    assert!(store.consent(other, &ann, &app).await.unwrap().is_some());
}
