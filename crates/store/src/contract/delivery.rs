//! What has to reach somebody else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::id::{DeliveryId, IssuerId};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::sample::{HOUR, MINUTE};
use super::{BackEnd, RACERS, Scene, race_record_for_one};
use crate::Store;
use crate::port::{Delivery, DeliveryKind, MOST_PAYLOAD, Queued};

/// More than any test here queues.
const MANY: u32 = 1_000_000;

const SECOND: Duration = Duration::from_secs(1);

pub async fn all(back_end: &dyn BackEnd) {
    waits_until_it_has_arrived(back_end).await;
    comes_again_when_nobody_answered(back_end).await;
    survives_a_crash_in_each_state(back_end).await;
    is_bounded_and_apart(back_end).await;
    is_bounded_by_recipient(back_end).await;
    is_taken_fairly(back_end).await;
    ends_by_time(back_end).await;
    is_claimed_by_one_racer(back_end).await;
    is_shared_out_among_racers(back_end).await;
    is_finished_by_one_racer(back_end).await;
}

pub(crate) fn delivery(id: &str, kind: DeliveryKind, now: Timestamp) -> Delivery {
    Delivery {
        id: DeliveryId::parse(id).unwrap(),
        kind,
        payload: format!("sealed {id}"),
        created_at: now,
        due_at: now,
        expires_at: now + HOUR,
        attempts: 0,
        unanswered: 0,
    }
}

fn mail(id: &str, now: Timestamp) -> Delivery {
    delivery(id, DeliveryKind::Mail, now)
}

async fn queue(store: &dyn Store, issuer: &IssuerId, delivery: Delivery) {
    assert_eq!(store.queue_delivery(issuer, delivery, MANY).await.unwrap(), Queued::Queued);
}

async fn claim(store: &dyn Store, now: Timestamp, until: Timestamp, limit: u32) -> Vec<(IssuerId, Delivery)> {
    store.claim_deliveries(now, until, limit).await.unwrap()
}

/// The ids of what is claimed now, for a minute.
async fn claimed(store: &dyn Store, now: Timestamp, limit: u32) -> Vec<String> {
    let found = claim(store, now, now + MINUTE, limit).await;
    found.into_iter().map(|(_, delivery)| delivery.id.as_str().to_owned()).collect()
}

async fn waiting(store: &dyn Store) -> [u64; 2] {
    let counts = store.waiting_deliveries().await.unwrap();
    [DeliveryKind::Mail, DeliveryKind::BackChannelLogout]
        .map(|kind| counts.iter().find(|(counted, _)| *counted == kind).map_or(0, |(_, count)| *count))
}

async fn waits_until_it_has_arrived(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery").await;
    let Scene { store, issuer, now, .. } = &scene;
    assert!(claim(&**store, *now, *now + MINUTE, 10).await.is_empty());
    assert_eq!(waiting(&**store).await, [0, 0]);
    let later = Delivery { due_at: *now + MINUTE, ..mail("later", *now) };
    let logout = delivery("logout", DeliveryKind::BackChannelLogout, *now);
    for one in [later.clone(), mail("mail", *now), logout.clone()] {
        queue(&**store, issuer, one).await;
    }
    assert_eq!(waiting(&**store).await, [2, 1]);
    let found = claim(&**store, *now, *now + 2 * MINUTE, 10).await;
    let as_claimed =
        |one: Delivery| Delivery { due_at: *now + 2 * MINUTE, attempts: 1, unanswered: 1, ..one };
    assert_eq!(found.len(), 2, "{found:?}");
    for one in [mail("mail", *now), logout] {
        assert!(found.contains(&(issuer.clone(), as_claimed(one))), "{found:?}");
    }
    assert!(claim(&**store, *now, *now + 2 * MINUTE, 10).await.is_empty(), "they are somebody's");
    assert_eq!(waiting(&**store).await, [2, 1]);
    let (mail, logout) = (DeliveryId::parse("mail").unwrap(), DeliveryId::parse("logout").unwrap());
    assert!(store.finish_delivery(issuer, &logout).await.unwrap());
    assert!(!store.finish_delivery(issuer, &logout).await.unwrap());
    assert!(!store.postpone_delivery(issuer, &logout, *now).await.unwrap(), "it is gone");
    assert!(store.postpone_delivery(issuer, &mail, *now + 5 * MINUTE).await.unwrap());
    assert_eq!(waiting(&**store).await, [2, 0]);
    assert_eq!(claimed(&**store, *now + MINUTE, 10).await, ["later"]);
    let again = claim(&**store, *now + 5 * MINUTE, *now + 6 * MINUTE, 10).await;
    let tries: Vec<_> =
        again.iter().map(|(_, one)| (one.id.as_str(), one.attempts, one.unanswered)).collect();
    assert_eq!(tries, [("later", 2, 2), ("mail", 2, 1)], "the longest due first");
    for id in [&mail, &later.id] {
        assert!(store.finish_delivery(issuer, id).await.unwrap());
    }
    assert_eq!(waiting(&**store).await, [0, 0]);
}

