use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::{Connection, params};
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::{Audit, AuditFilter, PageRequest};

use super::each_document;
use crate::EmbeddedStore;
use crate::open::tests::options;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const EVENTS: [Event; 2] = [Event::SignedIn, Event::GrantBegun];

/// A record, with its number among all records in `detail`.
fn record(at: u64, event: Event, user: Option<u8>, client: Option<u8>, place: usize) -> AuditRecord {
    AuditRecord {
        at: NOW + Duration::from_millis(at),
        event,
        user: user.map(|user| UserId::parse(&format!("user-{user}")).unwrap()),
        client: client.map(|client| ClientId::parse(&format!("user-{client}")).unwrap()),
        actor: "user".into(),
        address: None,
        request: None,
        // Contains what looks like columns: a search must not take it for one.
        detail: serde_json::json!({ "place": place, "user": "user-1", "event": "grant.begun" }),
    }
}

fn page(number: u32, limit: u32, search: Option<&str>) -> PageRequest {
    PageRequest { page: number, limit, search: search.map(str::to_owned) }
}

fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(options(directory)).unwrap()
}

/// One step that changes the log.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<(u64, Event, Option<u8>, Option<u8>)>),
    Trim(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let somebody = || proptest::option::of(0..3_u8);
    let record = (0..60_u64, select(&EVENTS), somebody(), somebody());
    prop_oneof![
        6 => proptest::collection::vec(record, 1..12).prop_map(Step::Write),
        1 => (0..60_u64).prop_map(Step::Trim),
    ]
}

fn filter() -> impl Strategy<Value = AuditFilter> {
    let at = || proptest::option::of((0..60_u64).prop_map(|at| NOW + Duration::from_millis(at)));
    let id = || proptest::option::weighted(0.3, (0..3_u8).prop_map(|id| format!("user-{id}")));
    (proptest::option::weighted(0.3, select(&EVENTS)), id(), id(), at(), at()).prop_map(
        |(event, user, client, from, to)| AuditFilter {
            event,
            user: user.map(|user| UserId::parse(&user).unwrap()),
            client: client.map(|client| ClientId::parse(&client).unwrap()),
            from,
            to,
            ..AuditFilter::default()
        },
    )
}

fn wanted(filter: &AuditFilter, record: &AuditRecord) -> bool {
    let AuditFilter { event, user, client, from, to, .. } = filter;
    event.is_none_or(|event| event == record.event)
        && user.as_ref().is_none_or(|user| Some(user) == record.user.as_ref())
        && client.as_ref().is_none_or(|client| Some(client) == record.client.as_ref())
        && from.is_none_or(|from| record.at >= from)
        && to.is_none_or(|to| record.at < to)
}

async fn finds_what_a_list_would(steps: Vec<Step>, filter: AuditFilter, request: PageRequest) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let issuer = IssuerId::default_issuer();
    let mut list = Vec::<AuditRecord>::new();
    let mut places = 0..;
    for step in steps {
        match step {
            Step::Write(records) => {
                let records: Vec<_> = records
                    .into_iter()
                    .map(|(at, event, user, client)| record(at, event, user, client, places.next().unwrap()))
                    .collect();
                list.extend(records.iter().cloned());
                let records = records.into_iter().map(|record| (issuer.clone(), record));
                store.write_audit(records.collect()).await.unwrap();
            }
            Step::Trim(at) => {
                let before = NOW + Duration::from_millis(at);
                let all = list.len();
                list.retain(|record| record.at >= before);
                let trimmed = store.trim_audit(&issuer, before).await.unwrap();
                assert_eq!(trimmed, (all - list.len()) as u64);
            }
        }
    }
    let text = request.search.as_deref().unwrap_or("");
    list.retain(|record| wanted(&filter, record));
    list.retain(|record| serde_json::to_string(record).unwrap().contains(text));
    // Of records of the same time, the one written later comes first.
    list.reverse();
    list.sort_by_key(|record| std::cmp::Reverse(record.at));
    if request.search.is_none() {
        let newest = store.newest_audit(&issuer, &filter, request.limit).await.unwrap();
        assert!(newest.iter().eq(list.iter().take(request.limit as usize)), "{newest:?}");
    }
    let found = store.search_audit(&issuer, &filter, &request).await.unwrap();
    let skipped = ((request.page - 1) * request.limit) as usize;
    let expected: Vec<_> = list.iter().skip(skipped).take(request.limit as usize).cloned().collect();
    assert_eq!((found.items, found.total), (expected, list.len() as u64));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_search_finds_what_a_list_would(
        steps in proptest::collection::vec(step(), 1..14),
        filter in filter(),
        number in 1..4_u32,
        limit in 1..30_u32,
        text in proptest::option::weighted(0.2, select(&["user-1", "\"place\":1", "nothing"][..])),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(finds_what_a_list_would(steps, filter, page(number, limit, text)));
    }
}

