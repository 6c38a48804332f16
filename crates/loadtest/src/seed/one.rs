//! The seed of one user, who goes on with what the provider hands out.

use std::collections::HashMap;
use std::sync::Arc;

use super::{AccessToken, CodePool, Passkey, Seed, Session, User};

/// A user, and what the seed holds of them.
#[derive(Clone)]
pub(crate) struct Person {
    /// Who signs in.
    pub(crate) user: User,
    /// A passkey of theirs.
    pub(crate) passkey: Option<Passkey>,
    /// A session of theirs.
    pub(crate) session: Option<Session>,
    /// An access token of theirs.
    pub(crate) token: Option<AccessToken>,
}

impl Seed {
    /// All users, each with a session and a token where there is one. Who has only those, and cannot sign in, has no name.
    pub(crate) fn people(&self) -> Vec<Person> {
        let mut people: Vec<Person> = Vec::new();
        let mut places: HashMap<Arc<str>, usize> = HashMap::new();
        let mut person = |people: &mut Vec<Person>, id: &Arc<str>, username: Arc<str>| {
            *places.entry(Arc::clone(id)).or_insert_with(|| {
                let user = User { id: Arc::clone(id), username };
                people.push(Person { user, passkey: None, session: None, token: None });
                people.len() - 1
            })
        };
        for user in &self.users {
            person(&mut people, &user.id, Arc::clone(&user.username));
        }
        for passkey in &self.passkeys {
            let place = person(&mut people, &passkey.user.id, "".into());
            if let Some(person) = people.get_mut(place) {
                person.passkey.get_or_insert_with(|| passkey.clone());
            }
        }
        for session in &self.sessions {
            let place = person(&mut people, &session.user_id, "".into());
            if let Some(person) = people.get_mut(place) {
                person.session.get_or_insert_with(|| session.clone());
            }
        }
        for token in &self.tokens {
            let place = person(&mut people, &token.user_id, "".into());
            if let Some(person) = people.get_mut(place) {
                person.token.get_or_insert_with(|| token.clone());
            }
        }
        people
    }

    /// The seed of this person alone. What was handed out before is known to both, and refresh-token families are none of
    /// theirs: nobody else may rotate them.
    pub(crate) fn of(&self, person: &Person) -> Self {
        Self {
            target: self.target.clone(),
            client: self.client.clone(),
            cookie: self.cookie.clone(),
            users: vec![person.user.clone()],
            password: self.password.clone(),
            passkeys: person.passkey.iter().cloned().collect(),
            sessions: person.session.iter().cloned().collect(),
            tokens: person.token.iter().cloned().collect(),
            families: Vec::new(),
            families_in_use: false,
            codes: CodePool::default(),
            algorithm: self.algorithm,
            access_tokens: self.access_tokens,
            special: None,
            seen: Arc::clone(&self.seen),
        }
    }
}
