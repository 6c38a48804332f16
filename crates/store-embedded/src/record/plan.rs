//! Which statements may read all rows of an issuer: in tests, SQLite is asked for its plan of each.

use rusqlite::{Connection, ToSql, params_from_iter};
use symbolon_protocol::attribute::{AttributeName, AttributeValue};
use symbolon_protocol::id::{ClientId, GroupId, IssuerId, UserId};
use symbolon_store::port::{
    GroupFilter, Groups, Identities, PageRequest, RoleFilter, Roles, UserFilter, Users,
};

use crate::EmbeddedStore;
use crate::open::tests::options;

/// Conditions that few rows meet, for which there is an index.
const LOOKED_UP: [&str; 11] = [
    "email_lower = ",
    "email_lower IN",
    "username_lower = ",
    "username_lower IN",
    "id = ",
    "id IN",
    "user = ",
    "user_id = ",
    "group_id = ",
    "parent = ",
    "client_id = ",
];

/// Panics if `sql` looks something up, and SQLite would read all rows of a table or of an issuer for it.
pub(super) fn assert_uses_an_index(connection: &Connection, sql: &str) {
    let is_of_a_test = sql.starts_with("EXPLAIN");
    if is_of_a_test || sql.starts_with("INSERT") || !LOOKED_UP.iter().any(|condition| sql.contains(condition))
    {
        return;
    }
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nothing: Vec<Option<&dyn ToSql>> = vec![None; explain.parameter_count()];
    let steps = explain.query_map(params_from_iter(nothing), |row| row.get::<_, String>(3)).unwrap();
    for step in steps.map(Result::unwrap) {
        let reads_all =
            step.ends_with("(issuer=?)") || step.contains("AUTOMATIC") || scans_a_table(connection, &step);
        assert!(!reads_all, "{step}: {sql}");
    }
}

/// Whether a step of a plan reads a whole table, and not what another step made.
fn scans_a_table(connection: &Connection, step: &str) -> bool {
    let Some(name) = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next()) else { return false };
    connection.table_exists(None::<&str>, name).unwrap()
}

/// The reader panics where a plan is bad, and the call fails.
#[tokio::test]
async fn what_is_looked_up_is_found_by_an_index_however_it_is_ordered() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, page) = (IssuerId::default_issuer(), PageRequest { page: 1, limit: 10, search: None });
    store.user_by_login(&issuer, "nobody").await.unwrap();
    store.identities_of(&issuer, &UserId::parse("ann").unwrap()).await.unwrap();
    let attribute = (AttributeName::parse("staff").unwrap(), AttributeValue::Text("7".to_owned()));
    let filters = [
        UserFilter { email: Some("ann@example.com".to_owned()), ..UserFilter::default() },
        UserFilter { username: Some("ann".to_owned()), ..UserFilter::default() },
        UserFilter { attribute: Some(attribute), ..UserFilter::default() },
    ];
    for filter in filters {
        store.list_users(&issuer, &filter, &page).await.unwrap();
        store.next_users(&issuer, &filter, None, 10).await.unwrap();
    }
    for filter in [GroupFilter::Topmost, GroupFilter::Below(GroupId::parse("staff").unwrap())] {
        store.list_groups(&issuer, &filter, &page).await.unwrap();
    }
    for filter in [RoleFilter::OfIssuer, RoleFilter::OfClient(ClientId::parse("shop").unwrap())] {
        store.list_roles(&issuer, &filter, &page).await.unwrap();
    }
}
