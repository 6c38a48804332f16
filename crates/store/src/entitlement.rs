//! What a user has, made from the rows that a back-end finds.

use std::collections::HashMap;

use symbolon_protocol::entitlement::{EntitlementName, Entitlements, HeldGroup, HeldRole, path};
use symbolon_protocol::group::MOST_DEPTH;
use symbolon_protocol::id::{ClientId, GroupId, RoleId};

/// A group that a user is in, or a role that a user has, as a back-end finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The parent of a group, the client of a role; empty if there is none.
    pub owner: String,
}

/// The entitlements of a user who is in these groups, which include those above each of them, and has these roles.
pub fn entitlements(groups: &[HeldRow], roles: Vec<HeldRow>) -> Entitlements {
    let by_id: HashMap<&str, &HeldRow> = groups.iter().map(|row| (row.id.as_str(), row)).collect();
    let group = |row: &HeldRow| HeldGroup {
        id: GroupId::trusted(row.id.as_str()),
        name: EntitlementName::trusted(row.name.as_str()),
        path: path(&names_down_to(row, &by_id)),
    };
    let role = |row: HeldRow| HeldRole {
        id: RoleId::trusted(row.id),
        name: EntitlementName::trusted(row.name),
        client_id: (!row.owner.is_empty()).then(|| ClientId::trusted(row.owner)),
    };
    Entitlements::of(groups.iter().map(group).collect(), roles.into_iter().map(role).collect())
}

/// The names from the topmost group down to this one.
fn names_down_to(row: &HeldRow, by_id: &HashMap<&str, &HeldRow>) -> Vec<EntitlementName> {
    let mut names = Vec::new();
    let mut next = Some(row);
    // Bounded, although no cycle is ever stored.
    while let Some(row) = next.filter(|_| names.len() < MOST_DEPTH as usize) {
        names.push(EntitlementName::trusted(row.name.as_str()));
        next = by_id.get(row.owner.as_str()).copied();
    }
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, name: &str, owner: &str) -> HeldRow {
        HeldRow { id: id.to_owned(), name: name.to_owned(), owner: owner.to_owned() }
    }

    #[test]
    fn a_group_has_the_path_of_those_above_it() {
        let groups = [row("3", "On Call", "2"), row("1", "Company", ""), row("2", "R/D", "1")];
        let held = entitlements(&groups, vec![row("r", "admin", ""), row("s", "admin", "app")]);
        let paths: Vec<&str> = held.groups.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(paths, ["/Company", "/Company/R~1D/On Call", "/Company/R~1D"]);
        let clients: Vec<_> = held.roles.iter().map(|role| role.client_id.clone()).collect();
        assert_eq!(clients, [None, Some(ClientId::trusted("app"))]);
    }

    #[test]
    fn a_cycle_has_an_end() {
        let held = entitlements(&[row("1", "a", "2"), row("2", "b", "1")], Vec::new());
        assert_eq!(held.groups[0].path, "/b/a/b/a/b/a/b/a");
    }
}
