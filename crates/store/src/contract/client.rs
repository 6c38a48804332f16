//! Clients.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::client::Client;
use symbolon_protocol::client_secret::{ClientSecret, SecretDigest};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;

use super::sample::{MINUTE, client, page, search};
use super::{BackEnd, Scene, race_record_for_one};
use crate::StoreError;
use crate::port::{COUNTED, Created, PageRequest};

pub async fn all(back_end: &dyn BackEnd) {
    is_created_changed_and_deleted(back_end).await;
    keeps_what_is_known_of_its_secrets(back_end).await;
    belongs_to_one_issuer(back_end).await;
    is_listed_and_found(back_end).await;
    a_search_stops_where_it_knows_enough(back_end).await;
    comes_once_while_others_come_and_go(back_end).await;
    is_created_by_one_racer(back_end).await;
    is_changed_by_one_racer(back_end).await;
    is_never_read_stale(back_end).await;
    keeps_the_latest_use_of_each_secret(back_end).await;
}

fn id(text: &str) -> ClientId {
    ClientId::parse(text).unwrap()
}

async fn is_created_changed_and_deleted(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client").await;
    let Scene { store, issuer, now, .. } = &scene;
    let first = client("a", *now);
    assert!(store.client(issuer, &id("a")).await.unwrap().is_none());
    assert_eq!(store.create_client(issuer, first.clone()).await.unwrap(), Created::Created);
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == first));
    let mut second = first.clone();
    second.client_name = "Another".to_owned();
    assert_eq!(store.create_client(issuer, second.clone()).await.unwrap(), Created::Exists);
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == first));

    second.updated_at = *now + Duration::from_millis(1);
    assert!(store.update_client(issuer, second.clone(), *now).await.unwrap());
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == second));
    let stale = store.update_client(issuer, first, *now).await;
    assert!(matches!(stale, Err(StoreError::Conflict)));
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == second));
    assert!(!store.update_client(issuer, client("nobody", *now), *now).await.unwrap());

    assert!(store.delete_client(issuer, &id("a")).await.unwrap());
    assert!(!store.delete_client(issuer, &id("a")).await.unwrap());
    assert!(store.client(issuer, &id("a")).await.unwrap().is_none());
    assert_eq!(store.create_client(issuer, second).await.unwrap(), Created::Created);

    let some = ["a", "b", "c", "b"].map(|id| client(id, *now)).to_vec();
    let created = store.create_clients(issuer, some).await.unwrap();
    assert_eq!(created, [Created::Exists, Created::Created, Created::Created, Created::Exists]);
}

/// The use of a secret is noted without another `updated_at`: a change by an administrator who saw the record before goes
/// through, and a note by somebody who saw it before that change does not.
async fn keeps_what_is_known_of_its_secrets(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-secrets").await;
    let Scene { store, issuer, now, .. } = &scene;
    let secret = |id: &str, expires_at| ClientSecret {
        id: id.into(),
        digest: SecretDigest([id.len() as u8; 32]),
        is_keyed: id == "older",
        created_at: Some(*now),
        expires_at,
        last_used_at: None,
    };
    let mut first = client("a", *now);
    first.client_secrets = vec![secret("new", None), secret("older", Some(*now + MINUTE))].into();
    store.create_client(issuer, first.clone()).await.unwrap();
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == first));
    let mut noted = first.clone();
    noted.client_secrets.note_use("older", *now + MINUTE / 2);
    assert!(store.update_client(issuer, noted.clone(), *now).await.unwrap());
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == noted));
    let changed = Client { client_name: "B".to_owned(), updated_at: *now + MINUTE, ..first };
    assert!(store.update_client(issuer, changed.clone(), *now).await.unwrap());
    let late = store.update_client(issuer, noted, *now).await;
    assert!(matches!(late, Err(StoreError::Conflict)));
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == changed));
}

