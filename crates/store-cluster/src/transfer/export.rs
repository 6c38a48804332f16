//! Exports records in pages, each of which begins after the last key of the one before.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::PasswordHash;
use symbolon_store::StoreError;
use symbolon_store::link::{Link, Links};
use symbolon_store::port::{Issuers, SessionCursor, Shards};
use symbolon_store::shard::ShardKind;
use symbolon_store::transfer::{Export, Record, RecordKey, Records};
use tokio_postgres::Row as DatabaseRow;

use crate::postgres::{Parameter, column};
use crate::revocation::{Row, capped};
use crate::{ClusterStore, from_document};

/// Records of one page.
const PAGE: usize = 1_000;
/// Logos of one page: each may have 64 KiB.
const PAGE_OF_LOGOS: usize = 50;

const FAMILIES: &str =
    "SELECT key, document FROM families WHERE key > $1 AND ends_at > $2 ORDER BY key LIMIT $3";
/// The ends of sessions' records are read, but not exported: ended sessions are not exported either.
const REVOCATIONS: &str = "SELECT tag, id, value, until FROM tombstones
    WHERE (tag, id) > ($1, $2) AND until > $3 ORDER BY tag, id LIMIT $4";
const ASSERTIONS: &str =
    "SELECT key, until FROM assertion_marks WHERE key > $1 AND until > $2 ORDER BY key LIMIT $3";
const EMAIL_CODES: &str = "SELECT key, until, tries, recipient FROM email_codes
    WHERE key > $1 AND until > $2 ORDER BY key LIMIT $3";
const CLIENTS: &str = "SELECT issuer, created_at, sequence, document FROM clients
    WHERE (issuer, created_at, sequence) > ($1, $2, $3) ORDER BY issuer, created_at, sequence LIMIT $4";
const LOGOS: &str = "SELECT issuer, client_id, media_type, content FROM logos
    WHERE (issuer, client_id) > ($1, $2) ORDER BY issuer, client_id LIMIT $3";
const USERS: &str = "SELECT issuer, created_at, sequence, document, password FROM users
    WHERE (issuer, created_at, sequence) > ($1, $2, $3) ORDER BY issuer, created_at, sequence LIMIT $4";
const AUTHENTICATORS: &str = "SELECT issuer, user_id, revision, document FROM authenticators
    WHERE (issuer, user_id) > ($1, $2) ORDER BY issuer, user_id LIMIT $3";
const IDENTITIES: &str = "SELECT issuer, provider, subject, user_id, label, linked_at FROM identities
    WHERE (issuer, provider, subject) > ($1, $2, $3) ORDER BY issuer, provider, subject LIMIT $4";
const CONSENTS: &str = "SELECT issuer, user_id, client_id, document FROM consents
    WHERE (issuer, user_id, client_id) > ($1, $2, $3) ORDER BY issuer, user_id, client_id LIMIT $4";
const GROUPS: &str = "SELECT issuer, created_at, sequence, document FROM user_groups
    WHERE (issuer, created_at, sequence) > ($1, $2, $3) ORDER BY issuer, created_at, sequence LIMIT $4";
const ROLES: &str = "SELECT issuer, created_at, sequence, document FROM roles
    WHERE (issuer, created_at, sequence) > ($1, $2, $3) ORDER BY issuer, created_at, sequence LIMIT $4";
const INVITATIONS: &str = "SELECT issuer, id, document FROM invitations
    WHERE (issuer, id) > ($1, $2) AND expires_at > $3 ORDER BY issuer, id LIMIT $4";
const DELIVERIES: &str =
    "SELECT issuer, id, kind, payload, created_at, due_at, expires_at, attempts, unanswered
    FROM deliveries WHERE (issuer, id) > ($1, $2) AND expires_at > $3 ORDER BY issuer, id LIMIT $4";
const AUDIT: &str = "SELECT issuer, at, sequence, document FROM audit
    WHERE (issuer, at, sequence) > ($1, $2, $3) AND sequence <= $5 ORDER BY issuer, at, sequence LIMIT $4";

/// The records of a frozen cluster store.
pub struct ClusterExport {
    store: Arc<ClusterStore>,
    /// The last audit record that is exported: nodes still answer requests, and write more records after it.
    audited: i64,
}

impl ClusterExport {
    /// The records of a store, with the audit log as it is now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of(store: Arc<ClusterStore>) -> Result<Self, StoreError> {
        let last = "SELECT coalesce(max(sequence), 0) FROM audit";
        let row = store.postgres.connection().await?.first(last, &[]).await?;
        let audited = row.map_or(Ok(0), |row| column(&row, 0))?;
        Ok(Self { store, audited })
    }
}

