//! Imports records unchanged, when a store moves from another back-end.

use symbolon_protocol::client::Client;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::StoreError;
use symbolon_store::columns::NamedColumns;
use symbolon_store::link::{Link, Links, of_given};
use symbolon_store::port::authenticators_document;
use symbolon_store::transfer::Record;

use super::entitlement_count::lock;
use super::link::insertion;
use super::text::TEXT_FORM;
use super::user_row::UserRow;
use super::{Records, each, group_creation, role_creation};
use crate::to_document;

/// A user's authenticators: the issuer, the user, the revision and the document.
type Enrolled = (IssuerId, UserId, u64, String);

/// A consent with its key.
type Given = (IssuerId, UserId, ClientId, Consent);

const AUTHENTICATORS: &str = "INSERT INTO authenticators (issuer, user_id, revision, document)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])";
const CONSENTS: &str = "INSERT INTO consents (issuer, user_id, client_id, document)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])";

impl Records {
    /// Writes clients, logos, users, authenticators, identities, consents, groups, roles, who has them, invitations, deliveries
    /// and audit records. None of them may exist yet.
    pub(crate) async fn import(&self, records: Vec<Record>) -> Result<(), StoreError> {
        let (mut clients, mut logos, mut users) = (Vec::new(), Vec::new(), Vec::new());
        let (mut groups, mut roles, mut links) = (Vec::new(), Vec::new(), Vec::new());
        let (mut authenticators, mut identities, mut deliveries) = (Vec::new(), Vec::new(), Vec::new());
        let (mut consents, mut invitations, mut audit) = (Vec::new(), Vec::new(), Vec::new());
        for record in records {
            match record {
                Record::Client(issuer, client) => clients.push((issuer, *client)),
                Record::Logo(issuer, client, logo) => logos.push((issuer, client, logo)),
                Record::User(issuer, user, password) => users.push((issuer, (user, password))),
                Record::Authenticators(issuer, user, revision, set) => {
                    authenticators.push((issuer, user, revision, authenticators_document(&set)?));
                }
                Record::Identity(issuer, identity) => identities.push((issuer, *identity)),
                Record::Invitation(issuer, kept) => invitations.push((issuer, *kept)),
                Record::Delivery(issuer, delivery) => deliveries.push((issuer, *delivery)),
                Record::Consent(issuer, user, client, consent) => {
                    consents.push((issuer, user, client, consent));
                }
                Record::Group(issuer, group) => {
                    groups.push((issuer, NamedColumns::of_group(&group, TEXT_FORM)?));
                }
                Record::Role(issuer, role) => {
                    roles.push((issuer, NamedColumns::of_role(&role, TEXT_FORM)?));
                }
                Record::Membership(issuer, membership) => {
                    links.push((Links::Memberships, issuer, Link::from(membership)));
                }
                Record::GivenRole(issuer, given) => {
                    let (kind, link) = of_given(&given);
                    links.push((kind, issuer, link));
                }
                Record::Audit(issuer, record) => audit.push((issuer, *record)),
                other => {
                    let class = other.class().as_str();
                    return Err(StoreError::Failed(format!("{class} do not live in the tables of records")));
                }
            }
        }
        for (issuer, clients) in by_issuer(clients) {
            self.import_clients(&issuer, clients).await?;
        }
        self.import_logos(&logos).await?;
        for (issuer, users) in by_issuer(users) {
            self.import_users(&issuer, users).await?;
        }
        self.import_authenticators(&authenticators).await?;
        self.import_identities(&identities).await?;
        self.import_consents(&consents).await?;
        for (issuer, rows) in by_issuer(groups) {
            self.import_groups(&issuer, &rows).await?;
        }
        for (issuer, rows) in by_issuer(roles) {
            self.import_roles(&issuer, &rows).await?;
        }
        self.import_links(&links).await?;
        self.import_invitations(&invitations).await?;
        self.import_deliveries(&deliveries).await?;
        self.write_audit(&audit).await
    }

    async fn import_clients(&self, issuer: &IssuerId, clients: Vec<Client>) -> Result<(), StoreError> {
        let written = self.create_in_order_of(issuer, &clients);
        all_new(written.await?.len(), clients.len(), "a client", issuer)
    }

