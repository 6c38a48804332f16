//! What a user has by groups and roles, in one look-up.

use std::sync::Arc;

use rusqlite::Row;
use symbolon_figures::StoreKind;
use symbolon_protocol::entitlement::Entitlements;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::StoreError;
use symbolon_store::entitlement::{HeldRow, entitlements};

use crate::EmbeddedStore;

/// The groups that a user is in with all above them, and the roles that were given to the user or to one of these. Each
/// group and role comes once: so the climbing ends, and nothing comes twice. The cross joins make SQLite begin with
/// what the user has.
pub(super) const HELD: &str = "
    WITH RECURSIVE held (id) AS (
        SELECT group_id FROM memberships WHERE issuer = ?1 AND user_id = ?2
        UNION
        SELECT g.parent FROM held CROSS JOIN user_groups g ON g.issuer = ?1 AND g.id = held.id
        WHERE g.parent <> '')
    SELECT 1, g.id, g.name, g.parent
    FROM held CROSS JOIN user_groups g ON g.issuer = ?1 AND g.id = held.id
    UNION ALL
    SELECT 0, r.id, r.name, r.client_id
    FROM (SELECT role_id FROM user_roles WHERE issuer = ?1 AND user_id = ?2
          UNION
          SELECT l.role_id FROM held CROSS JOIN group_roles l ON l.issuer = ?1 AND l.group_id = held.id) AS given
    CROSS JOIN roles r ON r.issuer = ?1 AND r.id = given.role_id";

/// Whether it is a group, and the row.
fn held(row: &Row<'_>) -> rusqlite::Result<(bool, HeldRow)> {
    Ok((row.get(0)?, HeldRow { id: row.get(1)?, name: row.get(2)?, owner: row.get(3)? }))
}

impl EmbeddedStore {
    /// The groups and roles of a user, from the cache if they are there.
    pub(super) async fn held(
        &self,
        issuer: &IssuerId,
        user: &UserId,
    ) -> Result<Arc<Entitlements>, StoreError> {
        let read = || async {
            let key = (issuer.clone(), user.clone());
            let rows = self.records.read(StoreKind::Group, move |statements| {
                statements.all(HELD, [key.0.as_str(), key.1.as_str()], held)
            });
            let (groups, roles): (Vec<_>, Vec<_>) = rows.await?.into_iter().partition(|(group, _)| *group);
            let bare = |rows: Vec<(bool, HeldRow)>| rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>();
            // A user without any is cached too: most have none, and every token asks.
            Ok(Some(entitlements(&bare(groups), bare(roles))))
        };
        let operations = self.figures.kind(StoreKind::Group);
        let cache = &self.records.caches.entitlements;
        let found = cache.read_through(issuer, user.as_str(), operations, read).await?;
        Ok(found.unwrap_or_default())
    }
}
