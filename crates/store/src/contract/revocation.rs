//! Tombstones.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::grant::{GrantId, Lineage, Slot};
use symbolon_protocol::id::{ClientId, Jti, Sid, UserId};
use symbolon_protocol::revocation::{Target, Tombstone};
use symbolon_protocol::time::KEPT_AFTER_END;

use super::sample::{HOUR, MINUTE, bare_lineage, lineage_of};
use super::{BackEnd, Scene, race, rounds, told};

const MILLISECOND: Duration = Duration::from_millis(1);

pub async fn all(back_end: &dyn BackEnd) {
    ends_what_it_names(back_end).await;
    ends_what_was_born_before_it(back_end).await;
    ends_what_a_user_allowed_a_client(back_end).await;
    only_ever_ends_more(back_end).await;
    is_kept_until_nothing_needs_it(back_end).await;
    is_seen_at_once(back_end).await;
}

fn jti(text: &str) -> Jti {
    Jti::parse(text).unwrap()
}

fn slot(scene: &Scene) -> Slot {
    Slot::of(&scene.issuer, "user")
}

async fn ends_what_it_names(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "revocation").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let grant = GrantId::draw(issuer, "user", *now, &scene.random);
    let bare = bare_lineage(grant.slot(), *now);
    let token = Lineage { tokens: vec![jti("own"), jti("parent")], ..bare.clone() };
    let sibling = Lineage { tokens: vec![jti("sibling"), jti("parent")], ..bare.clone() };
    let of_grant = Lineage { tokens: vec![jti("third")], ..lineage_of(&grant) };
    for lineage in [&bare, &token, &sibling, &of_grant] {
        assert!(!told(store.revoked(issuer, lineage).await).await);
    }
    told(store.revoke(issuer, &[]).await).await;
    let end = *now + HOUR;
    told(store.revoke(issuer, &[Tombstone::token(jti("own"), grant.slot(), end)]).await).await;
    assert!(told(store.revoked(issuer, &token).await).await);
    assert!(!told(store.revoked(issuer, &sibling).await).await);
    assert!(!told(store.revoked(other, &token).await).await, "nothing crosses from one issuer to another");
    let both = [Tombstone::token(jti("parent"), grant.slot(), end), Tombstone::grant(grant, end)];
    told(store.revoke(issuer, &both).await).await;
    assert!(told(store.revoked(issuer, &sibling).await).await, "its parent has ended");
    assert!(told(store.revoked(issuer, &of_grant).await).await);
    assert!(!told(store.revoked(other, &of_grant).await).await);
    assert!(!told(store.revoked(issuer, &bare).await).await);
}

async fn ends_what_was_born_before_it(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "revocation-time").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let bare = bare_lineage(slot(&scene), *now);
    let (sid, user) = (Sid::trusted("sid"), UserId::parse("user").unwrap());
    let [client, grantor, third] = ["client", "grantor", "third"].map(ClientId::trusted);
    let cases = [
        (Target::Session(sid.clone()), Lineage { session: Some(sid), ..bare.clone() }),
        (Target::User(user.clone()), Lineage { user: Some(user), ..bare.clone() }),
        (Target::Client(client.clone()), Lineage { client: Some(client), ..bare.clone() }),
        (
            Target::Client(grantor.clone()),
            Lineage { client: Some(third), grantor: Some(grantor), ..bare.clone() },
        ),
        (Target::Issuer, bare.clone()),
    ];
    for (target, lineage) in cases {
        assert!(!told(store.revoked(issuer, &lineage).await).await, "{target:?}");
        let tombstone = Tombstone::up_to(target.clone(), lineage.slot, *now, *now + HOUR);
        told(store.revoke(issuer, &[tombstone]).await).await;
        for (born, ended) in [(*now - MINUTE, true), (*now, true), (*now + MILLISECOND, false)] {
            let lineage = Lineage { born, ..lineage.clone() };
            assert_eq!(told(store.revoked(issuer, &lineage).await).await, ended, "{target:?} born {born}");
            assert!(!told(store.revoked(other, &lineage).await).await, "{target:?}");
        }
        if concerns_every_slot(&target) {
            let slot = Slot::new(u32::from(lineage.slot.number()) + 1);
            let elsewhere = Lineage { slot, ..lineage };
            assert!(told(store.revoked(issuer, &elsewhere).await).await, "{target:?}");
        }
    }
}

