//! Remembered consents.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use symbolon_protocol::consent::{Consent, ConsentTerms, GivenConsent};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::settings::{ClientOverrides, IssuerSettings};
use symbolon_protocol::time::Timestamp;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::sample::{MINUTE, client, details, user};
use super::{BackEnd, Scene};

/// How many deletions race with consents.
const RACES: usize = 100;

/// One deletes, the others allow.
const RACERS: usize = 8;

pub async fn all(back_end: &dyn BackEnd) {
    is_remembered_until_it_is_taken_back(back_end).await;
    counts_for_the_terms_that_it_was_given_to(back_end).await;
    is_between_those_who_exist(back_end).await;
    is_listed_by_client(back_end).await;
    is_listed_once_whatever_changes(back_end).await;
    goes_with_its_user_and_its_client(back_end).await;
    outlives_nobody_in_a_race(back_end).await;
    is_never_read_stale(back_end).await;
}

fn consent(scope: &str, granted_at: Timestamp) -> Consent {
    Consent::new(Scope::parse(scope).unwrap(), granted_at)
}

fn users() -> (UserId, UserId) {
    (UserId::parse("ann").unwrap(), UserId::parse("bob").unwrap())
}

fn clients() -> (ClientId, ClientId) {
    (ClientId::parse("app").unwrap(), ClientId::parse("web").unwrap())
}

/// Creates users and clients of these ids.
async fn create(scene: &Scene, issuer: &IssuerId, users: &[&str], clients: &[&str]) {
    let users = users.iter().map(|id| (user(id, None, scene.now), None)).collect();
    let clients = clients.iter().map(|id| client(id, scene.now)).collect();
    scene.store.create_users(issuer, users).await.unwrap();
    scene.store.create_clients(issuer, clients).await.unwrap();
}

async fn is_remembered_until_it_is_taken_back(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let ((ann, bob), (app, web)) = (users(), clients());
    create(&scene, issuer, &["ann"], &["app"]).await;
    assert!(store.consent(issuer, &ann, &app).await.unwrap().is_none());
    let first = GivenConsent::from(consent("openid email", *now)).with_details(details());
    assert!(store.allow(issuer, &ann, &app, first).await.unwrap());
    assert!(store.allow(issuer, &ann, &app, consent("openid phone", *now + MINUTE).into()).await.unwrap());
    let found = store.consent(issuer, &ann, &app).await.unwrap();
    let both = consent("openid email phone", *now + MINUTE);
    let both = Consent { authorization_details: details(), ..both };
    assert_eq!(found, Some(both), "what was allowed before stays");
    for (issuer, user, client) in [(other, &ann, &app), (issuer, &bob, &app), (issuer, &ann, &web)] {
        assert!(store.consent(issuer, user, client).await.unwrap().is_none());
        assert!(!store.withdraw(issuer, user, client).await.unwrap());
    }
    assert!(store.withdraw(issuer, &ann, &app).await.unwrap());
    assert!(!store.withdraw(issuer, &ann, &app).await.unwrap());
    assert!(store.consent(issuer, &ann, &app).await.unwrap().is_none());
}

async fn counts_for_the_terms_that_it_was_given_to(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent-terms").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ((ann, _), (app, _)) = (users(), clients());
    create(&scene, issuer, &["ann"], &["app"]).await;
    assert!(store.allow(issuer, &ann, &app, consent("openid email", *now).into()).await.unwrap());
    let settings = IssuerSettings {
        consent_version: 7,
        consent_lifetime_seconds: Some(MINUTE.as_secs()),
        ..IssuerSettings::default()
    };
    let terms = ConsentTerms::of(&settings, &ClientOverrides::default());
    for (asked, at) in [("openid phone", *now), ("openid profile", *now + MINUTE * 3)] {
        let given = terms.give(Scope::parse(asked).unwrap(), at);
        assert!(store.allow(issuer, &ann, &app, given.clone()).await.unwrap());
        let found = store.consent(issuer, &ann, &app).await.unwrap();
        assert_eq!(found, Some(given.consent), "what does not count any more is left out");
    }
}

