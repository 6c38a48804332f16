//! Invitations: listed until they end, used once.

use std::net::IpAddr;
use std::sync::Arc;

use symbolon_protocol::id::{GroupId, RoleId};
use symbolon_protocol::sign_in::invitation::{Invitation, KeptInvitation};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};

use super::sample::{HOUR, MINUTE, page};
use super::{BackEnd, Scene, race_record_for_one};
use crate::StoreError;
use crate::port::{InvitationKeeping, PageRequest};

/// How many may wait, where a test does not say.
const MOST: u32 = 10_000;

pub async fn all(back_end: &dyn BackEnd) {
    is_listed_until_it_ends(back_end).await;
    is_used_once_or_withdrawn(back_end).await;
    is_swept_after_its_end(back_end).await;
    is_one_of_so_many(back_end).await;
    is_used_by_one_racer(back_end).await;
    is_used_or_withdrawn_in_a_race(back_end).await;
}

/// An invitation of an hour.
pub(crate) fn invitation(id: &str, now: Timestamp) -> KeptInvitation {
    let invitation = Invitation {
        id: id.to_owned(),
        email: format!("{id}@Example.com"),
        is_mailed: true,
        groups: vec![GroupId::trusted("staff")],
        roles: vec![RoleId::trusted("editor")],
        expires_at: now + HOUR,
    };
    let made_from = Some(IpAddr::from([192, 0, 2, 7]));
    KeptInvitation { invitation, created_at: now, made_by: "admin".to_owned(), made_from, used_at: None }
}

async fn keep(scene: &Scene, kept: KeptInvitation) {
    let outcome = scene.store.keep_invitation(&scene.issuer, kept, MOST).await.unwrap();
    assert_eq!(outcome, InvitationKeeping::Kept);
}

async fn is_listed_until_it_ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "invitation").await;
    let Scene { issuer, other, now, .. } = &scene;
    let [first, second] = [invitation("first", *now), invitation("second", *now + MINUTE)];
    keep(&scene, first.clone()).await;
    keep(&scene, second.clone()).await;
    let after = back_end.after_crash("invitation").await;
    let listed = async |page: &PageRequest, at| after.list_invitations(issuer, page, at).await.unwrap();
    let both = listed(&page(1, 10), *now).await;
    assert_eq!((both.items, both.total), (vec![second.clone(), first.clone()], 2), "the newest first");
    let last = listed(&page(2, 1), *now).await;
    assert_eq!((last.items, last.total), (vec![first.clone()], 2));
    let search = |text: &str| PageRequest { search: Some(text.to_owned()), ..page(1, 10) };
    assert_eq!(listed(&search("FIRST@example"), *now).await.items, std::slice::from_ref(&first));
    assert_eq!(listed(&search("nobody"), *now).await.total, 0);
    assert_eq!(listed(&page(1, 10), *now + HOUR).await.items, [second], "the time of the first is over");
    assert_eq!(after.list_invitations(other, &page(1, 10), *now).await.unwrap().total, 0);
    assert_eq!(after.invitation(issuer, "first").await.unwrap(), Some(first));
    assert_eq!(after.invitation(other, "first").await.unwrap(), None);
    assert_eq!(after.invitation(issuer, "third").await.unwrap(), None);
}

