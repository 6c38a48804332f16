//! Logos of issuers and of clients.

use std::sync::Arc;

use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::logo::{LARGEST, Logo, LogoType};
use symbolon_protocol::settings::IssuerSettings;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::sample::{MINUTE, client, issuer};
use super::{BackEnd, Scene};
use crate::port::{Changed, Created};

/// How many deletions race with logos that are put.
const RACES: usize = 100;
/// One deletes, the others put.
const RACERS: usize = 8;

pub async fn all(back_end: &dyn BackEnd) {
    is_put_replaced_and_deleted(back_end).await;
    goes_with_its_client(back_end).await;
    is_listed_by_client(back_end).await;
    is_announced(back_end).await;
    is_one_whole_in_a_race(back_end).await;
    outlives_no_client_in_a_race(back_end).await;
}

/// An image of as many bytes.
pub(crate) fn image(text: &str, bytes: usize) -> Logo {
    let mut content = b"\x89PNG\r\n\x1a\n\0\xff".to_vec();
    content.extend(text.bytes().cycle().take(bytes.saturating_sub(content.len())));
    Logo::read(LogoType::Png, &content).unwrap()
}

fn svg(text: &str) -> Logo {
    Logo::read(LogoType::Svg, format!("<svg><title>{text}</title></svg>").as_bytes()).unwrap()
}

fn id(text: &str) -> ClientId {
    ClientId::parse(text).unwrap()
}

async fn create_issuers(scene: &Scene) {
    for name in ["one", "two"] {
        let created = scene.store.create_issuer(issuer(name, scene.now), IssuerSettings::default()).await;
        assert_eq!(created.unwrap(), Created::Created);
    }
}

async fn is_put_replaced_and_deleted(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "logo").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (app, nobody) = (id("app"), IssuerId::parse("nobody").unwrap());
    assert!(!store.put_logo(issuer, None, svg("early")).await.unwrap(), "there is no issuer");
    create_issuers(&scene).await;
    assert!(!store.put_logo(issuer, Some(&app), svg("early")).await.unwrap(), "there is no client");
    for at in [issuer, other] {
        assert_eq!(store.create_client(at, client("app", *now)).await.unwrap(), Created::Created);
    }
    let owners = [None, Some(&app)];
    for client in owners {
        assert_eq!(store.logo(issuer, client).await.unwrap(), None, "{client:?}");
        assert!(!store.delete_logo(issuer, client).await.unwrap(), "{client:?}");
        let (first, second) = (svg("first"), image("second", LARGEST));
        assert!(store.put_logo(issuer, client, first.clone()).await.unwrap(), "{client:?}");
        assert_eq!(store.logo(issuer, client).await.unwrap(), Some(first), "{client:?}");
        assert!(store.put_logo(issuer, client, second.clone()).await.unwrap(), "{client:?}");
        assert_eq!(store.logo(issuer, client).await.unwrap(), Some(second), "{client:?}");
        assert_eq!(store.logo(other, client).await.unwrap(), None, "{client:?}");
        assert_eq!(store.logo(&nobody, client).await.unwrap(), None, "{client:?}");
        assert!(!store.delete_logo(other, client).await.unwrap(), "{client:?}");
    }
    assert!(store.put_logo(other, None, svg("theirs")).await.unwrap());
    let after = back_end.after_crash("logo").await;
    for client in owners {
        assert_eq!(after.logo(issuer, client).await.unwrap(), Some(image("second", LARGEST)), "{client:?}");
        assert!(after.delete_logo(issuer, client).await.unwrap(), "{client:?}");
        assert!(!after.delete_logo(issuer, client).await.unwrap(), "{client:?}");
        assert_eq!(after.logo(issuer, client).await.unwrap(), None, "{client:?}");
    }
    assert_eq!(after.logo(other, None).await.unwrap(), Some(svg("theirs")));
}

async fn goes_with_its_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "logo-client").await;
    let Scene { store, issuer, now, .. } = &scene;
    create_issuers(&scene).await;
    store.create_clients(issuer, vec![client("app", *now), client("apps", *now)]).await.unwrap();
    let (app, apps) = (id("app"), id("apps"));
    for client in [None, Some(&app), Some(&apps)] {
        assert!(store.put_logo(issuer, client, svg("all")).await.unwrap());
    }
    let mut renamed = client("app", *now);
    renamed.updated_at = *now + MINUTE;
    assert!(store.update_client(issuer, renamed, *now).await.unwrap());
    assert_eq!(store.logo(issuer, Some(&app)).await.unwrap(), Some(svg("all")), "a change leaves it");
    assert!(store.delete_client(issuer, &app).await.unwrap());
    assert_eq!(store.logo(issuer, Some(&app)).await.unwrap(), None);
    store.create_client(issuer, client("app", *now)).await.unwrap();
    assert_eq!(store.logo(issuer, Some(&app)).await.unwrap(), None, "a later client has none");
    for client in [None, Some(&apps)] {
        assert_eq!(store.logo(issuer, client).await.unwrap(), Some(svg("all")));
    }
}