#[tokio::test]
async fn a_write_beyond_a_block_is_read_back_in_its_order() {
    const RECORDS: usize = 30_000;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let issuers = [IssuerId::default_issuer(), IssuerId::parse("other").unwrap()];
    let records = (0..RECORDS).map(|n| {
        let record = record(n as u64, EVENTS[n % 2], Some((n % 7) as u8), None, n);
        (issuers[usize::from(n % 3 == 0)].clone(), record)
    });
    let records: Arc<[_]> = records.collect();
    store.write_audit(Arc::clone(&records)).await.unwrap();
    let all = AuditFilter::default();
    for issuer in &issuers {
        let mut expected = records.iter().rev().filter(|(of, _)| of == issuer).map(|(_, record)| record);
        for number in 1.. {
            let found = store.search_audit(issuer, &all, &page(number, 1_000, None)).await.unwrap();
            if found.items.is_empty() {
                break;
            }
            assert!(found.items.iter().eq(expected.by_ref().take(found.items.len())), "page {number}");
        }
        assert_eq!(expected.next(), None);
    }
}

#[tokio::test]
async fn of_a_packed_block_as_much_is_trimmed_as_it_takes() {
    const RECORDS: u64 = 10_000;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let issuer = IssuerId::default_issuer();
    let records =
        (0..RECORDS).map(|n| (issuer.clone(), record(n, EVENTS[0], Some((n % 7) as u8), None, n as usize)));
    store.write_audit(records.collect()).await.unwrap();
    let connection = Connection::open(directory.path().join("symbolon.db")).unwrap();
    let taken = || {
        let sizes = "SELECT sum(bytes), sum(length(content)) FROM audit_blocks";
        let sums = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let (all, packed) = connection.query_row(sizes, (), sums).unwrap();
        (all as u64, packed as u64)
    };
    let (all, packed) = taken();
    assert!(packed < 60 * RECORDS, "{packed} bytes");
    assert!(packed <= all && all < packed + 4_096, "{all} are counted of {packed}");
    let trimmed = store.trim_audit_to(all / 2).await.unwrap();
    assert!((RECORDS * 2 / 5..RECORDS * 3 / 5).contains(&trimmed), "{trimmed} went");
    assert!(taken().0 <= all / 2);
    let left = store.search_audit(&issuer, &AuditFilter::default(), &page(1, 1, None)).await.unwrap();
    assert_eq!(left.total, RECORDS - trimmed);
}