async fn is_between_those_who_exist(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent-parties").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let ((ann, bob), (app, web)) = (users(), clients());
    create(&scene, issuer, &["ann"], &["app"]).await;
    create(&scene, other, &["bob"], &["web"]).await;
    let nobody = [(issuer, &bob, &app), (issuer, &ann, &web), (issuer, &bob, &web), (other, &ann, &app)];
    for (issuer, user, client) in nobody {
        assert!(!store.allow(issuer, user, client, consent("openid", *now).into()).await.unwrap());
        assert!(store.consent(issuer, user, client).await.unwrap().is_none(), "{issuer} {user} {client}");
    }
    // A client whose id is the URL of its metadata is not stored.
    let url = ClientId::parse("https://app.example/oauth/client.json").unwrap();
    for (user, scope, is_given) in [(&ann, "openid", true), (&ann, "email", true), (&bob, "openid", false)] {
        let given = GivenConsent::from(consent(scope, *now)).for_document(true);
        assert_eq!(store.allow(issuer, user, &url, given).await.unwrap(), is_given, "{user}");
    }
    assert_eq!(store.consent(issuer, &ann, &url).await.unwrap(), Some(consent("openid email", *now)));
    assert!(store.withdraw(issuer, &ann, &url).await.unwrap());
    assert!(store.allow(issuer, &ann, &app, consent("openid", *now).into()).await.unwrap());
    assert!(store.delete_client(issuer, &app).await.unwrap());
    assert!(!store.allow(issuer, &ann, &app, consent("openid", *now).into()).await.unwrap());
    create(&scene, issuer, &[], &["app"]).await;
    assert!(
        store.consent(issuer, &ann, &app).await.unwrap().is_none(),
        "the next of this id inherits nothing"
    );
}

async fn is_listed_by_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent-list").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let (ann, bob) = users();
    let ids = ["web", "app", "App", "app-2", "10", "9"].map(|id| ClientId::parse(id).unwrap());
    create(&scene, issuer, &["ann"], &ids.each_ref().map(ClientId::as_str)).await;
    for id in &ids {
        assert!(store.allow(issuer, &ann, id, consent("openid", *now).into()).await.unwrap());
    }
    let mut expected = ids.to_vec();
    expected.sort();
    let given = store.consents_of(issuer, &ann).await.unwrap();
    assert_eq!(given.iter().map(|(client, _)| client.clone()).collect::<Vec<_>>(), expected);
    for id in &ids {
        assert_eq!(store.consent(issuer, &ann, id).await.unwrap(), Some(consent("openid", *now)), "{id}");
    }
    assert!(store.consents_of(issuer, &bob).await.unwrap().is_empty());
    assert!(store.consents_of(other, &ann).await.unwrap().is_empty());
    store.withdraw(issuer, &ann, &ids[0]).await.unwrap();
    assert_eq!(store.consents_of(issuer, &ann).await.unwrap().len(), ids.len() - 1);
}

async fn is_listed_once_whatever_changes(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent-next").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let ((ann, bob), (app, web)) = (users(), clients());
    create(&scene, issuer, &["ann", "bob"], &["app", "web"]).await;
    create(&scene, other, &["ann"], &["app"]).await;
    let allow = async |at: &IssuerId, user: &UserId, client: &ClientId| {
        assert!(store.allow(at, user, client, consent("openid", *now).into()).await.unwrap());
    };
    for (user, client) in [(&bob, &app), (&ann, &app), (&ann, &web)] {
        allow(issuer, user, client).await;
    }
    allow(other, &ann, &app).await;
    let (mut seen, mut after) = (Vec::new(), None::<(UserId, ClientId)>);
    loop {
        let place = after.as_ref().map(|(user, client)| (user, client));
        let some = store.next_consents(issuer, place, 1).await.unwrap();
        let Some((user, client, found)) = some.into_iter().next() else { break };
        assert_eq!(found, consent("openid", *now));
        seen.push(format!("{user} {client}"));
        if after.is_none() {
            // Behind the position of the listing.
            assert!(store.withdraw(issuer, &ann, &web).await.unwrap());
            allow(issuer, &bob, &web).await;
        }
        after = Some((user, client));
    }
    assert_eq!(seen, ["ann app", "bob app", "bob web"]);
    let elsewhere = store.next_consents(other, None, 1_000).await.unwrap();
    assert_eq!(elsewhere, [(ann, app, consent("openid", *now))]);
}

