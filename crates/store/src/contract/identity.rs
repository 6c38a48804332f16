//! Who users are to other providers.

use std::sync::Arc;

use symbolon_protocol::id::UserId;
use symbolon_protocol::identity_provider::Identity;
use symbolon_protocol::time::Timestamp;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::sample::{MINUTE, user};
use super::{BackEnd, RECORD_ROUNDS, Scene, race_record_for_one};
use crate::port::{Created, IdentityCreation, IdentityLink};

/// How many deletions race with connections.
const RACES: usize = 100;
/// One deletes, the others connect.
const RACERS: usize = 8;

pub async fn all(back_end: &dyn BackEnd) {
    are_one_users_and_go_with_them(back_end).await;
    come_with_a_new_user_or_not_at_all(back_end).await;
    go_with_their_provider(back_end).await;
    are_connected_by_one_racer(back_end).await;
    make_one_user_in_a_race(back_end).await;
    outlive_nobody_in_a_race(back_end).await;
}

/// An identity of the provider `p`.
pub(crate) fn of(user: &str, subject: &str, now: Timestamp) -> Identity {
    Identity {
        provider: "p".into(),
        subject: subject.to_owned(),
        user: UserId::trusted(user),
        label: Some("ann@acme.example \u{1f511}".to_owned()),
        linked_at: now,
    }
}

async fn are_one_users_and_go_with_them(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let link = async |identity: Identity| store.link_identity(issuer, identity).await.unwrap();
    assert_eq!(link(of("ann", "s", *now)).await, IdentityLink::UserUnknown);
    for id in ["ann", "bea"] {
        store.create_user(issuer, user(id, None, *now), None).await.unwrap();
    }
    let (ann, bea) = (UserId::trusted("ann"), UserId::trusted("bea"));
    assert_eq!(link(of("ann", "s", *now)).await, IdentityLink::Linked);
    assert_eq!(link(of("ann", "s", *now + MINUTE)).await, IdentityLink::AlreadyLinked);
    assert_eq!(link(of("bea", "s", *now)).await, IdentityLink::OfAnother);
    assert_eq!(link(of("ann", "t", *now)).await, IdentityLink::HasOther);
    let second = Identity { provider: "q".into(), label: None, ..of("ann", "s", *now) };
    assert_eq!(link(second.clone()).await, IdentityLink::Linked);
    assert_eq!(link(of("bea", "S", *now)).await, IdentityLink::Linked, "case counts");
    assert_eq!(store.identity(other, "p", "s").await.unwrap(), None);

    let after = back_end.after_crash("identity").await;
    let kept = after.identities_of(issuer, &ann).await.unwrap();
    assert_eq!(kept, [of("ann", "s", *now), second]);
    assert_eq!(after.identity(issuer, "p", "s").await.unwrap(), Some(of("ann", "s", *now)));
    assert!(!after.unlink_identity(other, &ann, "p").await.unwrap());
    assert!(after.unlink_identity(issuer, &ann, "p").await.unwrap());
    assert!(!after.unlink_identity(issuer, &ann, "p").await.unwrap());
    assert_eq!(after.identity(issuer, "p", "s").await.unwrap(), None);
    assert!(after.delete_user(issuer, &ann).await.unwrap());
    after.create_user(issuer, user("ann", None, *now), None).await.unwrap();
    assert!(after.identities_of(issuer, &ann).await.unwrap().is_empty());
    assert_eq!(after.identities_of(issuer, &bea).await.unwrap(), [of("bea", "S", *now)]);
}

