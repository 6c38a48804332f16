//! Taking records in as they are, when a store moves from another back-end.

use rusqlite::params;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::figures::StoreKind;
use symbolon_store::port::Created;
use symbolon_store::transfer::Record;

use super::statement::Statements;
use super::{Records, Written, audit, client, issuer, refuse, to_document, user};

/// A row to be written. None of them is there yet.
type Insert = Box<dyn Fn(&Statements<'_>) -> Written<()> + Send>;

impl Records {
    /// Writes those records that live in the database, in their order, all of them or none.
    pub(crate) async fn import(&self, records: Vec<Record>) -> Result<(), StoreError> {
        let rows = records.into_iter().filter_map(|record| row(record).transpose());
        let rows = rows.collect::<Result<Vec<Insert>, StoreError>>()?;
        if rows.is_empty() {
            return Ok(());
        }
        self.write(StoreKind::Setting, move |statements| rows.iter().try_for_each(|row| row(statements)))
            .await
    }
}

/// The row of a record; none for one that lives in the journal.
fn row(record: Record) -> Result<Option<Insert>, StoreError> {
    Ok(Some(match record {
        Record::Issuer(whole) => {
            let (issuer, settings, keys) = *whole;
            let settings = to_document(&settings)?;
            let keys = keys.iter().map(issuer::key_document).collect::<Result<Vec<_>, _>>()?;
            Box::new(move |statements| {
                issuer::insert(&issuer, &settings, statements)?;
                Ok(issuer::insert_keys(&issuer.id, &keys, statements)?)
            })
        }
        Record::Client(issuer, client) => {
            let row = client::Row::of(&client)?;
            Box::new(move |statements| new(row.insert(&issuer, statements)?, "a client", &issuer))
        }
        Record::User(issuer, user, password) => {
            let row = user::Row::of(&user)?;
            Box::new(move |statements| {
                new(row.insert(&issuer, password.as_ref(), statements)?, "a user", &issuer)
            })
        }
        Record::Consent(issuer, user, client, consent) => {
            let document = to_document(&consent)?;
            Box::new(move |statements| {
                let sql = "INSERT INTO consents (issuer, user, client, document) VALUES (?1, ?2, ?3, ?4)";
                statements.change(sql, params![issuer.as_str(), user.as_str(), client.as_str(), document])?;
                Ok(())
            })
        }
        Record::Audit(issuer, record) => {
            let record = [(issuer, *record)];
            Box::new(move |statements| audit::insert(&record, statements))
        }
        _ => return Ok(None),
    }))
}

/// Refuses a record that is there already, or whose address is another's.
fn new(created: Created, what: &str, issuer: &IssuerId) -> Written<()> {
    match created {
        Created::Created => Ok(()),
        Created::Exists => refuse(StoreError::Failed(format!("{what} of {issuer} came twice"))),
    }
}