async fn goes_with_its_user_and_its_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent-ends").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let ((ann, bob), (app, web)) = (users(), clients());
    create(&scene, issuer, &["ann", "bob"], &["app", "web"]).await;
    create(&scene, other, &["ann"], &["app"]).await;
    let all = [(issuer, &ann, &app), (issuer, &ann, &web), (issuer, &bob, &app), (other, &ann, &app)];
    for (issuer, user, client) in all {
        assert!(store.allow(issuer, user, client, consent("openid", *now).into()).await.unwrap());
        // Read, so that the cache has it.
        assert!(store.consent(issuer, user, client).await.unwrap().is_some());
    }
    assert!(store.delete_client(issuer, &app).await.unwrap());
    for (number, (issuer, user, client)) in all.into_iter().enumerate() {
        let stays = number % 2 == 1;
        assert_eq!(store.consent(issuer, user, client).await.unwrap().is_some(), stays, "{user} {client}");
    }
    assert!(store.delete_user(issuer, &ann).await.unwrap());
    assert!(store.consent(issuer, &ann, &web).await.unwrap().is_none());
    assert!(store.consent(other, &ann, &app).await.unwrap().is_some());
}

/// A user allows a client something while the user or the client is deleted: nothing may be left for a later one with
/// the same id.
async fn outlives_nobody_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..RACES {
        let ids =
            (UserId::parse(&format!("u-{round}")).unwrap(), ClientId::parse(&format!("c-{round}")).unwrap());
        create(&scene, issuer, &[ids.0.as_str()], &[ids.1.as_str()]).await;
        let start = Arc::new(Barrier::new(RACERS));
        let mut racers = JoinSet::new();
        for racer in 0..RACERS {
            let (store, issuer, (user, client)) = (Arc::clone(store), issuer.clone(), ids.clone());
            let (start, given) = (Arc::clone(&start), consent("openid", *now));
            racers.spawn(async move {
                start.wait().await;
                match (racer, round % 2) {
                    (0, 0) => store.delete_client(&issuer, &client).await.map(drop),
                    (0, _) => store.delete_user(&issuer, &user).await.map(drop),
                    _ => store.allow(&issuer, &user, &client, given.into()).await.map(drop),
                }
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap().unwrap();
        }
        create(&scene, issuer, &[ids.0.as_str()], &[ids.1.as_str()]).await;
        assert!(store.consent(issuer, &ids.0, &ids.1).await.unwrap().is_none(), "round {round}");
    }
}

/// A read that begins after a change was answered sees the change, however many readers fill the cache meanwhile.
async fn is_never_read_stale(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "consent-cache").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ((ann, _), (app, _)) = (users(), clients());
    create(&scene, issuer, &["ann"], &["app"]).await;
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for _ in 0..8 {
        let (store, issuer, done) = (Arc::clone(store), issuer.clone(), Arc::clone(&done));
        let (ann, app) = (ann.clone(), app.clone());
        readers.spawn(async move {
            while !done.load(Ordering::Relaxed) {
                store.consent(&issuer, &ann, &app).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    for round in 0..200_u32 {
        let at = *now + round * MINUTE;
        assert!(store.allow(issuer, &ann, &app, consent("openid", at).into()).await.unwrap());
        let found = store.consent(issuer, &ann, &app).await.unwrap();
        assert_eq!(found.map(|found| found.granted_at), Some(at), "round {round}");
        if round % 2 == 1 {
            assert!(store.withdraw(issuer, &ann, &app).await.unwrap());
            assert!(store.consent(issuer, &ann, &app).await.unwrap().is_none(), "round {round}");
        }
    }
    done.store(true, Ordering::Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
}