async fn comes_again_when_nobody_answered(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-unanswered").await;
    let Scene { store, issuer, now, .. } = &scene;
    queue(&**store, issuer, mail("a", *now)).await;
    let id = DeliveryId::parse("a").unwrap();
    for round in 1..=3_u32 {
        let at = *now + round * MINUTE;
        let found = claim(&**store, at, at + MINUTE, 1).await;
        assert_eq!(found.len(), 1, "round {round}");
        assert_eq!((found[0].1.attempts, found[0].1.unanswered), (round, round));
    }
    assert!(store.postpone_delivery(issuer, &id, *now + 10 * MINUTE).await.unwrap());
    let found = claim(&**store, *now + 10 * MINUTE, *now + 11 * MINUTE, 1).await;
    assert_eq!(
        (found[0].1.attempts, found[0].1.unanswered),
        (4, 3),
        "an answer takes back its own claim only"
    );
    for _ in 0..5 {
        assert!(store.postpone_delivery(issuer, &id, *now + 20 * MINUTE).await.unwrap());
    }
    let found = claim(&**store, *now + 20 * MINUTE, *now + 21 * MINUTE, 1).await;
    assert_eq!((found[0].1.attempts, found[0].1.unanswered), (5, 1), "never less than none");
}

async fn survives_a_crash_in_each_state(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-crash").await;
    let Scene { store, issuer, now, .. } = &scene;
    for id in ["finished", "postponed", "claimed"] {
        queue(&**store, issuer, mail(id, *now)).await;
    }
    assert_eq!(claimed(&**store, *now, 10).await.len(), 3);
    queue(&**store, issuer, mail("waiting", *now)).await;
    assert!(store.finish_delivery(issuer, &DeliveryId::parse("finished").unwrap()).await.unwrap());
    let postponed = DeliveryId::parse("postponed").unwrap();
    assert!(store.postpone_delivery(issuer, &postponed, *now + 2 * MINUTE).await.unwrap());

    let after = back_end.after_crash("delivery-crash").await;
    assert_eq!(waiting(&*after).await, [3, 0]);
    assert_eq!(claimed(&*after, *now, 10).await, ["waiting"]);
    let found = claim(&*after, *now + 2 * MINUTE, *now + 3 * MINUTE, 10).await;
    let mut tries: Vec<_> =
        found.iter().map(|(_, one)| (one.id.as_str(), one.attempts, one.unanswered)).collect();
    tries.sort_unstable();
    assert_eq!(tries, [("claimed", 2, 2), ("postponed", 2, 1), ("waiting", 2, 2)]);
    assert!(found.iter().all(|(_, one)| one.payload == format!("sealed {}", one.id)));
}

