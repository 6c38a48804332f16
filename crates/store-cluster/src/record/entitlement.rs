//! What a user has by groups and roles, in one look-up.

use std::sync::Arc;

use symbolon_figures::StoreKind;
use symbolon_protocol::entitlement::Entitlements;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::StoreError;
use symbolon_store::entitlement::{HeldRow, entitlements};

use crate::ClusterStore;
use crate::postgres::column;

/// The groups that a user is in with all above them, and the roles that were given to the user or to one of these. Each
/// group and role comes once: so the climbing ends, and nothing comes twice.
///
/// `OFFSET 0` and `LIMIT 1` keep each inner query as it is, so that it runs once for each row and uses an index. Otherwise the
/// planner, which cannot know how many groups a user has, may choose to read the whole table of groups.
///
/// A group or role of an id is looked up as the first one from that id on. Every index of these tables begins with the issuer,
/// and to a planner without statistics all of them find one row, whichever condition comes behind: with `id = held.id` it may
/// take the one by age, and read all of an issuer's groups for each. In the order of ids only the primary key has them.
const HELD: &str = "
    WITH RECURSIVE held (id) AS (
        SELECT group_id FROM memberships WHERE issuer = $1 AND user_id = $2
        UNION
        SELECT above.parent FROM held, LATERAL
            (SELECT id, parent FROM user_groups WHERE issuer = $1 AND id >= held.id ORDER BY id LIMIT 1) AS above
        WHERE above.id = held.id AND above.parent <> ''),
    given (id) AS (
        SELECT role_id FROM user_roles WHERE issuer = $1 AND user_id = $2
        UNION
        SELECT l.role_id FROM held, LATERAL
            (SELECT role_id FROM group_roles WHERE issuer = $1 AND group_id = held.id OFFSET 0) AS l)
    SELECT TRUE, g.id, g.name, g.parent FROM held, LATERAL
        (SELECT id, name, parent FROM user_groups WHERE issuer = $1 AND id >= held.id ORDER BY id LIMIT 1) AS g
        WHERE g.id = held.id
    UNION ALL
    SELECT FALSE, r.id, r.name, r.client_id FROM given, LATERAL
        (SELECT id, name, client_id FROM roles WHERE issuer = $1 AND id >= given.id ORDER BY id LIMIT 1) AS r
        WHERE r.id = given.id";

impl ClusterStore {
    /// The groups and roles of a user, from the cache if they are there.
    pub(super) async fn held(
        &self,
        issuer: &IssuerId,
        user: &UserId,
    ) -> Result<Arc<Entitlements>, StoreError> {
        let read = || async {
            let rows = self.records.all(StoreKind::Group, HELD, &[&issuer.as_str(), &user.as_str()]).await?;
            let (mut groups, mut roles) = (Vec::new(), Vec::new());
            for row in &rows {
                let held = HeldRow { id: column(row, 1)?, name: column(row, 2)?, owner: column(row, 3)? };
                if column(row, 0)? { groups.push(held) } else { roles.push(held) }
            }
            // A user without any is cached too: most have none, and every token asks.
            Ok(Some(entitlements(&groups, roles)))
        };
        let operations = self.figures.kind(StoreKind::Group);
        let cache = &self.records.caches.entitlements;
        let found = cache.read_through(issuer, user.as_str(), operations, read).await?;
        Ok(found.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
