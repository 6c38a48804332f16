use std::collections::VecDeque;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use symbolon_store::StoreError;
use symbolon_store::port::{AuditFilter, Page, PageRequest};

use super::writer::{BATCH, MANY};
use super::*;
use symbolon_telemetry::request_id::X_REQUEST_ID;

/// Keeps batches; answers as told, then well.
#[derive(Default)]
struct Written {
    answers: Mutex<VecDeque<StoreError>>,
    batches: Mutex<Vec<Vec<(IssuerId, AuditRecord)>>>,
}

#[async_trait]
impl Audit for Written {
    async fn write_audit(&self, records: Arc<[(IssuerId, AuditRecord)]>) -> Result<(), StoreError> {
        if let Some(error) = self.answers.lock().pop_front() {
            return Err(error);
        }
        self.batches.lock().push(records.to_vec());
        Ok(())
    }

    async fn search_audit(
        &self,
        _: &IssuerId,
        _: &AuditFilter,
        _: &PageRequest,
    ) -> Result<Page<AuditRecord>, StoreError> {
        Err(StoreError::Failed("not in this test".into()))
    }

    async fn newest_audit(
        &self,
        _: &IssuerId,
        _: &AuditFilter,
        _: u32,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        Err(StoreError::Failed("not in this test".into()))
    }

    async fn trim_audit(&self, _: &IssuerId, _: Timestamp) -> Result<u64, StoreError> {
        Err(StoreError::Failed("not in this test".into()))
    }

    async fn trim_audit_to(&self, _: u64) -> Result<u64, StoreError> {
        Err(StoreError::Failed("not in this test".into()))
    }
}

impl Written {
    fn sizes(&self) -> Vec<usize> {
        self.batches.lock().iter().map(Vec::len).collect()
    }
}

struct Fixture {
    registry: Registry,
    log: Arc<AuditLog>,
    store: Arc<Written>,
}

fn fixture(capacity: usize) -> Fixture {
    let registry = Registry::new("0", "0");
    let log = Arc::new(AuditLog::with_capacity(&registry, capacity));
    Fixture { registry, log, store: Arc::default() }
}

impl Fixture {
    fn start(&self) -> tokio::task::JoinHandle<()> {
        let (log, store) = (Arc::clone(&self.log), Arc::clone(&self.store));
        tokio::spawn(async move { log.run(&*store).await })
    }

    fn record(&self, event: Event, second: u64) {
        let entry = AuditEntry {
            user: Some(UserId::trusted("alice")),
            client: Some(ClientId::trusted("app")),
            actor: Actor::User,
            address: Some("::ffff:192.0.2.1".parse().unwrap()),
            request: RequestId::inbound(&HeaderMap::from_iter([(
                X_REQUEST_ID.clone(),
                HeaderValue::from_static("request-1"),
            )])),
            ..AuditEntry::system(event, serde_json::json!({ "n": second }))
        };
        self.log.record(&IssuerId::default_issuer(), entry, Timestamp::from_seconds(second));
    }

    fn shows(&self, line: &str) {
        let page = self.registry.render(&[]);
        assert!(page.lines().any(|shown| shown == line), "{line} is not in {page}");
    }
}

/// Lets the tasks that can run do so, without time passing.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn audited_events_are_written_and_the_others_only_counted() {
    let fixture = fixture(8);
    fixture.start();
    settle().await;
    fixture.record(Event::SignedIn, 5);
    fixture.record(Event::CodeRedeemed, 6);
    fixture.log.count(Event::CodeRedeemed);
    fixture.log.drain().await;
    let batches = fixture.store.batches.lock();
    let [(issuer, record)] = batches[0].as_slice() else { panic!("one record") };
    assert_eq!(batches.len(), 1);
    assert_eq!(*issuer, IssuerId::default_issuer());
    assert_eq!(
        (record.at, record.event, record.actor.as_str()),
        (Timestamp::from_seconds(5), Event::SignedIn, "user")
    );
    assert_eq!(record.address.as_deref(), Some("192.0.2.1"));
    assert_eq!(
        (record.request.as_deref(), &record.detail),
        (Some("request-1"), &serde_json::json!({ "n": 5 }))
    );
    assert_eq!(fixture.log.events(Event::CodeRedeemed), 2);
    fixture.shows("symbolon_events_total{event=\"session.signed_in\"} 1");
    fixture.shows("symbolon_events_total{event=\"code.redeemed\"} 2");
    fixture.shows("symbolon_audit_written_total 1");
    fixture.shows("symbolon_audit_queue_length 0");
}

#[test]
fn every_event_is_counted_under_its_own_name() {
    let fixture = fixture(8);
    for event in Event::ALL {
        fixture.log.count(*event);
        fixture.shows(&format!("symbolon_events_total{{event=\"{}\"}} 1", event.name()));
    }
}

#[tokio::test(start_paused = true)]
async fn records_wait_a_quarter_of_a_second_for_others() {
    let fixture = fixture(8);
    fixture.start();
    fixture.record(Event::SignedIn, 1);
    settle().await;
    tokio::time::advance(Duration::from_millis(200)).await;
    fixture.record(Event::SignedIn, 2);
    settle().await;
    assert_eq!(fixture.store.sizes(), [0_usize; 0]);
    tokio::time::advance(Duration::from_millis(51)).await;
    settle().await;
    assert_eq!(fixture.store.sizes(), [2]);
}