async fn is_bounded_and_apart(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-bounds").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for id in ["a", "b"] {
        assert_eq!(store.queue_delivery(issuer, mail(id, *now), 2).await.unwrap(), Queued::Queued);
    }
    assert_eq!(store.queue_delivery(issuer, mail("c", *now), 2).await.unwrap(), Queued::Full);
    assert_eq!(store.queue_delivery(issuer, mail("c", *now), 0).await.unwrap(), Queued::Full);
    // Who did not learn whether it was written tries again.
    assert_eq!(store.queue_delivery(issuer, mail("a", *now), 2).await.unwrap(), Queued::Queued);
    assert_eq!(waiting(&**store).await, [2, 0]);
    let logout = delivery("c", DeliveryKind::BackChannelLogout, *now);
    // Another kind has its own bound, and its id is taken by nobody.
    assert_eq!(store.queue_delivery(issuer, logout.clone(), 0).await.unwrap(), Queued::Full);
    assert_eq!(store.queue_delivery(issuer, logout.clone(), 1).await.unwrap(), Queued::Queued);
    assert_eq!(waiting(&**store).await, [2, 1]);
    assert!(store.finish_delivery(issuer, &logout.id).await.unwrap());
    // The same id at another issuer is another delivery.
    assert_eq!(store.queue_delivery(other, mail("a", *now), 2).await.unwrap(), Queued::Queued);
    let a = DeliveryId::parse("a").unwrap();
    let c = DeliveryId::parse("c").unwrap();
    assert!(!store.finish_delivery(other, &c).await.unwrap());
    assert!(store.finish_delivery(other, &a).await.unwrap());
    assert!(!store.postpone_delivery(other, &a, *now).await.unwrap());
    assert_eq!(claimed(&**store, *now, 10).await, ["a", "b"], "the other issuer's namesake went alone");
    assert!(store.finish_delivery(issuer, &a).await.unwrap());
    assert_eq!(store.queue_delivery(issuer, mail("c", *now), 2).await.unwrap(), Queued::Queued);

    let longest = Delivery { payload: "x".repeat(MOST_PAYLOAD), ..mail("longest", *now + MINUTE) };
    queue(&**store, other, longest.clone()).await;
    let too_long = Delivery { payload: "x".repeat(MOST_PAYLOAD + 1), ..mail("too-long", *now) };
    assert!(store.queue_delivery(other, too_long, MANY).await.is_err());
    let found = claim(&**store, *now + MINUTE, *now + HOUR, 10).await;
    let (_, longest_found) = found.iter().find(|(issuer, _)| issuer == other).unwrap();
    assert_eq!(longest_found.payload, longest.payload);
    assert_eq!(store.waiting_deliveries().await.unwrap(), [(DeliveryKind::Mail, 3)]);
}

/// For one recipient waits a tenth of what may wait, also if many queue at once.
async fn is_bounded_by_recipient(back_end: &dyn BackEnd) {
    const MOST: u32 = 50;
    let scene = Scene::open(back_end, "delivery-recipient").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let logout = |recipient: u8, own: u8| Delivery {
        id: DeliveryId::for_recipient(&[recipient; 16], &[own; 16]),
        ..delivery("any", DeliveryKind::BackChannelLogout, *now)
    };
    let put = async |issuer: &IssuerId, delivery: Delivery| {
        store.queue_delivery(issuer, delivery, MOST).await.unwrap() == Queued::Queued
    };
    for own in 0..5 {
        assert!(put(issuer, logout(1, own)).await, "{own}");
    }
    assert!(!put(issuer, logout(1, 5)).await, "a tenth is full");
    assert!(put(issuer, logout(1, 0)).await, "what waits already stays");
    // Neighbours in the order of the ids, of other recipients, issuers and without one.
    for neighbour in [0, 2, 255] {
        assert!(put(issuer, logout(neighbour, 5)).await, "{neighbour}");
    }
    assert!(put(other, logout(1, 5)).await);
    assert!(put(issuer, mail("AQEB", *now)).await);
    assert!(store.finish_delivery(issuer, &logout(1, 3).id).await.unwrap());
    assert!(put(issuer, logout(1, 5)).await, "there is room again");
    assert_eq!(store.queue_delivery(issuer, logout(7, 0), 0).await.unwrap(), Queued::Full);

    let (start, mut racers) = (Arc::new(Barrier::new(RACERS)), JoinSet::new());
    for own in 0..u8::try_from(RACERS).unwrap() {
        let (store, issuer, start, delivery) =
            (Arc::clone(store), issuer.clone(), Arc::clone(&start), logout(9, own));
        racers.spawn(async move {
            start.wait().await;
            store.queue_delivery(&issuer, delivery, MOST).await.unwrap() == Queued::Queued
        });
    }
    let queued = racers.join_all().await.into_iter().filter(|is_queued| *is_queued).count();
    assert!(queued >= 5, "there was room for five, and {queued} were queued");
    assert!(!put(issuer, logout(9, 255)).await, "they all count");
}

