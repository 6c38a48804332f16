//! The audit log.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use symbolon_crypto::digest::sha256;
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::time::Timestamp;

use super::sample::{MINUTE, page, search};
use super::{BackEnd, Scene};
use crate::port::AuditFilter;

fn digest_text(at: Timestamp, half: u8) -> String {
    let digest = sha256(&[&at.millis().to_be_bytes(), &[half]]);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn record(event: Event, user: &str, client: Option<&str>, at: Timestamp) -> AuditRecord {
    AuditRecord {
        at,
        event,
        user: Some(UserId::parse(user).unwrap()),
        client: client.map(|client| ClientId::parse(client).unwrap()),
        actor: "user".into(),
        address: Some("192.0.2.1".into()),
        request: None,
        // As hard to compress as real records: 128 characters that do not repeat.
        detail: [0, 1].map(|half| digest_text(at, half)).concat().into(),
    }
}

pub async fn all(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "audit").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let records: Vec<_> = (0..1_200_u32)
        .map(|n| {
            let event = if n % 2 == 0 { Event::SignedIn } else { Event::GrantBegun };
            let client = (n % 2 == 1).then_some("app");
            let at = *now + n * Duration::from_secs(1);
            (issuer.clone(), record(event, &format!("user-{}", n % 3), client, at))
        })
        .collect();
    store.write_audit(records.clone().into()).await.unwrap();
    let foreign = (other.clone(), record(Event::SignedIn, "user-0", None, *now));
    store.write_audit(Arc::new([foreign])).await.unwrap();
    store.write_audit(Arc::default()).await.unwrap();
    let all = AuditFilter::default();
    let found = store.search_audit(issuer, &all, &page(1, 10)).await.unwrap();
    assert_eq!((found.total, found.items.len()), (1_200, 10));
    assert_eq!(found.items[0], records[1_199].1, "newest first");
    assert_eq!(store.search_audit(other, &all, &page(1, 10)).await.unwrap().total, 1);
    let filters = [
        (AuditFilter { event: Some(Event::SignedIn), ..all.clone() }, 600),
        (AuditFilter { user: UserId::parse("user-1").ok(), ..all.clone() }, 400),
        (AuditFilter { client: ClientId::parse("app").ok(), ..all.clone() }, 600),
        (AuditFilter { from: Some(*now + MINUTE), to: Some(*now + 2 * MINUTE), ..all.clone() }, 60),
        (AuditFilter { event: Some(Event::CodeReplayed), ..all.clone() }, 0),
    ];
    for (filter, total) in filters {
        let found = store.search_audit(issuer, &filter, &page(1, 10)).await.unwrap();
        assert_eq!(found.total, total, "{filter:?}");
    }
    assert_eq!(store.search_audit(issuer, &all, &search("192.0.2.1")).await.unwrap().total, 1_200);
    assert_eq!(store.trim_audit(issuer, *now + MINUTE).await.unwrap(), 60);
    assert_eq!(store.trim_audit(issuer, *now + MINUTE).await.unwrap(), 0);
    assert_eq!(store.search_audit(issuer, &all, &page(1, 1)).await.unwrap().total, 1_140);
    assert_eq!(store.search_audit(other, &all, &page(1, 1)).await.unwrap().total, 1);
    trimmed_to_a_size(&scene).await;
    refusals(&scene).await;
}

/// A refused request: its reason, address and id, and the digest of the name that was typed.
fn refused(event: Event, client: &str, number: u32, at: Timestamp) -> AuditRecord {
    AuditRecord {
        user: None,
        address: Some(format!("192.0.2.{}", number % 3).into()),
        request: Some(format!("request-{number:04}")),
        detail: json!({ "reason": "password_wrong", "login_name_digest": format!("digest-{}", number % 5) }),
        ..record(event, "nobody", Some(client), at)
    }
}

