//! Issuers, their settings and keys.

use std::sync::Arc;

use parking_lot::Mutex;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::key::KeyState;
use symbolon_protocol::settings::IssuerSettings;

use super::sample::{client, issuer, key, user};
use super::{BackEnd, Scene, race_record_for_one, record_rounds};
use crate::StoreError;
use crate::port::{Changed, Created, SettingsUpdate};

pub async fn all(back_end: &dyn BackEnd) {
    keeps_record_settings_and_keys(back_end).await;
    tells_of_changes(back_end).await;
    keys_and_settings_change_for_one_racer(back_end).await;
}

fn settings(audit_days: u32) -> IssuerSettings {
    IssuerSettings { audit_days, ..IssuerSettings::default() }
}

async fn keeps_record_settings_and_keys(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "issuer").await;
    let Scene { store, now, issuer: one, other: two, .. } = &scene;
    assert!(store.issuers().await.unwrap().is_empty());
    assert!(store.settings(one).await.is_err(), "an issuer that is not there has no settings");
    let first = issuer("one", *now);
    assert_eq!(store.create_issuer(first.clone(), settings(1)).await.unwrap(), Created::Created);
    assert_eq!(store.create_issuer(first.clone(), settings(2)).await.unwrap(), Created::Exists);
    assert_eq!(store.settings(one).await.unwrap(), settings(1));
    let mut second = issuer("two", *now);
    assert_eq!(store.create_issuer(second.clone(), settings(3)).await.unwrap(), Created::Created);
    assert_eq!(store.issuers().await.unwrap(), [first.clone(), second.clone()]);
    second.url = "https://moved.example".to_owned();
    assert!(store.update_issuer(second.clone()).await.unwrap());
    assert!(!store.update_issuer(issuer("three", *now)).await.unwrap());
    assert_eq!(store.issuers().await.unwrap(), [first, second]);

    let put = store.put_settings(one, &settings(1), settings(4)).await;
    assert_eq!(put.unwrap(), SettingsUpdate::Written);
    assert_eq!(store.settings(one).await.unwrap(), settings(4));
    let stale = store.put_settings(one, &settings(1), settings(5)).await;
    assert!(matches!(stale, Err(StoreError::Conflict)));
    assert_eq!(
        (store.settings(one).await.unwrap(), store.settings(two).await.unwrap()),
        (settings(4), settings(3))
    );

    let before = [key("b", KeyState::Active, *now), key("a", KeyState::Next, *now)];
    let mut after = before.clone();
    after[0].state = KeyState::Retiring;
    assert!(store.keys(one).await.unwrap().is_empty());
    store.put_keys(one, &[], &before).await.unwrap();
    assert_eq!(store.keys(one).await.unwrap(), before, "in the order in which they were put");
    assert!(store.keys(two).await.unwrap().is_empty());
    assert!(matches!(store.put_keys(one, &[], &after).await, Err(StoreError::Conflict)));
    store.put_keys(one, &before, &after).await.unwrap();
    assert!(
        matches!(store.put_keys(one, &before, &before).await, Err(StoreError::Conflict)),
        "a state changed"
    );
    store.put_keys(two, &[], &before[1..]).await.unwrap();
    store.put_keys(one, &after, &after[1..]).await.unwrap();
    assert_eq!((store.keys(one).await.unwrap().len(), store.keys(two).await.unwrap().len()), (1, 1));
}

async fn tells_of_changes(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "issuer-changes").await;
    let Scene { store, now, issuer: one, .. } = &scene;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    store.on_change(Box::new(move |changed| {
        listener.lock().push(changed.clone());
        Box::pin(std::future::ready(()))
    }));
    store.create_issuer(issuer("one", *now), settings(1)).await.unwrap();
    let put = store.put_settings(one, &settings(1), settings(2)).await;
    assert_eq!(put.unwrap(), SettingsUpdate::Written);
    store.put_keys(one, &[], &[key("a", KeyState::Active, *now)]).await.unwrap();
    let (client, user) = (client("a", *now), user("u", None, *now));
    store.create_client(one, client.clone()).await.unwrap();
    store.create_user(one, user.clone(), None).await.unwrap();
    store.update_client(one, client.clone(), *now).await.unwrap();
    store.update_user(one, user.clone(), *now).await.unwrap();
    let consent = Consent::new(client.scope.clone(), *now);
    assert!(store.allow(one, &user.id, &client.client_id, consent.into()).await.unwrap());
    store.delete_client(one, &client.client_id).await.unwrap();
    store.delete_user(one, &user.id).await.unwrap();
    let expected = [
        Changed::Issuers,
        Changed::Settings(one.clone()),
        Changed::Keys(one.clone()),
        Changed::Client(one.clone(), client.client_id.clone()),
        Changed::ClientDeleted(one.clone(), client.client_id),
        Changed::Consents(one.clone(), user.id.clone()),
        Changed::User(one.clone(), user.id),
    ];
    let heard = heard.lock();
    for changed in expected {
        assert!(heard.contains(&changed), "{changed:?}");
    }
}

async fn keys_and_settings_change_for_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "issuer-race").await;
    for round in 0..record_rounds() {
        let created = scene.store.create_issuer(issuer(&format!("i-{round}"), scene.now), settings(0));
        assert_eq!(created.await.unwrap(), Created::Created);
    }
    let won = |result: Result<(), StoreError>| match result {
        Ok(()) => true,
        Err(StoreError::Conflict) => false,
        Err(error) => panic!("{error}"),
    };
    race_record_for_one("put_settings", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), IssuerId::parse(&format!("i-{round}")).unwrap());
        async move {
            let put = store.put_settings(&issuer, &settings(0), settings(1 + racer as u32)).await;
            won(put.map(|put| assert_eq!(put, SettingsUpdate::Written)))
        }
    })
    .await;
    race_record_for_one("put_keys", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), IssuerId::parse(&format!("i-{round}")).unwrap());
        let keys = [key(&format!("k-{racer}"), KeyState::Active, scene.now)];
        async move { won(store.put_keys(&issuer, &[], &keys).await) }
    })
    .await;
    let issuer = IssuerId::parse("i-7").unwrap();
    assert_eq!(scene.store.keys(&issuer).await.unwrap().len(), 1);
}
