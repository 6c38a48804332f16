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

/// Fails unless the user's memberships and roles, the groups above each group, its roles, and both records are looked up by the
/// primary keys, of the partitions in the user's alone, and by nothing else.
async fn goes_by_the_primary_keys(node: &Arc<ClusterStore>) {
    let plan = plan(node).await;
    let scans = |what: &str| plan.iter().filter(|line| line.contains(what)).count();
    let by_key = |table: &str| {
        let is_scan = |line: &&String| line.contains("_pkey on ") && line.contains(table);
        plan.iter().filter(is_scan).count()
    };
    let tables = ["on memberships_", "on user_roles_", "on user_groups", "on group_roles", "on roles"];
    assert_eq!(tables.map(by_key), [1, 1, 2, 1, 1], "{plan:#?}");
    // A scan of whatever kind that is none of these, nor one of the query's own parts.
    let others = plan.iter().filter(|line| {
        let own = ["CTE Scan", "WorkTable Scan", "Subquery Scan", "_pkey on "];
        line.contains("Scan") && !own.iter().any(|own| line.contains(own))
    });
    assert_eq!(others.count(), 0, "{plan:#?}");
    assert_eq!((scans("Hash Join"), scans("Merge Join")), (0, 0), "{plan:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_user_has_is_found_by_primary_keys_with_statistics_and_without() {
    let place = Place::new("entitlements-planned");
    let node = place.open().await;
    let issuer = IssuerId::default_issuer();
    let held = async |user: &str| node.entitlements(&issuer, &UserId::parse(user).unwrap()).await.unwrap();
    for table in ["user_groups", "roles", "group_roles"] {
        place.psql(&format!("ALTER TABLE {table} SET (autovacuum_enabled = false)"));
    }
    // The plan of an empty table is kept by a connection when the table has grown.
    goes_by_the_primary_keys(&node).await;
    assert!(held("u4711").await.groups.is_empty());
    place.psql(MANY);
    let analyzed = "SELECT count(*) FROM pg_stats WHERE tablename IN ('user_groups', 'roles', 'group_roles')";
    assert_eq!(place.psql(analyzed).trim(), "0");
    goes_by_the_primary_keys(&node).await;
    place.psql("ANALYZE");
    goes_by_the_primary_keys(&node).await;
    // Not the user from before: what was found then is in the cache.
    let held = held("u4713").await;
    assert!(held.groups.len() > 3 && held.roles.len() > 3, "{held:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_or_role_that_is_gone_is_not_taken_for_the_next_one() {
    let place = Place::new("entitlements-gone");
    let node = place.open().await;
    place.psql(MANY);
    // As a statement that changes tables by hand would leave it; the operations leave nothing.
    place.psql("DELETE FROM user_groups WHERE id = 'g5'; DELETE FROM roles WHERE id = 'r5'");
    place.psql("DELETE FROM memberships WHERE user_id = 'u1'; DELETE FROM user_roles WHERE user_id = 'u1'");
    place.psql("INSERT INTO memberships VALUES ('default', 'u1', 'g5')");
    place.psql("INSERT INTO user_roles VALUES ('default', 'u1', 'r5')");
    let issuer = IssuerId::default_issuer();
    let held = node.entitlements(&issuer, &UserId::parse("u1").unwrap()).await.unwrap();
    assert!(held.groups.is_empty() && held.roles.is_empty(), "{held:?}");
}
