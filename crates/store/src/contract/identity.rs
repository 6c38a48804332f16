//! Who users are to other providers.

use std::sync::Arc;

use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::identity_provider::Identity;
use symbolon_protocol::identity_provider::way_left::OfferedWays;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::PasswordHash;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::authenticator::full;
use super::sample::{MINUTE, user};
use super::{BackEnd, Scene, race_record_for_one, record_rounds};
use crate::Store;
use crate::port::{AuthenticatorUpdate, Created, IdentityCreation, IdentityLink, IdentityUnlink};

/// How many deletions race with connections.
const RACES: usize = 100;
/// One deletes, the others connect.
const RACERS: usize = 8;

pub async fn all(back_end: &dyn BackEnd) {
    are_one_users_and_go_with_them(back_end).await;
    come_with_a_new_user_or_not_at_all(back_end).await;
    go_with_their_provider(back_end).await;
    are_listed_once_whatever_changes(back_end).await;
    are_connected_by_one_racer(back_end).await;
    make_one_user_in_a_race(back_end).await;
    outlive_nobody_in_a_race(back_end).await;
    are_not_taken_away_with_the_last_way(back_end).await;
    of_the_last_two_one_goes_in_a_race(back_end).await;
    go_or_the_last_passkey_does_in_a_race(back_end).await;
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
    let unlink = async |at| after.unlink_identity(at, &ann, "p", None).await.unwrap();
    assert_eq!(unlink(other).await, IdentityUnlink::NotLinked);
    assert_eq!(unlink(issuer).await, IdentityUnlink::Unlinked);
    assert_eq!(unlink(issuer).await, IdentityUnlink::NotLinked);
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

async fn are_listed_once_whatever_changes(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-next").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let link = async |at: &IssuerId, provider: &str, user: &str, subject: &str| {
        let own = Identity { provider: provider.into(), ..of(user, subject, *now) };
        assert_eq!(store.link_identity(at, own).await.unwrap(), IdentityLink::Linked);
    };
    for at in [issuer, other] {
        for id in ["ann", "bea", "cid"] {
            store.create_user(at, user(id, None, *now), None).await.unwrap();
        }
    }
    for (provider, user, subject) in
        [("p", "ann", "2"), ("p", "bea", "10"), ("p", "cid", "B"), ("q", "ann", "a"), ("q", "cid", "1")]
    {
        link(issuer, provider, user, subject).await;
    }
    link(other, "p", "ann", "of another issuer").await;
    let (mut seen, mut after) = (Vec::new(), None::<Identity>);
    loop {
        let place = after.as_ref().map(|own| (own.provider.as_str(), own.subject.as_str()));
        let some = store.next_identities(issuer, place, 2).await.unwrap();
        seen.extend(some.iter().map(|own| format!("{} {} {}", own.provider, own.subject, own.user)));
        if some.len() < 2 {
            break;
        }
        if after.is_none() {
            // In front of and behind the position of the listing.
            let ann = UserId::trusted("ann");
            assert_eq!(
                store.unlink_identity(issuer, &ann, "q", None).await.unwrap(),
                IdentityUnlink::Unlinked
            );
            link(issuer, "q", "bea", "0").await;
            link(issuer, "o", "bea", "0").await;
        }
        after = some.into_iter().next_back();
    }
    assert_eq!(seen, ["p 10 bea", "p 2 ann", "p B cid", "q 0 bea", "q 1 cid"]);
    let elsewhere = store.next_identities(other, None, 1_000).await.unwrap();
    assert_eq!(elsewhere, [of("ann", "of another issuer", *now)]);
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
    assert_eq!(connected, record_rounds());
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
    assert_eq!(users.unwrap().total, record_rounds() as u64, "nobody is left without an identity");
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

/// What an issuer offers, with the providers `p` and `q`.
fn offered() -> OfferedWays {
    OfferedWays { password: true, passkey: true, providers: vec!["p".into(), "q".into()] }
}

/// Makes a user without a password who has an identity of each of these providers.
async fn connected(scene: &Scene, id: &str, providers: &[&str]) -> UserId {
    let Scene { store, issuer, now, .. } = scene;
    assert_eq!(store.create_user(issuer, user(id, None, *now), None).await.unwrap(), Created::Created);
    for provider in providers {
        let own = Identity { provider: (*provider).into(), ..of(id, id, *now) };
        assert_eq!(store.link_identity(issuer, own).await.unwrap(), IdentityLink::Linked);
    }
    UserId::trusted(id)
}

async fn are_not_taken_away_with_the_last_way(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-last").await;
    let Scene { store, issuer, now, .. } = &scene;
    let unlink = async |user: &UserId, offered: &OfferedWays| {
        store.unlink_identity(issuer, user, "p", Some(offered)).await.unwrap()
    };
    let link = async |user: &UserId| {
        store.link_identity(issuer, of(user.as_str(), user.as_str(), *now)).await.unwrap()
    };
    assert_eq!(unlink(&UserId::trusted("nobody"), &offered()).await, IdentityUnlink::NotLinked);
    let ann = connected(&scene, "ann", &["p"]).await;
    assert_eq!(unlink(&ann, &offered()).await, IdentityUnlink::LastWay);
    assert_eq!(store.identities_of(issuer, &ann).await.unwrap().len(), 1);
    // An identity of a provider that lets nobody in is no way.
    let elsewhere = Identity { provider: "off".into(), ..of("ann", "ann", *now) };
    assert_eq!(store.link_identity(issuer, elsewhere).await.unwrap(), IdentityLink::Linked);
    assert_eq!(unlink(&ann, &offered()).await, IdentityUnlink::LastWay);
    // A second factor alone is none either; a passkey is, where passkeys are offered.
    let codes = AuthenticatorSet { passkeys: Vec::new(), ..full(*now) };
    assert_eq!(put(&**store, issuer, &ann, &codes).await, AuthenticatorUpdate::Written);
    assert_eq!(unlink(&ann, &offered()).await, IdentityUnlink::LastWay);
    assert_eq!(put(&**store, issuer, &ann, &full(*now)).await, AuthenticatorUpdate::Written);
    let before = store.authenticators(issuer, &ann).await.unwrap();
    let no_passkeys = OfferedWays { passkey: false, ..offered() };
    assert_eq!(unlink(&ann, &no_passkeys).await, IdentityUnlink::LastWay);
    assert_eq!(store.authenticators(issuer, &ann).await.unwrap(), before, "nothing was written");
    assert_eq!(unlink(&ann, &offered()).await, IdentityUnlink::Unlinked);
    let after = store.authenticators(issuer, &ann).await.unwrap();
    assert!(after.set == before.set && after.revision > before.revision, "whoever has read them looks again");

    let hash = PasswordHash::new("hash".to_owned());
    let bea = user("bea", None, *now);
    assert_eq!(store.create_user(issuer, bea.clone(), Some(hash)).await.unwrap(), Created::Created);
    assert_eq!(link(&bea.id).await, IdentityLink::Linked);
    let no_passwords = OfferedWays { password: false, ..offered() };
    assert_eq!(unlink(&bea.id, &no_passwords).await, IdentityUnlink::LastWay);
    assert_eq!(unlink(&bea.id, &offered()).await, IdentityUnlink::Unlinked);
    assert!(store.set_password(issuer, &bea.id, None).await.unwrap());
    assert_eq!(link(&bea.id).await, IdentityLink::Linked);
    assert_eq!(unlink(&bea.id, &offered()).await, IdentityUnlink::LastWay);
    assert_eq!(
        store.unlink_identity(issuer, &bea.id, "p", None).await.unwrap(),
        IdentityUnlink::Unlinked,
        "where nothing is asked for, nothing need be left"
    );
}

async fn put(
    store: &dyn Store,
    issuer: &IssuerId,
    user: &UserId,
    set: &AuthenticatorSet,
) -> AuthenticatorUpdate {
    let seen = store.authenticators(issuer, user).await.unwrap().revision;
    store.put_authenticators(issuer, user, seen, set).await.unwrap()
}

/// Many requests take the last two identities of a user away at once: one of the two goes.
async fn of_the_last_two_one_goes_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-last-race").await;
    for round in 0..record_rounds() {
        connected(&scene, &format!("u{round}"), &["p", "q"]).await;
    }
    race_record_for_one("unlink_identity", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let provider = if racer % 2 == 0 { "p" } else { "q" };
        async move {
            let user = UserId::trusted(format!("u{round}"));
            let done = store.unlink_identity(&issuer, &user, provider, Some(&offered())).await.unwrap();
            done == IdentityUnlink::Unlinked
        }
    })
    .await;
    for round in 0..record_rounds() {
        let user = UserId::trusted(format!("u{round}"));
        assert_eq!(scene.store.identities_of(&scene.issuer, &user).await.unwrap().len(), 1, "{user}");
    }
}