/// Why requests were refused is found by client, request, address and name, the newest first.
async fn refusals(scene: &Scene) {
    let Scene { store, issuer, other, now, .. } = scene;
    let at = |n: u32| *now + n * Duration::from_secs(1);
    let records = (0..60_u32).map(|n| {
        let (event, client) = match n % 4 {
            0 => (Event::SignInFailed, "app"),
            1 => (Event::RequestRefused, "app"),
            2 => (Event::RequestRefused, "api"),
            // The same texts in an event of another kind, and a refusal of before there were reasons.
            _ => (Event::KeyRevoked, "app"),
        };
        (issuer.clone(), refused(event, client, n, at(n)))
    });
    store.write_audit(records.collect()).await.unwrap();
    let without_reason = record(Event::SignInFailed, "nobody", Some("app"), at(60));
    store.write_audit(Arc::new([(issuer.clone(), without_reason)])).await.unwrap();
    let all = AuditFilter { refused: true, ..AuditFilter::default() };
    let newest = async |filter: &AuditFilter, most: u32| -> Vec<String> {
        let found = store.newest_audit(issuer, filter, most).await.unwrap();
        found.into_iter().map(|record| record.request.unwrap()).collect()
    };
    let of_app = AuditFilter { client: ClientId::parse("app").ok(), ..all.clone() };
    assert_eq!(newest(&of_app, 3).await, ["request-0057", "request-0056", "request-0053"]);
    assert_eq!(newest(&of_app, 1_000).await.len(), 30);
    let one = AuditFilter { request: Some("request-0002".into()), ..all.clone() };
    assert_eq!(newest(&one, 10).await, ["request-0002"]);
    let part = AuditFilter { request: Some("request-000".into()), ..all.clone() };
    assert!(newest(&part, 10).await.is_empty(), "the whole id");
    let since = AuditFilter { from: Some(at(58)), ..all.clone() };
    assert_eq!(newest(&since, 10).await, ["request-0058"]);
    assert!(store.newest_audit(other, &all, 10).await.unwrap().is_empty());
    let any = AuditFilter::default();
    for (filter, total) in [
        (all.clone(), 45),
        (AuditFilter { address: Some("192.0.2.1".into()), ..all.clone() }, 15),
        (AuditFilter { login_name_digest: Some("digest-3".into()), ..all.clone() }, 9),
        (AuditFilter { login_name_digest: Some("digest-3".into()), ..any.clone() }, 12),
        (AuditFilter { event: Some(Event::SignInFailed), ..all.clone() }, 15),
        (AuditFilter { event: Some(Event::SignInFailed), ..any.clone() }, 16),
        (AuditFilter { address: Some("192.0.2.1\"".into()), ..any.clone() }, 0),
    ] {
        let found = store.search_audit(issuer, &filter, &page(1, 10)).await.unwrap();
        assert_eq!(found.total, total, "{filter:?}");
    }
}

/// One issuer has 1,140 records, the other a single one. A record takes 100 bytes to 2 KiB.
async fn trimmed_to_a_size(scene: &Scene) {
    const MOST: u64 = 64 << 10;
    let Scene { store, issuer, other, now, .. } = scene;
    let all = AuditFilter::default();
    assert_eq!(store.trim_audit_to(u64::MAX).await.unwrap(), 0);
    assert_eq!(store.trim_audit_to(1_141 * 2_048).await.unwrap(), 0);
    let trimmed = store.trim_audit_to(MOST).await.unwrap();
    let left = store.search_audit(issuer, &all, &page(1, 1_000)).await.unwrap();
    assert_eq!(left.total, 1_140 - trimmed);
    assert!((MOST / 2_048 - 1..=MOST / 100).contains(&left.total), "{} are left", left.total);
    let times = left.items.iter().map(|record| record.at);
    let newest = (0..1_200_u32).rev().map(|n| *now + n * Duration::from_secs(1));
    assert!(times.eq(newest.take(left.items.len())), "the oldest go");
    assert_eq!(
        store.search_audit(other, &all, &page(1, 1)).await.unwrap().total,
        1,
        "the largest issuer pays"
    );
    assert_eq!(store.trim_audit_to(MOST).await.unwrap(), 0);
    assert_eq!(store.trim_audit_to(0).await.unwrap(), left.total + 1);
    // Records written after the log was empty are counted like any others.
    for round in 0..2_u32 {
        let later = |n: u32| record(Event::SignedIn, "user-0", None, *now + n * Duration::from_secs(1));
        let records = (0..1_500).map(|n| (issuer.clone(), later(round * 1_500 + n))).collect();
        store.write_audit(records).await.unwrap();
        assert!(store.trim_audit_to(MOST).await.unwrap() >= 1_500 - MOST / 100);
        assert!(store.search_audit(issuer, &all, &page(1, 1)).await.unwrap().total <= MOST / 100);
    }
    let left = store.search_audit(issuer, &all, &page(1, 1)).await.unwrap().total;
    assert_eq!(store.trim_audit(issuer, *now + 60 * MINUTE).await.unwrap(), left);
    assert_eq!(store.trim_audit_to(0).await.unwrap(), 0);
}