    async fn import_users(
        &self,
        issuer: &IssuerId,
        users: Vec<(Box<User>, Option<PasswordHash>)>,
    ) -> Result<(), StoreError> {
        // First in the form of earlier releases: of two users who have an address in two spellings, neither may take
        // the other's.
        let row = |(user, password): &(Box<User>, Option<PasswordHash>)| UserRow::of(user, password.clone());
        let spelled_as_before = users.iter().map(|user| row(user).map(UserRow::spelled_as_before));
        let created = self.create_in_order(issuer, spelled_as_before.collect::<Result<_, _>>()?).await?;
        let rest = users.iter().filter(|(user, _)| !created.contains(user.id.as_str())).map(row);
        let rest = rest.collect::<Result<Vec<_>, _>>()?;
        if rest.is_empty() {
            return Ok(());
        }
        let number = rest.len();
        all_new(self.create_in_order(issuer, rest).await?.len(), number, "a user", issuer)
    }

    async fn import_authenticators(&self, enrolled: &[Enrolled]) -> Result<(), StoreError> {
        if enrolled.is_empty() {
            return Ok(());
        }
        let issuers = each(enrolled, |(issuer, ..)| issuer.as_str());
        let users = each(enrolled, |(_, user, ..)| user.as_str());
        let revisions = each(enrolled, |(_, _, revision, _)| revision.cast_signed());
        let documents = each(enrolled, |(.., document)| document.as_str());
        let connection = self.postgres.connection().await?;
        connection.change(AUTHENTICATORS, &[&issuers, &users, &revisions, &documents]).await.map(drop)
    }

    async fn import_consents(&self, given: &[Given]) -> Result<(), StoreError> {
        if given.is_empty() {
            return Ok(());
        }
        let documents =
            given.iter().map(|(.., consent)| to_document(consent)).collect::<Result<Vec<_>, _>>()?;
        let issuers = each(given, |(issuer, ..)| issuer.as_str());
        let users = each(given, |(_, user, ..)| user.as_str());
        let clients = each(given, |(_, _, client, _)| client.as_str());
        let connection = self.postgres.connection().await?;
        connection.change(CONSENTS, &[&issuers, &users, &clients, &documents]).await.map(drop)
    }

    async fn import_groups(&self, issuer: &IssuerId, rows: &[NamedColumns]) -> Result<(), StoreError> {
        let mut connection = self.postgres.connection().await?;
        let transaction = connection.transaction().await?;
        lock(issuer.as_str(), &transaction).await?;
        group_creation::insert(issuer.as_str(), &each(rows, |row| row), &transaction).await?;
        transaction.commit().await
    }

    async fn import_roles(&self, issuer: &IssuerId, rows: &[NamedColumns]) -> Result<(), StoreError> {
        let mut connection = self.postgres.connection().await?;
        let transaction = connection.transaction().await?;
        lock(issuer.as_str(), &transaction).await?;
        role_creation::insert(issuer.as_str(), &each(rows, |row| row), &transaction).await?;
        transaction.commit().await
    }

    async fn import_links(&self, links: &[(Links, IssuerId, Link)]) -> Result<(), StoreError> {
        for kind in Links::ALL {
            let some: Vec<_> = links.iter().filter(|(of, ..)| *of == kind).collect();
            if some.is_empty() {
                continue;
            }
            let issuers = each(&some, |(_, issuer, _)| issuer.as_str());
            let holders = each(&some, |(.., link)| link.holder.as_str());
            let held = each(&some, |(.., link)| link.held.as_str());
            let connection = self.postgres.connection().await?;
            connection.change(&insertion(kind), &[&issuers, &holders, &held]).await?;
        }
        Ok(())
    }
}

fn all_new(written: usize, given: usize, what: &str, issuer: &IssuerId) -> Result<(), StoreError> {
    if written == given {
        return Ok(());
    }
    Err(StoreError::Failed(format!("{what} of {issuer} came twice")))
}

/// Groups consecutive records of one issuer, in the given order.
fn by_issuer<T>(records: Vec<(IssuerId, T)>) -> Vec<(IssuerId, Vec<T>)> {
    let mut runs: Vec<(IssuerId, Vec<T>)> = Vec::new();
    for (issuer, record) in records {
        match runs.last_mut() {
            Some((last, run)) if *last == issuer => run.push(record),
            _ => runs.push((issuer, vec![record])),
        }
    }
    runs
}