async fn come_with_a_new_user_or_not_at_all(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-creation").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let create = async |id: &str, email: &str, subject: &str| {
        let (user, identity) = (user(id, Some(email), *now), of(id, subject, *now));
        store.create_user_with_identity(issuer, user, identity).await.unwrap()
    };
    assert_eq!(create("ann", "ann@example.com", "s").await, IdentityCreation::Created);
    assert_eq!(create("bea", "bea@example.com", "s").await, IdentityCreation::OfAnother);
    assert_eq!(create("ann", "new@example.com", "t").await, IdentityCreation::UserExists);
    assert_eq!(create("cid", "ANN@example.com", "t").await, IdentityCreation::UserExists);
    for nobody in ["bea", "cid"] {
        assert!(store.user(issuer, &UserId::trusted(nobody)).await.unwrap().is_none(), "{nobody}");
        assert!(store.user_by_login(issuer, &format!("{nobody}@example.com")).await.unwrap().is_none());
    }
    assert_eq!(store.identity(issuer, "p", "t").await.unwrap(), None);
    // What was refused left nothing in the way.
    assert_eq!(create("bea", "bea@example.com", "t").await, IdentityCreation::Created);
    let elsewhere =
        store.create_user_with_identity(other, user("ann", None, *now), of("ann", "s", *now)).await;
    assert_eq!(elsewhere.unwrap(), IdentityCreation::Created);
    let after = back_end.after_crash("identity-creation").await;
    let ann = after.user_by_login(issuer, "ann@example.com").await.unwrap().unwrap();
    assert!(ann.0.id.as_str() == "ann" && ann.1.is_none());
    assert_eq!(after.identity(issuer, "p", "s").await.unwrap(), Some(of("ann", "s", *now)));
}

async fn go_with_their_provider(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-provider").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for at in [issuer, other] {
        for id in ["ann", "bea"] {
            assert_eq!(store.create_user(at, user(id, None, *now), None).await.unwrap(), Created::Created);
            assert_eq!(store.link_identity(at, of(id, id, *now)).await.unwrap(), IdentityLink::Linked);
        }
    }
    assert_eq!(store.unlink_provider(issuer, "q").await.unwrap(), 0);
    assert_eq!(store.unlink_provider(issuer, "p").await.unwrap(), 2);
    assert!(store.identities_of(issuer, &UserId::trusted("ann")).await.unwrap().is_empty());
    assert_eq!(store.identities_of(other, &UserId::trusted("ann")).await.unwrap().len(), 1);
}

/// Many users are connected with one identity at once: one is.
async fn are_connected_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-race").await;
    for racer in 0..super::RACERS {
        scene
            .store
            .create_user(&scene.issuer, user(&format!("u{racer}"), None, scene.now), None)
            .await
            .unwrap();
    }
    race_record_for_one("link_identity", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let subject = format!("s{round}");
        let own = Identity {
            provider: format!("p{round}").into(),
            ..of(&format!("u{racer}"), &subject, scene.now)
        };
        async move { store.link_identity(&issuer, own).await.unwrap() == IdentityLink::Linked }
    })
    .await;
    let mut connected = 0;
    for racer in 0..super::RACERS {
        let user = UserId::trusted(format!("u{racer}"));
        connected += scene.store.identities_of(&scene.issuer, &user).await.unwrap().len();
    }
    assert_eq!(connected, RECORD_ROUNDS);
}

/// The same person arrives many times at once and has no account: one is made.
async fn make_one_user_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-creation-race").await;
    race_record_for_one("create_user_with_identity", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let id = format!("u{round}-{racer}");
        let (new, own) = (user(&id, None, scene.now), of(&id, &format!("s{round}"), scene.now));
        async move {
            store.create_user_with_identity(&issuer, new, own).await.unwrap() == IdentityCreation::Created
        }
    })
    .await;
    let users = scene.store.list_users(&scene.issuer, &Default::default(), &super::sample::page(1, 1)).await;
    assert_eq!(users.unwrap().total, RECORD_ROUNDS as u64, "nobody is left without an identity");
}

/// Identities are connected while their user is deleted: nothing may be left for a later user of the same id.
async fn outlive_nobody_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-deletion").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..RACES {
        let ann = user(&format!("ann-{round}"), None, *now);
        store.create_user(issuer, ann.clone(), None).await.unwrap();
        let start = Arc::new(Barrier::new(RACERS));
        let mut racers = JoinSet::new();
        for racer in 0..RACERS {
            let (store, issuer, user) = (Arc::clone(store), issuer.clone(), ann.id.clone());
            let (start, now) = (Arc::clone(&start), *now);
            racers.spawn(async move {
                start.wait().await;
                if racer == 0 {
                    assert!(store.delete_user(&issuer, &user).await.unwrap());
                } else {
                    let own = of(user.as_str(), &format!("{user}-{racer}"), now);
                    let _ = store.link_identity(&issuer, own).await.unwrap();
                }
            });
        }
        while let Some(done) = racers.join_next().await {
            done.unwrap();
        }
        store.create_user(issuer, ann.clone(), None).await.unwrap();
        assert!(store.identities_of(issuer, &ann.id).await.unwrap().is_empty(), "round {round}");
    }
}
