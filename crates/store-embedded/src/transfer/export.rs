//! Exports all records of both engines as of one moment.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::{Connection, Params, Row};
use symbolon_protocol::family::Family;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::PasswordHash;
use symbolon_store::StoreError;
use symbolon_store::link::{Link, Links};
use symbolon_store::shard::{Generation, ShardKind};
use symbolon_store::transfer::{Class, Export, Record, RecordKey, Records};
use tokio::sync::mpsc;

use crate::backup::{self, BackupFailure};
use crate::database::DatabaseSnapshot;
use crate::journal::{JournalSnapshot, Table, split_value};
use crate::record::{
    DELIVERIES, IDENTITIES, INVITATIONS, LOGOS, delivery, each_audit_document, from_document, identity,
    issuers, keys_and_settings, logo,
};
use crate::{EmbeddedStore, decode, email_code, epoch, failed, generation, revocation, session};

/// Takes a record of the journal: its table, key and value.
type Take<'a> = &'a mut dyn FnMut(Table, &[u8], &[u8]) -> Result<(), StoreError>;

/// Where sessions began, by their keys, as it is stored: some 100 bytes of memory for each live session.
type Origins = HashMap<RecordKey, Box<[u8]>>;

/// Most records in one piece.
const PIECE: usize = 1_000;

/// Most logos in one piece: each may have 64 KiB.
const PIECE_OF_LOGOS: usize = 50;

/// How many pieces may wait for the reader.
const PIECES: usize = 4;

/// The journal as of one moment.
enum Journal {
    Snapshot(JournalSnapshot),
    /// The journal's half of a backup.
    File(PathBuf),
}

struct Moment {
    /// The only connection that reads; its transaction fixes the moment.
    database: Mutex<DatabaseSnapshot>,
    journal: Journal,
}

/// The records of an embedded store as of one moment.
#[derive(Clone)]
pub struct EmbeddedExport(Arc<Moment>);

impl EmbeddedExport {
    /// The records of a store as they are now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of(store: &EmbeddedStore) -> Result<Self, StoreError> {
        let journal = Arc::clone(&store.journal);
        journal.flush().await;
        let (database, journal) =
            store.database.snapshot_with(move || journal.snapshot()).await.map_err(failed)?;
        let (database, journal) = (Mutex::new(database), Journal::Snapshot(journal.map_err(failed)?));
        Ok(Self(Arc::new(Moment { database, journal })))
    }

    /// The records of a backup, whose files are checked first. Blocks.
    ///
    /// # Errors
    /// [`BackupFailure`]: names a damaged file.
    pub fn of_backup(backup: &Path) -> Result<Self, BackupFailure> {
        let files = backup::files(backup)?;
        let database = Mutex::new(DatabaseSnapshot::of_file(&files.database)?);
        Ok(Self(Arc::new(Moment { database, journal: Journal::File(files.journal) })))
    }
}

#[async_trait]
impl Export for EmbeddedExport {
    async fn records(&self, ended: Timestamp) -> Result<Box<dyn Records>, StoreError> {
        let (sender, pieces) = mpsc::channel(PIECES);
        let moment = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || {
            let mut out = Out { pieces: sender, piece: Vec::with_capacity(PIECE), ended };
            if let Err(error) = moment.read(&mut out).and_then(|()| out.send()) {
                // If the reader is gone, there is nobody to report the error to.
                drop(out.pieces.blocking_send(Err(error)));
            }
        });
        Ok(Box::new(Pieces(pieces)))
    }
}

/// Pieces that a thread that may block reads from the store.
struct Pieces(mpsc::Receiver<Result<Vec<Record>, StoreError>>);

#[async_trait]
impl Records for Pieces {
    async fn next(&mut self) -> Result<Option<Vec<Record>>, StoreError> {
        self.0.recv().await.transpose()
    }
}

/// Where the records are written to.
struct Out {
    pieces: mpsc::Sender<Result<Vec<Record>, StoreError>>,
    piece: Vec<Record>,
    ended: Timestamp,
}

impl Out {
    fn give(&mut self, record: Record) -> Result<(), StoreError> {
        if record.ends_at().is_some_and(|end| end <= self.ended) {
            return Ok(());
        }
        let class = self.piece.first().map(Record::class);
        let most = if record.class() == Class::Logos { PIECE_OF_LOGOS } else { PIECE };
        if self.piece.len() >= most || class.is_some_and(|class| class != record.class()) {
            self.send()?;
        }
        self.piece.push(record);
        Ok(())
    }

    fn send(&mut self) -> Result<(), StoreError> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        let gone = |_| StoreError::Unavailable("nobody reads the records any more".into());
        self.pieces.blocking_send(Ok(piece)).map_err(gone)
    }
}

