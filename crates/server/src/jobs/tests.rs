use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::id::{ClientId, IssuerId, Kid};
use symbolon_protocol::key::{KeyRecord, KeyState, PUBLISHED_AHEAD};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_store::port::{AuditFilter, Changed, Page, PageRequest};

use super::keys::Plan;
use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// Lets the tasks that can run do so, without time passing.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_at_once_and_once_per_period_until_it_is_stopped() {
    let (stop, stopping) = watch::channel(false);
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let job = tokio::spawn(every(SWEEP_EVERY, stopping, move || {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(())
    }));
    settle().await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    tokio::time::sleep(Duration::from_millis(20_100)).await;
    assert_eq!(runs.load(Ordering::Relaxed), 5);
    stop.send_replace(true);
    job.await.unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 5);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_panics_runs_again() {
    let (stop, stopping) = watch::channel(false);
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let job = tokio::spawn(every(SWEEP_EVERY, stopping, move || {
        let run = counted.fetch_add(1, Ordering::Relaxed);
        async move { assert!(run > 0, "the first one fails") }
    }));
    settle().await;
    tokio::time::sleep(SWEEP_EVERY + Duration::from_millis(100)).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    stop.send_replace(true);
    job.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_with_the_server_that_is_gone() {
    let (stop, stopping) = watch::channel(false);
    let job = tokio::spawn(every(SWEEP_EVERY, stopping, || std::future::ready(())));
    settle().await;
    drop(stop);
    job.await.unwrap();
}

/// What a follower did, and how often it is to fail first.
#[derive(Default)]
struct Followed {
    seen: Mutex<Vec<Changed>>,
    failures: AtomicU32,
}

fn follower(changes: Arc<symbolon_app::changes::Changes>) -> (Arc<Followed>, watch::Sender<bool>) {
    let (stop, stopping) = watch::channel(false);
    let followed = Arc::new(Followed::default());
    let of_job = Arc::clone(&followed);
    tokio::spawn(follow::run(changes, stopping, move |changed| {
        of_job.seen.lock().push(changed);
        let fails =
            of_job.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        std::future::ready(if fails.is_ok() { Err("away") } else { Ok(()) })
    }));
    (followed, stop)
}

fn keys_of(issuer: &str) -> Changed {
    Changed::Keys(IssuerId::trusted(issuer))
}

#[tokio::test(start_paused = true)]
async fn each_change_is_followed_once() {
    let (listener, changes) = symbolon_app::changes::channel();
    let settings = Changed::Settings(IssuerId::trusted("a"));
    for changed in [keys_of("a"), settings.clone(), keys_of("a"), keys_of("b")] {
        drop(listener(&changed));
    }
    listener(&Changed::Client(IssuerId::trusted("a"), ClientId::trusted("c"))).await;
    let (followed, _stop) = follower(changes);
    settle().await;
    assert_eq!(*followed.seen.lock(), [keys_of("a"), settings, keys_of("b")]);
    listener(&keys_of("a")).await;
    assert_eq!(followed.seen.lock().last(), Some(&keys_of("a")));
    assert_eq!(followed.seen.lock().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_fails_is_tried_until_it_succeeds() {
    let (listener, changes) = symbolon_app::changes::channel();
    let (followed, _stop) = follower(changes);
    followed.failures.store(3, Ordering::Relaxed);
    listener(&keys_of("a")).await;
    assert_eq!(*followed.seen.lock(), vec![keys_of("a"); 4], "whoever waits is told when it succeeded");
}

#[tokio::test(start_paused = true)]
async fn more_changes_than_can_wait_reload_everything() {
    let (listener, changes) = symbolon_app::changes::channel();
    for number in 0..1_000 {
        drop(listener(&keys_of(&format!("i{number}"))));
    }
    let (followed, _stop) = follower(changes);
    settle().await;
    assert_eq!(*followed.seen.lock(), [Changed::Everything]);
}

/// Notes what it is asked to trim.
#[derive(Default)]
struct Trimmed {
    before: Mutex<Vec<Timestamp>>,
    to: Mutex<Vec<u64>>,
}

#[async_trait]
impl Audit for Trimmed {
    async fn write_audit(&self, _: Arc<[(IssuerId, AuditRecord)]>) -> Result<(), StoreError> {
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

    async fn trim_audit(&self, _: &IssuerId, before: Timestamp) -> Result<u64, StoreError> {
        self.before.lock().push(before);
        Ok(1)
    }

    async fn trim_audit_to(&self, most: u64) -> Result<u64, StoreError> {
        self.to.lock().push(most);
        Ok(1)
    }
}

#[tokio::test]
async fn the_audit_log_is_kept_for_so_many_days_and_to_a_size() {
    let store = Trimmed::default();
    let issuer = IssuerId::default_issuer();
    trim_issuer(&store, &issuer, 90, NOW).await.unwrap();
    trim_issuer(&store, &issuer, 0, NOW).await.unwrap();
    assert_eq!(*store.before.lock(), [NOW - DAY * 90]);
    shrink(&store, 1 << 20).await;
    assert_eq!(*store.to.lock(), [1 << 20]);
}

fn record(algorithm: Algorithm, state: KeyState, created_at: Timestamp) -> KeyRecord {
    KeyRecord {
        kid: Kid::trusted(format!("{algorithm:?}-{state:?}-{created_at}")),
        algorithm,
        state,
        sealed: Vec::new(),
        created_at,
        known_from: None,
        signs_from: None,
        activated_at: (state == KeyState::Active).then_some(created_at),
        retired_at: None,
        gone_at: None,
        reason: None,
    }
}

fn settings(key_rotation_days: u32) -> IssuerSettings {
    IssuerSettings { key_rotation_days, ..IssuerSettings::default() }
}

/// Carries a plan out with keys made now; how many were made.
fn carried_out(plan: &Plan, keys: &mut Vec<KeyRecord>, now: Timestamp) -> u32 {
    let made = Cell::new(0);
    let mut maker = |algorithm| {
        made.set(made.get() + 1);
        Ok::<_, std::convert::Infallible>(record(algorithm, KeyState::Next, now))
    };
    let Ok(()) = plan.carry_out(keys, now, HOUR, &mut maker);
    made.get()
}

#[test]
fn a_set_without_a_next_key_gets_one() {
    let mut keys = vec![record(Algorithm::Rs256, KeyState::Active, NOW)];
    let plan = Plan::make(&keys, &settings(90), NOW);
    assert_eq!(plan, Plan { complete: vec![Algorithm::Rs256], ..Plan::default() });
    assert_eq!(carried_out(&plan, &mut keys, NOW), 1);
    assert!(Plan::make(&keys, &settings(90), NOW).is_empty());
}

#[test]
fn an_algorithm_whose_only_key_was_revoked_gets_keys() {
    let rs256 = [KeyState::Active, KeyState::Next].map(|state| record(Algorithm::Rs256, state, NOW));
    let mut keys = rs256.to_vec();
    keys.push(record(Algorithm::Es256, KeyState::Revoked, NOW));
    let plan = Plan::make(&keys, &settings(90), NOW);
    assert_eq!(plan.complete, [Algorithm::Es256]);
    assert_eq!(carried_out(&plan, &mut keys, NOW), 2);
}

#[test]
fn an_old_key_gives_way_to_one_that_is_known_and_goes_when_its_tokens_have_ended() {
    let mut keys =
        [KeyState::Active, KeyState::Next].map(|state| record(Algorithm::Rs256, state, NOW)).to_vec();
    let day = |days: u32| NOW + DAY * days;
    assert!(Plan::make(&keys, &settings(90), day(90) - Duration::from_millis(1)).is_empty());
    assert!(Plan::make(&keys, &settings(0), day(900)).is_empty(), "0 turns the schedule off");
    let plan = Plan::make(&keys, &settings(90), day(90));
    assert_eq!(plan, Plan { rotate: vec![Algorithm::Rs256], ..Plan::default() });
    assert_eq!(carried_out(&plan, &mut keys, day(90)), 1);
    let states: Vec<_> = keys.iter().map(|key| key.state).collect();
    assert_eq!(states, [KeyState::Retiring, KeyState::Active, KeyState::Next]);
    assert!(Plan::make(&keys, &settings(90), day(90) + HOUR).is_empty(), "clocks differ");
    let gone = day(90) + HOUR + Duration::from_secs(15 * 60);
    let plan = Plan::make(&keys, &settings(90), gone);
    assert_eq!(plan, Plan { drop: true, ..Plan::default() });
    assert_eq!(carried_out(&plan, &mut keys, gone), 0);
    assert_eq!(keys.len(), 2);
}

#[test]
fn a_key_that_nobody_could_know_yet_does_not_sign() {
    let old = NOW - DAY * 91;
    let mut keys = vec![record(Algorithm::Rs256, KeyState::Active, old)];
    let plan = Plan::make(&keys, &settings(90), NOW);
    assert_eq!(plan.rotate, [Algorithm::Rs256]);
    assert_eq!(carried_out(&plan, &mut keys, NOW), 1);
    let states = |keys: &[KeyRecord]| keys.iter().map(|key| key.state).collect::<Vec<_>>();
    assert_eq!(states(&keys), [KeyState::Active, KeyState::Next]);
    let known = NOW + PUBLISHED_AHEAD;
    assert!(Plan::make(&keys, &settings(90), known - Duration::from_millis(1)).is_empty());
    let plan = Plan::make(&keys, &settings(90), known);
    assert_eq!(plan, Plan { take_over: true, rotate: Vec::new(), ..Plan::default() });
    assert_eq!(carried_out(&plan, &mut keys, known), 1);
    assert_eq!(states(&keys), [KeyState::Retiring, KeyState::Active, KeyState::Next]);
}

#[test]
fn an_algorithm_without_any_key_is_published_first() {
    let mut keys =
        [KeyState::Active, KeyState::Next].map(|state| record(Algorithm::Rs256, state, NOW)).to_vec();
    let settings = IssuerSettings { signing_algorithm: Algorithm::Es256, ..settings(90) };
    let plan = Plan::make(&keys, &settings, NOW);
    assert_eq!(plan, Plan { introduce: Some(Algorithm::Es256), ..Plan::default() });
    assert_eq!(carried_out(&plan, &mut keys, NOW), 1);
    assert_eq!(keys[2].signs_from, Some(NOW + PUBLISHED_AHEAD));
    assert!(Plan::make(&keys, &settings, NOW).is_empty());
    let plan = Plan::make(&[], &settings, NOW);
    assert_eq!(plan.complete, [Algorithm::Es256], "an issuer without keys signs at once");
}