#[async_trait]
impl Export for ClusterExport {
    async fn records(&self, ended: Timestamp) -> Result<Box<dyn Records>, StoreError> {
        let issuers = self.store.issuers().await?;
        let start = || (String::new(), i64::MIN, i64::MIN);
        let mut next = VecDeque::from([Next::Shards, Next::Epoch, Next::Issuers]);
        next.extend(issuers.into_iter().map(|issuer| Next::Sessions(issuer.id, None)));
        next.extend([
            Next::Families(Vec::new()),
            Next::Revocations(String::new(), String::new()),
            Next::Assertions(Vec::new()),
            Next::EmailCodes(Vec::new()),
            Next::Clients(start()),
            Next::Logos(String::new(), String::new()),
            Next::Users(start()),
            Next::Authenticators(String::new(), String::new()),
            Next::Identities(<[String; 3]>::default()),
            Next::Consents(<[String; 3]>::default()),
            Next::Groups(start()),
            Next::Roles(start()),
        ]);
        next.extend(Links::ALL.map(|links| Next::Links(links, <[String; 3]>::default())));
        next.extend([
            Next::Invitations(String::new(), String::new()),
            Next::Deliveries(String::new(), String::new()),
            Next::Audit(start()),
        ]);
        let (store, audited) = (Arc::clone(&self.store), self.audited);
        Ok(Box::new(Pages { store, audited, ended, next }))
    }
}

/// A position in the order of listings: issuer, time, sequence.
type ByAge = (String, i64, i64);

/// What to read next, and after which key.
enum Next {
    Shards,
    Epoch,
    Issuers,
    Sessions(IssuerId, Option<SessionCursor>),
    Families(Vec<u8>),
    Revocations(String, String),
    Assertions(Vec<u8>),
    EmailCodes(Vec<u8>),
    Clients(ByAge),
    Logos(String, String),
    Users(ByAge),
    Authenticators(String, String),
    Identities([String; 3]),
    Consents([String; 3]),
    Groups(ByAge),
    Roles(ByAge),
    Links(Links, [String; 3]),
    Invitations(String, String),
    Deliveries(String, String),
    Audit(ByAge),
}

struct Pages {
    store: Arc<ClusterStore>,
    audited: i64,
    ended: Timestamp,
    next: VecDeque<Next>,
}

#[async_trait]
impl Records for Pages {
    async fn next(&mut self) -> Result<Option<Vec<Record>>, StoreError> {
        while let Some(next) = self.next.pop_front() {
            let (records, more) = self.read(next).await?;
            if let Some(more) = more {
                self.next.push_front(more);
            }
            if !records.is_empty() {
                return Ok(Some(records));
            }
        }
        Ok(None)
    }
}

/// Records, and where the next page of their class begins.
type Page = (Vec<Record>, Option<Next>);