impl Moment {
    fn read(&self, out: &mut Out) -> Result<(), StoreError> {
        let database = self.database.lock();
        let connection = database.connection();
        self.each(&[Table::Meta], &mut |_, key, value| give_meta(key, value, out))?;
        for issuer in issuers(connection).map_err(failed)? {
            let (settings, keys) = keys_and_settings(&issuer.id, connection)?;
            out.give(Record::Issuer(Box::new((issuer, settings, keys))))?;
        }
        let origins = self.origins()?;
        let hot = [Table::Sessions, Table::Families, Table::Revocations, Table::AssertionMarks];
        self.each(&hot, &mut |table, key, value| give_hot(table, key, value, &origins, out))?;
        self.each(&[Table::AssertionMarks], &mut |_, key, value| give_email_code(key, value, out))?;
        give_rows(connection, out)
    }

    /// Where sessions began, by their keys, as far as that was noted. They are beside the sessions, in the order of users.
    fn origins(&self) -> Result<Origins, StoreError> {
        let mut origins = Origins::new();
        self.each(&[Table::SessionsOfUser], &mut |_, key, value| {
            let (_, noted) = split_value(value).ok_or_else(|| cut_short("an entry of a user's sessions"))?;
            let own = key.last_chunk::<16>().ok_or_else(|| cut_short("a key of a user's sessions"))?;
            if !noted.is_empty() {
                origins.insert(*own, noted.into());
            }
            Ok(())
        })?;
        Ok(origins)
    }

    /// Passes every record of some tables to `take`, in the order in which the tables are stored.
    fn each(&self, tables: &[Table], take: Take<'_>) -> Result<(), StoreError> {
        match &self.journal {
            Journal::Snapshot(snapshot) => {
                for table in tables {
                    for record in snapshot.table(*table) {
                        let (key, value) = record.map_err(failed)?;
                        take(*table, &key, &value)?;
                    }
                }
            }
            Journal::File(path) => {
                backup::read_journal(path, |op| match &op.value {
                    Some(value) if tables.contains(&op.table) => Ok(take(op.table, &op.key, value)?),
                    _ => Ok(()),
                })
                .map_err(failed)?;
            }
        }
        Ok(())
    }
}

fn cut_short(what: &str) -> StoreError {
    StoreError::Failed(format!("{what} is cut short"))
}

fn give_meta(key: &[u8], value: &[u8], out: &mut Out) -> Result<(), StoreError> {
    let (_, record) = split_value(value).ok_or_else(|| cut_short("a mark of the store"))?;
    if key == epoch::KEY {
        return out.give(Record::Epoch(decode(record)?));
    }
    for kind in ShardKind::ALL {
        if key == generation::key(kind) {
            out.give(Record::Shards(kind, decode::<Vec<Generation>>(record)?))?;
        }
    }
    Ok(())
}

fn give_hot(
    table: Table,
    key: &[u8],
    value: &[u8],
    origins: &Origins,
    out: &mut Out,
) -> Result<(), StoreError> {
    let (end, record) = split_value(value).ok_or_else(|| cut_short("a record of the journal"))?;
    let own = || RecordKey::try_from(key).map_err(|_| cut_short("a key of the journal"));
    match table {
        Table::Sessions => {
            let session::Stored { issuer, used_at, session } = decode(record)?;
            let key = own()?;
            let origin = origins.get(&key).map(|noted| decode(noted)).transpose()?;
            out.give(Record::Session { issuer, key, session: Box::new(session), used_at, origin })
        }
        Table::Families => out.give(Record::Family(own()?, Box::new(decode::<Family>(record)?))),
        Table::Revocations => {
            let revocation::Stored { issuer, tombstone } = decode(record)?;
            out.give(Record::Revocation(issuer, tombstone))
        }
        // Codes by e-mail are in the same table, and come after the marks.
        Table::AssertionMarks if email_code::is_one(record) => Ok(()),
        Table::AssertionMarks => out.give(Record::Assertion(own()?, Timestamp::from_millis(end))),
        Table::SessionsOfUser | Table::FamiliesOfUser | Table::Meta => Ok(()),
    }
}

fn give_email_code(key: &[u8], value: &[u8], out: &mut Out) -> Result<(), StoreError> {
    let (end, record) = split_value(value).ok_or_else(|| cut_short("a record of the journal"))?;
    if !email_code::is_one(record) {
        return Ok(());
    }
    let (used, _) = email_code::of_bytes(record)?;
    let key = RecordKey::try_from(key).map_err(|_| cut_short("a key of the journal"))?;
    out.give(Record::EmailCode(key, Timestamp::from_millis(end), used))
}

