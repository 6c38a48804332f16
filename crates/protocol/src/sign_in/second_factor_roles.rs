//! Roles whose holders need a second factor to sign in, whatever client they sign in to.

use serde::{Deserialize, Serialize};

use crate::entitlement::Entitlements;
use crate::id::RoleId;

/// The most roles of an issuer that demand a second factor.
pub const MOST_ROLES: usize = 50;

/// The ids of these roles: of the issuer or of a client. In JSON: a list. An id keeps its role whatever its name becomes, and
/// what is deleted demands nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecondFactorRoles(Vec<RoleId>);

impl SecondFactorRoles {
    /// Whether no role demands anything, so that nobody's roles need be looked up.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ids.
    pub fn ids(&self) -> &[RoleId] {
        &self.0
    }

    /// Whether somebody with these groups and roles needs a second factor. Who has more than are looked at may have such a role
    /// among the others, so they need it as well.
    pub fn demand(&self, held: &Entitlements) -> bool {
        !self.is_empty() && (held.is_cut || held.roles.iter().any(|role| self.0.contains(&role.id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entitlement::{EntitlementName, HeldRole};
    use crate::id::ClientId;

    fn held(roles: &[(&str, Option<&str>)]) -> Entitlements {
        let role = |(id, client): &(&str, Option<&str>)| HeldRole {
            id: RoleId::trusted(*id),
            name: EntitlementName::trusted("admin"),
            client_id: client.map(ClientId::trusted),
        };
        Entitlements::of(Vec::new(), roles.iter().map(role).collect())
    }

    fn roles(ids: &[&str]) -> SecondFactorRoles {
        SecondFactorRoles(ids.iter().map(|id| RoleId::trusted(*id)).collect())
    }

    #[test]
    fn the_id_counts_whoever_owns_the_role() {
        let demanding = roles(&["r1", "r2"]);
        assert!(demanding.demand(&held(&[("r1", None)])));
        assert!(demanding.demand(&held(&[("r0", None), ("r2", Some("app"))])));
        assert!(!demanding.demand(&held(&[("r3", None)])), "a role of the same name is another one");
        assert!(!demanding.demand(&held(&[])));
    }

    #[test]
    fn what_cannot_be_seen_counts_only_where_something_is_demanded() {
        let cut = Entitlements { is_cut: true, ..held(&[("r3", None)]) };
        assert!(roles(&["r1"]).demand(&cut));
        assert!(!roles(&[]).demand(&cut));
    }
}
