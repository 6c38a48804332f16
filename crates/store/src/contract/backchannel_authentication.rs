//! What clients ask people for elsewhere, and what is decided.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::backchannel_authentication::{
    AuthReqId, BackchannelAuthentication, BackchannelRequestId, MOST_WAITING,
};
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::decision::Decision;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::sign_in::acr::RequestedAcr;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};

use super::sample::{MINUTE, code_grant, details};
use super::{BackEnd, Scene, race, race_for_one, rounds};
use crate::port::{Decided, Deciding, Polled, Redemption};

pub async fn all(back_end: &dyn BackEnd) {
    is_decided_and_redeemed_once(back_end).await;
    is_denied(back_end).await;
    is_polled_in_its_interval(back_end).await;
    waits_in_the_list_of_its_user(back_end).await;
    ends(back_end).await;
    is_decided_by_one_racer(back_end).await;
    is_redeemed_by_one_racer(back_end).await;
}

fn client() -> ClientId {
    ClientId::parse("client").unwrap()
}

fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

fn asked(of: &str, by: &ClientId, now: Timestamp, expires_at: Timestamp) -> BackchannelAuthentication {
    BackchannelAuthentication {
        client: by.clone(),
        user: user(of),
        scope: Scope::parse("openid").unwrap(),
        resources: vec!["https://api.example".to_owned()],
        authorization_details: details(),
        acr: RequestedAcr::parse("phr"),
        binding_message: Some("1234".to_owned()),
        notification: Some("sealed".to_owned()),
        asked_at: now,
        expires_at,
    }
}

fn named(scene: &Scene, id: &AuthReqId) -> BackchannelRequestId {
    id.parts(&scene.issuer).unwrap().request
}

async fn ask(scene: &Scene, of: &str, expires_at: Timestamp) -> AuthReqId {
    let Scene { store, issuer, now, random, .. } = scene;
    let id = AuthReqId::draw(issuer, &user(of), random);
    let kept = store.keep_backchannel_authentication(issuer, &id, asked(of, &client(), *now, expires_at));
    assert!(kept.await.unwrap());
    id
}

fn allowed(grant: &CodeGrant) -> Decision {
    Decision::Allowed(Box::new(grant.clone()))
}

fn decided(name: &str, is_allowed: bool) -> Decided {
    Decided { user: user(name), is_allowed }
}

async fn poll(scene: &Scene, id: &AuthReqId, now: Timestamp) -> Polled {
    scene.store.poll_backchannel_authentication(&scene.issuer, &client(), id, now).await.unwrap()
}

async fn is_decided_and_redeemed_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "ciba").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let end = *now + 10 * MINUTE;
    let (id, another) = (ask(&scene, "user", end).await, ask(&scene, "user", end).await);
    let name = named(&scene, &id);
    let find = async |issuer: &IssuerId| store.backchannel_authentication(issuer, &name, *now).await.unwrap();
    let found = find(issuer).await.unwrap();
    assert_eq!((found.id, found.decided), (name, None));
    assert_eq!(found.asked, asked("user", &client(), *now, end));
    assert!(find(other).await.is_none(), "another issuer's");
    let grant = code_grant(&scene, "user");
    let decide = async |issuer: &IssuerId, decision: Decision| {
        store.decide_backchannel_authentication(issuer, &name, decision, *now).await.unwrap()
    };
    assert_eq!(decide(other, allowed(&grant)).await, Deciding::Unknown);
    assert_eq!(decide(issuer, Decision::Denied(user("thief"))).await, Deciding::Unknown);
    let redeem = async |issuer: &IssuerId, now| store.redeem_auth_req_id(issuer, &id, now).await.unwrap();
    assert_eq!(redeem(issuer, *now).await, Redemption::Unknown, "nobody has decided");
    assert_eq!(decide(issuer, allowed(&grant)).await, Deciding::Decided);
    let before = Deciding::Before(decided("user", true));
    assert_eq!(decide(issuer, Decision::Denied(user("user"))).await, before);
    assert_eq!(find(issuer).await.unwrap().decided, Some(decided("user", true)));

    let thief = ClientId::parse("thief").unwrap();
    let stolen = store.poll_backchannel_authentication(issuer, &thief, &id, *now).await.unwrap();
    assert_eq!(stolen, Polled::OfOtherClient);
    let elsewhere = store.poll_backchannel_authentication(other, &client(), &id, *now).await.unwrap();
    assert_eq!(elsewhere, Polled::Unknown);
    let mut forged = id.expose().to_owned();
    let last = if forged.pop() == Some('A') { 'E' } else { 'A' };
    forged.push(last);
    for unknown in ["", "ar_", &forged] {
        assert_eq!(poll(&scene, &AuthReqId::new(unknown), *now).await, Polled::Unknown, "{unknown}");
    }
    store.sweep(*now + MINUTE).await.unwrap();
    for _ in 0..2 {
        assert_eq!(poll(&scene, &id, *now).await, Polled::Allowed(Box::new(grant.clone())));
    }
    assert_eq!(redeem(other, *now).await, Redemption::Unknown);
    assert_eq!(redeem(issuer, *now).await, Redemption::Redeemed);
    assert_eq!(redeem(issuer, *now).await, Redemption::Replayed);
    assert_eq!(poll(&scene, &id, *now).await, Polled::Used(Box::new(grant.clone())));
    assert_eq!(poll(&scene, &another, *now).await, Polled::Pending);

    // A used one is remembered until its end and a quarter of an hour more.
    let late = end + KEPT_AFTER_END - MINUTE;
    store.sweep(late).await.unwrap();
    assert_eq!(poll(&scene, &id, late).await, Polled::Used(Box::new(grant)));
    assert_eq!(redeem(issuer, late).await, Redemption::Replayed);
    if scene.forgets {
        assert!(store.sweep(end + KEPT_AFTER_END + MINUTE).await.unwrap() > 0);
        assert_eq!(redeem(issuer, *now).await, Redemption::Unknown);
    }
}