async fn belongs_to_one_issuer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-issuers").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    store.create_client(issuer, client("a", *now)).await.unwrap();
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some());
    assert!(store.client(other, &id("a")).await.unwrap().is_none());
    assert!(!store.update_client(other, client("a", *now), *now).await.unwrap());
    assert!(!store.delete_client(other, &id("a")).await.unwrap());
    assert_eq!(store.list_clients(other, &page(1, 10)).await.unwrap().total, 0);
    let mut own = client("a", *now);
    own.client_name = "Own".to_owned();
    assert_eq!(store.create_client(other, own.clone()).await.unwrap(), Created::Created);
    assert!(store.client(other, &id("a")).await.unwrap().is_some_and(|found| *found == own));
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found != own));
}

async fn is_listed_and_found(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-list").await;
    let Scene { store, issuer, now, .. } = &scene;
    for n in 0..25_u32 {
        let at = *now + n * Duration::from_secs(1);
        store.create_client(issuer, client(&format!("Client-{n:02}"), at)).await.unwrap();
    }
    let mut odd = client("odd", *now - Duration::from_secs(1));
    odd.client_name = "100% _Äpfel_ \\".to_owned();
    store.create_client(issuer, odd).await.unwrap();
    let first = store.list_clients(issuer, &page(1, 10)).await.unwrap();
    let last = store.list_clients(issuer, &page(3, 10)).await.unwrap();
    assert_eq!((first.total, first.items.len(), last.items.len()), (26, 10, 6));
    assert_eq!(first.items[0].client_id, id("Client-24"), "newest first");
    assert_eq!(last.items[5].client_id, id("odd"));
    assert!(store.list_clients(issuer, &page(9, 10)).await.unwrap().items.is_empty());
    for (text, total) in [
        ("client-1", 10),
        ("THE CLIENT-0", 10),
        ("0%", 1),
        ("%", 1),
        ("_ä", 1),
        ("\\", 1),
        ("'", 0),
        ("", 26),
    ] {
        let found = store.list_clients(issuer, &search(text)).await.unwrap();
        assert_eq!((found.total, found.items.len() as u64), (total, total), "{text:?}");
    }
}

/// Of more than it counts, a search knows whether there is a next page, and no more.
async fn a_search_stops_where_it_knows_enough(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-search").await;
    let Scene { store, issuer, now, .. } = &scene;
    let clients = (0..1_100_u32).map(|n| client(&format!("c-{n:04}"), *now + n * Duration::from_secs(1)));
    let created = store.create_clients(issuer, clients.collect()).await.unwrap();
    assert!(created.iter().all(|created| *created == Created::Created));
    let found = async |page: u32| {
        let request = PageRequest { page, limit: 10, search: Some("c-".to_owned()) };
        let found = store.list_clients(issuer, &request).await.unwrap();
        let first = found.items.first().map(|client| client.client_id.to_string());
        (found.total, found.items.len(), first)
    };
    assert_eq!(found(1).await, (COUNTED, 10, Some("c-1099".to_owned())));
    assert_eq!(found(100).await, (1_001, 10, Some("c-0109".to_owned())));
    assert_eq!(found(110).await, (1_100, 10, Some("c-0009".to_owned())));
    assert_eq!(found(111).await, (1_100, 0, None));
    assert_eq!(store.list_clients(issuer, &page(1, 10)).await.unwrap().total, 1_100, "all are counted");
}

/// Clients are created, changed and deleted while the list is read: those that exist all the while come once.
async fn comes_once_while_others_come_and_go(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-next").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let names: Vec<String> = (0..40_u32).map(|n| format!("c-{n:02}")).collect();
    for issuer in [issuer, other] {
        let clients = names.iter().rev().map(|id| client(id, *now)).collect();
        store.create_clients(issuer, clients).await.unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let some = store.next_clients(issuer, after.as_ref(), 10).await.unwrap();
        seen.extend(some.iter().map(|client| client.client_id.to_string()));
        if some.len() < 10 {
            break;
        }
        after = some.last().map(|client| client.client_id.clone());
        // In front of, at and behind the position of the listing.
        for id in ["a-new", "c-09-new", "z-new"] {
            store.create_client(issuer, client(id, *now + MINUTE)).await.unwrap();
        }
        store.delete_client(issuer, &id("c-00")).await.unwrap();
        store.delete_client(issuer, &id("c-39")).await.unwrap();
        let renewed = Client { updated_at: *now + MINUTE, ..client("c-20", *now) };
        drop(store.update_client(issuer, renewed, *now).await);
    }
    let mut expected = names[..39].to_vec();
    expected.insert(10, "c-09-new".to_owned());
    expected.push("z-new".to_owned());
    assert_eq!(seen, expected);
    assert!(store.next_clients(&IssuerId::parse("nobody").unwrap(), None, 10).await.unwrap().is_empty());
}