/// Passes on the rows in the order in which they were inserted.
fn give_rows(connection: &Connection, out: &mut Out) -> Result<(), StoreError> {
    each_row(connection, "SELECT issuer, document FROM clients ORDER BY rowid", (), |row| {
        let client = from_document(&text(row, 1)?)?;
        out.give(Record::Client(IssuerId::trusted(text(row, 0)?), Box::new(client)))
    })?;
    give_logos(connection, out)?;
    let users = "SELECT u.issuer, u.document, p.hash FROM users u
                 LEFT JOIN passwords p ON p.issuer = u.issuer AND p.user = u.id ORDER BY u.rowid";
    each_row(connection, users, (), |row| {
        let password: Option<String> = row.get(2).map_err(failed)?;
        let user = from_document(&text(row, 1)?)?;
        let issuer = IssuerId::trusted(text(row, 0)?);
        out.give(Record::User(issuer, Box::new(user), password.map(PasswordHash::new)))
    })?;
    give_authenticators(connection, out)?;
    give_identities(connection, out)?;
    let consents = "SELECT issuer, user, client, document FROM consents ORDER BY issuer, user, client";
    each_row(connection, consents, (), |row| {
        let (issuer, user) = (IssuerId::trusted(text(row, 0)?), UserId::trusted(text(row, 1)?));
        let consent = from_document(&text(row, 3)?)?;
        out.give(Record::Consent(issuer, user, ClientId::trusted(text(row, 2)?), consent))
    })?;
    give_groups_and_roles(connection, out)?;
    give_invitations(connection, out)?;
    give_deliveries(connection, out)?;
    each_audit_document(connection, |issuer, document| {
        out.give(Record::Audit(issuer, Box::new(from_document(document)?)))
    })
}

/// Whether there is a table: a backup that a server of an earlier release made lacks some.
fn has_table(name: &str, connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    connection.query_row(sql, [name], |row| row.get::<_, bool>(0)).map_err(failed)
}

fn give_logos(connection: &Connection, out: &mut Out) -> Result<(), StoreError> {
    if !has_table("logos", connection)? {
        return Ok(());
    }
    each_row(connection, LOGOS, (), |row| match logo(row).map_err(failed)? {
        Some((issuer, client, logo)) => out.give(Record::Logo(issuer, client, logo)),
        None => Err(StoreError::Failed("a logo is of a kind that this release does not know".into())),
    })
}

fn give_authenticators(connection: &Connection, out: &mut Out) -> Result<(), StoreError> {
    if !has_table("authenticators", connection)? {
        return Ok(());
    }
    let sql = "SELECT issuer, user, revision, document FROM authenticators ORDER BY issuer, user";
    each_row(connection, sql, (), |row| {
        let (issuer, user) = (IssuerId::trusted(text(row, 0)?), UserId::trusted(text(row, 1)?));
        let revision = row.get::<_, i64>(2).map_err(failed)?.cast_unsigned();
        let set = from_document(&text(row, 3)?)?;
        out.give(Record::Authenticators(issuer, user, revision, Box::new(set)))
    })
}

fn give_identities(connection: &Connection, out: &mut Out) -> Result<(), StoreError> {
    if !has_table("identities", connection)? {
        return Ok(());
    }
    each_row(connection, IDENTITIES, (), |row| {
        let (issuer, identity) = identity(row).map_err(failed)?;
        out.give(Record::Identity(issuer, Box::new(identity)))
    })
}

fn give_invitations(connection: &Connection, out: &mut Out) -> Result<(), StoreError> {
    if !has_table("invitations", connection)? {
        return Ok(());
    }
    each_row(connection, INVITATIONS, (), |row| {
        let kept = from_document(&text(row, 1)?)?;
        out.give(Record::Invitation(IssuerId::trusted(text(row, 0)?), Box::new(kept)))
    })
}

fn give_deliveries(connection: &Connection, out: &mut Out) -> Result<(), StoreError> {
    if !has_table("deliveries", connection)? {
        return Ok(());
    }
    each_row(connection, DELIVERIES, (), |row| {
        let (issuer, delivery) = delivery(row).map_err(failed)?;
        out.give(Record::Delivery(issuer, Box::new(delivery)))
    })
}

fn give_groups_and_roles(connection: &Connection, out: &mut Out) -> Result<(), StoreError> {
    if !has_table("user_groups", connection)? {
        return Ok(());
    }
    each_row(connection, "SELECT issuer, document FROM user_groups ORDER BY rowid", (), |row| {
        let group = from_document(&text(row, 1)?)?;
        out.give(Record::Group(IssuerId::trusted(text(row, 0)?), Box::new(group)))
    })?;
    each_row(connection, "SELECT issuer, document FROM roles ORDER BY rowid", (), |row| {
        let role = from_document(&text(row, 1)?)?;
        out.give(Record::Role(IssuerId::trusted(text(row, 0)?), Box::new(role)))
    })?;
    for links in Links::ALL {
        let (table, holder, held) = (links.table(), links.holder(), links.held());
        let sql = format!("SELECT issuer, {holder}, {held} FROM {table} ORDER BY issuer, {holder}, {held}");
        each_row(connection, &sql, (), |row| {
            let issuer = IssuerId::trusted(text(row, 0)?);
            let link = Link { holder: text(row, 1)?, held: text(row, 2)? };
            out.give(links.record(issuer, link))
        })?;
    }
    Ok(())
}

fn text(row: &Row<'_>, column: usize) -> Result<String, StoreError> {
    row.get(column).map_err(failed)
}

fn each_row(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query(params).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        take(row)?;
    }
    Ok(())
}