/// Revokes what a user allowed a client, and nothing of another user or another client.
async fn ends_what_a_user_allowed_a_client(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "revocation-consent").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let [ann, bob] = ["ann", "bob"].map(UserId::trusted);
    let [app, web] = ["app", "web"].map(ClientId::trusted);
    let slot = Slot::of(issuer, "ann");
    let of = |user: &UserId, client: &ClientId, grantor: Option<&ClientId>| Lineage {
        user: Some(user.clone()),
        client: Some(client.clone()),
        grantor: grantor.cloned(),
        ..bare_lineage(slot, *now)
    };
    let allowed = [of(&ann, &app, None), of(&ann, &web, Some(&app))];
    let by_itself = Lineage { client: Some(app.clone()), ..bare_lineage(slot, *now) };
    let others = [of(&ann, &web, None), of(&ann, &app, Some(&web)), of(&bob, &app, None), by_itself];
    let withdrawn = Tombstone::consent(issuer, ann.clone(), app.clone(), *now, HOUR);
    for lineage in allowed.iter().chain(&others) {
        assert!(!told(store.revoked(issuer, lineage).await).await, "{lineage:?}");
    }
    // Twice, as two attempts would do.
    for _ in 0..2 {
        told(store.revoke(issuer, std::slice::from_ref(&withdrawn)).await).await;
    }
    store.sweep(*now + HOUR).await.unwrap();
    let after = back_end.after_crash("revocation-consent").await;
    for lineage in &allowed {
        assert!(told(after.revoked(issuer, lineage).await).await, "{lineage:?}");
        assert!(!told(after.revoked(other, lineage).await).await, "{lineage:?}");
        let again = Lineage { born: *now + MILLISECOND, ..lineage.clone() };
        assert!(!told(after.revoked(issuer, &again).await).await, "what is allowed afterwards lives");
    }
    for lineage in &others {
        assert!(!told(after.revoked(issuer, lineage).await).await, "{lineage:?}");
    }
    if scene.forgets {
        after.sweep(*now + HOUR + KEPT_AFTER_END).await.unwrap();
        assert!(!told(after.revoked(issuer, &allowed[0]).await).await, "nothing of it lives any more");
        told(after.revoke(issuer, &[withdrawn]).await).await;
        assert!(told(after.revoked(issuer, &allowed[0]).await).await);
    }
}

fn concerns_every_slot(target: &Target) -> bool {
    matches!(target, Target::Client(_) | Target::Issuer)
}

/// A second tombstone neither shortens nor weakens the first, in memory as on disk.
async fn only_ever_ends_more(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "revocation-twice").await;
    let Scene { store, issuer, now, .. } = &scene;
    let user = UserId::parse("user").unwrap();
    let lineage = Lineage { user: Some(user.clone()), ..bare_lineage(slot(&scene), *now) };
    let target = Target::User(user);
    let strong = Tombstone::up_to(target.clone(), lineage.slot, *now, *now + HOUR);
    let weak = Tombstone::up_to(target, lineage.slot, *now - MINUTE, *now + MINUTE);
    told(store.revoke(issuer, &[strong]).await).await;
    told(store.revoke(issuer, &[weak]).await).await;
    let late = *now + HOUR;
    store.sweep(late).await.unwrap();
    assert!(told(store.revoked(issuer, &lineage).await).await);
    let after = back_end.after_crash("revocation-twice").await;
    after.sweep(late).await.unwrap();
    assert!(told(after.revoked(issuer, &lineage).await).await, "the disk has the weaker one");
}

async fn is_kept_until_nothing_needs_it(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "revocation-kept").await;
    let Scene { store, issuer, now, .. } = &scene;
    let end = *now + HOUR;
    let lineage =
        |n: u32| Lineage { tokens: vec![jti(&format!("t{n}"))], ..bare_lineage(Slot::new(n), *now) };
    let tombstones: Vec<Tombstone> =
        (0..2_000).map(|n| Tombstone::token(jti(&format!("t{n}")), Slot::new(n), end)).collect();
    told(store.revoke(issuer, &tombstones).await).await;
    assert_eq!(store.sweep(end + KEPT_AFTER_END - MINUTE).await.unwrap(), 0, "nothing goes early");
    for n in 0..2_000 {
        assert!(told(store.revoked(issuer, &lineage(n)).await).await);
    }
    if scene.forgets {
        assert_eq!(store.sweep(end + KEPT_AFTER_END).await.unwrap(), 2_000);
        assert!(!told(store.revoked(issuer, &lineage(0)).await).await);
    }
}

/// Once `revoke` has returned, no look-up misses the tombstone.
async fn is_seen_at_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "revocation-race").await;
    let grants: Vec<GrantId> = (0..rounds())
        .map(|n| GrantId::draw(&scene.issuer, &format!("user-{n}"), scene.now, &scene.random))
        .collect();
    let rounds = race(|round, _| {
        let (store, issuer, grant) = (Arc::clone(&scene.store), scene.issuer.clone(), grants[round]);
        let end = scene.now + HOUR;
        async move {
            let revoked = store.revoke(&issuer, &[Tombstone::grant(grant, end)]).await.unwrap();
            let seen = store.revoked(&issuer, &lineage_of(&grant)).await.unwrap();
            revoked.told().await.unwrap();
            told(Ok(seen)).await
        }
    })
    .await;
    assert!(rounds.into_iter().flatten().all(|seen| seen));
}