/// The schema of the audit log before there were blocks.
const EARLIER: &str = "
    DROP TABLE user_groups; DROP TABLE roles; DROP TABLE memberships; DROP TABLE user_roles; DROP TABLE group_roles;
    DROP TABLE entitlement_counts; DROP TABLE user_attribute;
    DROP TABLE authenticators; DROP TABLE identities; DROP TABLE logos; DROP TABLE invitations;
    DROP TABLE deliveries; DROP TABLE delivery_counts; DROP TABLE audit_blocks; DROP TABLE audit_users; DROP TABLE audit_marks; DELETE FROM audit_sizes;
    CREATE TABLE audit (
        sequence INTEGER PRIMARY KEY, issuer TEXT NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL,
        user TEXT, client TEXT, document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_time ON audit (issuer, at);
    CREATE INDEX audit_by_user ON audit (issuer, user, at) WHERE user IS NOT NULL;
    CREATE TABLE audit_counted (through INTEGER NOT NULL) STRICT;
    INSERT INTO audit_counted VALUES (0);
    PRAGMA user_version = 2;";

/// A database with records in the form from before there were blocks.
fn written_earlier(directory: &Path, records: &[(IssuerId, AuditRecord)]) -> Connection {
    let mut earlier = Connection::open(directory.join("symbolon.db")).unwrap();
    earlier.execute_batch(EARLIER).unwrap();
    let transaction = earlier.transaction().unwrap();
    for (issuer, record) in records {
        let (user, client) = (record.user.as_ref(), record.client.as_ref());
        let insert =
            "INSERT INTO audit (issuer, at, event, user, client, document) VALUES (?, ?, ?, ?, ?, ?)";
        let at = record.at.millis() as i64;
        let document = serde_json::to_string(record).unwrap();
        let (user, client) = (user.map(|user| user.as_str()), client.map(|client| client.as_str()));
        transaction
            .execute(insert, params![issuer.as_str(), at, record.event.name(), user, client, document])
            .unwrap();
    }
    transaction.commit().unwrap();
    earlier
}

/// The size of a block is estimated, and the remaining part of one may be estimated higher than the whole block.
#[tokio::test]
async fn what_is_trimmed_of_small_blocks_from_before_ends() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let issuer = IssuerId::default_issuer();
    let at = |at| {
        let detail = serde_json::Value::Null;
        (issuer.clone(), AuditRecord { detail, ..record(at, Event::SignedIn, None, None, 0) })
    };
    drop(written_earlier(directory.path(), &[at(0), at(10)]));
    let store = open(directory.path());
    store.write_audit(Arc::new([at(1), at(20)])).await.unwrap();
    assert_eq!(store.trim_audit(&issuer, NOW + Duration::from_millis(5)).await.unwrap(), 2);
    let left = store.search_audit(&issuer, &AuditFilter::default(), &page(1, 10, None)).await.unwrap();
    assert_eq!(left.items, [at(20).1, at(10).1]);
}

#[tokio::test]
async fn a_log_from_before_the_blocks_is_taken_over() {
    const RECORDS: usize = 4_000;
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let issuers = [IssuerId::default_issuer(), IssuerId::parse("other").unwrap()];
    let records: Vec<_> = (0..RECORDS)
        .map(|n| {
            let user = (n % 5 > 0).then_some((n % 5) as u8);
            let record = record(n as u64 / 3, EVENTS[n % 2], user, Some((n % 3) as u8), n);
            (issuers[usize::from(n % 4 == 0)].clone(), record)
        })
        .collect();
    let earlier = written_earlier(directory.path(), &records);
    // As a backup of that time is read.
    let mut given = Vec::new();
    each_document(&earlier, |issuer, document| {
        given.push((issuer, serde_json::from_str::<AuditRecord>(document).unwrap()));
        Ok(())
    })
    .unwrap();
    assert_eq!(given, records);
    drop(earlier);

    let store = open(directory.path());
    let ann = UserId::parse("user-1").unwrap();
    for issuer in &issuers {
        for filter in
            [AuditFilter::default(), AuditFilter { user: Some(ann.clone()), ..AuditFilter::default() }]
        {
            let of_issuer = records.iter().rev().filter(|(of, _)| of == issuer).map(|(_, record)| record);
            let expected: Vec<_> = of_issuer.filter(|record| wanted(&filter, record)).cloned().collect();
            let found = store.search_audit(issuer, &filter, &page(2, 100, None)).await.unwrap();
            assert_eq!(found.total, expected.len() as u64);
            assert_eq!(found.items, expected[100..200]);
        }
    }
    assert_eq!(store.trim_audit_to(0).await.unwrap(), RECORDS as u64);
}

/// A refused request of a client.
fn refusal(number: u64, client: &str) -> AuditRecord {
    AuditRecord {
        client: Some(ClientId::parse(client).unwrap()),
        address: Some(format!("192.0.2.{}", number % 200).into()),
        request: Some(format!("request-{number}")),
        detail: serde_json::json!({ "reason": "redirect_uri_other", "login_name_digest": format!("n{}", number % 9) }),
        ..record(number, Event::RequestRefused, None, None, 0)
    }
}

/// Spoils the contents of all blocks but some, so that whoever unpacks another one fails.
fn spoil_but(directory: &Path, blocks: &[i64]) {
    let connection = Connection::open(directory.join("symbolon.db")).unwrap();
    let kept: Vec<String> = blocks.iter().map(i64::to_string).collect();
    let sql =
        format!("UPDATE audit_blocks SET content = x'01ffffffff' WHERE number NOT IN ({})", kept.join(","));
    assert!(connection.execute(&sql, ()).unwrap() > 0);
}