impl Pages {
    async fn read(&self, next: Next) -> Result<Page, StoreError> {
        let ended = capped(self.ended).cast_signed();
        let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
        match next {
            Next::Shards => Ok((self.shards(), None)),
            Next::Epoch => Ok((self.store.restored_at.map(Record::Epoch).into_iter().collect(), None)),
            Next::Issuers => Ok((self.issuers().await?, None)),
            Next::Sessions(issuer, after) => self.sessions(issuer, after).await,
            Next::Families(after) => {
                let rows = self.rows(FAMILIES, &[&after, &ended, &limit]).await?;
                page(&rows, family, |row| Ok(Next::Families(column(row, 0)?)))
            }
            Next::Revocations(tag, id) => {
                let rows = self.rows(REVOCATIONS, &[&tag, &id, &ended, &limit]).await?;
                page(&rows, revocation, |row| Ok(Next::Revocations(column(row, 0)?, column(row, 1)?)))
            }
            Next::Assertions(after) => {
                let rows = self.rows(ASSERTIONS, &[&after, &ended, &limit]).await?;
                page(&rows, assertion, |row| Ok(Next::Assertions(column(row, 0)?)))
            }
            Next::EmailCodes(after) => {
                let rows = self.rows(EMAIL_CODES, &[&after, &ended, &limit]).await?;
                page(&rows, email_code, |row| Ok(Next::EmailCodes(column(row, 0)?)))
            }
            Next::Clients((issuer, at, sequence)) => {
                let rows = self.rows(CLIENTS, &[&issuer, &at, &sequence, &limit]).await?;
                page(&rows, client, |row| Ok(Next::Clients(by_age(row)?)))
            }
            Next::Logos(issuer, client) => {
                let limit = i64::try_from(PAGE_OF_LOGOS).unwrap_or(i64::MAX);
                let rows = self.rows(LOGOS, &[&issuer, &client, &limit]).await?;
                page_of((&rows, PAGE_OF_LOGOS), logo, |row| Ok(Next::Logos(column(row, 0)?, column(row, 1)?)))
            }
            Next::Users((issuer, at, sequence)) => {
                let rows = self.rows(USERS, &[&issuer, &at, &sequence, &limit]).await?;
                page(&rows, user, |row| Ok(Next::Users(by_age(row)?)))
            }
            Next::Authenticators(issuer, user) => {
                let rows = self.rows(AUTHENTICATORS, &[&issuer, &user, &limit]).await?;
                page(&rows, authenticators, |row| Ok(Next::Authenticators(column(row, 0)?, column(row, 1)?)))
            }
            Next::Identities([issuer, provider, subject]) => {
                let rows = self.rows(IDENTITIES, &[&issuer, &provider, &subject, &limit]).await?;
                page(&rows, identity, |row| {
                    Ok(Next::Identities([column(row, 0)?, column(row, 1)?, column(row, 2)?]))
                })
            }
            Next::Consents([issuer, user, client]) => {
                let rows = self.rows(CONSENTS, &[&issuer, &user, &client, &limit]).await?;
                page(&rows, consent, |row| {
                    Ok(Next::Consents([column(row, 0)?, column(row, 1)?, column(row, 2)?]))
                })
            }
            Next::Groups((issuer, at, sequence)) => {
                let rows = self.rows(GROUPS, &[&issuer, &at, &sequence, &limit]).await?;
                page(&rows, group, |row| Ok(Next::Groups(by_age(row)?)))
            }
            Next::Roles((issuer, at, sequence)) => {
                let rows = self.rows(ROLES, &[&issuer, &at, &sequence, &limit]).await?;
                page(&rows, role, |row| Ok(Next::Roles(by_age(row)?)))
            }
            Next::Links(links, after) => self.links(links, after).await,
            Next::Invitations(issuer, id) => {
                let rows = self.rows(INVITATIONS, &[&issuer, &id, &ended, &limit]).await?;
                page(&rows, invitation, |row| Ok(Next::Invitations(column(row, 0)?, column(row, 1)?)))
            }
            Next::Deliveries(issuer, id) => {
                let rows = self.rows(DELIVERIES, &[&issuer, &id, &ended, &limit]).await?;
                page(&rows, delivery, |row| Ok(Next::Deliveries(column(row, 0)?, column(row, 1)?)))
            }
            Next::Audit((issuer, at, sequence)) => {
                let rows = self.rows(AUDIT, &[&issuer, &at, &sequence, &limit, &self.audited]).await?;
                page(&rows, audit, |row| Ok(Next::Audit(by_age(row)?)))
            }
        }
    }