#[tokio::test(start_paused = true)]
async fn many_records_wait_a_second_for_more() {
    let fixture = fixture(1_000);
    fixture.start();
    for number in 0..MANY as u64 {
        fixture.record(Event::SignedIn, number);
    }
    settle().await;
    tokio::time::advance(Duration::from_millis(251)).await;
    settle().await;
    fixture.record(Event::SignedIn, 1);
    tokio::time::advance(Duration::from_millis(700)).await;
    settle().await;
    assert_eq!(fixture.store.sizes(), [0_usize; 0]);
    tokio::time::advance(Duration::from_millis(51)).await;
    settle().await;
    assert_eq!(fixture.store.sizes(), [MANY + 1]);
}

#[tokio::test(start_paused = true)]
async fn a_full_batch_waits_for_nothing() {
    let records = 2 * BATCH as u64 + 100;
    let fixture = fixture(3 * BATCH);
    fixture.start();
    for number in 0..records {
        fixture.record(Event::SignedIn, number);
    }
    settle().await;
    assert_eq!(fixture.store.sizes(), [BATCH, BATCH]);
    fixture.log.drain().await;
    assert_eq!(fixture.store.sizes(), [BATCH, BATCH, 100]);
    let batches = fixture.store.batches.lock();
    let seconds: Vec<u64> = batches.iter().flatten().map(|(_, record)| record.at.seconds()).collect();
    assert_eq!(seconds, (0..records).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_dropped_and_counted() {
    let fixture = fixture(4);
    for number in 0..7 {
        fixture.record(Event::SignedIn, number);
    }
    fixture.shows("symbolon_audit_dropped_total 3");
    fixture.shows("symbolon_audit_queue_length 4");
    fixture.shows("symbolon_events_total{event=\"session.signed_in\"} 7");
    fixture.start();
    settle().await;
    fixture.log.drain().await;
    assert_eq!(fixture.store.sizes(), [4]);
}

#[test]
fn drops_are_reported_once_a_minute() {
    let fixture = fixture(1);
    let reported =
        || (fixture.log.reported_at.load(Ordering::Relaxed), fixture.log.reported.load(Ordering::Relaxed));
    for (second, expected) in
        [(100, (0, 0)), (101, (101_000, 1)), (102, (101_000, 1)), (160, (101_000, 1)), (161, (161_000, 4))]
    {
        fixture.record(Event::SignedIn, second);
        assert_eq!(reported(), expected, "{second}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_store_is_tried_again() {
    let fixture = fixture(8);
    fixture.store.answers.lock().extend((0..20).map(|_| StoreError::Unavailable("away".into())));
    fixture.start();
    fixture.record(Event::SignedIn, 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    fixture.record(Event::SignedIn, 2);
    fixture.shows("symbolon_audit_queue_length 2");
    assert!(!fixture.log.settle(Duration::ZERO).await, "one is being written, one waits");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(fixture.store.sizes(), [1, 1]);
    assert!(fixture.log.settle(Duration::ZERO).await);
    fixture.shows("symbolon_audit_dropped_total 0");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_costs_one_batch_only() {
    let fixture = fixture(8);
    fixture.store.answers.lock().push_back(StoreError::Failed("damaged".into()));
    fixture.start();
    fixture.record(Event::SignedIn, 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    fixture.record(Event::SignedIn, 2);
    fixture.log.drain().await;
    assert_eq!(fixture.store.sizes(), [1]);
    fixture.shows("symbolon_audit_dropped_total 1");
    fixture.shows("symbolon_audit_queue_length 0");
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_ever() {
    let fixture = fixture(8);
    fixture.store.answers.lock().extend((0..1_000).map(|_| StoreError::Unavailable("away".into())));
    let running = fixture.start();
    fixture.record(Event::SignedIn, 1);
    settle().await;
    let begun = tokio::time::Instant::now();
    fixture.log.drain().await;
    assert!(begun.elapsed() < Duration::from_secs(10));
    running.await.unwrap();
    fixture.shows("symbolon_audit_dropped_total 1");
    // What comes later is dropped, not kept for nobody.
    fixture.record(Event::SignedIn, 2);
    fixture.shows("symbolon_audit_dropped_total 2");
}

#[tokio::test(start_paused = true)]
async fn draining_a_log_that_nobody_writes_returns() {
    let fixture = fixture(8);
    fixture.record(Event::SignedIn, 1);
    fixture.log.drain().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_before_the_writer_begins_waits_for_its_record_too() {
    let fixture = fixture(10);
    let entry = AuditEntry::system(Event::UserCreated, serde_json::Value::Null);
    let issuer = IssuerId::default_issuer();
    let written = fixture.log.record_awaited(&issuer, entry, Timestamp::from_seconds(1));
    let waiting = tokio::spawn(written.expect("a record to wait for").within(Duration::from_secs(10)));
    let _writer = fixture.start();
    assert!(waiting.await.unwrap());
    assert_eq!(fixture.store.sizes(), [1]);
}
