//! Sends the records of a file to the admin API in batches, and notes what became of each.

mod requests;

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::answer::{Outcome, outcome};
use super::attributes::Sorter;
use super::record::{Entry, Fault, Kind, Object, Origin, Part, given_role, membership};
use super::report::Report;
use super::seen::{Seen, give_id, unseen_in};
use super::server::Server;
use super::structure::{Placement, Structure};
use crate::command::CommandError;

/// Records in one request. A connection that breaks leaves at most so many of which this side does not know.
const AT_ONCE: usize = 5_000;

/// A record that waits to be sent.
struct Waiting {
    origin: Origin,
    document: Object,
    /// What is not taken of it. It is told only where the record is created: of one that was there, or is refused, it would
    /// be wrong.
    parts: Vec<Part>,
}

/// What readers give their records to.
pub(super) struct Importer<'a> {
    server: &'a dyn Server,
    pub(super) report: Report<'a>,
    is_dry: bool,
    waiting: BTreeMap<Kind, Vec<Waiting>>,
    seen: Seen,
    pub(super) structure: Structure,
    /// The clients that were not taken.
    refused_clients: HashSet<String>,
    /// The identity providers that the server did not take.
    refused_providers: HashSet<String>,
    /// The users, among those of the last batch, who are not there or of whom that was already said.
    missing_users: HashSet<String>,
    /// Whether the server failed: nothing is sent after that.
    is_broken: bool,
    attributes: Sorter,
}

impl<'a> Importer<'a> {
    pub(super) fn new(server: &'a dyn Server, report: Report<'a>, is_dry: bool) -> Self {
        Self {
            server,
            report,
            is_dry,
            waiting: BTreeMap::new(),
            seen: Seen::default(),
            structure: Structure::default(),
            refused_clients: HashSet::new(),
            refused_providers: HashSet::new(),
            missing_users: HashSet::new(),
            is_broken: false,
            attributes: Sorter::default(),
        }
    }

    /// Whether nothing is changed.
    pub(super) fn is_dry(&self) -> bool {
        self.is_dry
    }

    /// Takes a user.
    pub(super) fn user(&mut self, entry: Entry) -> Result<(), CommandError> {
        let Entry { origin, user, left_out, mut parts, groups, roles, attributes } = entry;
        self.report.note_left_out(left_out);
        let sorted = self.attributes.sort(attributes, self.server, &mut self.report)?;
        let mut user = match user {
            Ok(user) => user,
            Err(fault) => return self.refuse(Kind::User, &origin, &fault),
        };
        parts.extend(sorted.parts);
        if !sorted.values.is_empty() {
            user.insert("attributes".to_owned(), Value::Object(sorted.values));
        }
        give_id(&mut user);
        if let Some(fault) = unseen_in(&user).or_else(|| self.seen.add(&user)) {
            return self.refuse(Kind::User, &origin, &fault);
        }
        if let Some(id) = user.get("id").and_then(Value::as_str) {
            let linked = |document| Waiting { origin: origin.clone(), document, parts: Vec::new() };
            let memberships = groups.iter().map(|group| linked(membership(group, id)));
            self.waiting.entry(Kind::Membership).or_default().extend(memberships);
            let given = roles.iter().map(|role| linked(given_role(role, "user_id", id)));
            self.waiting.entry(Kind::GivenRole).or_default().extend(given);
        }
        self.wait(Kind::User, Waiting { origin, document: user, parts })
    }

    /// Takes a client.
    pub(super) fn client(
        &mut self,
        origin: Origin,
        client: Object,
        parts: Vec<Part>,
    ) -> Result<(), CommandError> {
        let id = client.get("client_id").and_then(Value::as_str).unwrap_or_default();
        if !self.seen.add_client(id) {
            let fault = Fault::new("another client of the file has this id", "give one of them another id");
            return self.refuse(Kind::Client, &origin, &fault);
        }
        self.wait(Kind::Client, Waiting { origin, document: client, parts })
    }