async fn is_denied(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "ciba-denied").await;
    let Scene { store, issuer, now, .. } = &scene;
    let id = ask(&scene, "user", *now + MINUTE).await;
    let denied = Decision::Denied(user("user"));
    let told = store.decide_backchannel_authentication(issuer, &named(&scene, &id), denied, *now).await;
    assert_eq!(told.unwrap(), Deciding::Decided);
    for _ in 0..2 {
        assert_eq!(poll(&scene, &id, *now).await, Polled::Denied(user("user")));
    }
    assert_eq!(store.redeem_auth_req_id(issuer, &id, *now).await.unwrap(), Redemption::Unknown);
}

async fn is_polled_in_its_interval(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "ciba-interval").await;
    let id = ask(&scene, "user", scene.now + 10 * MINUTE).await;
    for (second, told) in [
        (0, Polled::Pending),
        (5, Polled::Pending),
        (7, Polled::SlowDown),
        (12, Polled::SlowDown),
        (27, Polled::Pending),
    ] {
        let at = scene.now + Duration::from_secs(second);
        assert_eq!(poll(&scene, &id, at).await, told, "after {second} s");
    }
}

async fn waits_in_the_list_of_its_user(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "ciba-list").await;
    let Scene { store, issuer, other, now, random, .. } = &scene;
    let waiting = async |issuer: &IssuerId, of: &str, at: Timestamp| -> Vec<BackchannelRequestId> {
        let found = store.waiting_backchannel_authentications(issuer, &user(of), at).await.unwrap();
        assert!(found.iter().all(|kept| kept.decided.is_none() && kept.asked.user == user(of)));
        found.into_iter().map(|kept| kept.id).collect()
    };
    assert!(waiting(issuer, "user", *now).await.is_empty());
    let late = ask(&scene, "user", *now + 3 * MINUTE).await;
    let soon = ask(&scene, "user", *now + MINUTE).await;
    let of_another = ask(&scene, "another", *now + MINUTE).await;
    let [late, soon, of_another] = [&late, &soon, &of_another].map(|id| named(&scene, id));
    assert_eq!(waiting(issuer, "user", *now).await, [soon, late], "those that end first before others");
    assert_eq!(waiting(issuer, "another", *now).await, [of_another]);
    assert!(waiting(other, "user", *now).await.is_empty());
    assert_eq!(waiting(issuer, "user", *now + MINUTE).await, [late]);

    // Of one client only so many wait for one person; another client may ask all the same.
    let keep = async |by: &str, at: Timestamp| {
        let (by, id) = (ClientId::parse(by).unwrap(), AuthReqId::draw(issuer, &user("user"), random));
        let asked = asked("user", &by, at, at + 3 * MINUTE);
        store.keep_backchannel_authentication(issuer, &id, asked).await.unwrap()
    };
    for _ in 2..MOST_WAITING {
        assert!(keep("client", *now).await);
    }
    assert!(!keep("client", *now).await);
    assert!(keep("other-client", *now).await);
    assert_eq!(waiting(issuer, "user", *now).await.len(), MOST_WAITING + 1);
    // What ended, and what was decided, makes room.
    assert!(keep("client", *now + MINUTE).await);
    assert!(!keep("client", *now + MINUTE).await);
    let denied = Decision::Denied(user("user"));
    let told = store.decide_backchannel_authentication(issuer, &late, denied, *now).await.unwrap();
    assert_eq!(told, Deciding::Decided);
    assert!(!waiting(issuer, "user", *now).await.contains(&late));
    assert!(keep("client", *now + MINUTE).await);
}

