//! By what users of a file are told apart: ids, addresses and user names.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;
use symbolon_protocol::entitlement::is_unseen;
use symbolon_protocol::precis::login_key;

use super::record::{Fault, Object, derived_id};

/// Gives an id to a user who has neither id nor e-mail address. It follows from the user name: otherwise a second import
/// would not find the user, as user names are not unique.
pub(super) fn give_id(user: &mut Object) {
    let text = |member: &str| user.get(member).and_then(Value::as_str);
    if text("id").is_some() || text("email").is_some() {
        return;
    }
    if let Some(name) = text("preferred_username") {
        let id = derived_id('u', &["preferred_username", &login_key(name)]);
        user.insert("id".to_owned(), Value::from(id));
    }
}

/// Refuses what people sign in with where a character in it is not seen: it would be mistaken for that of another user.
pub(super) fn unseen_in(user: &Object) -> Option<Fault> {
    let has_unseen = |member: &&str| user.get(*member)?.as_str()?.chars().any(is_unseen).then_some(());
    let member =
        ["email", "preferred_username", "id"].into_iter().find(|member| has_unseen(member).is_some())?;
    Some(Fault::new(format!("{member} has a character that is not seen"), "take it out in the file"))
}

/// Ids and addresses of the file so far: of two users who share one, the second cannot be created. The server would say so
/// too, but as of one who was there before, which a second run of the same file is not to complain of.
///
/// A keyed hash is kept of each, some forty bytes, so that a file may have many millions of users.
#[derive(Default)]
pub(super) struct Seen {
    keys: [RandomState; 2],
    hashes: HashSet<u128>,
}

impl Seen {
    /// Whether it is new.
    fn is_new(&mut self, kind: &str, text: &str) -> bool {
        let [one, other] = self.keys.each_ref().map(|key| u128::from(key.hash_one((kind, text))));
        self.hashes.insert((one << 64) | other)
    }

    /// Notes a user; says what an earlier one has too.
    pub(super) fn add(&mut self, user: &Object) -> Option<Fault> {
        let text = |member: &str| user.get(member).and_then(Value::as_str);
        if text("id").is_some_and(|id| !self.is_new("id", id)) {
            return Some("another user of the file has this id".into());
        }
        if text("email").is_some_and(|email| !self.is_new("email", &login_key(email))) {
            return Some(Fault::new(
                "another user of the file has this e-mail address, and both could not sign in by it",
                "give one of them another address, or none and a user name",
            ));
        }
        None
    }

    /// Notes a client; whether it is the first of this id.
    pub(super) fn add_client(&mut self, id: &str) -> bool {
        self.is_new("client", id)
    }
}