    /// Takes a group; its id on the server, unless it was refused. `above` is the id there of the group above it.
    pub(super) fn group(
        &mut self,
        origin: Origin,
        mut group: Object,
        above: Option<&str>,
        parts: Vec<Part>,
    ) -> Result<Option<String>, CommandError> {
        let text = |member: &str| group.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) = (text("id"), text("name"));
        match self.structure.place_group(&id, &name, above) {
            Placement::New => {}
            Placement::There(there) => {
                self.report.note_existing(Kind::Group);
                return Ok(Some(there));
            }
            Placement::Refused(fault) => {
                self.refuse(Kind::Group, &origin, &fault)?;
                return Ok(None);
            }
        }
        match above {
            Some(above) => group.insert("parent_id".to_owned(), Value::from(above)),
            None => group.remove("parent_id"),
        };
        self.wait(Kind::Group, Waiting { origin, document: group, parts })?;
        Ok(Some(id))
    }

    /// Takes a role; its id on the server, unless it was refused.
    pub(super) fn role(
        &mut self,
        origin: Origin,
        role: Object,
        parts: Vec<Part>,
    ) -> Result<Option<String>, CommandError> {
        let text = |member: &str| role.get(member).and_then(Value::as_str);
        let (id, name) = (text("id").unwrap_or_default().to_owned(), text("name").unwrap_or_default());
        let client = text("client_id");
        let placement = if client.is_some_and(|client| self.refused_clients.contains(client)) {
            Placement::Refused("the client whose role it is was not taken".into())
        } else {
            self.structure.place_role(&id, name, client)
        };
        match placement {
            Placement::New => {}
            Placement::There(there) => {
                self.report.note_existing(Kind::Role);
                return Ok(Some(there));
            }
            Placement::Refused(fault) => {
                self.refuse(Kind::Role, &origin, &fault)?;
                return Ok(None);
            }
        }
        self.wait(Kind::Role, Waiting { origin, document: role, parts })?;
        Ok(Some(id))
    }

    /// Takes a record of any kind, as the admin API takes it.
    pub(super) fn record(
        &mut self,
        kind: Kind,
        origin: Origin,
        document: Object,
    ) -> Result<(), CommandError> {
        self.record_without(kind, origin, document, Vec::new())
    }

    /// Takes a record of any kind, and says what is not taken of it.
    pub(super) fn record_without(
        &mut self,
        kind: Kind,
        origin: Origin,
        document: Object,
        parts: Vec<Part>,
    ) -> Result<(), CommandError> {
        self.wait(kind, Waiting { origin, document, parts })
    }

    fn wait(&mut self, kind: Kind, record: Waiting) -> Result<(), CommandError> {
        self.waiting.entry(kind).or_default().push(record);
        if self.waiting.values().any(|waiting| waiting.len() >= AT_ONCE) { self.flush() } else { Ok(()) }
    }

    /// A record that was not taken.
    pub(super) fn refuse(&mut self, kind: Kind, origin: &Origin, fault: &Fault) -> Result<(), CommandError> {
        Ok(self.report.refuse(kind, origin, fault)?)
    }

    /// A client that was not taken, so that its roles are not taken either.
    pub(super) fn refuse_client(&mut self, origin: &Origin, fault: &Fault) -> Result<(), CommandError> {
        self.refused_clients.insert(origin.id.clone());
        self.refuse(Kind::Client, origin, fault)
    }

    /// Whether the server did not take an identity provider that was sent.
    pub(super) fn has_refused_provider(&self, id: &str) -> bool {
        self.refused_providers.contains(id)
    }

    /// A part of a record that was not taken.
    pub(super) fn partly(&mut self, kind: Kind, origin: &Origin, part: &Part) -> Result<(), CommandError> {
        Ok(self.report.partly(kind, origin, part)?)
    }

    /// Sends what waits. Records of a kind may name those of the kinds before it, so these are sent first. Where the server
    /// fails nothing more is sent, and the report says what is lost.
    pub(super) fn flush(&mut self) -> Result<(), CommandError> {
        self.missing_users.clear();
        let mut flushed = Ok(());
        for kind in Kind::ALL {
            let mut waiting = self.waiting.remove(&kind).unwrap_or_default();
            while !waiting.is_empty() {
                let rest = waiting.split_off(waiting.len().min(AT_ONCE));
                if self.is_broken || flushed.is_err() {
                    self.lose(kind, &waiting);
                } else {
                    flushed = self.send(kind, waiting);
                }
                waiting = rest;
            }
        }
        flushed
    }

    /// Notes records of which this side does not know what became of them.
    fn lose(&mut self, kind: Kind, batch: &[Waiting]) {
        batch.iter().for_each(|waiting| self.report.note_lost(kind, waiting.origin.place));
    }

    fn send(&mut self, kind: Kind, mut batch: Vec<Waiting>) -> Result<(), CommandError> {
        if is_of_a_user(kind) {
            batch.retain(|waiting| !self.is_missing(&waiting.document));
        }
        let path = if self.is_dry { kind.dry_path() } else { kind.path() };
        let Some(path) = path else {
            batch.iter().for_each(|_| self.report.note_created(kind));
            return Ok(());
        };
        if batch.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for Waiting { document, .. } in &batch {
            // Writing a value into memory cannot fail.
            let _ = serde_json::to_writer(&mut lines, document);
            lines.push(b'\n');
        }
        let mut answers = match self.server.send(path, lines) {
            Ok(answers) => answers.into_iter(),
            Err(error) => {
                self.is_broken = true;
                self.lose(kind, &batch);
                return Err(error);
            }
        };
        for waiting in batch {
            self.note_answer(kind, waiting, answers.next().as_ref())?;
        }
        Ok(())
    }

    /// Whether a record is of a user who is not there.
    fn is_missing(&self, document: &Object) -> bool {
        let user = document.get("user_id").and_then(Value::as_str);
        user.is_some_and(|user| self.missing_users.contains(user))
    }

    /// Notes the server's answer about a record; `None` if it broke off before.
    fn note_answer(
        &mut self,
        kind: Kind,
        waiting: Waiting,
        answer: Option<&Value>,
    ) -> Result<(), CommandError> {
        let Waiting { origin, document, parts } = waiting;
        match outcome(kind, &document, answer) {
            Outcome::Created(warnings) => {
                self.report.note_created(kind);
                for part in parts.iter().chain(&warnings) {
                    self.partly(kind, &origin, part)?;
                }
                Ok(())
            }
            Outcome::Existing => {
                self.report.note_existing(kind);
                Ok(())
            }
            Outcome::Refused(fault) => self.refused_by_server(kind, &origin, &document, fault),
        }
    }

    fn refused_by_server(
        &mut self,
        kind: Kind,
        origin: &Origin,
        document: &Object,
        fault: Fault,
    ) -> Result<(), CommandError> {
        let text = |member: &str| document.get(member).and_then(Value::as_str);
        match kind {
            Kind::User => {
                if let Some(id) = text("id") {
                    self.missing_users.insert(id.to_owned());
                }
            }
            Kind::Group => {
                if let Some(id) = text("id") {
                    self.structure.forget_group(id);
                }
            }
            // One word about each user who is there under another id, and not one for each of the groups and roles.
            kind if is_of_a_user(kind) && fault.why == NO_USER => {
                if let Some(id) = text("user_id").filter(|id| !self.missing_users.contains(*id)) {
                    let fault = no_user(kind);
                    self.missing_users.insert(id.to_owned());
                    return self.refuse(kind, origin, &fault);
                }
                return Ok(());
            }
            Kind::Client => {
                self.refused_clients.insert(origin.id.clone());
            }
            Kind::IdentityProvider => {
                self.refused_providers.insert(origin.id.clone());
            }
            Kind::Role => {
                if let Some(id) = text("id") {
                    self.structure.forget_role(id);
                }
            }
            _ => {}
        }
        self.refuse(kind, origin, &fault)
    }
}

/// Whether records of a kind name the user whose they are.
const fn is_of_a_user(kind: Kind) -> bool {
    matches!(kind, Kind::Membership | Kind::GivenRole | Kind::Identity | Kind::Consent)
}

fn no_user(kind: Kind) -> Fault {
    match kind {
        Kind::Identity | Kind::Consent => Fault::new(
            "there is no user of this id here, so identities and consents were not taken",
            "look whether another user has the e-mail address: that one connects the account and consents again",
        ),
        _ => Fault::new(
            "there is no user of this id here, so groups and roles were not given",
            "look whether another user has the e-mail address, and give them to that one by hand",
        ),
    }
}

/// What the server says of a membership or given role of a user who is not there.
const NO_USER: &str = "there is no such user";

#[cfg(test)]
mod tests;
