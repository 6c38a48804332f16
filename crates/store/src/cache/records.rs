//! The caches in front of a database of records.

use symbolon_protocol::client::Client;
use symbolon_protocol::user::User;

use super::{Held, RecordCache};
use crate::port::{Changed, Given};
use symbolon_figures::StoreFigures;

/// How many clients are kept in memory.
const CLIENTS: usize = 10_000;

/// How many users are kept in memory.
const USERS: usize = 100_000;

/// How many users' consents are kept in memory.
const CONSENTS: usize = 100_000;

/// The cached records of a store's database.
pub struct RecordCaches {
    /// Clients, by their id.
    pub clients: RecordCache<Client>,
    /// Users, by their id.
    pub users: RecordCache<User>,
    /// The consents of users, by the user's id.
    pub consents: RecordCache<Given>,
}

impl RecordCaches {
    /// Empty caches. Hits and misses are counted in `figures`.
    pub fn new(figures: &StoreFigures) -> Self {
        Self {
            clients: RecordCache::new(CLIENTS, figures.cache("client")).with_copies(),
            users: RecordCache::new(USERS, figures.cache("user")),
            consents: RecordCache::new(CONSENTS, figures.cache("consent")),
        }
    }

    /// Drops the records that a change replaces, and keeps them from being put again before the returned value is
    /// dropped. The caller keeps that value from before the commit until the change was announced to the other holders
    /// of copies.
    pub fn hold(&self, changed: &Changed) -> Vec<Held<'_>> {
        match changed {
            Changed::Client(issuer, id) => vec![self.clients.hold(issuer, id.as_str())],
            Changed::ClientDeleted(issuer, id) => {
                // It is unknown which of the cached users had given the client their consent.
                vec![self.clients.hold(issuer, id.as_str()), self.consents.hold_issuer(issuer)]
            }
            Changed::User(issuer, id) => {
                vec![self.users.hold(issuer, id.as_str()), self.consents.hold(issuer, id.as_str())]
            }
            Changed::Consents(issuer, user) => vec![self.consents.hold(issuer, user.as_str())],
            Changed::Keys(_) | Changed::Settings(_) | Changed::Issuers | Changed::Everything => Vec::new(),
        }
    }

    /// Drops the records that a change of another process replaced.
    pub fn forget(&self, changed: &Changed) {
        drop(self.hold(changed));
        if let Changed::Everything = changed {
            self.clients.drop_all();
            self.users.drop_all();
            self.consents.drop_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use symbolon_protocol::id::{ClientId, IssuerId, UserId};

    use super::*;

    /// What remains in the caches of two issuers with one record each after a change.
    fn left_after(change: impl FnOnce(&RecordCaches)) -> Vec<&'static str> {
        let caches = RecordCaches::new(&StoreFigures::new());
        let issuers = [("mine", IssuerId::default_issuer()), ("theirs", IssuerId::parse("other").unwrap())];
        for (_, issuer) in &issuers {
            let seen = caches.consents.get(issuer, "ann").unwrap_err();
            caches.consents.put(issuer, "ann", Arc::new(Vec::new()), seen);
        }
        change(&caches);
        let left = |(name, issuer): &(&'static str, IssuerId)| {
            caches.consents.get(issuer, "ann").is_ok().then_some(*name)
        };
        issuers.iter().filter_map(left).collect()
    }

    #[test]
    fn a_change_drops_what_it_makes_old_and_nothing_else() {
        let (issuer, ann) = (IssuerId::default_issuer(), UserId::parse("ann").unwrap());
        let (bob, app) = (UserId::parse("bob").unwrap(), ClientId::parse("app").unwrap());
        let of_ann = [
            Changed::User(issuer.clone(), ann.clone()),
            Changed::Consents(issuer.clone(), ann),
            Changed::ClientDeleted(issuer.clone(), app.clone()),
        ];
        let of_others = [
            Changed::User(issuer.clone(), bob),
            Changed::Client(issuer.clone(), app),
            Changed::Keys(issuer.clone()),
            Changed::Settings(issuer),
            Changed::Issuers,
        ];
        for (changes, left) in [(&of_ann[..], &["theirs"][..]), (&of_others, &["mine", "theirs"])] {
            for changed in changes {
                assert_eq!(left_after(|caches| caches.forget(changed)), left, "{changed:?}");
                assert_eq!(left_after(|caches| drop(caches.hold(changed))), left, "{changed:?}");
            }
        }
        assert!(left_after(|caches| caches.forget(&Changed::Everything)).is_empty());
    }
}