async fn is_used_once_or_withdrawn(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "invitation-use").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for id in ["used", "withdrawn", "over"] {
        keep(&scene, invitation(id, *now)).await;
    }
    assert!(!store.use_invitation(other, "used", *now).await.unwrap());
    assert!(!store.withdraw_invitation(other, "used", *now).await.unwrap());
    assert!(store.use_invitation(issuer, "used", *now + MINUTE).await.unwrap());
    assert!(!store.use_invitation(issuer, "used", *now + MINUTE).await.unwrap(), "once");
    assert!(!store.withdraw_invitation(issuer, "used", *now + MINUTE).await.unwrap(), "it was used");
    let used = KeptInvitation { used_at: Some(*now + MINUTE), ..invitation("used", *now) };
    assert!(store.withdraw_invitation(issuer, "withdrawn", *now).await.unwrap());
    assert!(!store.withdraw_invitation(issuer, "withdrawn", *now).await.unwrap());
    assert!(!store.use_invitation(issuer, "withdrawn", *now).await.unwrap());
    assert!(!store.use_invitation(issuer, "over", *now + HOUR).await.unwrap());
    assert!(!store.withdraw_invitation(issuer, "over", *now + HOUR).await.unwrap());
    let after = back_end.after_crash("invitation-use").await;
    assert_eq!(after.invitation(issuer, "used").await.unwrap(), Some(used), "what was told is durable");
    assert_eq!(after.invitation(issuer, "withdrawn").await.unwrap(), None);
    assert!(!after.use_invitation(issuer, "used", *now + MINUTE).await.unwrap());
    assert_eq!(after.list_invitations(issuer, &page(1, 10), *now).await.unwrap().total, 2);
}

async fn is_swept_after_its_end(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "invitation-end").await;
    let Scene { store, issuer, now, .. } = &scene;
    keep(&scene, invitation("short", *now)).await;
    keep(&scene, invitation("long", *now + HOUR)).await;
    assert!(store.use_invitation(issuer, "short", *now).await.unwrap());
    store.sweep(*now + HOUR).await.unwrap();
    assert!(store.invitation(issuer, "short").await.unwrap().is_some(), "kept for a quarter of an hour");
    store.sweep(*now + HOUR + KEPT_AFTER_END).await.unwrap();
    assert_eq!(store.invitation(issuer, "short").await.unwrap(), None);
    assert!(store.invitation(issuer, "long").await.unwrap().is_some());
}

async fn is_one_of_so_many(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "invitation-most").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let keep = async |at, kept| store.keep_invitation(at, kept, 2).await.unwrap();
    for id in ["a", "b"] {
        assert_eq!(keep(issuer, invitation(id, *now)).await, InvitationKeeping::Kept);
    }
    assert_eq!(keep(issuer, invitation("c", *now)).await, InvitationKeeping::Full);
    assert_eq!(store.invitation(issuer, "c").await.unwrap(), None);
    assert_eq!(keep(other, invitation("c", *now)).await, InvitationKeeping::Kept, "each issuer has its own");
    // Used ones wait for their end, too.
    assert!(store.use_invitation(issuer, "a", *now).await.unwrap());
    assert_eq!(keep(issuer, invitation("c", *now)).await, InvitationKeeping::Full);
    assert!(store.withdraw_invitation(issuer, "b", *now).await.unwrap());
    assert_eq!(keep(issuer, invitation("c", *now)).await, InvitationKeeping::Kept);
    assert_eq!(keep(issuer, invitation("d", *now + HOUR)).await, InvitationKeeping::Kept, "two are over");
}

async fn is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "invitation-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..super::record_rounds() {
        keep(&scene, invitation(&format!("i{round}"), *now)).await;
    }
    race_record_for_one("uses of an invitation", |round, _| {
        let (store, issuer, now) = (Arc::clone(store), issuer.clone(), *now);
        async move { store.use_invitation(&issuer, &format!("i{round}"), now).await.unwrap() }
    })
    .await;
}

/// Half of the racers use it, the others withdraw it: one of all does.
async fn is_used_or_withdrawn_in_a_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "invitation-withdrawal-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..super::record_rounds() {
        keep(&scene, invitation(&format!("i{round}"), *now)).await;
    }
    race_record_for_one("uses and withdrawals of an invitation", |round, racer| {
        let (store, issuer, now, id) = (Arc::clone(store), issuer.clone(), *now, format!("i{round}"));
        async move {
            let ended: Result<bool, StoreError> = match racer % 2 {
                0 => store.use_invitation(&issuer, &id, now).await,
                _ => store.withdraw_invitation(&issuer, &id, now).await,
            };
            ended.unwrap()
        }
    })
    .await;
    let listed = store.list_invitations(issuer, &page(1, 1_000), *now).await.unwrap();
    assert!(listed.items.iter().all(|kept| kept.used_at.is_some()), "what was withdrawn is not listed");
}