async fn is_taken_fairly(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-fair").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let third = IssuerId::parse("three").unwrap();
    for number in 0..50 {
        queue(&**store, issuer, mail(&format!("many-{number:02}"), *now + number * SECOND)).await;
    }
    for (of, id) in [(other, "few-0"), (other, "few-1"), (&third, "one")] {
        queue(&**store, of, mail(id, *now + MINUTE)).await;
    }
    let later = *now + 2 * MINUTE;
    let first: BTreeSet<_> = claimed(&**store, later, 5).await.into_iter().collect();
    let expected = ["few-0", "few-1", "many-00", "many-01", "one"];
    assert_eq!(first.iter().collect::<Vec<_>>(), expected, "nobody waits for the fifty of another issuer");
    let rest: BTreeSet<_> = claimed(&**store, later, 100).await.into_iter().collect();
    assert_eq!(rest.len(), 48);
    assert!(rest.is_disjoint(&first));
}

async fn ends_by_time(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-end").await;
    let Scene { store, issuer, now, .. } = &scene;
    queue(&**store, issuer, Delivery { expires_at: *now + MINUTE, ..mail("short", *now) }).await;
    queue(&**store, issuer, mail("long", *now)).await;
    assert_eq!(claimed(&**store, *now + MINUTE, 10).await, ["long"], "at its end it is over");
    assert_eq!(waiting(&**store).await, [2, 0]);
    store.sweep(*now + MINUTE + KEPT_AFTER_END - Duration::from_millis(1)).await.unwrap();
    assert_eq!(waiting(&**store).await, [2, 0], "nothing goes early");
    assert_eq!(store.sweep(*now + MINUTE + KEPT_AFTER_END).await.unwrap(), 1);
    assert_eq!(waiting(&**store).await, [1, 0]);
    assert!(!store.finish_delivery(issuer, &DeliveryId::parse("short").unwrap()).await.unwrap());
    assert_eq!(store.queue_delivery(issuer, mail("next", *now), 2).await.unwrap(), Queued::Queued);
}

async fn is_claimed_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-race").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..50_u32 {
        let at = *now + round * MINUTE;
        let sent = Delivery { due_at: at, expires_at: at + HOUR, ..mail(&format!("r-{round}"), at) };
        queue(&**store, issuer, sent).await;
        let start = Arc::new(Barrier::new(RACERS));
        let mut racers = JoinSet::new();
        for _ in 0..RACERS {
            let (store, start) = (Arc::clone(store), Arc::clone(&start));
            racers.spawn(async move {
                start.wait().await;
                claim(&*store, at, at + 24 * HOUR, 10).await.len()
            });
        }
        let mut winners = 0;
        while let Some(took) = racers.join_next().await {
            winners += took.unwrap();
        }
        assert_eq!(winners, 1, "round {round}");
    }
}

/// Many claim from a long queue until it is empty: each delivery comes to exactly one of them.
async fn is_shared_out_among_racers(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-shared").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for number in 0..150 {
        for of in [issuer, other] {
            queue(&**store, of, mail(&format!("d-{number}"), *now)).await;
        }
    }
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let (store, now) = (Arc::clone(store), *now);
        racers.spawn(async move {
            let (mut mine, mut idle) = (Vec::new(), 0);
            while idle < 3 {
                let some = claim(&*store, now, now + HOUR, 7).await;
                assert!(some.len() <= 7);
                idle = if some.is_empty() { idle + 1 } else { 0 };
                mine.extend(some.into_iter().map(|(issuer, one)| (issuer.to_string(), one.id.to_string())));
            }
            mine
        });
    }
    let mut all = Vec::new();
    while let Some(mine) = racers.join_next().await {
        all.extend(mine.unwrap());
    }
    // Who found others at work on all that was left went away: the rest is there for the next.
    for (issuer, one) in claim(&**store, *now, *now + HOUR, 1_000).await {
        all.push((issuer.to_string(), one.id.to_string()));
    }
    let distinct: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!((all.len(), distinct.len()), (300, 300));
}

async fn is_finished_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "delivery-finish").await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..super::record_rounds() {
        queue(&**store, issuer, mail(&format!("r-{round}"), *now)).await;
    }
    race_record_for_one("finish_delivery", |round, _| {
        let (store, issuer) = (Arc::clone(store), issuer.clone());
        let id = DeliveryId::parse(&format!("r-{round}")).unwrap();
        async move { store.finish_delivery(&issuer, &id).await.unwrap() }
    })
    .await;
    assert_eq!(waiting(&**store).await, [0, 0]);
}
