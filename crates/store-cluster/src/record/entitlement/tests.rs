use std::sync::Arc;

use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::port::Groups;

use super::HELD;
use crate::ClusterStore;
use crate::testing::Place;

/// 2,000 groups nested four deep, 5,000 users in three of them each, 500 roles, one of which each group has.
const MANY: &str = "
    INSERT INTO user_groups (issuer, id, name, name_key, parent, search, created_at, updated_at, document)
    SELECT 'default', 'g' || n, 'g' || n, 'g' || n, CASE WHEN n < 10 THEN '' ELSE 'g' || (n / 10 - 1) END, 'g' || n, n, n, '{}'
    FROM generate_series(0, 1999) n;
    INSERT INTO memberships (issuer, user_id, group_id)
    SELECT DISTINCT 'default', 'u' || n, 'g' || (n * m * 7919 % 2000) FROM generate_series(1, 5000) n, generate_series(1, 3) m;
    INSERT INTO roles (issuer, id, client_id, name, name_key, search, created_at, updated_at, document)
    SELECT 'default', 'r' || n, '', 'r' || n, 'r' || n, 'r' || n, n, n, '{}' FROM generate_series(0, 499) n;
    INSERT INTO group_roles (issuer, group_id, role_id) SELECT 'default', 'g' || n, 'r' || (n % 500) FROM generate_series(0, 1999) n;
    INSERT INTO user_roles (issuer, user_id, role_id) SELECT 'default', 'u' || n, 'r' || (n % 500) FROM generate_series(1, 5000) n";

async fn plan(node: &Arc<ClusterStore>) -> Vec<String> {
    let connection = node.postgres.connection().await.unwrap();
    let rows = connection.all(&format!("EXPLAIN (COSTS OFF) {HELD}"), &[&"default", &"u4711"]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_user_has_is_found_by_indices() {
    let place = Place::new("entitlements-planned");
    let node = place.open().await;
    place.psql(MANY);
    place.psql("ANALYZE");
    let plan = plan(&node).await;
    let scans = |what: &str| plan.iter().filter(|line| line.contains(what)).count();
    // Memberships and roles of the user, the groups above each group, its roles, and both records: no table is read whole, and
    // of the partitions only the user's.
    assert!(scans("Index Cond: ((issuer = ") >= 5, "{plan:#?}");
    assert_eq!((scans("Seq Scan"), scans("Hash Join"), scans("Merge Join")), (0, 0, 0), "{plan:#?}");
    assert_eq!((scans(" on memberships_"), scans(" on user_roles_")), (1, 1), "{plan:#?}");
    let held =
        node.entitlements(&IssuerId::default_issuer(), &UserId::parse("u4711").unwrap()).await.unwrap();
    assert!(held.groups.len() > 3 && held.roles.len() > 3, "{held:?}");
}