async fn is_created_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-race").await;
    race_record_for_one("create_client", |round, _| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let client = client(&format!("client-{round}"), scene.now);
        async move { store.create_client(&issuer, client).await.unwrap() == Created::Created }
    })
    .await;
}

async fn is_changed_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-update-race").await;
    let clients =
        (0..super::record_rounds()).map(|round| client(&format!("client-{round}"), scene.now)).collect();
    scene.store.create_clients(&scene.issuer, clients).await.unwrap();
    race_record_for_one("update_client", |round, racer| {
        let (store, issuer, now) = (Arc::clone(&scene.store), scene.issuer.clone(), scene.now);
        let mut changed = client(&format!("client-{round}"), now);
        changed.updated_at = now + Duration::from_millis(1 + racer as u64);
        async move {
            match store.update_client(&issuer, changed, now).await {
                Ok(updated) => updated,
                Err(StoreError::Conflict) => false,
                Err(error) => panic!("{error}"),
            }
        }
    })
    .await;
}

/// Nodes that saw the client before each other's notes, and write in any order: the latest use of each secret stays.
async fn keeps_the_latest_use_of_each_secret(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-secret-uses").await;
    let Scene { store, issuer, now, .. } = &scene;
    let secret = |id: &str| ClientSecret {
        id: id.into(),
        digest: SecretDigest([1; 32]),
        is_keyed: false,
        created_at: Some(*now),
        expires_at: None,
        last_used_at: None,
    };
    let mut first = client("a", *now);
    first.client_secrets = vec![secret("new"), secret("old")].into();
    store.create_client(issuer, first.clone()).await.unwrap();
    let uses = (0..32_u32).map(|racer| {
        let (store, issuer) = (Arc::clone(store), issuer.clone());
        let used = if racer % 2 == 0 { "new" } else { "old" };
        let noted = vec![(used.into(), *now + racer * MINUTE)];
        tokio::spawn(async move { store.note_secret_uses(&issuer, &id("a"), noted).await })
    });
    for noted in uses.collect::<Vec<_>>() {
        assert!(noted.await.unwrap().unwrap());
    }
    first.client_secrets.note_use("new", *now + 30 * MINUTE);
    first.client_secrets.note_use("old", *now + 31 * MINUTE);
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == first));
    let gone = vec![("gone".into(), *now)];
    assert!(store.note_secret_uses(issuer, &id("a"), gone).await.unwrap(), "the client is there");
    assert!(store.client(issuer, &id("a")).await.unwrap().is_some_and(|found| *found == first));
    assert!(!store.note_secret_uses(issuer, &id("nobody"), Vec::new()).await.unwrap());
}

/// A read that begins after an update was answered sees the update, however many readers fill the cache meanwhile.
async fn is_never_read_stale(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "client-cache").await;
    let Scene { store, issuer, now, .. } = &scene;
    store.create_client(issuer, client("a", *now)).await.unwrap();
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, issuer, done) = (Arc::clone(store), issuer.clone(), Arc::clone(&done));
        readers.spawn(async move {
            let mut seen = Timestamp::EPOCH;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let found = store.client(&issuer, &id("a")).await.unwrap().unwrap();
                assert!(found.updated_at >= seen, "a reader went back in time");
                seen = found.updated_at;
                tokio::task::yield_now().await;
            }
        });
    }
    for n in 0..300 {
        let (seen, mut changed) = (*now + Duration::from_millis(n), client("a", *now));
        changed.updated_at = *now + Duration::from_millis(n + 1);
        assert!(store.update_client(issuer, changed.clone(), seen).await.unwrap());
        let found = store.client(issuer, &id("a")).await.unwrap().unwrap();
        assert_eq!(found.updated_at, changed.updated_at, "the cache is stale");
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
}