async fn ends(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "ciba-end").await;
    let Scene { store, issuer, now, .. } = &scene;
    let end = *now + MINUTE;
    let (id, forgotten) = (ask(&scene, "user", end).await, ask(&scene, "user", end).await);
    let grant = code_grant(&scene, "user");
    let decide = async |id: &AuthReqId, at: Timestamp| {
        let name = named(&scene, id);
        store.decide_backchannel_authentication(issuer, &name, allowed(&grant), at).await.unwrap()
    };
    assert_eq!(decide(&forgotten, end).await, Deciding::Unknown);
    assert_eq!(poll(&scene, &forgotten, end).await, Polled::Unknown);
    let found = store.backchannel_authentication(issuer, &named(&scene, &forgotten), end).await;
    assert!(found.unwrap().is_none());
    assert_eq!(decide(&id, *now).await, Deciding::Decided);
    assert_eq!(poll(&scene, &id, end).await, Polled::Unknown, "allowed, and not fetched in time");
    assert_eq!(store.redeem_auth_req_id(issuer, &id, end).await.unwrap(), Redemption::Unknown);
    if scene.forgets {
        assert!(store.sweep(end).await.unwrap() > 1);
        assert_eq!(poll(&scene, &id, *now).await, Polled::Unknown);
    }
}

async fn is_decided_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "ciba-race").await;
    let mut ids = Vec::new();
    for round in 0..rounds() {
        ids.push(ask(&scene, &format!("user-{round}"), scene.now + 10 * MINUTE).await);
    }
    let rounds = race(|round, racer| {
        let (store, issuer, id) =
            (Arc::clone(&scene.store), scene.issuer.clone(), named(&scene, &ids[round]));
        let name = format!("user-{round}");
        let grant = code_grant(&scene, &name);
        let decision = if racer % 2 == 0 { allowed(&grant) } else { Decision::Denied(user(&name)) };
        let now = scene.now;
        async move {
            let is_allowed = decision.is_allowed();
            let told = store.decide_backchannel_authentication(&issuer, &id, decision, now).await.unwrap();
            (is_allowed, told)
        }
    })
    .await;
    for (round, told) in rounds.into_iter().enumerate() {
        let winners: Vec<bool> =
            told.iter().filter(|(_, told)| *told == Deciding::Decided).map(|(own, _)| *own).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let before = Deciding::Before(decided(&format!("user-{round}"), winners[0]));
        assert!(told.iter().all(|(_, told)| *told == Deciding::Decided || *told == before));
        let polled = poll(&scene, &ids[round], scene.now).await;
        assert_eq!(matches!(polled, Polled::Allowed(_)), winners[0], "{polled:?}");
    }
}

async fn is_redeemed_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "ciba-redeem-race").await;
    let mut ids = Vec::new();
    for round in 0..rounds() {
        let name = format!("user-{round}");
        let id = ask(&scene, &name, scene.now + 10 * MINUTE).await;
        let decision = allowed(&code_grant(&scene, &name));
        let request = named(&scene, &id);
        let decide =
            scene.store.decide_backchannel_authentication(&scene.issuer, &request, decision, scene.now);
        assert_eq!(decide.await.unwrap(), Deciding::Decided);
        ids.push(id);
    }
    race_for_one("redeem_auth_req_id", |round, _| {
        let (store, issuer, id) = (Arc::clone(&scene.store), scene.issuer.clone(), ids[round].clone());
        let now = scene.now;
        async move {
            let polled = store.poll_backchannel_authentication(&issuer, &client(), &id, now).await.unwrap();
            assert!(matches!(polled, Polled::Allowed(_) | Polled::Used(_)), "{polled:?}");
            store.redeem_auth_req_id(&issuer, &id, now).await.unwrap() == Redemption::Redeemed
        }
    })
    .await;
}