    async fn rows(&self, sql: &str, values: &[Parameter<'_>]) -> Result<Vec<DatabaseRow>, StoreError> {
        self.store.postgres.connection().await?.all(sql, values).await
    }

    async fn links(&self, links: Links, [issuer, holder, held]: [String; 3]) -> Result<Page, StoreError> {
        let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
        let (table, of_holder, of_held) = (links.table(), links.holder(), links.held());
        let key = format!("issuer, {of_holder}, {of_held}");
        let sql = format!("SELECT {key} FROM {table} WHERE ({key}) > ($1, $2, $3) ORDER BY {key} LIMIT $4");
        let rows = self.rows(&sql, &[&issuer, &holder, &held, &limit]).await?;
        let record = |row: &DatabaseRow| {
            let link = Link { holder: column(row, 1)?, held: column(row, 2)? };
            Ok(Some(links.record(self::issuer(row)?, link)))
        };
        page(&rows, record, |row| Ok(Next::Links(links, [column(row, 0)?, column(row, 1)?, column(row, 2)?])))
    }

    fn shards(&self) -> Vec<Record> {
        ShardKind::ALL.into_iter().map(|kind| Record::Shards(kind, self.store.generations(kind))).collect()
    }

    async fn issuers(&self) -> Result<Vec<Record>, StoreError> {
        let mut records = Vec::new();
        for issuer in self.store.issuers().await? {
            let settings = self.store.settings(&issuer.id).await?;
            let keys = self.store.keys(&issuer.id).await?;
            records.push(Record::Issuer(Box::new((issuer, settings, keys))));
        }
        Ok(records)
    }

    async fn sessions(&self, issuer: IssuerId, after: Option<SessionCursor>) -> Result<Page, StoreError> {
        let (records, next) = self.store.next_found(&issuer, after, PAGE, self.ended).await?;
        Ok((records, next.map(|next| Next::Sessions(issuer, Some(next)))))
    }
}

/// The records of a page. The last row of a full page tells where the next one begins.
fn page(
    rows: &[DatabaseRow],
    record: impl Fn(&DatabaseRow) -> Result<Option<Record>, StoreError>,
    behind: impl Fn(&DatabaseRow) -> Result<Next, StoreError>,
) -> Result<Page, StoreError> {
    page_of((rows, PAGE), record, behind)
}

/// As [`page`], of pages that have `most` rows.
fn page_of(
    (rows, most): (&[DatabaseRow], usize),
    record: impl Fn(&DatabaseRow) -> Result<Option<Record>, StoreError>,
    behind: impl Fn(&DatabaseRow) -> Result<Next, StoreError>,
) -> Result<Page, StoreError> {
    let records = rows.iter().filter_map(|row| record(row).transpose()).collect::<Result<_, _>>()?;
    let last = rows.last().filter(|_| rows.len() == most);
    Ok((records, last.map(behind).transpose()?))
}

fn by_age(row: &DatabaseRow) -> Result<ByAge, StoreError> {
    Ok((column(row, 0)?, column(row, 1)?, column(row, 2)?))
}

fn key(row: &DatabaseRow) -> Result<RecordKey, StoreError> {
    let key = column::<&[u8]>(row, 0)?;
    key.try_into().map_err(|_| StoreError::Failed("the key of a record is cut short".into()))
}

fn issuer(row: &DatabaseRow) -> Result<IssuerId, StoreError> {
    Ok(IssuerId::trusted(column::<&str>(row, 0)?))
}

fn family(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let live = crate::refresh_token::live(column(row, 1)?)?;
    let key = key(row)?;
    Ok(live.map(|family| Record::Family(key, Box::new(family))))
}

fn revocation(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let millis = |index| Ok::<_, StoreError>(column::<i64>(row, index)?.cast_unsigned());
    let row = Row { tag: column(row, 0)?, id: column(row, 1)?, value: millis(2)?, until: millis(3)? };
    if row.is_session() {
        return Ok(None);
    }
    let unknown = || StoreError::Failed(format!("a revocation of an unknown form: {} {}", row.tag, row.id));
    let (issuer, tombstone) = row.tombstone().ok_or_else(unknown)?;
    Ok(Some(Record::Revocation(issuer, tombstone)))
}

fn assertion(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let until = Timestamp::from_millis(column::<i64>(row, 1)?.cast_unsigned());
    Ok(Some(Record::Assertion(key(row)?, until)))
}

fn email_code(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let until = Timestamp::from_millis(column::<i64>(row, 1)?.cast_unsigned());
    Ok(Some(Record::EmailCode(key(row)?, until, crate::email_code::used(row, 2)?)))
}

fn client(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    Ok(Some(Record::Client(issuer(row)?, Box::new(from_document(column::<&str>(row, 3)?)?))))
}

fn logo(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let (client, logo) = crate::record::logo(row)?;
    Ok(Some(Record::Logo(issuer(row)?, client, logo)))
}

fn user(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let password = column::<Option<String>>(row, 4)?.map(PasswordHash::new);
    Ok(Some(Record::User(issuer(row)?, Box::new(from_document(column::<&str>(row, 3)?)?), password)))
}

fn authenticators(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let user = UserId::trusted(column::<&str>(row, 1)?);
    let revision = column::<i64>(row, 2)?.cast_unsigned();
    let set = from_document(column::<&str>(row, 3)?)?;
    Ok(Some(Record::Authenticators(issuer(row)?, user, revision, Box::new(set))))
}

fn identity(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let identity = crate::record::identity(row)?;
    Ok(Some(Record::Identity(issuer(row)?, Box::new(identity))))
}

fn invitation(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    Ok(Some(Record::Invitation(issuer(row)?, Box::new(from_document(column::<&str>(row, 2)?)?))))
}

fn delivery(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let (issuer, delivery) = crate::record::delivery(row)?;
    Ok(Some(Record::Delivery(issuer, Box::new(delivery))))
}

fn consent(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    let user = UserId::trusted(column::<&str>(row, 1)?);
    let client = ClientId::trusted(column::<&str>(row, 2)?);
    Ok(Some(Record::Consent(issuer(row)?, user, client, from_document(column::<&str>(row, 3)?)?)))
}

fn group(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    Ok(Some(Record::Group(issuer(row)?, Box::new(from_document(column::<&str>(row, 3)?)?))))
}

fn role(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    Ok(Some(Record::Role(issuer(row)?, Box::new(from_document(column::<&str>(row, 3)?)?))))
}

fn audit(row: &DatabaseRow) -> Result<Option<Record>, StoreError> {
    Ok(Some(Record::Audit(issuer(row)?, Box::new(from_document(column::<&str>(row, 3)?)?))))
}
