use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use symbolon_figures::StoreKind;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{User, UserProfile};
use symbolon_store::StoreError;
use symbolon_store::contract::sample;
use symbolon_store::port::{
    Audit, AuditFilter, Changed, Clients, Consents, Created, PageRequest, Store, UserFilter, Users,
};
use symbolon_store::transfer::Record;

use super::statement::Statements;
use crate::EmbeddedStore;
use crate::open::tests::options;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn user(id: &str) -> User {
    User {
        id: UserId::parse(id).unwrap(),
        email: Some(format!("{id}@example.com")),
        email_verified: true,
        profile: UserProfile::default(),
        active: true,
        created_at: NOW,
        updated_at: NOW,
    }
}

#[tokio::test]
async fn a_hit_asks_no_database_and_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, ann) = (IssuerId::default_issuer(), user("ann"));
    assert_eq!(store.create_user(&issuer, ann.clone(), None).await.unwrap(), Created::Created);
    assert!(store.user(&issuer, &UserId::parse("nobody").unwrap()).await.unwrap().is_none());
    store.user(&issuer, &ann.id).await.unwrap();
    let before = store.figures().snapshot();
    assert_eq!((before.database.write_queries, before.database.rows_written), (1, 1));
    assert_eq!((before.database.read_queries, before.database.rows_read), (2, 1));
    for _ in 0..100 {
        assert_eq!(store.user(&issuer, &ann.id).await.unwrap().as_deref(), Some(&ann));
    }
    let after = store.figures().snapshot();
    assert_eq!(after.database.read_queries, 2);
    let cache = after.caches.iter().find(|cache| cache.name == "user").unwrap();
    assert_eq!((cache.hits, cache.misses), (100, 2));
    let users = after.kinds.iter().find(|kind| kind.kind == StoreKind::User).unwrap();
    assert_eq!(users.shards[0].operations, 103);
}

#[tokio::test]
async fn a_consent_is_read_once_however_often_it_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, ann) = (IssuerId::default_issuer(), user("ann").id);
    let [app, web] = ["app", "web"].map(|id| ClientId::parse(id).unwrap());
    store.create_user(&issuer, user("ann"), None).await.unwrap();
    store.create_client(&issuer, sample::client("app", NOW)).await.unwrap();
    let consent = Consent::new(Scope::parse("openid").unwrap(), NOW);
    let queries = || store.figures().snapshot().database.read_queries;
    // The absence of a consent is cached too.
    for _ in 0..10 {
        assert!(store.consent(&issuer, &ann, &app).await.unwrap().is_none());
    }
    assert_eq!(queries(), 1);
    assert!(store.allow(&issuer, &ann, &app, consent.clone().into()).await.unwrap());
    let before = queries();
    for _ in 0..10 {
        assert_eq!(store.consent(&issuer, &ann, &app).await.unwrap(), Some(consent.clone()));
        assert!(store.consent(&issuer, &ann, &web).await.unwrap().is_none());
        assert_eq!(store.consents_of(&issuer, &ann).await.unwrap().len(), 1);
    }
    assert_eq!(queries(), before + 1);
    let snapshot = store.figures().snapshot();
    let cache = snapshot.caches.iter().find(|cache| cache.name == "consent").unwrap();
    assert_eq!((cache.hits, cache.misses), (38, 2));
}

/// A request may be dropped while its change is under way: the change is still made, so the cached record must go.
#[tokio::test]
async fn an_abandoned_change_still_drops_the_cached_record() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, ann) = (IssuerId::default_issuer(), user("ann"));
    store.create_user(&issuer, ann.clone(), None).await.unwrap();
    store.user(&issuer, &ann.id).await.unwrap();
    let heard = Arc::new(tokio::sync::Notify::new());
    let notify = Arc::clone(&heard);
    store.on_change(Box::new(move |_| {
        notify.notify_one();
        Box::pin(std::future::ready(()))
    }));
    let changed = User { updated_at: NOW + Duration::from_millis(1), ..ann.clone() };
    tokio::select! {
        biased;
        _ = store.update_user(&issuer, changed.clone(), NOW) => panic!("it waits for the disk"),
        () = std::future::ready(()) => {}
    }
    heard.notified().await;
    assert_eq!(store.user(&issuer, &ann.id).await.unwrap().as_deref(), Some(&changed));
}