/// Some requests take the only identity of a user away, others the only passkey because of the identity: one of the two goes.
async fn go_or_the_last_passkey_does_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "identity-passkey-race").await;
    let passkeys = full(scene.now);
    for round in 0..record_rounds() {
        let user = connected(&scene, &format!("u{round}"), &["p"]).await;
        let written = put(&*scene.store, &scene.issuer, &user, &passkeys).await;
        assert_eq!(written, AuthenticatorUpdate::Written);
    }
    race_record_for_one("the last passkey", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        async move {
            let user = UserId::trusted(format!("u{round}"));
            if racer % 2 == 0 {
                let done = store.unlink_identity(&issuer, &user, "p", Some(&offered())).await.unwrap();
                return done == IdentityUnlink::Unlinked;
            }
            loop {
                let seen = store.authenticators(&issuer, &user).await.unwrap();
                let identities = store.identities_of(&issuer, &user).await.unwrap();
                if seen.set.passkeys.is_empty() || identities.is_empty() {
                    return false;
                }
                let without = AuthenticatorSet { passkeys: Vec::new(), ..seen.set };
                let done = store.put_authenticators(&issuer, &user, seen.revision, &without).await.unwrap();
                if done == AuthenticatorUpdate::Written {
                    return true;
                }
            }
        }
    })
    .await;
}
