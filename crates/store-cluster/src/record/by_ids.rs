//! Statements that look up the records of many ids, each by the index.
//!
//! Plans are kept, and the first one is often made for an empty table. With `id = ANY($2)` the planner may then choose another
//! index, of the issuer's records by age say, and filter: each bulk of 500 would read all users or groups that there are, and a million
//! would be read two thousand times. So the ids stand first, and what is looked up for one of them is a query of its own, which
//! `OFFSET 0`, or the lock, keeps from being joined in another order.

/// Finds the records of the ids in `$2`, each once: of the issuer in `$1`, and such that `condition` holds.
pub(super) fn found(table: &str, columns: &str, condition: &str) -> String {
    format!(
        "SELECT record.* FROM (SELECT DISTINCT unnest($2::text[]) AS id) AS wanted, LATERAL
             (SELECT {columns} FROM {table} WHERE issuer = $1 AND id = wanted.id AND {condition} OFFSET 0) AS record"
    )
}

/// Finds the ids of the records of the ids in `$2`, and locks them. Every writer locks in the order of the ids, so that writers do
/// not deadlock.
pub(super) fn locked(table: &str, lock: &str) -> String {
    format!(
        "SELECT record.id FROM (SELECT DISTINCT unnest($2::text[]) COLLATE \"C\" AS id ORDER BY id) AS wanted, LATERAL
             (SELECT id FROM {table} WHERE issuer = $1 AND id = wanted.id {lock}) AS record"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use symbolon_store::link::Links;

    use super::super::link::existing;
    use super::*;
    use crate::ClusterStore;
    use crate::postgres::Parameter;
    use crate::testing::Place;

    async fn plan(node: &Arc<ClusterStore>, sql: &str, values: &[Parameter<'_>]) -> Vec<String> {
        let connection = node.postgres.connection().await.unwrap();
        let rows = connection.all(&format!("EXPLAIN (COSTS OFF) {sql}"), values).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// No plan reads other records than those that are asked for, for empty tables and for full ones.
    #[tokio::test(flavor = "multi_thread")]
    async fn records_are_found_by_their_ids_and_not_among_all() {
        let place = Place::new("by-ids-planned");
        let node = place.open().await;
        let ids: &[&str] = &["a", "b"];
        let of_ids: [Parameter<'_>; 2] = [&"default", &ids];
        let of_pairs: [Parameter<'_>; 3] = [&"default", &ids, &ids];
        for full in [false, true] {
            if full {
                place.psql(
                    "INSERT INTO user_groups (issuer, id, name, name_key, parent, search, created_at, updated_at, document)
                     SELECT 'default', 'g' || n, 'g' || n, 'g' || n, '', 'g' || n, n, n, '{}' FROM generate_series(1, 5000) n;
                     INSERT INTO memberships SELECT 'default', 'u' || n, 'g' || n FROM generate_series(1, 5000) n",
                );
                place.psql("ANALYZE");
            }
            // A table that was analyzed while it was empty is read whole until it is not.
            let tables =
                if full { &["user_groups"][..] } else { &["users", "user_groups", "roles", "clients"] };
            for table in tables {
                for sql in [found(table, "id", "TRUE"), locked(table, "FOR KEY SHARE")] {
                    let plan = plan(&node, &sql, &of_ids).await;
                    let looks_up = |line: &&String| line.contains("(id = ") && line.contains("Index Cond");
                    let has_filter = plan.iter().any(|line| line.contains("Filter:"));
                    let scans = plan.iter().any(|line| line.contains("Seq Scan"));
                    let looked_up = plan.iter().filter(looks_up).count();
                    assert!(looked_up >= 1 && !has_filter && !scans, "{sql}: {plan:#?}");
                }
            }
            let plan = plan(&node, &existing(Links::Memberships), &of_pairs).await;
            let is_bad = |line: &String| {
                line.contains("Seq Scan") || line.contains("Filter:") || line.contains("Hash Join")
            };
            assert!(!plan.iter().any(is_bad), "{plan:#?}");
        }
    }
}