/// Otherwise a caller who has read the newer record from the database might later get the older one from the cache.
#[tokio::test]
async fn nothing_is_cached_while_a_change_is_on_its_way() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, ann) = (IssuerId::default_issuer(), user("ann"));
    store.create_user(&issuer, ann.clone(), None).await.unwrap();
    store.user(&issuer, &ann.id).await.unwrap();
    let (reach, reached) = tokio::sync::oneshot::channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let (records, changed) = (Arc::clone(&store.records), Changed::User(issuer.clone(), ann.id.clone()));
    let change = tokio::spawn(async move {
        let held_up = move |_: &Statements<'_>| {
            reach.send(()).unwrap_or_default();
            wait.recv().unwrap_or_default();
            Ok(())
        };
        records.change(StoreKind::User, changed, held_up).await
    });
    reached.await.unwrap();
    let queries = || store.figures().snapshot().database.read_queries;
    let before = queries();
    for _ in 0..3 {
        store.user(&issuer, &ann.id).await.unwrap();
    }
    assert_eq!(queries(), before + 3);
    drop(go_on);
    change.await.unwrap().unwrap();
    for _ in 0..3 {
        store.user(&issuer, &ann.id).await.unwrap();
    }
    assert_eq!(queries(), before + 4);
}

#[tokio::test]
async fn rows_beyond_one_write_are_answered_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let issuer = IssuerId::default_issuer();
    store.create_user(&issuer, user("u-777"), None).await.unwrap();
    let users = (0..1_800).map(|n| (user(&format!("u-{n}")), None)).collect();
    let created = store.create_users(&issuer, users).await.unwrap();
    let existing: Vec<usize> = (0..created.len()).filter(|n| created[*n] == Created::Exists).collect();
    assert_eq!((created.len(), existing), (1_800, vec![777]));
}

#[tokio::test]
async fn a_full_disk_refuses_records_too_and_reads_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(u64::MAX));
    let probe = Arc::clone(&free);
    let mut options = options(directory.path());
    options.journal.free_bytes = Some(Arc::new(move || Some(probe.load(Ordering::Relaxed))));
    let store = EmbeddedStore::open(options).unwrap();
    let (issuer, ann, bob) = (IssuerId::default_issuer(), user("ann"), user("bob"));
    store.create_user(&issuer, ann.clone(), None).await.unwrap();

    free.store(0, Ordering::Relaxed);
    store.journal.look_at_the_disk();
    let refused = store.create_user(&issuer, bob.clone(), None).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(store.user(&issuer, &ann.id).await.unwrap().is_some());

    free.store(u64::MAX, Ordering::Relaxed);
    store.journal.look_at_the_disk();
    assert!(store.user(&issuer, &bob.id).await.unwrap().is_none());
    assert_eq!(store.create_user(&issuer, bob, None).await.unwrap(), Created::Created);
}

/// All other writes wait for each piece. Whatever comes between two pieces, the client exists until all that belongs to
/// it is gone.
#[tokio::test]
async fn a_client_goes_with_its_consents_in_pieces_and_last_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path());
    let commits_to_go = Arc::new(AtomicU64::new(u64::MAX));
    let to_go = Arc::clone(&commits_to_go);
    options.database.before_commit = Some(Arc::new(move || {
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        match to_go.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Ok(()),
            Err(_) => Err(rusqlite::Error::SqliteFailure(full, None)),
        }
    }));
    let store = EmbeddedStore::open(options).unwrap();
    let (issuer, app) = (IssuerId::default_issuer(), sample::client("app", NOW));
    assert_eq!(store.create_client(&issuer, app.clone()).await.unwrap(), Created::Created);
    let id = app.client_id.clone();
    let consent = Consent::new(Scope::parse("openid").unwrap(), NOW);
    let user = |n: u32| UserId::parse(&format!("user-{n:05}")).unwrap();
    let given = (0..2_500).map(|n| Record::Consent(issuer.clone(), user(n), id.clone(), consent.clone()));
    store.records.import(given.collect()).await.unwrap();
    assert!(store.consent(&issuer, &user(0), &id).await.unwrap().is_some());

    // The state that a crash after the first piece leaves.
    commits_to_go.store(1, Ordering::Relaxed);
    let refused = store.delete_client(&issuer, &id).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    commits_to_go.store(u64::MAX, Ordering::Relaxed);
    assert!(store.client(&issuer, &id).await.unwrap().is_some());
    assert_eq!(store.create_client(&issuer, app.clone()).await.unwrap(), Created::Exists);
    let mut left = 0;
    for n in 0..2_500 {
        left += u32::from(store.consent(&issuer, &user(n), &id).await.unwrap().is_some());
    }
    assert_eq!(left, 1_500);

    let before = store.database.stats().commits;
    assert!(store.delete_client(&issuer, &id).await.unwrap());
    assert_eq!(store.database.stats().commits - before, 2);
    assert_eq!(store.create_client(&issuer, app).await.unwrap(), Created::Created);
    for n in 0..2_500 {
        assert!(store.consent(&issuer, &user(n), &id).await.unwrap().is_none());
    }
}

