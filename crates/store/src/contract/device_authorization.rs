//! What devices ask for, and what people decide.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::decision::Decision;
use symbolon_protocol::device_authorization::{DeviceAuthorization, DeviceCode, UserCode};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};

use super::sample::{MINUTE, code_grant, details};
use super::{BackEnd, Scene, race, race_for_one, rounds};
use crate::port::{Decided, Deciding, DeviceCodes, Polled, Redemption};

pub async fn all(back_end: &dyn BackEnd) {
    is_decided_and_redeemed_once(back_end).await;
    is_denied(back_end).await;
    is_polled_in_its_interval(back_end).await;
    ends(back_end).await;
    is_decided_by_one_racer(back_end).await;
    is_redeemed_by_one_racer(back_end).await;
}

fn client() -> ClientId {
    ClientId::parse("client").unwrap()
}

async fn ask(scene: &Scene, expires_at: Timestamp) -> DeviceCodes {
    let asked = DeviceAuthorization {
        client: client(),
        scope: Scope::parse("openid").unwrap(),
        authorization_details: details(),
        expires_at,
    };
    let Scene { store, issuer, now, random, .. } = scene;
    store.keep_device_authorization(issuer, asked, *now, random).await.unwrap()
}

fn allowed(grant: &CodeGrant) -> Decision {
    Decision::Allowed(Box::new(grant.clone()))
}

fn denied(user: &str) -> Decision {
    Decision::Denied(UserId::parse(user).unwrap())
}

fn decided(user: &str, is_allowed: bool) -> Decided {
    Decided { user: UserId::parse(user).unwrap(), is_allowed }
}

async fn poll(scene: &Scene, code: &DeviceCode, now: Timestamp) -> Polled {
    scene.store.poll_device_authorization(&scene.issuer, &client(), code, now).await.unwrap()
}

async fn is_decided_and_redeemed_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "device").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let end = *now + 10 * MINUTE;
    let (codes, another) = (ask(&scene, end).await, ask(&scene, end).await);
    assert_ne!((&codes.device, &codes.user), (&another.device, &another.user));
    let found = store.device_authorization(issuer, &codes.user, *now).await.unwrap().unwrap();
    assert_eq!((found.asked.client, found.asked.expires_at, found.decided), (client(), end, None));
    assert!(
        store.device_authorization(other, &codes.user, *now).await.unwrap().is_none(),
        "another issuer's"
    );
    let grant = code_grant(&scene, "user");
    let decide = async |issuer: &IssuerId, code: &UserCode, decision: Decision| {
        store.decide_device_authorization(issuer, code, decision, *now).await.unwrap()
    };
    assert_eq!(decide(other, &codes.user, allowed(&grant)).await, Deciding::Unknown);
    assert_eq!(
        store.redeem_device_code(issuer, &codes.device, *now).await.unwrap(),
        Redemption::Unknown,
        "nobody has decided"
    );
    assert_eq!(decide(issuer, &codes.user, allowed(&grant)).await, Deciding::Decided);
    let before = Deciding::Before(decided("user", true));
    assert_eq!(decide(issuer, &codes.user, denied("thief")).await, before);
    let found = store.device_authorization(issuer, &codes.user, *now).await.unwrap().unwrap();
    assert_eq!(found.decided, Some(decided("user", true)));

    let thief = ClientId::parse("thief").unwrap();
    let stolen = store.poll_device_authorization(issuer, &thief, &codes.device, *now).await.unwrap();
    assert_eq!(stolen, Polled::OfOtherClient);
    let elsewhere = store.poll_device_authorization(other, &client(), &codes.device, *now).await.unwrap();
    assert_eq!(elsewhere, Polled::Unknown);
    let mut forged = codes.device.expose().to_owned();
    let last = if forged.pop() == Some('A') { 'E' } else { 'A' };
    forged.push(last);
    for unknown in ["", "dc_", &forged] {
        assert_eq!(poll(&scene, &DeviceCode::new(unknown), *now).await, Polled::Unknown, "{unknown}");
    }
    store.sweep(*now + MINUTE).await.unwrap();
    for _ in 0..2 {
        assert_eq!(poll(&scene, &codes.device, *now).await, Polled::Allowed(Box::new(grant.clone())));
    }
    let redeem = async |now| store.redeem_device_code(issuer, &codes.device, now).await.unwrap();
    assert_eq!(store.redeem_device_code(other, &codes.device, *now).await.unwrap(), Redemption::Unknown);
    assert_eq!(redeem(*now).await, Redemption::Redeemed);
    assert_eq!(redeem(*now).await, Redemption::Replayed);
    assert_eq!(poll(&scene, &codes.device, *now).await, Polled::Used(Box::new(grant.clone())));
    assert_eq!(poll(&scene, &another.device, *now).await, Polled::Pending);

    // A used code is remembered until its end and a quarter of an hour more.
    let late = end + KEPT_AFTER_END - MINUTE;
    store.sweep(late).await.unwrap();
    assert_eq!(poll(&scene, &codes.device, late).await, Polled::Used(Box::new(grant)));
    assert_eq!(redeem(late).await, Redemption::Replayed);
    if scene.forgets {
        assert!(store.sweep(end + KEPT_AFTER_END + MINUTE).await.unwrap() > 0);
        assert_eq!(redeem(*now).await, Redemption::Unknown);
    }
}