/// Blocks of logins with a refusal of another client each; in the third, one of `app` is among them.
async fn write_one_refusal_of_app(directory: &Path) {
    let store = open(directory);
    let issuer = IssuerId::default_issuer();
    for block in 0..8_u64 {
        let logins = (0..200).map(|n| record(block * 1_000 + n, Event::SignedIn, Some(1), Some(1), 0));
        let client = if block == 2 { "app".to_owned() } else { format!("other-{block}") };
        let records = logins.chain((block % 2 == 0).then(|| refusal(block * 1_000 + 500, &client)));
        store.write_audit(records.map(|record| (issuer.clone(), record)).collect()).await.unwrap();
    }
}

#[tokio::test]
async fn blocks_without_refusals_of_a_client_are_not_unpacked() {
    let directory = tempfile::tempdir().unwrap();
    write_one_refusal_of_app(directory.path()).await;
    spoil_but(directory.path(), &[3]);
    let store = open(directory.path());
    let issuer = IssuerId::default_issuer();
    let expected = [refusal(2_500, "app")];
    let of_app = AuditFilter { client: Some(ClientId::parse("app").unwrap()), ..AuditFilter::default() };
    let request = Some("request-2500".to_owned());
    for filter in [
        AuditFilter { refused: true, ..of_app.clone() },
        AuditFilter { event: Some(Event::RequestRefused), ..of_app.clone() },
        AuditFilter { refused: true, request, ..AuditFilter::default() },
    ] {
        let newest = store.newest_audit(&issuer, &filter, 100).await.unwrap();
        assert_eq!(newest, expected, "{filter:?}");
        let found = store.search_audit(&issuer, &filter, &page(1, 10, None)).await.unwrap();
        assert_eq!((found.total, &found.items[..]), (1, &expected[..]), "{filter:?}");
    }
    let absent = AuditFilter { client: Some(ClientId::parse("absent").unwrap()), ..AuditFilter::default() };
    let absent = AuditFilter { refused: true, ..absent };
    assert!(store.newest_audit(&issuer, &absent, 100).await.unwrap().is_empty());
    // What else the client did may be in any block.
    assert!(store.newest_audit(&issuer, &of_app, 100).await.is_err());
}

#[tokio::test]
async fn blocks_from_before_there_were_marks_are_searched() {
    let directory = tempfile::tempdir().unwrap();
    write_one_refusal_of_app(directory.path()).await;
    let connection = Connection::open(directory.path().join("symbolon.db")).unwrap();
    assert_eq!(connection.execute("DELETE FROM audit_marks WHERE block < 6", ()).unwrap(), 5);
    drop(connection);
    let store = open(directory.path());
    let issuer = IssuerId::default_issuer();
    for (client, number) in [("app", 2_500), ("other-0", 500), ("other-6", 6_500)] {
        let filter = AuditFilter {
            refused: true,
            client: Some(ClientId::parse(client).unwrap()),
            ..AuditFilter::default()
        };
        let found = store.newest_audit(&issuer, &filter, 100).await.unwrap();
        assert_eq!(found, [refusal(number, client)], "{client}");
    }
}

#[tokio::test]
async fn what_trimming_leaves_of_a_block_is_marked_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let issuer = IssuerId::default_issuer();
    let records = [refusal(1, "gone"), refusal(2, "stays"), record(3, Event::SignedIn, None, None, 0)];
    store.write_audit(records.map(|record| (issuer.clone(), record)).into_iter().collect()).await.unwrap();
    assert_eq!(store.trim_audit(&issuer, NOW + Duration::from_millis(2)).await.unwrap(), 1);
    for (client, left) in [("gone", 0), ("stays", 1)] {
        let filter = AuditFilter {
            refused: true,
            client: Some(ClientId::parse(client).unwrap()),
            ..AuditFilter::default()
        };
        assert_eq!(store.newest_audit(&issuer, &filter, 100).await.unwrap().len(), left, "{client}");
    }
    assert_eq!(store.trim_audit(&issuer, NOW + Duration::from_secs(1)).await.unwrap(), 2);
    let connection = Connection::open(directory.path().join("symbolon.db")).unwrap();
    let marks = connection.query_row("SELECT count(*) FROM audit_marks", (), |row| row.get::<_, i64>(0));
    assert_eq!(marks.unwrap(), 0, "marks go with their block");
}