/// Reading many users takes a second; a sign-in must not wait for that.
#[tokio::test]
async fn whoever_signs_in_does_not_wait_behind_listings_searches_and_exports() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, ann) = (IssuerId::default_issuer(), user("ann"));
    store.create_user(&issuer, ann.clone(), None).await.unwrap();
    let (begin, begun) = tokio::sync::oneshot::channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let long = store.records.scan(StoreKind::User, move |_| {
        begin.send(()).unwrap_or_default();
        wait.recv().unwrap_or_default();
        Ok(())
    });
    let (page, all) = (PageRequest { page: 1, limit: 10, search: None }, UserFilter::default());
    let scans = async {
        let (users, clients) = (store.list_users(&issuer, &all, &page), store.list_clients(&issuer, &page));
        let (next_users, next_clients) =
            (store.next_users(&issuer, &all, None, 10), store.next_clients(&issuer, None, 10));
        let filter = AuditFilter::default();
        let audit = store.search_audit(&issuer, &filter, &page);
        let (users, _, next_users, _, _) =
            tokio::try_join!(users, clients, next_users, next_clients, audit).unwrap();
        (users.total, next_users.len())
    };
    let look_ups = async {
        begun.await.unwrap();
        assert!(store.user_by_login(&issuer, "ann@example.com").await.unwrap().is_some());
        let by_email = UserFilter { email: ann.email.clone(), ..UserFilter::default() };
        assert_eq!(store.list_users(&issuer, &by_email, &page).await.unwrap().total, 1);
        assert!(store.user(&issuer, &ann.id).await.unwrap().is_some());
        // Of the five scans that wait and the long one, none has been counted yet.
        let reads = store.database.stats().reads;
        drop(go_on);
        reads
    };
    let (long, scans, reads) = tokio::join!(long, scans, look_ups);
    long.unwrap();
    assert_eq!(scans, (1, 1));
    assert!(reads <= 3, "{reads}");
}

/// The pages of the database that are in use, in bytes.
async fn bytes_in_use(store: &EmbeddedStore) -> i64 {
    let pages = store.records.read(StoreKind::Audit, |statements| {
        let sql = "SELECT (page_count - freelist_count) * page_size
                   FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        statements.first(sql, (), |row| row.get::<_, i64>(0))
    });
    pages.await.unwrap().unwrap()
}

#[tokio::test]
async fn what_is_counted_of_the_audit_log_is_about_what_it_takes() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let issuer = IssuerId::default_issuer();
    let empty = bytes_in_use(&store).await;
    let records = (0..20_000_u32).map(|n| {
        let record = AuditRecord {
            at: NOW + n * Duration::from_millis(7),
            event: if n % 3 == 0 { Event::SignedIn } else { Event::GrantBegun },
            user: (n % 4 > 0).then(|| UserId::parse(&format!("0198c0de-7a2b-7{n:08}")).unwrap()),
            client: (n % 3 > 0).then(|| ClientId::parse("some-client-of-ours").unwrap()),
            actor: "user".into(),
            address: Some("2001:db8::1234".into()),
            request: Some(format!("{n:024x}")),
            detail: serde_json::Value::Null,
        };
        (issuer.clone(), record)
    });
    store.write_audit(records.collect()).await.unwrap();
    let taken = bytes_in_use(&store).await - empty;
    let most = u64::try_from(taken).unwrap();
    assert_eq!(store.trim_audit_to(most * 5 / 4).await.unwrap(), 0, "{taken} bytes are not over-estimated");
    let gone = store.trim_audit_to(most / 2).await.unwrap();
    assert!((7_000..14_000).contains(&gone), "{gone} of 20,000 records went to halve {taken} bytes");
    let left = bytes_in_use(&store).await - empty;
    assert!(left * 10 < taken * 7, "{left} of {taken} bytes are left");
}