async fn is_denied(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "device-denied").await;
    let Scene { store, issuer, now, .. } = &scene;
    let codes = ask(&scene, *now + MINUTE).await;
    let decided_now = store.decide_device_authorization(issuer, &codes.user, denied("user"), *now).await;
    assert_eq!(decided_now.unwrap(), Deciding::Decided);
    for _ in 0..2 {
        let told = poll(&scene, &codes.device, *now).await;
        assert_eq!(told, Polled::Denied(UserId::parse("user").unwrap()));
    }
    assert_eq!(store.redeem_device_code(issuer, &codes.device, *now).await.unwrap(), Redemption::Unknown);
}

async fn is_polled_in_its_interval(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "device-interval").await;
    let codes = ask(&scene, scene.now + 10 * MINUTE).await;
    for (second, told) in [
        (0, Polled::Pending),
        (5, Polled::Pending),
        (7, Polled::SlowDown),
        (12, Polled::SlowDown),
        (27, Polled::Pending),
        (41, Polled::Pending),
        (50, Polled::SlowDown),
    ] {
        let at = scene.now + Duration::from_secs(second);
        assert_eq!(poll(&scene, &codes.device, at).await, told, "after {second} s");
    }
}

async fn ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "device-end").await;
    let Scene { store, issuer, now, .. } = &scene;
    let end = *now + MINUTE;
    let (codes, forgotten) = (ask(&scene, end).await, ask(&scene, end).await);
    let grant = code_grant(&scene, "user");
    let decide = async |code: &UserCode, at: Timestamp| {
        store.decide_device_authorization(issuer, code, allowed(&grant), at).await.unwrap()
    };
    assert_eq!(decide(&forgotten.user, end).await, Deciding::Unknown);
    assert_eq!(poll(&scene, &forgotten.device, end).await, Polled::Unknown);
    assert!(store.device_authorization(issuer, &forgotten.user, end).await.unwrap().is_none());
    assert_eq!(decide(&codes.user, *now).await, Deciding::Decided);
    assert_eq!(poll(&scene, &codes.device, end).await, Polled::Unknown, "allowed, and not fetched in time");
    assert_eq!(store.redeem_device_code(issuer, &codes.device, end).await.unwrap(), Redemption::Unknown);
    if scene.forgets {
        assert!(store.sweep(end).await.unwrap() > 1);
        assert_eq!(poll(&scene, &codes.device, *now).await, Polled::Unknown);
    }
}

async fn is_decided_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "device-race").await;
    let mut codes = Vec::new();
    for _ in 0..rounds() {
        codes.push(ask(&scene, scene.now + 10 * MINUTE).await);
    }
    let drawn: HashSet<&str> = codes.iter().map(|codes| codes.user.as_str()).collect();
    assert_eq!(drawn.len(), codes.len());
    let grant = code_grant(&scene, "user");
    let rounds = race(|round, racer| {
        let (store, issuer, code) =
            (Arc::clone(&scene.store), scene.issuer.clone(), codes[round].user.clone());
        let (now, decision) = (scene.now, if racer % 2 == 0 { allowed(&grant) } else { denied("user") });
        async move {
            let is_allowed = decision.is_allowed();
            let told = store.decide_device_authorization(&issuer, &code, decision, now).await.unwrap();
            (is_allowed, told)
        }
    })
    .await;
    for (round, told) in rounds.into_iter().enumerate() {
        let winners: Vec<bool> =
            told.iter().filter(|(_, told)| *told == Deciding::Decided).map(|(own, _)| *own).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let before = Deciding::Before(decided("user", winners[0]));
        assert!(told.iter().all(|(_, told)| *told == Deciding::Decided || *told == before));
        let polled = poll(&scene, &codes[round].device, scene.now).await;
        assert_eq!(matches!(polled, Polled::Allowed(_)), winners[0], "{polled:?}");
    }
}

async fn is_redeemed_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "device-redeem-race").await;
    let grant = code_grant(&scene, "user");
    let mut codes = Vec::new();
    for _ in 0..rounds() {
        let asked = ask(&scene, scene.now + 10 * MINUTE).await;
        let decide =
            scene.store.decide_device_authorization(&scene.issuer, &asked.user, allowed(&grant), scene.now);
        assert_eq!(decide.await.unwrap(), Deciding::Decided);
        codes.push(asked.device);
    }
    race_for_one("redeem_device_code", |round, _| {
        let (store, issuer, code) = (Arc::clone(&scene.store), scene.issuer.clone(), codes[round].clone());
        let now = scene.now;
        async move {
            let polled = store.poll_device_authorization(&issuer, &client(), &code, now).await.unwrap();
            assert!(matches!(polled, Polled::Allowed(_) | Polled::Used(_)), "{polled:?}");
            store.redeem_device_code(&issuer, &code, now).await.unwrap() == Redemption::Redeemed
        }
    })
    .await;
}
