//! Stores records unchanged, when they are moved from another back-end.

use rusqlite::params;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::columns::{ClientColumns, NamedColumns, UserColumns};
use symbolon_store::link::{Link, Links, of_given};
use symbolon_store::port::{Created, authenticators_document};
use symbolon_store::transfer::Record;

use super::statement::Statements;
use super::{
    Records, TEXT_FORM, Written, audit, client, delivery, group, identity, invitation, issuer, link, logo,
    refuse, role, to_document, user,
};

/// Inserts a row that does not exist yet.
type Insert = Box<dyn Fn(&Statements<'_>) -> Written<()> + Send>;

impl Records {
    /// Writes the records that belong in the database, in their order: all of them or none.
    pub(crate) async fn import(&self, records: Vec<Record>) -> Result<(), StoreError> {
        let (mut rows, mut audited) = (Vec::<Insert>::new(), Vec::new());
        for record in records {
            match record {
                Record::Audit(issuer, record) => audited.push((issuer, *record)),
                record => rows.extend(row(record)?),
            }
        }
        if rows.is_empty() && audited.is_empty() {
            return Ok(());
        }
        let write = move |statements: &Statements<'_>| {
            rows.iter().try_for_each(|row| row(statements))?;
            audit::insert(&audited, statements)
        };
        self.write(StoreKind::Setting, write).await
    }
}

impl Records {
    /// Normalizes the login names of imported users. To be called when all of them are stored.
    pub(crate) async fn normalize_login_names(&self) -> Result<(), StoreError> {
        let normalize =
            |statements: &Statements<'_>| Ok(super::login_name::normalize(statements.connection())?);
        self.write(StoreKind::User, normalize).await
    }
}

/// The row of a record; `None` for a record that belongs in the journal or in the audit log.
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
            let row = ClientColumns::of(&client, TEXT_FORM)?;
            Box::new(move |statements| new(client::insert(&row, &issuer, statements)?, "a client", &issuer))
        }
        Record::Logo(issuer, client, own) => {
            Box::new(move |statements| Ok(logo::put(&issuer, client.as_ref(), &own, statements)?))
        }
        Record::User(issuer, user, password) => {
            let row = UserColumns::of(&user, TEXT_FORM)?;
            let spelled_as_before = UserColumns::of(&user, TEXT_FORM)?.spelled_as_before();
            Box::new(move |statements| {
                let schema = user::schema_for([&row], &issuer, statements)?;
                let insert = |row| user::insert(row, &issuer, password.as_ref(), &schema, statements);
                // Two users may share an address in two spellings: neither may take the other's.
                let mut created = insert(&spelled_as_before)?;
                if created == Created::Exists {
                    created = insert(&row)?;
                }
                new(created, "a user", &issuer)
            })
        }
        Record::Authenticators(issuer, user, revision, set) => {
            let document = authenticators_document(&set)?;
            Box::new(move |statements| {
                let sql =
                    "INSERT INTO authenticators (issuer, user, revision, document) VALUES (?1, ?2, ?3, ?4)";
                let values = params![issuer.as_str(), user.as_str(), revision.cast_signed(), document];
                statements.change(sql, values)?;
                Ok(())
            })
        }
        Record::Identity(issuer, own) => {
            Box::new(move |statements| match identity::insert(&issuer, &own, statements)? {
                true => Ok(()),
                false => refuse(StoreError::Failed(format!("an identity of {issuer} came twice"))),
            })
        }
        Record::Invitation(issuer, kept) => {
            let document = to_document(&kept)?;
            Box::new(move |statements| Ok(invitation::insert(&issuer, &kept, &document, statements)?))
        }
        Record::Delivery(issuer, delivery) => {
            Box::new(move |statements| Ok(delivery::insert(&issuer, &delivery, statements)?))
        }
        Record::Consent(issuer, user, client, consent) => {
            let document = to_document(&consent)?;
            Box::new(move |statements| {
                let sql = "INSERT INTO consents (issuer, user, client, document) VALUES (?1, ?2, ?3, ?4)";
                statements.change(sql, params![issuer.as_str(), user.as_str(), client.as_str(), document])?;
                Ok(())
            })
        }
        Record::Group(issuer, group) => {
            let row = NamedColumns::of_group(&group, TEXT_FORM)?;
            Box::new(move |statements| {
                new(group::insert(&row, issuer.as_str(), statements)?, "a group", &issuer)
            })
        }
        Record::Role(issuer, role) => {
            let row = NamedColumns::of_role(&role, TEXT_FORM)?;
            Box::new(move |statements| {
                new(role::insert(&row, issuer.as_str(), statements)?, "a role", &issuer)
            })
        }
        Record::Membership(issuer, membership) => linked(issuer, Links::Memberships, Link::from(membership)),
        Record::GivenRole(issuer, given) => {
            let (links, row) = of_given(&given);
            linked(issuer, links, row)
        }
        _ => return Ok(None),
    }))
}

fn linked(issuer: IssuerId, links: Links, row: Link) -> Insert {
    Box::new(move |statements| Ok(link::insert(links, issuer.as_str(), &row, statements)?))
}

/// Refuses a record that exists already, or whose address belongs to another user.
fn new(created: Created, what: &str, issuer: &IssuerId) -> Written<()> {
    match created {
        Created::Created => Ok(()),
        Created::Exists => refuse(StoreError::Failed(format!("{what} of {issuer} came twice"))),
    }
}
