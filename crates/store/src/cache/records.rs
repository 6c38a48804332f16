//! The caches in front of a database of records.

use symbolon_protocol::client::Client;
use symbolon_protocol::entitlement::Entitlements;
use symbolon_protocol::logo::Logo;
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

/// How many users' groups and roles are kept in memory, if these users have up to [`LIGHT`] of them.
const ENTITLEMENTS: usize = 100_000;

/// How many groups and roles take as much room as a user without any. A user may have two thousand.
const LIGHT: usize = 16;

/// How much of clients' logos is kept in memory, in KiB.
const LOGOS: usize = 32 * 1024;

/// That a client has no logo takes as much room as a KiB of one.
fn weight_of_logo(logo: &Option<Logo>) -> u64 {
    1 + logo.as_ref().map_or(0, |logo| logo.content().len() as u64 / 1024)
}

fn weight(held: &Entitlements) -> u64 {
    1 + ((held.groups.len() + held.roles.len()) / LIGHT) as u64
}

/// The cached records of a store's database.
pub struct RecordCaches {
    /// Clients, by their id.
    pub clients: RecordCache<Client>,
    /// Users, by their id.
    pub users: RecordCache<User>,
    /// The consents of users, by the user's id.
    pub consents: RecordCache<Given>,
    /// The groups and roles of users, by the user's id.
    pub entitlements: RecordCache<Entitlements>,
    /// The logos of clients, by the client's id; `None` where it has none.
    pub logos: RecordCache<Option<Logo>>,
}

impl RecordCaches {
    /// Empty caches. Hits and misses are counted in `figures`.
    pub fn new(figures: &StoreFigures) -> Self {
        Self {
            clients: RecordCache::new(CLIENTS, figures.cache("client")).with_copies(),
            users: RecordCache::new(USERS, figures.cache("user")),
            consents: RecordCache::new(CONSENTS, figures.cache("consent")),
            entitlements: RecordCache::weighed(ENTITLEMENTS, weight, figures.cache("entitlement")),
            logos: RecordCache::weighed(LOGOS, weight_of_logo, figures.cache("logo")),
        }
    }

    /// Drops the records that a change replaces, and keeps them from being put again before the returned value is
    /// dropped. The caller keeps that value from before the commit until the change was announced to the other holders
    /// of copies.
    pub fn hold(&self, changed: &Changed) -> Vec<Held<'_>> {
        match changed {
            Changed::Client(issuer, id) => {
                vec![self.clients.hold(issuer, id.as_str()), self.logos.hold(issuer, id.as_str())]
            }
            Changed::ClientDeleted(issuer, id) => {
                // It is unknown which of the cached users had given the client their consent, or had one of its roles.
                vec![
                    self.clients.hold(issuer, id.as_str()),
                    self.logos.hold(issuer, id.as_str()),
                    self.consents.hold_issuer(issuer),
                    self.entitlements.hold_issuer(issuer),
                ]
            }
            Changed::User(issuer, id) => {
                vec![
                    self.users.hold(issuer, id.as_str()),
                    self.consents.hold(issuer, id.as_str()),
                    self.entitlements.hold(issuer, id.as_str()),
                ]
            }
            Changed::Consents(issuer, user) => vec![self.consents.hold(issuer, user.as_str())],
            Changed::Entitlements(issuer, user) => vec![self.entitlements.hold(issuer, user.as_str())],
            Changed::Groups(issuer) => vec![self.entitlements.hold_issuer(issuer)],
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
            self.entitlements.drop_all();
            self.logos.drop_all();
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
            let seen = caches.entitlements.get(issuer, "ann").unwrap_err();
            caches.entitlements.put(issuer, "ann", Arc::default(), seen);
        }
        change(&caches);
        let left = |(name, issuer): &(&'static str, IssuerId)| {
            let name: &'static str = name;
            let consents = caches.consents.get(issuer, "ann").is_ok().then_some("consents");
            let entitlements = caches.entitlements.get(issuer, "ann").is_ok().then_some("entitlements");
            [consents, entitlements]
                .into_iter()
                .flatten()
                .map(move |of| if name == "mine" { of } else { name })
        };
        let mut left: Vec<_> = issuers.iter().flat_map(left).collect();
        left.dedup();
        left
    }

    #[test]
    fn a_change_drops_what_it_makes_old_and_nothing_else() {
        let (issuer, ann) = (IssuerId::default_issuer(), UserId::parse("ann").unwrap());
        let (bob, app) = (UserId::parse("bob").unwrap(), ClientId::parse("app").unwrap());
        let of_ann =
            [Changed::User(issuer.clone(), ann.clone()), Changed::ClientDeleted(issuer.clone(), app.clone())];
        let consents = [Changed::Consents(issuer.clone(), ann.clone())];
        let entitlements = [Changed::Entitlements(issuer.clone(), ann), Changed::Groups(issuer.clone())];
        let of_others = [
            Changed::User(issuer.clone(), bob.clone()),
            Changed::Entitlements(issuer.clone(), bob),
            Changed::Client(issuer.clone(), app),
            Changed::Keys(issuer.clone()),
            Changed::Settings(issuer),
            Changed::Issuers,
        ];
        let cases = [
            (&of_ann[..], &["theirs"][..]),
            (&consents, &["entitlements", "theirs"]),
            (&entitlements, &["consents", "theirs"]),
            (&of_others, &["consents", "entitlements", "theirs"]),
        ];
        for (changes, left) in cases {
            for changed in changes {
                assert_eq!(left_after(|caches| caches.forget(changed)), left, "{changed:?}");
                assert_eq!(left_after(|caches| drop(caches.hold(changed))), left, "{changed:?}");
            }
        }
        assert!(left_after(|caches| caches.forget(&Changed::Everything)).is_empty());
    }

    #[test]
    fn a_user_with_many_roles_takes_the_room_of_many_users() {
        use symbolon_protocol::entitlement::{EntitlementName, HeldRole};
        use symbolon_protocol::id::RoleId;
        let role = |n: usize| HeldRole {
            id: RoleId::trusted(n.to_string()),
            name: EntitlementName::trusted(n.to_string()),
            client_id: None,
        };
        assert_eq!(weight(&Entitlements::default()), 1);
        assert_eq!(weight(&Entitlements::of(Vec::new(), (0..160).map(role).collect())), 11);
    }
}