async fn is_listed_by_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "logo-next").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    create_issuers(&scene).await;
    for at in [issuer, other] {
        let clients = ["b", "a", "C", "bare"].map(|name| client(name, *now)).to_vec();
        store.create_clients(at, clients).await.unwrap();
        assert!(store.put_logo(at, None, svg("own")).await.unwrap());
    }
    for name in ["b", "a", "C"] {
        assert!(store.put_logo(issuer, Some(&id(name)), image(name, LARGEST)).await.unwrap());
    }
    let (mut seen, mut after) = (Vec::new(), None::<ClientId>);
    loop {
        let some = store.next_logos(issuer, after.as_ref(), 2).await.unwrap();
        seen.extend(some.iter().cloned());
        if some.len() < 2 {
            break;
        }
        after = some.into_iter().next_back().map(|(client, _)| client);
    }
    let expected = ["C", "a", "b"].map(|name| (id(name), image(name, LARGEST)));
    assert!(seen == expected, "each once, in the order of the ids, and not the issuer's");
    assert!(store.next_logos(other, None, 100).await.unwrap().is_empty());
}

/// Whoever keeps the issuer's with its settings hears of a change.
async fn is_announced(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "logo-announced").await;
    let Scene { store, issuer, now, .. } = &scene;
    create_issuers(&scene).await;
    store.create_client(issuer, client("app", *now)).await.unwrap();
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&heard);
    store.on_change(Box::new(move |changed| {
        noted.lock().unwrap().push(changed.clone());
        Box::pin(std::future::ready(()))
    }));
    let app = id("app");
    let (of_issuer, of_app) =
        (Changed::Settings(issuer.clone()), Changed::Client(issuer.clone(), app.clone()));
    for (client, changed) in [(None, of_issuer), (Some(&app), of_app)] {
        assert!(store.put_logo(issuer, client, svg("new")).await.unwrap());
        assert!(std::mem::take(&mut *heard.lock().unwrap()).contains(&changed), "{changed:?}");
        assert!(store.delete_logo(issuer, client).await.unwrap());
        assert!(std::mem::take(&mut *heard.lock().unwrap()).contains(&changed), "{changed:?}");
    }
}

/// Many put one at once, of two kinds: one of them is there, whole, and whoever reads meanwhile sees one whole.
async fn is_one_whole_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "logo-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    create_issuers(&scene).await;
    store.create_client(issuer, client("app", *now)).await.unwrap();
    let logos: Vec<Logo> = (0..super::RACERS)
        .map(|racer| if racer % 2 == 0 { image(&racer.to_string(), 20_000) } else { svg(&racer.to_string()) })
        .collect();
    for owner in [None, Some(id("app"))] {
        let mut racers = JoinSet::new();
        for logo in logos.clone() {
            let (store, issuer, owner, all) =
                (Arc::clone(store), issuer.clone(), owner.clone(), logos.clone());
            racers.spawn(async move {
                assert!(store.put_logo(&issuer, owner.as_ref(), logo).await.unwrap());
                let seen = store.logo(&issuer, owner.as_ref()).await.unwrap();
                assert!(seen.is_some_and(|seen| all.contains(&seen)), "it is none that was put");
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap();
        }
        assert!(store.delete_logo(issuer, owner.as_ref()).await.unwrap(), "there is one");
        assert!(!store.delete_logo(issuer, owner.as_ref()).await.unwrap(), "and no more than one");
    }
}

/// Logos are put while their client is deleted: nothing may be left for a later client of the same id.
async fn outlives_no_client_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "logo-deletion").await;
    let Scene { store, issuer, now, .. } = &scene;
    create_issuers(&scene).await;
    for round in 0..RACES {
        let app = client(&format!("app-{round}"), *now);
        store.create_client(issuer, app.clone()).await.unwrap();
        let start = Arc::new(Barrier::new(RACERS));
        let mut racers = JoinSet::new();
        for racer in 0..RACERS {
            let (store, issuer, id) = (Arc::clone(store), issuer.clone(), app.client_id.clone());
            let start = Arc::clone(&start);
            racers.spawn(async move {
                start.wait().await;
                if racer == 0 {
                    assert!(store.delete_client(&issuer, &id).await.unwrap());
                } else {
                    store.put_logo(&issuer, Some(&id), svg(&racer.to_string())).await.unwrap();
                }
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap();
        }
        store.create_client(issuer, app.clone()).await.unwrap();
        let left = store.logo(issuer, Some(&app.client_id)).await.unwrap();
        assert_eq!(left, None, "round {round}");
    }
}
